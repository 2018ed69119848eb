"""What a study runs."""

from typing import Any

from sklearn.datasets import make_multilabel_classification

from pairmend.corrected import CorrectedPairwiseClassifier
from pairmend.pairwise import PairwiseClassifier

ALGORITHMS: dict[str, Any] = {
    "LPW": PairwiseClassifier(),
    "FCM": CorrectedPairwiseClassifier(),
    "FCM-W": CorrectedPairwiseClassifier(balance="labels"),
    "FCM-O": CorrectedPairwiseClassifier(overlap=0.5),
}
"""The four algorithms of the paper by name."""


def generated_sets() -> dict[str, tuple[Any, Any]]:
    """Generate data sets of different sizes.

    Returns
    -------
    dict
        X and Y of each set by its name.
    """
    sizes = {
        "generated-small": {"n_samples": 300, "n_features": 20, "n_classes": 5, "n_labels": 2},
        "generated-dense": {"n_samples": 600, "n_features": 40, "n_classes": 8, "n_labels": 4},
        "generated-wide": {"n_samples": 600, "n_features": 100, "n_classes": 12, "n_labels": 2},
    }
    return {
        name: make_multilabel_classification(**size, random_state=seed)
        for seed, (name, size) in enumerate(sizes.items())
    }

"""Multi-label classification corrected by local confusion matrices, for scikit-learn.

Here are the classifiers that most users need, and their parts. Related pairwise methods are in
:mod:`pairmend.pairwise`, baselines in :mod:`pairmend.baselines`. Nothing can be imported from two
places.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # "as" tells type checkers that a name is public
    from pairmend.mended.estimator import MendedClassifier as MendedClassifier
    from pairmend.naive_bayes.estimator import RandomSubspaceNB as RandomSubspaceNB
    from pairmend.neighbourhoods import (
        AdaptiveNeighbourhood as AdaptiveNeighbourhood,
        GaussianNeighbourhood as GaussianNeighbourhood,
        GlobalNeighbourhood as GlobalNeighbourhood,
    )
    from pairmend.pairwise.corrected import (
        CorrectedPairwiseClassifier as CorrectedPairwiseClassifier,
    )
    from pairmend.pairwise.plain import (
        CalibratedLabelRanking as CalibratedLabelRanking,
        PairwiseClassifier as PairwiseClassifier,
    )
    from pairmend.thresholds.classifier import ThresholdedClassifier as ThresholdedClassifier

__version__ = "0.1.0"

_MODULES = {
    "AdaptiveNeighbourhood": "neighbourhoods",
    "CalibratedLabelRanking": "pairwise.plain",
    "CorrectedPairwiseClassifier": "pairwise.corrected",
    "GaussianNeighbourhood": "neighbourhoods",
    "GlobalNeighbourhood": "neighbourhoods",
    "MendedClassifier": "mended.estimator",
    "PairwiseClassifier": "pairwise.plain",
    "RandomSubspaceNB": "naive_bayes.estimator",
    "ThresholdedClassifier": "thresholds.classifier",
}
"""Modules of the public classes."""
__all__ = sorted(_MODULES)

_SUBMODULES = [
    "base_classifiers", "baselines", "datasets", "distributed", "explanation", "frames", "metrics",
    "model_selection", "pairwise", "persistence", "plots", "published", "report", "stats", "study",
    "thresholds",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a class or a submodule when it is first used: scikit-learn takes long to import."""
    if name in _MODULES:
        value = getattr(import_module(f"pairmend.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        try:
            return import_module(f"pairmend.{name}")
        except ImportError as error:  # an extra is not installed; hasattr needs an AttributeError
            raise AttributeError(str(error)) from error
    raise AttributeError(f"module 'pairmend' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, and those of a module that tools read."""
    return sorted([*__all__, *_SUBMODULES, "__all__", "__doc__", "__version__"])

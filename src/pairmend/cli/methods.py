"""The methods and base classifiers that commands know by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from pairmend.base_classifiers import logistic_regression
from pairmend.naive_bayes.estimator import RandomSubspaceNB


@dataclass(frozen=True)
class Method:
    """A multi-label classifier.

    Attributes
    ----------
    path : str
        Where its class is.
    about : str
        What help says of it.
    params : mapping
        Parameters that differ from the class's own.
    """

    path: str
    about: str
    params: Mapping[str, Any] = field(default_factory=dict)


# The first is the default.
METHODS = {
    "mended": Method(
        "pairmend.MendedClassifier", "any base, mended by how it errs nearby, for a criterion"
    ),
    "corrected": Method(
        "pairmend.CorrectedPairwiseClassifier",
        "pairs of labels vote, mended by how they err nearby",
        {"validation": 5},
    ),
    "calibrated": Method(
        "pairmend.CalibratedLabelRanking", "pairs of labels vote, and a virtual label is the limit"
    ),
    "pairwise": Method("pairmend.PairwiseClassifier", "pairs of labels vote"),
    "binary-relevance": Method("pairmend.BinaryRelevance", "each label on its own"),
    "chains": Method(
        "pairmend.ClassifierChainEnsemble", "labels one after another, in many orders"
    ),
    "powerset": Method("pairmend.LabelPowerset", "sets of labels as classes"),
    "rakel": Method("pairmend.RAkEL", "small sets of labels as classes"),
    "ml-knn": Method("pairmend.MLkNN", "labels of the nearest rows"),
}

BASES: dict[str, Callable[[], Any]] = {
    "logistic": logistic_regression,
    "naive-bayes": RandomSubspaceNB,
    "tree": lambda: DecisionTreeClassifier(min_samples_leaf=5),
    "forest": RandomForestClassifier,
}
"""Classifiers underneath; the first is the default."""


def make_classifier(method: str, base: str | None, *, criterion: str | None, seed: int) -> Any:
    """Return an unfitted pipeline: missing values filled with means, then the method.

    Parameters
    ----------
    method : str
        One of METHODS.
    base : str or None
        One of BASES; None means the first, where the method has any.
    criterion : str or None
        What the method is to be good at, where it has the choice.
    seed : int
        Seed of all randomness.

    Returns
    -------
    Pipeline
    """
    chosen = METHODS[method]
    module, _, name = chosen.path.rpartition(".")
    made = getattr(import_module(module), name)
    known = signature(made).parameters
    params = dict(chosen.params)
    for option, value in (("estimator", base), ("criterion", criterion)):
        if value is not None and option not in known:
            said = "--base" if option == "estimator" else "--criterion"
            raise ValueError(f"the method {method!r} has no {said}; leave it out")
    if "estimator" in known:
        params["estimator"] = BASES[base or next(iter(BASES))]()
    if criterion is not None:
        params["criterion"] = criterion
    if "random_state" in known:
        params["random_state"] = seed
    return make_pipeline(SimpleImputer(keep_empty_features=True), made(**params))

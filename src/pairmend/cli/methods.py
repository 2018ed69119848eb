"""Methods and base classifiers by the names that commands use; the first is the default."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from pairmend.cli.importing import import_object


@dataclass(frozen=True)
class Method:
    """Import path, description and parameters of a multi-label classifier."""

    path: str
    about: str
    params: Mapping[str, Any] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    """Base classifiers that only this method has, the default first."""


# The first is the default.
METHODS = {
    "mended": Method(
        "pairmend.MendedClassifier",
        "binary relevance with local correction, for a chosen metric",
        bases=("auto",),
    ),
    "corrected": Method(
        "pairmend.CorrectedPairwiseClassifier",
        "pairwise voting with local correction",
        {"validation": 5},
    ),
    "calibrated": Method(
        "pairmend.CalibratedLabelRanking", "pairwise voting with a virtual label as threshold"
    ),
    "pairwise": Method("pairmend.PairwiseClassifier", "pairwise voting"),
    "binary-relevance": Method("pairmend.BinaryRelevance", "one classifier per label"),
    "chains": Method("pairmend.ClassifierChainEnsemble", "ensemble of classifier chains"),
    "powerset": Method("pairmend.LabelPowerset", "label sets as classes"),
    "rakel": Method("pairmend.RAkEL", "subsets of labels as classes"),
    "ml-knn": Method("pairmend.MLkNN", "nearest neighbours"),
}

BASES: dict[str, Callable[[], Any]] = {
    "auto": lambda: "auto",
    "logistic": lambda: import_object("pairmend.base_classifiers.ScaledLogisticRegression")(),
    "naive-bayes": lambda: import_object("pairmend.RandomSubspaceNB")(),
    "tree": lambda: import_object("sklearn.tree.DecisionTreeClassifier")(min_samples_leaf=5),
    "forest": lambda: import_object("sklearn.ensemble.RandomForestClassifier")(),
}
"""Base classifiers."""
DEFAULT_BASE = "logistic"
"""The base classifier of methods without one of their own."""


def make_classifier(
    method: str, base: str | None, *, criterion: str | None, seed: int, for_frames: bool
) -> Any:
    """Return an unfitted classifier.

    For arrays, missing values are filled with means first. Frames are encoded by the classifier,
    or by the base classifier's scaler, where that takes numbers only.
    """
    from sklearn.impute import SimpleImputer  # the parser needs the names above only
    from sklearn.pipeline import make_pipeline

    chosen = METHODS[method]
    cls = import_object(chosen.path)
    known = signature(cls).parameters
    params = dict(chosen.params)
    for option, value in (("estimator", base), ("criterion", criterion)):
        if value is not None and option not in known:
            flag = "--base" if option == "estimator" else "--criterion"
            raise ValueError(f"the method {method!r} has no {flag}; leave it out")
    if "estimator" in known:
        base = base or (*chosen.bases, DEFAULT_BASE)[0]
        if base not in chosen.bases and any(base in each.bases for each in METHODS.values()):
            others = ", ".join(name for name in BASES if name != base)
            raise ValueError(f"the method {method!r} has no base {base!r}; choose from {others}")
        estimator = BASES[base]()
        encodes = isinstance(estimator, str) or hasattr(estimator, "takes_encoded_frames")
        params["estimator"] = estimator if encodes or not for_frames else _with_scaler(estimator)
    if criterion is not None:
        params["criterion"] = criterion
    if "random_state" in known:
        params["random_state"] = seed
    classifier = cls(**params)
    if not for_frames:
        return make_pipeline(SimpleImputer(keep_empty_features=True), classifier)
    encodes = "estimator" in known and getattr(cls, "encodes_frames", True)
    return classifier if encodes else _with_scaler(classifier)


def _with_scaler(classifier: Any) -> Any:
    """Return a classifier of numbers that encodes frames first."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(import_object("pairmend.base_classifiers.DenseScaler")(), classifier)

"""Classifiers by the names that commands use, or by the path of a class."""

import argparse
from importlib import import_module
from inspect import signature
from typing import Any

# The first is the default.
METHODS = {
    "mended": (
        "pairmend.MendedClassifier",
        "binary relevance with local correction, for a chosen metric",
    ),
    "corrected": (
        "pairmend.CorrectedPairwiseClassifier",
        "pairwise voting with local correction",
    ),
    "calibrated": (
        "pairmend.CalibratedLabelRanking",
        "pairwise voting with a virtual label as threshold",
    ),
    "pairwise": ("pairmend.PairwiseClassifier", "pairwise voting"),
    "binary-relevance": ("pairmend.baselines.BinaryRelevance", "one classifier per label"),
    "chains": ("pairmend.baselines.ClassifierChainEnsemble", "ensemble of classifier chains"),
    "powerset": ("pairmend.baselines.LabelPowerset", "label sets as classes"),
    "rakel": ("pairmend.baselines.RAkEL", "subsets of labels as classes"),
    "ml-knn": ("pairmend.baselines.MLkNN", "nearest neighbours"),
}
"""Path of the class and description of each method; others have the name of their class only."""
ESTIMATORS = {
    "auto": "",
    "logistic": "pairmend.base_classifiers.ScaledLogisticRegression",
    "naive-bayes": "pairmend.RandomSubspaceNB",
    "tree": "sklearn.tree.DecisionTreeClassifier",
    "forest": "sklearn.ensemble.RandomForestClassifier",
}
"""Paths of base classifiers."""
PARAMS: dict[str, dict[str, Any]] = {
    "pairmend.CorrectedPairwiseClassifier": {"validation": 5},
    "sklearn.tree.DecisionTreeClassifier": {"min_samples_leaf": 5},
}
"""Parameters other than the defaults of a class."""


def import_object(path: str) -> Any:
    """Return the object of a path such as ``pairmend.baselines.BinaryRelevance``."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _find_class(path: str) -> Any:
    """Return the class of a path that a user has given."""
    try:
        found = import_object(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"there is no class {path!r}: {error}") from error
    if not hasattr(found, "fit"):
        raise ValueError(
            f"{path} has no method fit; give the path of a class of scikit-learn's kind"
        )
    return found


def _module_of(name: str) -> str:
    """Return the module of the library with a class of a name, and a dot."""
    modules = ("pairmend", "pairmend.pairwise", "pairmend.baselines")
    found = (each for each in modules if name in import_module(each).__all__)
    return f"{next(found, 'pairmend')}."


def method_name(options: argparse.Namespace) -> str:
    """Return the name of the chosen method."""
    return options.method or next(iter(METHODS))


def make_classifier(options: argparse.Namespace, method: str, *, for_frames: bool) -> Any:
    """Return an unfitted classifier of the options, for frames or for arrays.

    For arrays, missing values are filled with means first. Frames are encoded by the classifier,
    or by the base classifier's scaler, where that takes numbers only.
    """
    from sklearn.impute import SimpleImputer  # the parser needs the names above only
    from sklearn.pipeline import make_pipeline

    path = METHODS[method][0] if method in METHODS else method
    cls = _find_class(path if "." in path else _module_of(path) + path)
    known = signature(cls).parameters
    params = {**PARAMS.get(path, {})}
    for name in ("estimator", "criterion"):
        if getattr(options, name) is not None and name not in known:
            raise ValueError(f"the method {method!r} has no --{name}; leave it out")
    if "estimator" in known:
        params["estimator"] = _base(options.estimator, method, known, for_frames=for_frames)
    if options.criterion is not None:
        params["criterion"] = options.criterion
    if "random_state" in known:
        params["random_state"] = options.seed or 0
    classifier = cls(**params)
    is_own = cls.__module__.startswith("pairmend.")
    encodes = is_own and "estimator" in known and getattr(cls, "encodes_frames", True)
    if for_frames and not encodes:
        classifier = _with_scaler(classifier)
    if (threshold := _threshold(options)) is not None:
        classifier = import_object("pairmend.ThresholdedClassifier")(
            classifier, threshold, random_state=options.seed or 0
        )
    if not for_frames:
        return make_pipeline(SimpleImputer(keep_empty_features=True), classifier)
    return classifier


def _base(name: str | None, method: str, known: Any, *, for_frames: bool) -> Any:
    """Return the base classifier of a method."""
    has_auto = known["estimator"].default == "auto"
    name = name or ("auto" if has_auto else "logistic")
    if name == "auto":
        if not has_auto:
            others = ", ".join(each for each in ESTIMATORS if each != "auto")
            raise ValueError(
                f"the method {method!r} has no estimator 'auto'; choose from {others}, or give the "
                "path of a class"
            )
        return name
    path = ESTIMATORS.get(name, name)
    estimator = _find_class(path)(**PARAMS.get(path, {}))
    if for_frames and not hasattr(estimator, "takes_encoded_frames"):
        return _with_scaler(estimator)
    return estimator


def _threshold(options: argparse.Namespace) -> Any:
    """Return the threshold of the options, None for that of the method."""
    given = {
        name: value
        for name in ("threshold", "recall", "precision")
        if (value := getattr(options, name)) is not None
    }
    if len(given) > 1:
        raise ValueError(f"--{' and --'.join(given)} are different thresholds; give one of them")
    match given:
        case {"recall": target}:
            return import_object("pairmend.thresholds.RecallControl")(target)
        case {"precision": target}:
            return import_object("pairmend.thresholds.PrecisionControl")(target)
        case {"threshold": text}:
            try:
                return float(text)
            except ValueError:
                return _find_class(f"pairmend.thresholds.{text}")()
    return None


def _with_scaler(classifier: Any) -> Any:
    """Return a classifier of numbers that encodes frames first."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(import_object("pairmend.base_classifiers.DenseScaler")(), classifier)

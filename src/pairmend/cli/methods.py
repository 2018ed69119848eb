"""Classifiers by the names that commands use, or by the path of a class."""

import argparse
from inspect import signature
from pkgutil import resolve_name
from pydoc import locate
from typing import Any

from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from pairmend.base_classifiers import DenseScaler

MODULES = ("pairwise", "baselines", "base_classifiers", "thresholds")
"""Modules of the library with classes that options name."""
DEFAULT = "MendedClassifier"
"""Name of the multi-label method that is used if none is chosen."""


def _find_class(name: str) -> Any:
    """Return the class of a name in the library, or of a path."""
    modules = ("pairmend", *(f"pairmend.{module}" for module in MODULES))
    for path in [name] if "." in name else [f"{module}.{name}" for module in modules]:
        if hasattr(found := locate(path), "fit"):
            return found
    raise ValueError(
        f"there is no estimator {name!r}: no class of pairmend has this name, and no class with "
        "fit this path, such as sklearn.svm.SVC"
    )


def make_classifier(options: argparse.Namespace, method: str, *, for_frames: bool) -> Any:
    """Return an unfitted classifier of the options, for frames or for arrays.

    For arrays, missing values are filled with means first. Frames are encoded by the classifier,
    or by a scaler before it, or before its base classifier, where that takes numbers only.
    """
    cls = _find_class(method)
    known = signature(cls).parameters
    params = {"estimator": options.estimator, "criterion": options.criterion}
    for name in [name for name in params if name not in known]:
        if params.pop(name) is not None:
            raise ValueError(f"the method {method!r} has no --{name}; leave it out")
    encodes = cls.__module__.startswith("pairmend.") and getattr(cls, "encodes_frames", True)
    if "estimator" in known:
        has_auto = known["estimator"].default == "auto"
        if not (has_auto and options.estimator in (None, "auto")):
            base = _find_class(options.estimator or "ScaledLogisticRegression")()
            if for_frames and not hasattr(base, "takes_encoded_frames"):
                base = make_pipeline(DenseScaler(), base)
            params["estimator"] = base
    if "random_state" in known:
        params["random_state"] = options.seed or 0
    classifier = cls(**{name: value for name, value in params.items() if value is not None})
    if for_frames and not ("estimator" in known and encodes):
        classifier = make_pipeline(DenseScaler(), classifier)
    if (threshold := _threshold(options)) is not None:
        thresholded = resolve_name("pairmend.ThresholdedClassifier")
        classifier = thresholded(classifier, threshold, random_state=options.seed or 0)
    if not for_frames:
        return make_pipeline(SimpleImputer(keep_empty_features=True), classifier)
    return classifier


def _threshold(options: argparse.Namespace) -> Any:
    """Return the threshold of the options, None for that of the method."""
    names = "threshold", "recall", "precision"
    given = [name for name in names if getattr(options, name) is not None]
    if len(given) > 1:
        raise ValueError(f"--{' and --'.join(given)} are different thresholds; give one of them")
    for name in given:
        value = getattr(options, name)
        if name != "threshold":
            return resolve_name(f"pairmend.thresholds.{name.title()}Control")(value)
        try:
            return float(value)
        except ValueError:
            return _find_class(value)()
    return None

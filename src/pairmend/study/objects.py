"""Estimators, functions and metrics as plain data with import paths, and back."""

import importlib
import importlib.util
import inspect
import json
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
from sklearn import metrics

from pairmend._utils.typing import FloatArray, IntArray
from pairmend.metrics import LOSS_TITLES, LOSSES

INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed packages."""
_folders: list[str] = []
"""Folders of the `importable` blocks that are open, the innermost last."""


@contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """Let the modules in a folder be imported inside a ``with`` block."""
    if folder is None:
        yield
        return
    entry = str(folder.absolute())
    sys.path.insert(0, entry)
    _folders.append(entry)
    try:
        yield
    finally:
        _folders.pop()
        if entry in sys.path:
            sys.path.remove(entry)  # the first one, which is the one inserted above


def find(path: str) -> Any:
    """Import the object with an import path such as ``sklearn.svm.LinearSVC``."""
    module, _, name = path.rpartition(".") if isinstance(path, str) else ("", "", "")
    if not module:
        raise ValueError(f"{path!r} is not an import path, expected module.name")
    try:
        found = importlib.import_module(module)
        _refuse_namesake(module.partition(".")[0])
    except Exception as error:  # modules can raise anything when they are imported
        raise ImportError(f"cannot import {path!r}: {type(error).__name__}: {error}") from error
    if not hasattr(found, name):
        raise ImportError(f"cannot import {path!r}: {module} has no {name!r}")
    return getattr(found, name)


def _refuse_namesake(top: str) -> None:
    """Refuse a module of the same name from outside the `importable` folder."""
    # Modules stay imported. Two study files in different folders can each have a module of the
    # same name, and the second one must not get the module of the first.
    here = PathFinder.find_spec(top, _folders[-1:]) if _folders else None
    loaded = getattr(sys.modules.get(top), "__file__", None)
    if here and here.origin and loaded and Path(here.origin).resolve() != Path(loaded).resolve():
        raise ImportError(
            f"the module {top!r} is already imported from {loaded}, but {here.origin} is "
            "needed. Run the study in a separate Python process, or rename the module."
        )


def own_file(module: str) -> Path | None:
    """Return the file of an imported module; None if it is in an installed package or has none."""
    name = getattr(sys.modules.get(module), "__file__", None)
    path = Path(name).absolute() if name else None
    standard = Path(sysconfig.get_path("stdlib"))
    if path is None or standard in path.parents or INSTALLED & set(path.parts):
        return None
    return path if path.is_file() else None


def missing_packages(value: Any) -> list[str]:
    """Return the packages of the import paths in plain data that are not installed, sorted."""
    parts = value.values() if isinstance(value, Mapping) else value
    if not isinstance(value, list | Mapping):
        return []
    absent = {name for part in parts for name in missing_packages(part)}
    for key in ("class", "object"):
        path = value.get(key) if isinstance(value, Mapping) else None
        package = path.partition(".")[0] if isinstance(path, str) else ""
        if package and importlib.util.find_spec(package) is None:
            absent.add(package)
    return sorted(absent)


def build(value: Any, place: str) -> Any:
    """Create the object that plain data describe; `place` is their key, for messages.

    ``{"class": path, "params": {…}}`` is an instance, ``{"object": path}`` an imported object,
    ``{"tuple": […]}`` a tuple; other data stand for themselves.
    """
    if isinstance(value, list):
        return [build(part, f"{place}[{i}]") for i, part in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    for key in ("class", "object", "tuple"):
        known = {"class", "params"} if key == "class" else {key}
        if key in value and not known >= set(value):
            unknown = sorted(set(value) - known)
            raise ValueError(f"{place} has unknown keys {unknown}; expected {sorted(known)}")
    if "class" in value:
        return _instance(value, place)
    if "object" in value:
        return find(value["object"])
    if "tuple" in value:
        return tuple(build(value["tuple"], place))
    if "opaque" in value:
        raise ValueError(
            f"{place} was given as a Python object without import path and cannot be created from "
            "the stored definition"
        )
    return {key: build(part, f"{place}.{key}") for key, part in value.items()}


def _instance(value: Mapping[str, Any], place: str) -> Any:
    cls, params = find(value["class"]), value.get("params", {})
    if not callable(cls):
        raise ValueError(f"{place}: {value['class']} is not a class")
    if not isinstance(params, Mapping):
        raise ValueError(f"{place}.params must be a table, got {params!r}")
    params = {key: build(part, f"{place}.params.{key}") for key, part in params.items()}
    known = inspect.signature(cls).parameters
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
    if unknown := [key for key in params if key not in known and not open_ended]:
        raise ValueError(
            f"{place}: {value['class']} has no parameter {', '.join(map(repr, unknown))}; "
            f"it has {', '.join(known)}"
        )
    for key, part in params.items():
        if isinstance(part, list) and key in known and isinstance(known[key].default, tuple):
            params[key] = tuple(part)
    try:
        return cls(**params)
    except Exception as error:  # classes can raise anything when they are called
        raise ValueError(
            f"{place}: {value['class']} cannot be created: {type(error).__name__}: {error}"
        ) from error


def describe(value: Any) -> Any:
    """Return an object as plain data for `build`, estimators with non-default parameters only.

    The parameter ``verbose`` is left out. An object without import path is
    ``{"opaque": type, "hash": …}``, which `build` refuses.
    """
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, list):
        return [describe(part) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [describe(part) for part in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: describe(part) for key, part in value.items()}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _describe_estimator(value)
    if hasattr(value, "__qualname__") and (path := public_path(value)):
        return {"object": path}
    return {"opaque": type(value).__qualname__, "hash": _hash(value)}


def _hash(value: Any) -> str:
    try:
        return joblib.hash(value)
    except Exception:  # it cannot be pickled, so it cannot be compared with others
        return f"id {id(value)}"


def _describe_estimator(estimator: Any) -> dict[str, Any]:
    cls = type(estimator)
    known = inspect.signature(cls).parameters
    params = {name: describe(part) for name, part in estimator.get_params(deep=False).items()}
    own = {
        name: part
        for name, part in params.items()
        # Results do not depend on what fit prints. As texts: 1, 1.0 and True are equal numbers,
        # but not the same parameter.
        if name not in known
        or (name != "verbose" and as_text(part) != as_text(describe(known[name].default)))
    }
    path = public_path(cls)
    named = {"class": path} if path else {"opaque": cls.__qualname__, "hash": _hash(cls)}
    return {**named, "params": own} if own else named


def as_text(plain: Any) -> str:
    """Return plain data as JSON; unlike ``==``, the text distinguishes 1, 1.0 and True."""
    return json.dumps(plain, sort_keys=True)


def public_path(thing: Any) -> str | None:
    """Return the shortest import path of a class or function, None if it has none."""
    module, name = getattr(thing, "__module__", None), thing.__qualname__
    if not module or module == "__main__" or not name.isidentifier():
        return None
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        candidate = ".".join(parts[:length])
        try:
            if getattr(importlib.import_module(candidate), name, None) is thing:
                return f"{candidate}.{name}"
        except ImportError:
            continue
    return None


@dataclass(frozen=True)
class Criterion:
    """A metric that scores predictions.

    Attributes
    ----------
    function : callable
        Called with the true label indicators and the predictions; returns a number.
    title : str
        Name in tables and figures.
    greater_is_better : bool
        Whether greater values are better.
    needs : {"labels", "scores"}
        Whether the predictions are label indicators or the scores of ``predict_proba`` or, where
        a classifier has none, ``decision_function``.
    params : mapping
        Further parameters of the function.

    Examples
    --------
    >>> from sklearn.metrics import label_ranking_loss
    >>> ranking = Criterion(label_ranking_loss, "ranking loss", needs="scores")
    >>> ranking([[1, 0]], [[0.2, 0.7]])
    1.0
    """

    function: Callable[..., Any]
    title: str
    greater_is_better: bool = False
    needs: Literal["labels", "scores"] = "labels"
    params: Mapping[str, Any] | None = None

    def __call__(self, Y_true: Any, predicted: Any) -> float:
        """Return the value of the metric, which must be a finite number."""
        # Copies: a function that writes into its arguments must not change other metrics.
        arguments = np.array(Y_true), np.array(predicted)
        value = float(self.function(*arguments, **(self.params or {})))
        if not np.isfinite(value):
            raise ValueError(f"{self.title} is {value}, expected a finite number")
        return value

    def definition(self) -> dict[str, Any]:
        """Return the metric as plain data, as in a study file.

        Returns
        -------
        dict

        Examples
        --------
        >>> CRITERIA["hamming"].definition()["function"]
        'sklearn.metrics.hamming_loss'
        """
        function = describe(self.function)
        return {
            "function": function.get("object", function),
            "title": self.title,
            "greater_is_better": self.greater_is_better,
            "needs": self.needs,
            "params": describe(dict(self.params or {})),
        }


def one_error(truth: IntArray, scores: FloatArray) -> float:
    """Return the share of rows whose label with the highest score is not true."""
    return float(1 - truth[np.arange(len(truth)), scores.argmax(axis=1)].mean())


def roc_auc(truth: IntArray, scores: FloatArray, average: str) -> float:
    """Return the area under the ROC curve; a macro average leaves out labels of one class."""
    kept = np.ptp(truth, axis=0) > 0 if average == "macro" else slice(None)
    return float(metrics.roc_auc_score(truth[:, kept], scores[:, kept], average=average))


def label_average_precision(truth: IntArray, scores: FloatArray, average: str) -> float:
    """Return the area under the precision-recall curve; macro: of labels that occur."""
    kept = truth.any(axis=0) if average == "macro" else slice(None)
    return float(metrics.average_precision_score(truth[:, kept], scores[:, kept], average=average))


CRITERIA = {name: Criterion(function, LOSS_TITLES[name]) for name, function in LOSSES.items()}
CRITERIA["subset_accuracy"] = Criterion(metrics.accuracy_score, "subset accuracy", True)
for _average in ("samples", "micro", "macro"):
    for _name in ("jaccard", "precision", "recall", "f1"):
        CRITERIA[f"{_name}_{_average}"] = Criterion(
            getattr(metrics, f"{_name}_score"),
            f"{_name.capitalize()} ({_average})",
            greater_is_better=True,
            params={"average": _average, "zero_division": 0.0},
        )
for _average in ("micro", "macro"):
    CRITERIA[f"roc_auc_{_average}"] = Criterion(
        roc_auc, f"ROC AUC ({_average})", True, "scores", {"average": _average}
    )
    CRITERIA[f"average_precision_{_average}"] = Criterion(
        label_average_precision, f"average precision ({_average})", True, "scores",
        {"average": _average},
    )  # fmt: skip
CRITERIA |= {
    "one_error": Criterion(one_error, "one-error", needs="scores"),
    "coverage": Criterion(metrics.coverage_error, "coverage", needs="scores"),
    "ranking_loss": Criterion(metrics.label_ranking_loss, "ranking loss", needs="scores"),
    "average_precision": Criterion(
        metrics.label_ranking_average_precision_score, "average precision", True, "scores"
    ),
}
"""Metrics of studies by name.

The losses of `pairmend.metrics.LOSSES`, and the example-based, label-based and ranking-based
measures of J. Bogatinovski et al. (2022), Comprehensive comparative study of multi-label
classification methods: functions of scikit-learn where it has them, undefined values being 0.
"""

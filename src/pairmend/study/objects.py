"""Objects as plain data and back: estimators and functions by import path."""

import importlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import joblib

from pairmend.study.importing import import_module

PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Unmade:
    """A class and the parameters of an instance that is not made.

    Attributes
    ----------
    type : callable
        The class.
    params : dict
        What it would be called with.
    """

    type: Any
    params: dict[str, Any]


def find(path: str) -> Any:
    """Import what an import path names.

    Parameters
    ----------
    path : str
        Such as ``sklearn.linear_model.LogisticRegression``.

    Returns
    -------
    object

    Examples
    --------
    >>> find("sklearn.svm.LinearSVC").__name__
    'LinearSVC'
    """
    module, _, name = path.rpartition(".") if isinstance(path, str) else ("", "", "")
    if not module:
        raise ValueError(f"{path!r} is no import path: expected module.name")
    try:
        found = import_module(module)
    except Exception as error:  # whatever a module does when it is imported
        raise ImportError(f"cannot import {path!r}: {_told(error)}") from error
    if not hasattr(found, name):
        raise ImportError(f"cannot import {path!r}: {module} has no {name!r}")
    return getattr(found, name)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def build(value: Any, place: str, *, make: bool = True) -> Any:
    """Make what plain data describe.

    Parameters
    ----------
    value : plain data
        ``{"class": path, "params": {…}}`` is an instance, ``{"object": path}`` what the path
        names, ``{"tuple": […]}`` a tuple; tables and lists may hold more of them; all else
        stands for itself. A list for a parameter whose default is a tuple becomes one, too.
    place : str
        Where it stands, for messages.
    make : bool, default=True
        Whether instances are made. If not, classes and functions are imported and parameters
        checked, but nothing is called: `Unmade` objects stand for the instances.

    Returns
    -------
    object

    Examples
    --------
    >>> build({"class": "sklearn.svm.LinearSVC", "params": {"C": 2.0}}, "here")
    LinearSVC(C=2.0)
    """
    if isinstance(value, list):
        return [build(part, f"{place}[{i}]", make=make) for i, part in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    if "class" in value:
        return _instance(value, place, make)
    if "object" in value:
        _only(value, {"object"}, place)
        return find(value["object"])
    if "tuple" in value:
        _only(value, {"tuple"}, place)
        return tuple(build(value["tuple"], place, make=make))
    if "opaque" in value:
        raise ValueError(f"{place} was given as an object of Python and cannot be made again")
    return {key: build(part, f"{place}.{key}", make=make) for key, part in value.items()}


def _instance(value: Mapping[str, Any], place: str, make: bool) -> Any:
    _only(value, {"class", "params"}, place)
    made = find(value["class"])
    if not callable(made):
        raise ValueError(f"{place}: {value['class']} is no class")
    params = value.get("params", {})
    if not isinstance(params, Mapping):
        raise ValueError(f"{place}.params must be a table, got {params!r}")
    params = {key: build(part, f"{place}.params.{key}", make=make) for key, part in params.items()}
    known = inspect.signature(made).parameters
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
    unknown = [] if open_ended else [key for key in params if key not in known]
    if unknown:
        raise ValueError(
            f"{place}: {value['class']} has no parameter {', '.join(map(repr, unknown))}; "
            f"it has {', '.join(known)}"
        )
    for key, part in params.items():
        if isinstance(part, list) and key in known and isinstance(known[key].default, tuple):
            params[key] = tuple(part)
    if not make:
        return Unmade(made, params)
    try:
        return made(**params)
    except Exception as error:  # whatever a class does when it is called
        raise ValueError(f"{place}: {value['class']} cannot be made: {_told(error)}") from error


def _only(value: Mapping[str, Any], known: set[str], place: str) -> None:
    unknown = sorted(set(value) - known)
    if unknown:
        raise ValueError(f"{place} has unknown keys {unknown}; it takes {sorted(known)}")


def describe(value: Any) -> Any:
    """Turn an object into plain data from which `build` makes its like.

    Of an estimator only the parameters are named that differ from their defaults. What cannot
    be named is ``{"opaque": type, "hash": …}``: it can be told apart, but not made again.

    Parameters
    ----------
    value : object

    Returns
    -------
    plain data

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> describe(LinearSVC(C=2.0))
    {'class': 'sklearn.svm.LinearSVC', 'params': {'C': 2.0}}
    """
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, list):
        return [describe(part) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [describe(part) for part in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: describe(part) for key, part in value.items()}
    if isinstance(value, Unmade):
        if not hasattr(value.type, "get_params"):
            return {"unmade": public_path(value.type)}
        return _describe_estimator(value.type, value.params)
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _describe_estimator(type(value), value.get_params(deep=False))
    if hasattr(value, "__qualname__") and (path := public_path(value)):
        return {"object": path}
    return {"opaque": type(value).__qualname__, "hash": _hash(value)}


def _hash(value: Any) -> str:
    try:
        return joblib.hash(value)
    except Exception:  # what cannot be pickled, in many ways: no two are known to be alike
        return f"id {id(value)}"


def _describe_estimator(made: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(made).parameters.items()
    }
    params = {name: describe(value) for name, value in values.items()}
    own = {
        name: value
        for name, value in params.items()
        # As texts: 1, 1.0 and True are equal numbers, but not the same parameter.
        if name not in defaults or as_text(value) != as_text(describe(defaults[name]))
    }
    path = public_path(made)
    named = {"class": path} if path else {"opaque": made.__qualname__, "hash": _hash(made)}
    return {**named, "params": own} if own else named


def as_text(plain: Any) -> str:
    """Write plain data such that only the same data give the same text.

    Examples
    --------
    >>> as_text(1) == as_text(1.0), as_text(float("nan")) == as_text(float("nan"))
    (False, True)
    """
    return json.dumps(plain, sort_keys=True)


def public_path(thing: Any) -> str | None:
    """Return the shortest import path of a class or function, None if it has none.

    Examples
    --------
    >>> from sklearn.svm._classes import LinearSVC
    >>> public_path(LinearSVC)
    'sklearn.svm.LinearSVC'
    """
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

"""Conversion of estimators and functions to plain data with import paths, and back."""

import importlib
import importlib.util
import inspect
import json
from collections.abc import Mapping
from typing import Any

import joblib

from pairmend.study.importing import import_module

PLAIN = (str, int, float, bool, type(None))


def find(path: str) -> Any:
    """Import the object with an import path such as ``sklearn.svm.LinearSVC``."""
    module, _, name = path.rpartition(".") if isinstance(path, str) else ("", "", "")
    if not module:
        raise ValueError(f"{path!r} is not an import path, expected module.name")
    try:
        found = import_module(module)
    except Exception as error:  # modules can raise anything when they are imported
        raise ImportError(f"cannot import {path!r}: {_error_text(error)}") from error
    if not hasattr(found, name):
        raise ImportError(f"cannot import {path!r}: {module} has no {name!r}")
    return getattr(found, name)


def missing_packages(value: Any) -> list[str]:
    """Return the packages of the import paths in plain data that are not installed, sorted."""
    if isinstance(value, list):
        parts = value
    elif isinstance(value, Mapping):
        parts = list(value.values())
    else:
        return []
    absent = {name for part in parts for name in missing_packages(part)}
    for key in ("class", "object"):
        path = value.get(key) if isinstance(value, Mapping) else None
        package = path.partition(".")[0] if isinstance(path, str) else ""
        if package and importlib.util.find_spec(package) is None:
            absent.add(package)
    return sorted(absent)


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def build(value: Any, place: str) -> Any:
    """Create the object that plain data describe; `place` is their key, for messages.

    ``{"class": path, "params": {…}}`` is an instance, ``{"object": path}``
    an imported object, ``{"tuple": […]}`` a tuple; other data stand for themselves.
    """
    if isinstance(value, list):
        return [build(part, f"{place}[{i}]") for i, part in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    if "class" in value:
        return _instance(value, place)
    if "object" in value:
        _only(value, {"object"}, place)
        return find(value["object"])
    if "tuple" in value:
        _only(value, {"tuple"}, place)
        return tuple(build(value["tuple"], place))
    if "opaque" in value:
        raise ValueError(
            f"{place} was given as a Python object without import path and cannot be created from "
            "the stored definition"
        )
    return {key: build(part, f"{place}.{key}") for key, part in value.items()}


def _instance(value: Mapping[str, Any], place: str) -> Any:
    _only(value, {"class", "params"}, place)
    cls = find(value["class"])
    if not callable(cls):
        raise ValueError(f"{place}: {value['class']} is not a class")
    params = value.get("params", {})
    if not isinstance(params, Mapping):
        raise ValueError(f"{place}.params must be a table, got {params!r}")
    params = {key: build(part, f"{place}.params.{key}") for key, part in params.items()}
    known = inspect.signature(cls).parameters
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
    try:
        return cls(**params)
    except Exception as error:  # classes can raise anything when they are called
        message = f"{place}: {value['class']} cannot be created: {_error_text(error)}"
        raise ValueError(message) from error


def _only(value: Mapping[str, Any], known: set[str], place: str) -> None:
    unknown = sorted(set(value) - known)
    if unknown:
        raise ValueError(f"{place} has unknown keys {unknown}; expected {sorted(known)}")


def describe(value: Any) -> Any:
    """Return an object as plain data for `build`, estimators with non-default parameters only.

    The parameter ``verbose`` is left out. An object without import path is
    ``{"opaque": type, "hash": …}``, which `build` refuses.
    """
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, list):
        return [describe(part) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [describe(part) for part in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: describe(part) for key, part in value.items()}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _describe_estimator(type(value), value.get_params(deep=False))
    if hasattr(value, "__qualname__") and (path := public_path(value)):
        return {"object": path}
    return {"opaque": type(value).__qualname__, "hash": _hash(value)}


def _hash(value: Any) -> str:
    try:
        return joblib.hash(value)
    except Exception:  # it cannot be pickled, so it cannot be compared with others
        return f"id {id(value)}"


def _describe_estimator(cls: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()
    }
    params = {name: describe(value) for name, value in values.items()}
    own = {
        name: value
        for name, value in params.items()
        if name not in defaults
        # Results do not depend on what fit prints.
        or (
            name != "verbose"
            # As texts: 1, 1.0 and True are equal numbers, but not the same parameter.
            and as_text(value) != as_text(describe(defaults[name]))
        )
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

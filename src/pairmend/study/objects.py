"""Estimators and functions as plain data with import paths, and back; versions of their code."""

import hashlib
import importlib
import importlib.util
import inspect
import json
import platform
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import joblib

PACKAGES = ("pairmend", "numpy", "scipy", "scikit-learn", "joblib", "pandas", "river")
"""Packages that results of all studies depend on."""


@contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """Let the modules in a folder be imported inside a ``with`` block."""
    before = list(sys.path)
    sys.path[:0] = [] if folder is None else [str(folder.absolute())]
    try:
        yield
    finally:
        sys.path[:] = before


def find(path: Any) -> Any:
    """Import the object with an import path such as ``sklearn.svm.LinearSVC``."""
    try:
        module, _, name = path.rpartition(".")
        found = getattr(importlib.import_module(module), name)
    except Exception as error:  # modules can raise anything when they are imported
        raise ImportError(
            f"cannot import {path!r}, expected module.name: {type(error).__name__}: {error}"
        ) from error
    # Modules stay imported. Two study files in different folders can each have a module of the
    # same name, and the second one must not get the module of the first.
    top = module.partition(".")[0]
    here = PathFinder.find_spec(top, sys.path[:1])
    loaded = getattr(sys.modules.get(top), "__file__", None)
    if here and here.origin and loaded and Path(here.origin).resolve() != Path(loaded).resolve():
        raise ImportError(
            f"the module {top!r} is already imported from {loaded}, but {here.origin} is "
            "needed. Run the study in a separate Python process, or rename the module."
        )
    return found


def own_file(module: str) -> Path | None:
    """Return the file of an imported module; None if it is in an installed package or has none."""
    name = getattr(sys.modules.get(module), "__file__", None)
    path = Path(name).absolute() if name else None
    if path is None or Path(sysconfig.get_path("stdlib")) in path.parents:
        return None
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return path if path.is_file() and not installed else None


def _paths(value: Any) -> set[str]:
    """Return the import paths in the description of an object."""
    return set(re.findall(r'"(?:class|object)": "([^"]+)"', as_text(describe(value))))


def missing_packages(value: Any) -> list[str]:
    """Return the packages of the import paths of an object that are not installed, sorted."""
    packages = {path.partition(".")[0] for path in _paths(value)}
    return sorted(name for name in packages if name and importlib.util.find_spec(name) is None)


def modules_of(value: Any) -> set[str]:
    """Return the modules of the classes and functions of an object, and of their base classes."""
    found = set(re.findall(r'"module": "([^"]+)"', as_text(describe(value))))
    for path in _paths(value):
        with suppress(ImportError, ValueError):  # a parameter may have such a key, too
            thing = find(path)
            classes = inspect.getmro(thing) if isinstance(thing, type) else [thing]
            found |= {each.__module__ for each in classes}
    return found


def build(value: Any, place: str) -> Any:
    """Create the object that plain data describe; `place` is their key, for messages.

    ``{"class": path, "params": {…}}`` is an instance, ``{"object": path}`` an imported object;
    other data stand for themselves.
    """
    if isinstance(value, list):
        return [build(part, f"{place}[{i}]") for i, part in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    for key, known in {"class": {"class", "params"}, "object": {"object"}}.items():
        if key in value and (unknown := sorted(set(value) - known)):
            raise ValueError(f"{place} has unknown keys {unknown}; expected {sorted(known)}")
    if "class" in value:
        return _instance(value, place)
    if "object" in value:
        return find(value["object"])
    return {key: build(part, f"{place}.{key}") for key, part in value.items()}


def _instance(value: Mapping[str, Any], place: str) -> Any:
    cls, params = find(value["class"]), build(value.get("params", {}), f"{place}.params")
    try:
        known = inspect.signature(cls).parameters
        for key, part in params.items():
            if isinstance(part, list) and key in known and isinstance(known[key].default, tuple):
                params[key] = tuple(part)
        return cls(**params)
    except Exception as error:  # classes can raise anything when they are called
        raise ValueError(
            f"{place}: {value['class']} cannot be created: {type(error).__name__}: {error}"
        ) from error


def describe(value: Any) -> Any:
    """Return an object as plain data for `build`, estimators with non-default parameters only.

    The parameter ``verbose`` is left out: results do not depend on what fit prints. An object
    without import path is ``{"opaque": name, "module": name, "hash": …}``.
    """
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, list | tuple):
        return [describe(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): describe(part) for key, part in value.items()}
    if isinstance(value, type) or not hasattr(value, "get_params"):
        return _named(value, "object")
    known = inspect.signature(type(value)).parameters
    params = {name: describe(part) for name, part in value.get_params(deep=False).items()}
    own = {
        name: part
        for name, part in params.items()
        if name not in known
        or (name != "verbose" and as_text(part) != as_text(describe(known[name].default)))
    }
    named = _named(type(value), "class")
    return {**named, "params": own} if own else named


def _named(thing: Any, key: str) -> dict[str, str]:
    """Return the import path of a class or function, or a hash of an object without one."""
    if path := public_path(thing):
        return {key: path}
    try:
        digest = joblib.hash(thing)
    except Exception:  # it cannot be pickled, so it cannot be compared with others
        digest = f"id {id(thing)}"
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    return {"opaque": kind.__qualname__, "module": kind.__module__ or "", "hash": digest}


def as_text(plain: Any) -> str:
    """Return plain data as JSON; unlike ``==``, the text distinguishes 1, 1.0 and True."""
    return json.dumps(plain, sort_keys=True)


def public_path(thing: Any) -> str | None:
    """Return the shortest import path of a class or function, None if it has none."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    if not module or module == "__main__" or not name.isidentifier():
        return None
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        candidate = ".".join(parts[:length])
        with suppress(ImportError):
            if getattr(importlib.import_module(candidate), name, None) is thing:
                return f"{candidate}.{name}"
    return None


def digests(files: Mapping[str, Path | None]) -> dict[str, str]:
    """Return the SHA-256 of files; those that are absent are left out."""
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in files.items()
        if path and path.is_file()
    }


def versions(algorithms: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    distributions, names = metadata.packages_distributions(), set(PACKAGES)
    for module in modules_of([*(algorithms or {}).values()]):
        names.update(distributions.get(module.partition(".")[0], ()))
    found = {"python": platform.python_version()}
    for name in sorted(names):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found

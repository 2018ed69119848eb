"""Study files: definitions of studies in TOML.

A study file names code to import and call, like a script: run only those you trust.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

from pairmend._utils.defaults import SHIPPED_STUDIES
from pairmend.datasets import find_entry
from pairmend.study.criteria import CRITERIA, Criterion
from pairmend.study.definition import Study, as_criteria
from pairmend.study.importing import importable
from pairmend.study.objects import build, find, missing_packages
from pairmend.study.sources import CatalogueSource, FileSource, FunctionSource, Source
from pairmend.study.tuning import INNER_FOLDS, tuned

SET_KEYS = {
    "catalogue": {"catalogue", "rows", "one_hot"},
    "file": {"file", "xml", "labels", "targets", "one_hot", "max_bytes", "max_cells"},
    "function": {"function", "params"},
}
"""Keys of a set, by the key that determines its kind."""

TUNING_KEYS = {"tune", "tune_by", "tune_folds"}
"""Keys of an algorithm whose parameters are chosen by cross-validation."""

CRITERION_KEYS = {"function", "title", "greater_is_better", "needs", "params"}


def load_study(path: str | Path) -> Study:
    """Read a study file.

    Parameters
    ----------
    path : path
        A TOML file. Relative paths in it start from its own folder.

    Returns
    -------
    Study

    Notes
    -----
    Modules in the study file's folder can be imported, as by a script in this folder:
    ``sys.path`` has the folder while the file is read, and in worker processes.

    Raises
    ------
    ValueError
        If the file is not TOML, or a key is unknown, missing or of the wrong type; the message
        names the file and the key.

    Examples
    --------
    >>> import tempfile
    >>> text = '''
    ... sets = ["yeast"]
    ... [algorithms.LPW]
    ... class = "pairmend.PairwiseClassifier"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.toml"
    ...     _ = path.write_text(text)
    ...     load_study(path).name
    'small'
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no study file {path}; studies that come with pairmend are "
            f"{', '.join(SHIPPED_STUDIES)}"
        )
    try:
        plain = {"name": path.stem, **tomllib.loads(path.read_bytes().decode("utf-8"))}
        return parse_study(plain, path.parent, file=path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: is not UTF-8 text, expected a TOML study file") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: is not TOML: {error}") from error
    except (ValueError, TypeError, ImportError) as error:
        raise ValueError(f"{path}: {error}") from error


def shipped_study(name: str) -> Study:
    """Return a study that comes with the package.

    Parameters
    ----------
    name : {"paper", "mended", "family"}
        The paper's experiment; the comparison of :class:`~pairmend.MendedClassifier` with
        baselines; the pairwise family.

    Returns
    -------
    Study

    Examples
    --------
    >>> shipped_study("mended").folds
    10
    """
    if name not in SHIPPED_STUDIES:
        raise ValueError(
            f"no study {name!r} comes with pairmend; there are {', '.join(SHIPPED_STUDIES)}"
        )
    text = resources.files("pairmend.study").joinpath(f"{name}.toml").read_text("utf-8")
    return parse_study(tomllib.loads(text), Path())


def paper_study() -> Study:
    """Return the study of the paper.

    Returns
    -------
    Study

    Examples
    --------
    >>> study = paper_study()
    >>> len(study.sets), list(study.algorithms)
    (29, ['LPW', 'FCM', 'FCM-W', 'FCM-O'])
    """
    return shipped_study("paper")


def parse_study(plain: Mapping[str, Any], folder: Path, *, file: Path | None = None) -> Study:
    """Create a study from plain data.

    Parameters
    ----------
    plain : mapping
        As in a study file, or from `Study.definition`.
    folder : Path
        Folder from which relative paths start.
    file : Path, default=None
        The study file that the data come from; modules in its folder can be imported.

    Returns
    -------
    Study

    Examples
    --------
    >>> parse_study({"sets": ["yeast"], "algorithms": {}}, Path())
    Traceback (most recent call last):
    ...
    ValueError: a study needs at least one algorithm
    >>> parse_study({"set": ["yeast"]}, Path())
    Traceback (most recent call last):
    ...
    ValueError: unknown key 'set'; a study has sets, algorithms, criteria, folds, ...
    """
    known = [field.name for field in fields(Study) if field.name not in ("file", "left_out")]
    for key in plain:
        if key not in known:
            raise ValueError(f"unknown key {key!r}; a study has {', '.join(known)}")
    for key in ("sets", "algorithms"):
        if key not in plain:
            raise ValueError(f"the key {key!r} is missing")
    parts = {**plain, "sets": _sets(plain["sets"], folder), "file": file}
    with importable(None if file is None else file.absolute().parent):
        if "criteria" in plain:
            parts["criteria"] = _criteria(plain["criteria"])
        criteria = as_criteria(parts.get("criteria"))
        described = _table(plain["algorithms"], "algorithms")
        absent = {name: missing_packages(each) for name, each in described.items()}
        if plain.get("skip_missing") is True and not all(absent.values()):
            parts["left_out"] = {name: packages for name, packages in absent.items() if packages}
        parts["algorithms"] = {
            algorithm: _algorithm(each, f"algorithms.{algorithm}", criteria)
            for algorithm, each in described.items()
            if algorithm not in parts.get("left_out", ())
            and _has_class(each, f"algorithms.{algorithm}")
        }
    return Study(**parts)


def _table(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{place} must be a table, got {value!r}")
    return value


def _has_class(value: Any, place: str) -> bool:
    if "class" not in _table(value, place):
        raise ValueError(f"{place} must name its class, such as class = 'package.Classifier'")
    return True


def _algorithm(plain: Mapping[str, Any], place: str, criteria: Mapping[str, Criterion]) -> Any:
    """Return the classifier of a table, with a grid search if it has the key tune."""
    own = {key: value for key, value in plain.items() if key not in TUNING_KEYS}
    classifier = build(own, place)
    if "tune" not in plain:
        if extra := sorted(TUNING_KEYS & set(plain)):
            raise ValueError(f"{place} has {', '.join(extra)}, but no tune")
        return classifier
    metric = plain.get("tune_by", next(iter(criteria)))
    if metric not in criteria:
        raise ValueError(
            f"{place}.tune_by must be a metric of the study: {', '.join(criteria)}; got {metric!r}"
        )
    grid = build(plain["tune"], f"{place}.tune")
    try:
        return tuned(classifier, grid, criteria[metric], folds=plain.get("tune_folds", INNER_FOLDS))
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _sets(value: Any, folder: Path) -> dict[str, Source]:
    if isinstance(value, list):
        if wrong := [name for name in value if not isinstance(name, str)]:
            raise ValueError(f"sets must be names, got {wrong[0]!r}")
        value = {find_entry(name).name: {} for name in value}
    return {
        name: _source(name, _table(each, f"sets.{name}"), folder)
        for name, each in _table(value, "sets").items()
    }


def _source(name: str, plain: Mapping[str, Any], folder: Path) -> Source:
    place = f"sets.{name}"
    if "opaque" in plain:
        raise ValueError(f"{place} was given as data in Python and cannot be loaded again")
    kinds = [kind for kind in SET_KEYS if kind in plain] or ["catalogue"]
    unknown = sorted(set(plain) - SET_KEYS[kinds[0]])
    if unknown:
        raise ValueError(
            f"{place} has unknown keys {unknown}; a set has one of "
            + ", or ".join(" ".join(sorted(keys)) for keys in SET_KEYS.values())
        )
    match kinds[0]:
        case "file":
            return _file_source(place, plain, folder)
        case "function":
            params = _table(plain.get("params", {}), f"{place}.params")
            return FunctionSource(_text(plain["function"], place), dict(params))
        case _:
            return catalogue_source(name, plain)


def catalogue_source(name: str, plain: Mapping[str, Any]) -> CatalogueSource:
    """Return the source of a set of the catalogue from its table in a study file."""
    place = f"sets.{name}"
    entry = find_entry(_text(plain.get("catalogue", name), place))
    one_hot = plain.get("one_hot", False)
    if not isinstance(one_hot, bool):
        raise ValueError(f"{place}.one_hot must be true or false, got {one_hot!r}")
    return CatalogueSource(entry.name, _n_rows(plain.get("rows"), place), one_hot)


def _n_rows(value: Any, place: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise ValueError(f"{place}.rows must be a number of rows, got {value!r}")


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{place} must be named by a text, got {value!r}")
    return value


def _file_source(place: str, plain: Mapping[str, Any], folder: Path) -> FileSource:
    expected = {
        "file": str,
        "xml": str,
        "labels": list,
        "targets": int,
        "one_hot": bool,
        "max_bytes": int,
        "max_cells": int,
    }
    for key, value in plain.items():
        if not isinstance(value, expected[key]):
            raise ValueError(f"{place}.{key} must be {expected[key].__name__}, got {value!r}")
    return FileSource(
        file=folder / plain["file"],
        xml=folder / plain["xml"] if "xml" in plain else None,
        labels=tuple(plain["labels"]) if "labels" in plain else None,
        targets=plain.get("targets"),
        one_hot=plain.get("one_hot", False),
        max_bytes=plain.get("max_bytes"),
        max_cells=plain.get("max_cells"),
    )


def _criteria(value: Any) -> Any:
    if isinstance(value, list):
        return value
    return {
        name: _criterion(name, _table(each, f"criteria.{name}"))
        for name, each in _table(value, "criteria").items()
    }


def _criterion(name: str, plain: Mapping[str, Any]) -> Criterion:
    place = f"criteria.{name}"
    unknown = sorted(set(plain) - CRITERION_KEYS)
    if unknown:
        raise ValueError(
            f"{place} has unknown keys {unknown}; expected {', '.join(sorted(CRITERION_KEYS))}"
        )
    known = CRITERIA.get(name)
    if "function" not in plain and known is None:
        raise ValueError(f"{place} must name its function by import path")
    needs = plain.get("needs", "labels")
    if needs not in ("labels", "scores"):
        raise ValueError(f"{place}.needs must be 'labels' or 'scores', got {needs!r}")
    for key, kind in {"title": str, "greater_is_better": bool}.items():
        if not isinstance(plain.get(key, kind()), kind):
            raise ValueError(f"{place}.{key} must be {kind.__name__}, got {plain[key]!r}")
    function = find(plain["function"]) if "function" in plain or known is None else known.function
    if not callable(function):
        raise ValueError(f"{place}.function: {plain['function']} is not a function")
    params = _table(plain.get("params", {}), f"{place}.params")
    return Criterion(
        function=function,
        title=plain.get("title", known.title if known else name),
        greater_is_better=plain.get("greater_is_better", False),
        needs=needs,
        params=build(params, f"{place}.params"),
    )

"""How a study was started: its file, folders and code, kept beside its results."""

from collections.abc import Iterable, Mapping
from os.path import abspath
from pathlib import Path
from typing import Any, TypedDict

from pairmend.study.code import changed_code, codes_of
from pairmend.study.definition import Study
from pairmend.study.environment import versions


class Start(TypedDict):
    """How a study was started, as plain data.

    Attributes
    ----------
    file, data : str or None
        Absolute paths of the study file and of the folder with sets.
    download : bool
        Whether sets were downloaded.
    code : dict
        Digests of modules by name, for each algorithm and criterion.
    """

    file: str | None
    data: str | None
    download: bool
    code: dict[str, dict[str, str]]


def start_of(study: Study, data_dir: Path | None, download: bool) -> tuple[Start, dict[str, str]]:
    """Return how a study starts now, and the versions of the packages that it depends on."""
    codes = codes_of(
        {f"algorithms.{name}": model for name, model in study.algorithms.items()}
        | {f"criteria.{name}": [c.function, c.params] for name, c in study.criteria.items()}
    )
    start = Start(
        file=None if study.file is None else abspath(study.file),
        data=None if data_dir is None else abspath(data_dir),
        download=download,
        code={name: code.modules for name, code in codes.items()},
    )
    packages = {name: v for code in codes.values() for name, v in code.packages.items()}
    return start, {**packages, **versions()}


def joined_start(old: Start | None, new: Start) -> Start:
    """Return a start that keeps the code of algorithms and criteria that take no part now."""
    if old is None:
        return new
    return {**new, "code": {**old["code"], **new["code"]}}


def code_changes(old: Start | None, new: Start, algorithms: Iterable[str]) -> list[str]:
    """Name the code that changed since results were kept.

    Parameters
    ----------
    old, new : Start
        Of the results that are kept, and of what is to be run.
    algorithms : iterable of str
        Those that have results.

    Returns
    -------
    list of str
        A line for each change.
    """
    if old is None:
        return []
    with_results = {f"algorithms.{name}" for name in algorithms}
    lines = []
    for name, before in old["code"].items():
        if name in new["code"] and (name in with_results or name.startswith("criteria.")):
            lines += changed_code(before, new["code"][name], name)
    return lines


def version_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Name the packages whose version changed.

    Examples
    --------
    >>> version_changes({"numpy": "2.0.0", "scipy": "1.13.0"}, {"numpy": "2.0.1"})
    ['numpy was 2.0.0, is now 2.0.1']
    """
    return [
        f"{name} was {old[name]}, is now {new[name]}"
        for name in sorted(old)
        if name in new and old[name] != new[name]
    ]


def is_start(plain: Any) -> bool:
    """Tell whether plain data are a start, such as a folder from elsewhere may not hold."""
    return (
        isinstance(plain, dict)
        and all(isinstance(plain.get(key), str | None) for key in ("file", "data"))
        and isinstance(plain.get("download"), bool)
        and isinstance(plain.get("code"), dict)
        and all(isinstance(modules, dict) for modules in plain["code"].values())
    )

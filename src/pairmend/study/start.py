"""How a run was started (study file, folders, code), and what changed since."""

from collections.abc import Iterable, Mapping
from os.path import abspath
from pathlib import Path
from typing import Any, TypedDict

from pairmend.study.code_digests import changed_code, codes_of
from pairmend.study.definition import Study
from pairmend.study.environment import versions


class Start(TypedDict):
    """How a run was started, as plain data; `code` has digests of modules by algorithm."""

    file: str | None
    data: str | None
    download: bool
    code: dict[str, dict[str, str]]


def start_of(study: Study, data_dir: Path | None, download: bool) -> tuple[Start, dict[str, str]]:
    """Return how a run starts, and the versions of the packages that the study depends on."""
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


def merged_start(old: Start | None, new: Start) -> Start:
    """Return a start with the code of the algorithms and metrics of both."""
    if old is None:
        return new
    return {**new, "code": {**old["code"], **new["code"]}}


def code_changes(old: Start | None, new: Start, algorithms: Iterable[str]) -> list[str]:
    """Return a line for each change of the code of metrics, and of algorithms with results."""
    if old is None:
        return []
    with_results = {f"algorithms.{name}" for name in algorithms}
    lines = []
    for name, before in old["code"].items():
        if name in new["code"] and (name in with_results or name.startswith("criteria.")):
            lines += changed_code(before, new["code"][name], name)
    return lines


def version_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return a line for each package whose version changed."""
    return [
        f"{name} was {old[name]}, is now {new[name]}"
        for name in sorted(old)
        if name in new and old[name] != new[name]
    ]


def is_start(plain: Any) -> bool:
    """Return whether plain data from a folder have the keys and types of a start."""
    return (
        isinstance(plain, dict)
        and all(isinstance(plain.get(key), str | None) for key in ("file", "data"))
        and isinstance(plain.get("download"), bool)
        and isinstance(plain.get("code"), dict)
        and all(isinstance(modules, dict) for modules in plain["code"].values())
    )

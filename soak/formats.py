"""The formats that are fuzzed, and what reading any bytes must do."""

import functools
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMITS = {"max_bytes": 2**22, "max_cells": 2**20}
"""Small, so that no input takes long."""


@dataclass(frozen=True)
class Format:
    """A kind of file: its suffix, its reader, and its share of all inputs."""

    suffix: str
    reader: Callable[[Path], Any]
    share: float


def _reader(name: str, **arguments: Any) -> Callable[[Path], Any]:
    from pairmend import datasets

    limits = datasets.ReadLimits(**LIMITS)
    return functools.partial(getattr(datasets, name), limits=limits, **arguments)


@functools.cache
def formats() -> dict[str, Format]:
    """Return the formats by name."""
    from pairmend.datasets.mulan import read_label_names

    return {
        "arff": Format(".arff", _reader("read_arff"), 0.3),
        "arff-gz": Format(".arff.gz", _reader("read_arff"), 0.04),
        "arff-bz2": Format(".arff.bz2", _reader("read_arff"), 0.04),
        "arff-xz": Format(".arff.xz", _reader("read_arff"), 0.04),
        "table": Format(".arff", _reader("load_table"), 0.08),
        "meka": Format(".arff", _reader("load_meka"), 0.08),
        "multitarget": Format(".arff", _reader("load_multitarget", targets=1), 0.04),
        "miml": Format(".arff", _reader("load_miml"), 0.08),
        "csv": Format(".csv", _reader("load_table"), 0.1),
        "csv-labels": Format(".csv", _reader("load_csv", labels=["y"]), 0.05),
        "parquet": Format(".parquet", _reader("load_table"), 0.05),
        "matlab": Format(".mat", _reader("load_file"), 0.05),
        "xml": Format(".xml", read_label_names, 0.05),
    }


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    shared_memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(
        prefix="pairmend-soak-", dir=shared_memory if shared_memory.is_dir() else None
    )


def check_bytes(name: str, content: bytes) -> None:
    """Read bytes as a format: they are read, or refused by a ValueError that names the file."""
    kind = formats()[name]
    path = Path(_folder().name, f"file{kind.suffix}")
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            kind.reader(path)
        except ValueError as error:
            if str(path) not in str(error):
                raise AssertionError(f"the error does not name the file: {error}") from error
            if len(str(error)) > 10_000:
                raise AssertionError("an error of more than 10,000 characters") from error

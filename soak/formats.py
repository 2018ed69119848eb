"""The formats that are fuzzed, and the check of reading arbitrary bytes.

The input of a text format is the content of the file. Files of a binary format are refused at once
if a few bytes are wrong, so the first byte of their input chooses: 0, and the rest is the content
of the file; 1, and the rest is packed if the format is a packed text; above, and the rest is a list
of changes to one of the files in the corpus.
"""

import bz2
import functools
import gzip
import lzma
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
LIMITS = {"max_bytes": 2**22, "max_cells": 2**20}
"""Small, so that no input takes long."""


@dataclass(frozen=True)
class Format:
    """A file format: its suffix, its reader, its share of all inputs, and its compression."""

    suffix: str
    reader: Callable[[Path], Any]
    share: float
    binary: bool = False
    pack: Callable[[bytes], bytes] | None = None


def _reader(name: str, **arguments: Any) -> Callable[[Path], Any]:
    from pairmend import datasets

    limits = datasets.ReadLimits(**LIMITS)
    return functools.partial(getattr(datasets, name), limits=limits, **arguments)


@functools.cache
def formats() -> dict[str, Format]:
    """Return the formats by name."""
    from pairmend.datasets import ReadLimits
    from pairmend.datasets.data import read_label_names

    arff = _reader("load_file", labels=())
    return {
        "arff": Format(".arff", arff, 0.3),
        "arff-gz": Format(".arff.gz", arff, 0.04, True, _gzip),
        "arff-bz2": Format(".arff.bz2", arff, 0.04, True, bz2.compress),
        "arff-xz": Format(".arff.xz", arff, 0.04, True, _xz),
        "meka": Format(".arff", _reader("load_file"), 0.2),
        "multitarget": Format(".arff", _reader("load_file", labels=1, threshold=0.0), 0.08),
        "csv": Format(".csv", arff, 0.1),
        "csv-labels": Format(".csv", _reader("load_file", labels=["y"]), 0.05),
        "parquet": Format(".parquet", arff, 0.05, True),
        "matlab": Format(".mat", _reader("load_miml"), 0.05, True),
        "xml": Format(
            ".xml", functools.partial(read_label_names, limits=ReadLimits(**LIMITS)), 0.05
        ),
    }


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)


def _xz(content: bytes) -> bytes:
    return lzma.compress(content, preset=0)


def content_of(name: str, data: bytes) -> bytes:
    """Return the content of the file that an input of the fuzzer stands for."""
    kind = formats()[name]
    if not kind.binary or not data:
        return data
    if data[0] == 0:
        return data[1:]
    if data[0] == 1 and kind.pack is not None:
        return kind.pack(data[1:])
    originals = _originals(name)
    content = bytearray(originals[data[0] % len(originals)])
    for change, high, low, value in zip(*[iter(data[1:])] * 4, strict=False):
        place = (high << 8 | low) % (len(content) + 1)
        match change % 8:
            case 0:
                del content[place:]
            case 1:
                del content[place : place + value]
            case 2:
                content[place:place] = content[:value]
            case 3:
                content[place : place + 4] = (0xFFFFFF00 | value).to_bytes(4, "little")
            case _:
                content[place : place + 1] = bytes([value])
    return bytes(content)


@functools.cache
def _originals(name: str) -> list[bytes]:
    return [content_of(name, path.read_bytes()) for path in sorted((CORPUS / name).iterdir())]


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    shared_memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(
        prefix="pairmend-soak-", dir=shared_memory if shared_memory.is_dir() else None
    )


def check_bytes(name: str, data: bytes) -> None:
    """Read an input of the fuzzer: it is read, or refused by a ValueError that names the file."""
    kind = formats()[name]
    path = Path(_folder().name, f"{name}{kind.suffix}")
    path.write_bytes(content_of(name, data))
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

"""Reading ARFF files, dense and sparse."""

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from pairmend._typing import Matrix

_QUOTED = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|\S+)\s+(.*)", re.IGNORECASE | re.DOTALL)
_VALUE = re.compile(rf"\s*({_QUOTED}|(?:[^,'\"][^,]*?)?)\s*(?:,|$)")
_NUMERIC_TYPES = frozenset({"numeric", "real", "integer"})


class ArffError(ValueError):
    """A file that is not the ARFF file it should be; names the file and the line."""

    def __init__(self, path: Path, line: int, problem: str):
        super().__init__(f"{path}, line {line}: {problem}")


@dataclass(frozen=True)
class Attribute:
    """One attribute of an ARFF file: numeric, or nominal with its values."""

    name: str
    values: tuple[str, ...] | None

    def parse(self, text: str) -> float:
        """Turn a cell into a number: the value, or the place of a nominal one."""
        if text == "?":
            return float("nan")
        if self.values is None:
            return float(text)
        return float(self.values.index(_unquote(text)))


@dataclass(frozen=True)
class ArffFile:
    """The content of an ARFF file; `cells` is CSR if the file is sparse."""

    attributes: tuple[Attribute, ...]
    cells: Matrix


def read_arff(path: str | Path) -> ArffFile:
    """Read an ARFF file with numeric and nominal attributes, plain or gzipped.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    ArffFile

    Raises
    ------
    ArffError
        If the file is not as it should be.
    """
    path = Path(path)
    lines = _lines(path)
    attributes = _read_header(path, lines)
    values: list[float] = []
    columns: list[int] = []
    indptr = [0]
    number = 0
    sparse_file: bool | None = None
    for number, line in lines:
        is_sparse = line.startswith("{")
        if sparse_file not in (None, is_sparse):
            raise ArffError(path, number, "dense and sparse rows in one file")
        sparse_file = is_sparse
        try:
            read = _read_sparse_row if is_sparse else _read_dense_row
            row_columns, row_values = read(line, attributes)
        except ValueError as error:
            raise ArffError(path, number, str(error)) from None
        columns += row_columns
        values += row_values
        indptr.append(len(values))
    if sparse_file is None:
        raise ArffError(path, number, "no data rows")
    shape = (len(indptr) - 1, len(attributes))
    if sparse_file:
        return ArffFile(attributes, sparse.csr_array((values, columns, indptr), shape=shape))
    return ArffFile(attributes, np.array(values).reshape(shape))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, with their numbers."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            line = line.strip()
            if line and not line.startswith("%"):
                yield number, line


def _read_header(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[Attribute, ...]:
    attributes: list[Attribute] = []
    number = 0
    for number, line in lines:
        word = line.split(maxsplit=1)[0].lower()
        if word == "@data":
            if not attributes:
                raise ArffError(path, number, "@data before any @attribute")
            return tuple(attributes)
        if word == "@attribute":
            attributes.append(_read_attribute(path, number, line))
        elif word != "@relation":
            raise ArffError(path, number, f"expected @relation, @attribute or @data, got {word!r}")
    raise ArffError(path, number, "the file ends before @data")


def _read_attribute(path: Path, number: int, line: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise ArffError(path, number, f"expected '@attribute name type', got {line[:80]!r}")
    name, kind = _unquote(match[1]), match[2].strip()
    if kind.startswith("{") and kind.endswith("}"):
        return Attribute(name, tuple(_unquote(value) for value in _split(kind[1:-1])))
    if kind.lower() in _NUMERIC_TYPES:
        return Attribute(name, None)
    raise ArffError(
        path, number, f"attribute {name!r} is of type {kind[:40]!r}; read are numeric and nominal"
    )


def _read_dense_row(line: str, attributes: tuple[Attribute, ...]) -> tuple[list[int], list[float]]:
    cells = _split(line)
    if len(cells) != len(attributes):
        raise ValueError(f"{len(cells)} values where {len(attributes)} attributes are declared")
    return [], [_parse(attribute, cell) for attribute, cell in zip(attributes, cells, strict=True)]


def _read_sparse_row(line: str, attributes: tuple[Attribute, ...]) -> tuple[list[int], list[float]]:
    if not line.endswith("}"):
        raise ValueError("a sparse row must end with '}'")
    columns: list[int] = []
    values: list[float] = []
    for cell in _split(line[1:-1]) if line[1:-1].strip() else []:
        index, _, text = cell.partition(" ")
        if not index.isdecimal() or int(index) >= len(attributes):
            raise ValueError(
                f"expected 'index value' with an index below {len(attributes)}, got {cell!r}"
            )
        if columns and int(index) <= columns[-1]:
            raise ValueError(f"index {index} after {columns[-1]}: indices must ascend")
        columns.append(int(index))
        values.append(_parse(attributes[int(index)], text.strip()))
    return columns, values


def _parse(attribute: Attribute, text: str) -> float:
    try:
        return attribute.parse(text)
    except ValueError:
        expected = "a number" if attribute.values is None else f"one of {attribute.values}"
        raise ValueError(
            f"attribute {attribute.name!r}: expected {expected}, got {text!r}"
        ) from None


def _split(text: str) -> list[str]:
    """Split at commas that are not quoted."""
    if "'" not in text and '"' not in text:
        return [cell.strip() for cell in text.split(",")]
    cells, position = [], 0
    while True:
        match = _VALUE.match(text, position)
        if match is None:
            raise ValueError(f"cannot tell values apart at {text[position : position + 40]!r}")
        cells.append(match[1])
        position = match.end()
        if not match[0].endswith(","):
            return cells


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text

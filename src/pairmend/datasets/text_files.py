"""Reading text files with delimiters: .csv, .tsv, .txt."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.encodings import read_text
from pairmend.datasets.limits import ReadLimits, opened
from pairmend.datasets.table import read_table

_DELIMITERS = ",;\t|"
_MAX_LINE = 2**26
"""Characters of the longest line that is read."""
_BLOCK = 2**20


def read_text_file(
    path: Path,
    limits: ReadLimits,
    *,
    encoding: str | None,
    delimiter: str | None,
    header_row: int | None,
    **reading: Any,
) -> MultiLabelData:
    """Read the columns of a text file."""
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, got {delimiter!r}")
    n_above = max(0, (header_row or 0) - 1)

    def read(file: IO[str]) -> MultiLabelData:
        def lines() -> Iterator[str]:
            file.seek(0)
            return islice(_bounded_lines(path, file), n_above, None)

        chosen = delimiter or _find_delimiter(
            path, list(islice((line for line in lines() if line.strip()), 100))
        )
        return read_table(
            path, limits, lambda: _rows(path, lines(), chosen, n_above), n_rows=n_rows,
            header_row=header_row, **reading,
        )  # fmt: skip

    n_rows = _least_rows(path, limits)
    return read_text(path, encoding, limits, read, newline="")


def _least_rows(path: Path, limits: ReadLimits) -> int:
    """Return the number of lines of a file without quotes, in which each is a row.

    It is known before the table takes any memory.
    """
    n_rows = 0
    with opened(path, limits) as file:
        while block := file.read(_BLOCK):
            if b'"' in block:
                return 0
            n_rows += block.count(b"\n")
    return n_rows


def _rows(
    path: Path, lines: Iterator[str], delimiter: str, n_above: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield rows, each with the number of its last line, from the first that has a value on."""
    # Spaces before a quote are left out; between cells they are the delimiter.
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=delimiter != " ")
    is_header = True
    try:
        for row in reader:
            if row and not (is_header and not any(row)):
                is_header = False
                yield reader.line_num + n_above, row
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {reader.line_num + n_above}: the cells cannot be read ({error}); close "
            "each quote that begins a cell, with nothing after it, and write quotes inside quoted "
            'cells twice (""); for long cells call csv.field_size_limit(N) in Python'
        ) from error


def _bounded_lines(path: Path, file: IO[str]) -> Iterator[str]:
    while line := file.readline(_MAX_LINE):
        if len(line) == _MAX_LINE:
            raise ValueError(f"{path}: a line of more than {_MAX_LINE} characters")
        yield line


def _find_delimiter(path: Path, lines: Sequence[str]) -> str:
    """Return the delimiter that the first line has, the comma if it has none.

    If it has several, the only one that cuts all lines into equally many cells.
    """
    widths = {}
    for delimiter in _DELIMITERS:
        with suppress(csv.Error):
            rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
            widths[delimiter] = [len(row) for row in rows]
    found = [delimiter for delimiter, each in widths.items() if each and each[0] > 1]
    if len(found) > 1:
        found = [delimiter for delimiter in found if len(set(widths[delimiter])) == 1]
    if len(found) > 1 or (not found and any(each and each[0] > 1 for each in widths.values())):
        raise ValueError(
            f"{path}: the cells may be separated in several ways; give the character between "
            "them: --delimiter CHARACTER, in Python delimiter=..."
        )
    return found[0] if found else ","

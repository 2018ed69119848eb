"""Reading and writing CSV files."""

import csv
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from pairmend._utils.files import written
from pairmend.datasets.assembly import set_name
from pairmend.datasets.data import MultiLabelData, category
from pairmend.datasets.dialect import MISSING, guess_delimiter
from pairmend.datasets.encodings import UTF_8, guess_encoding
from pairmend.datasets.files import opened
from pairmend.datasets.label_columns import ChosenLabels, find_labels
from pairmend.datasets.limits import DEFAULT_LIMITS, ReadLimits
from pairmend.datasets.number_columns import decode_numbers
from pairmend.datasets.preparation import take_labels
from pairmend.datasets.text_table import TextTable
from pairmend.datasets.warning import ReadWarning

_STATED_DELIMITER = re.compile(r"sep=(.)\s*")
_MAX_LINE = 2**26
"""Characters of the longest line that is read."""
_SAMPLE_LINES = 100
"""Lines from which the delimiter is guessed."""


def load_csv(
    path: str | Path,
    labels: Sequence[str],
    *,
    categorical: Sequence[str] = (),
    delimiter: str = ",",
    encoding: str = UTF_8,
    name: str | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    r"""Read a data set from a CSV file with a header.

    Parameters
    ----------
    path : path
        The file, plain or compressed (gz, bz2, xz).
    labels : sequence of str
        Names of the columns that are labels, of 0 and 1, or of other texts that
        :func:`load_table` accepts.
    categorical : sequence of str, default=()
        Names of features whose numbers are codes. Columns with a cell that is no number are
        always categorical.
    delimiter : str, default=","
        Character between cells. If it is not the comma, numbers may have decimal commas.
    encoding : str, default="utf-8-sig"
        Encoding of the file.
    name : str, default=None
        Name of the set; that of the file if None.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiLabelData
        The values of categorical features are sorted. Empty cells, ?, NA and NaN are missing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.csv")
    ...     _ = path.write_text("size,hue,sea,sun\n2.5,red,1,0\n,blue,0,1\n")
    ...     photos = load_csv(path, labels=["sea", "sun"])
    >>> photos.categories, photos.Y.tolist()
    ({1: ('blue', 'red')}, [[1, 0], [0, 1]])
    """
    if isinstance(labels, str) or not labels:
        raise ValueError(f"{path}: labels must name at least one column, got {labels!r}")
    data = read_csv_table(
        path, labels=labels, categorical=categorical, delimiter=delimiter, encoding=encoding,
        header=True, decimal_commas=delimiter != ",", limits=limits,
    )  # fmt: skip
    if missing := [column for column in categorical if column not in set(data.feature_names)]:
        raise ValueError(f"{path}: categorical names columns that the file lacks: {missing}")
    data = take_labels(data, labels)
    if delimiter != ",":  # where it is the comma, texts that save_csv wrote stay texts
        data = decode_numbers(data, set(categorical))
    return replace(data, name=name or data.name)


def read_csv_table(
    path: str | Path,
    *,
    labels: ChosenLabels = (),
    categorical: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    decimal_commas: bool = False,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    """Read a CSV file, all of its columns features; cells of `labels` stay texts.

    Delimiter, encoding and header are guessed if they are None. Names in `categorical` that are
    not in the file are ignored. With `decimal_commas`, columns of numbers with decimal commas are
    numbers, else texts.
    """
    path = Path(path)
    note = ""
    if encoding is None:
        encoding, note = guess_encoding(path, limits)
    lines = _first_lines(path, encoding, limits)
    n_skipped = 0
    if lines and (stated := _STATED_DELIMITER.fullmatch(lines[0])):  # as Excel writes
        delimiter, n_skipped = delimiter or stated[1], 1
    delimiter = delimiter or guess_delimiter(lines)
    if len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, got {delimiter!r}")

    @contextmanager
    def rows() -> Iterator[Iterator[tuple[int, list[str]]]]:
        with _text_lines(path, encoding, limits) as text:
            yield _numbered_rows(path, islice(text, n_skipped, None), delimiter, n_skipped)

    table = TextTable(path, rows, limits, header=header, decimal_commas=decimal_commas)
    if note:
        table.notes.insert(0, note)
    return table_data(table, labels, categorical)


def table_data(
    table: TextTable, labels: ChosenLabels, categorical: Sequence[str]
) -> MultiLabelData:
    """Return all columns of a table as features; warn of how it was read."""
    names = find_labels(table.path, table.names, labels)
    columns = table.read(set(categorical), set(names))
    for note in table.notes:
        warnings.warn(note, ReadWarning, stacklevel=4)
    X, name = columns.cells, set_name(table.path)
    nothing = np.empty((len(X), 0), dtype=np.int64)
    return MultiLabelData(X, nothing, columns.names, (), columns.categories, name, (table.path,))


def _first_lines(path: Path, encoding: str, limits: ReadLimits) -> list[str]:
    with _text_lines(path, encoding, limits) as lines:
        return list(islice((line for line in lines if line.strip()), _SAMPLE_LINES))


@contextmanager
def _text_lines(path: Path, encoding: str, limits: ReadLimits) -> Iterator[Iterator[str]]:
    """Open the lines of a file; errors of the encoding become ValueErrors that name the file."""
    try:
        with io.TextIOWrapper(opened(path, limits), encoding=encoding, newline="") as file:
            yield _bounded_lines(path, file)
    except (LookupError, UnicodeError) as error:
        raise ValueError(
            f"{path}: not a text file in {encoding}: {error}; give another encoding: --encoding "
            "NAME, in Python encoding=..."
        ) from error


def _bounded_lines(path: Path, file: IO[str]) -> Iterator[str]:
    while line := file.readline(_MAX_LINE):
        if len(line) == _MAX_LINE:
            raise ValueError(f"{path}: a line of more than {_MAX_LINE} characters")
        yield line


def _numbered_rows(
    path: Path, lines: Iterator[str], delimiter: str, n_skipped: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file, each with the number of its last line."""
    # Spaces before a quote are left out; between cells they are the delimiter.
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=delimiter != " ")
    line = n_skipped
    try:
        for row in reader:
            line = reader.line_num + n_skipped
            yield line, row
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {line + 1}: the cells cannot be read ({error}); close each quote "
            "that begins a cell, with nothing after it, and write quotes inside quoted cells twice "
            '("")'
        ) from error


def save_csv(data: MultiLabelData, path: str | Path, *, delimiter: str = ",") -> None:
    """Write a data set as a CSV file with a header, features first, then labels.

    Parameters
    ----------
    data : MultiLabelData
        The set. Missing values become empty cells.
    path : path
        The file; compressed by its suffix gz, bz2 or xz.
    delimiter : str, default=","
        Character between cells.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_csv, make_hypercubes, save_csv
    >>> data = make_hypercubes(10, n_labels=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cubes.csv")
    ...     save_csv(data, path)
    ...     again = load_csv(path, labels=data.label_names)
    >>> bool((again.X == data.X).all())
    True
    """
    _check_texts(data)
    with written(path) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow([*data.feature_names, *data.label_names])
        for row, labels in enumerate(data.Y):
            cells = data.X[[row]].toarray()[0] if sparse.issparse(data.X) else data.X[row]
            texts = [_text(data, place, value) for place, value in enumerate(cells)]
            writer.writerow([*texts, *labels.tolist()])


def _check_texts(data: MultiLabelData) -> None:
    """Raise an error for names and values that would be read back as others."""
    values = (value for values in data.categories.values() for value in values)
    for text in (*data.feature_names, *data.label_names, *values):
        if text in MISSING or text != text.strip() or "\r" in text or text.startswith("\ufeff"):
            raise ValueError(
                f"{data.name}: a CSV file cannot hold the name or value {text!r}, which would be "
                "read as another; rename it, or save as ARFF"
            )


def _text(data: MultiLabelData, place: int, value: Any) -> str:
    if np.isnan(value):
        return ""
    if place in data.categories:
        return category(data.categories[place], value, data.feature_names[place])
    return repr(float(value))

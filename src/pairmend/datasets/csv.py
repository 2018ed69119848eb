"""Reading and writing CSV files: delimiter, header, missing values."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from pairmend._utils.chunking import join_blocks
from pairmend._utils.files import written
from pairmend._utils.typing import FloatArray
from pairmend.datasets.assembly import set_name
from pairmend.datasets.data import MultiLabelData, category
from pairmend.datasets.files import opened
from pairmend.datasets.limits import DEFAULT_LIMITS, CellCount, ReadLimits
from pairmend.datasets.text_codes import TextCodes

MISSING = frozenset({"", "?", "NA", "NaN", "nan"})
"""Cells that stand for a missing value."""
_MAX_LINE = 2**26
"""Characters of the longest line that is read."""
_CHUNK_CELLS = 2**19
"""Cells of a chunk of rows."""


def load_csv(
    path: str | Path,
    labels: Sequence[str],
    *,
    categorical: Sequence[str] = (),
    delimiter: str = ",",
    encoding: str = "utf-8-sig",
    name: str | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    r"""Read a data set from a CSV file with a header.

    Parameters
    ----------
    path : path
        The file, plain or compressed (gz, bz2, xz).
    labels : sequence of str
        Names of the columns that are labels, of 0 and 1.
    categorical : sequence of str, default=()
        Names of features whose numbers are codes. Columns with a cell that is no number are
        always categorical.
    delimiter : str, default=","
        Character between cells.
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
    path = Path(path)
    table = _Table(path, delimiter, encoding, limits)
    header = table.header
    label_columns = set(labels)
    for option, names in (("labels", labels), ("categorical", categorical)):
        if missing := [column for column in names if column not in set(header)]:
            raise ValueError(f"{path}: {option} names columns that the file lacks: {missing}")
    if len(label_columns) != len(labels):
        raise ValueError(f"{path}: a label is named twice: {list(labels)}")
    if not labels:
        raise ValueError(f"{path}: labels must name at least one column, of {header[:10]}")
    columns = table.read(set(categorical) - label_columns, labels=label_columns)
    places = {column: place for place, column in enumerate(header)}
    Y = columns.cells[:, [places[label] for label in labels]].astype(np.int64)
    features = [column for column in header if column not in label_columns]
    X, categories = columns.select([places[feature] for feature in features])
    return MultiLabelData(
        X=X,
        Y=Y,
        feature_names=tuple(features),
        label_names=tuple(labels),
        categories=categories,
        name=name or set_name(path),
        source=(path,),
    )


def read_csv_table(
    path: str | Path,
    *,
    categorical: Sequence[str] = (),
    delimiter: str | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    """Read a CSV file with a header, all of its columns features.

    Names in `categorical` that are not in the file are ignored. Without a delimiter, the most
    frequent of comma, semicolon and tab in the header is used. Where it is not the comma, numbers
    may have decimal commas.
    """
    path = Path(path)
    delimiter = delimiter or _delimiter_of(path, limits)
    table = _Table(path, delimiter, "utf-8-sig", limits, decimal_commas=delimiter != ",")
    columns = table.read(set(categorical))
    X, categories = columns.cells, columns.categories
    nothing = np.empty((len(X), 0), dtype=np.int64)
    return MultiLabelData(X, nothing, tuple(table.header), (), categories, set_name(path), (path,))


def _delimiter_of(path: Path, limits: ReadLimits) -> str:
    with opened(path, limits) as file:
        header = file.readline(_MAX_LINE)
    return max(",;\t", key=lambda delimiter: header.count(delimiter.encode()))


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


@dataclass
class _Columns:
    """The columns of a table as numbers, and the texts of the categorical ones."""

    cells: FloatArray
    categories: dict[int, tuple[str, ...]]

    def select(self, places: Sequence[int]) -> tuple[FloatArray, dict[int, tuple[str, ...]]]:
        """Return some of the columns."""
        categories = {
            new: self.categories[old] for new, old in enumerate(places) if old in self.categories
        }
        return self.cells[:, places], categories


class _Table:
    """A CSV file that is read in chunks of rows, to bound the number of cells that are texts."""

    def __init__(
        self,
        path: Path,
        delimiter: str,
        encoding: str,
        limits: ReadLimits,
        *,
        decimal_commas: bool = False,
    ):
        if len(delimiter) != 1:
            raise ValueError(f"delimiter must be one character, got {delimiter!r}")
        self.path, self.delimiter, self.encoding = path, delimiter, encoding
        self.limits, self.decimal_commas = limits, decimal_commas
        with self._reader() as reader:
            self.header = [cell.strip() for cell in next(reader, [])]
        self.count = CellCount(path, limits)
        self.count.add_columns(len(self.header))
        _check_header(path, self.header)

    def read(self, categorical: Set[str], labels: Set[str] = frozenset()) -> _Columns:
        """Read all rows; columns with a cell that is no number are categorical."""
        count = self.count
        coders = {
            place: TextCodes(count, MISSING)
            for place, name in enumerate(self.header)
            if name in categorical
        }
        label_places = {place for place, name in enumerate(self.header) if name in labels}
        late: dict[int, TextCodes] = {}  # columns whose first text is not in the first chunk
        blocks: list[FloatArray] = []
        n_rows = 0
        for chunk in self._chunks():
            count.add(len(chunk) * len(self.header))
            block = np.empty((len(chunk), len(self.header)))
            for place, cells in enumerate(zip(*chunk, strict=True)):
                if place in coders:
                    block[:, place] = coders[place].encode(cells)
                elif place not in late:
                    numbers = self._numbers(cells)
                    if place in label_places:
                        _check_label(self.path, self.header[place], cells, numbers, n_rows)
                    if numbers is not None:
                        block[:, place] = numbers
                    elif n_rows == 0:
                        coders[place] = TextCodes(count, MISSING)
                        block[:, place] = coders[place].encode(cells)
                    else:
                        late[place] = TextCodes(count, MISSING)
            blocks.append(block)
            n_rows += len(chunk)
        if not blocks:
            raise ValueError(f"{self.path}: no rows after the header")
        table = join_blocks(blocks, n_rows, len(self.header))
        if late:  # their first rows were read as numbers: read them again as texts
            start = 0
            for chunk in self._chunks():
                rows = slice(start, start + len(chunk))
                for place, coder in late.items():
                    table[rows, place] = coder.encode([row[place] for row in chunk])
                start += len(chunk)
        categories = {}
        for place, coder in sorted({**coders, **late}.items()):
            table[:, place], categories[place] = coder.sort(table[:, place])
        return _Columns(table, categories)

    def _numbers(self, cells: Sequence[str]) -> FloatArray | None:
        if self.decimal_commas and any("," in cell for cell in cells):
            return _numbers([cell.replace(",", ".") for cell in cells])
        return _numbers(cells)

    def _chunks(self) -> Iterator[list[list[str]]]:
        """Yield lists of rows of stripped cells."""
        n_columns = len(self.header)
        n_rows = max(1, _CHUNK_CELLS // n_columns)
        with self._reader() as reader:
            next(reader)
            chunk = []
            for row in reader:
                if not row:
                    continue
                if len(row) != n_columns:
                    raise ValueError(
                        f"{self.path}, line {reader.line_num}: {len(row)} cells where the header "
                        f"has {n_columns}"
                    )
                chunk.append([cell.strip() for cell in row])
                if len(chunk) == n_rows:
                    yield chunk
                    chunk = []
            if chunk:
                yield chunk

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        """Open the file for csv.reader, whose errors become ValueErrors that name the file."""
        try:
            with io.TextIOWrapper(
                opened(self.path, self.limits), encoding=self.encoding, newline=""
            ) as file:
                yield csv.reader(self._lines(file), delimiter=self.delimiter, strict=True)
        except (csv.Error, LookupError, UnicodeError) as error:
            raise ValueError(f"{self.path}: not a CSV file in {self.encoding}: {error}") from error

    def _lines(self, file: IO[str]) -> Iterator[str]:
        while line := file.readline(_MAX_LINE):
            if len(line) == _MAX_LINE:
                raise csv.Error(f"a line of more than {_MAX_LINE} characters")
            yield line


def _check_header(path: Path, header: list[str]) -> None:
    if not header:
        raise ValueError(f"{path}: empty; expected a header with the names of the columns")
    if len(set(header)) != len(header):
        twice = Counter(header).most_common(1)[0][0]
        raise ValueError(f"{path}, line 1: two columns are named {twice!r}")


def _check_label(
    path: Path, label: str, cells: Sequence[str], numbers: FloatArray | None, n_before: int
) -> None:
    if numbers is None or not np.isin(numbers, (0, 1)).all():
        for row, cell in enumerate(cells, start=n_before + 1):
            if cell not in ("0", "1", "0.0", "1.0"):
                raise ValueError(
                    f"{path}: label {label!r} must be 0 or 1, but is {cell!r} in data row {row}"
                )


def _numbers(cells: Sequence[str]) -> FloatArray | None:
    text = "".join(cells)
    if "_" in text or not text.isascii():
        return None
    try:
        return np.array(["nan" if cell in MISSING else cell for cell in cells], dtype=float)
    except ValueError:
        return None

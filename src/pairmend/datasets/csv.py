"""Comma-separated files."""

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairmend._typing import FloatArray
from pairmend.datasets.assembly import set_name
from pairmend.datasets.data import MultiLabelData, category
from pairmend.datasets.files import OPENERS, told_if_broken, written

MISSING = frozenset({"", "?", "NA", "NaN", "nan"})
"""Cells that stand for a missing value."""


def load_csv(
    path: str | Path,
    labels: Sequence[str],
    *,
    categorical: Sequence[str] = (),
    delimiter: str = ",",
    encoding: str = "utf-8-sig",
    name: str | None = None,
) -> MultiLabelData:
    r"""Read a data set from a CSV file with a header.

    Parameters
    ----------
    path : path
        The file, plain or compressed (gz, bz2, xz).
    labels : sequence of str
        Names of the columns that are labels, of 0 and 1.
    categorical : sequence of str, default=()
        Names of features whose numbers are only names. Columns with a cell that is no number
        are categorical anyway.
    delimiter : str, default=","
        What stands between cells.
    encoding : str, default="utf-8-sig"
        Encoding of the file.
    name : str, default=None
        Name of the set; that of the file if None.

    Returns
    -------
    MultiLabelData
        The values of categorical features are sorted. Empty cells, ?, NA and NaN are missing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.csv")
    ...     _ = path.write_text("size,hue,sea,sun\n2.5,red,1,0\n,blue,0,1\n")
    ...     photos = load_csv(path, labels=["sea", "sun"])
    >>> photos.categories, photos.Y.tolist()
    ({1: ('blue', 'red')}, [[1, 0], [0, 1]])
    """
    path = Path(path)
    header, rows = _read_rows(path, delimiter, encoding)
    for option, wanted in (("labels", labels), ("categorical", categorical)):
        if missing := [column for column in wanted if column not in header]:
            raise ValueError(f"{path}: {option} names columns that are not there: {missing}")
    if len(set(labels)) != len(labels):
        raise ValueError(f"{path}: a label is named twice: {list(labels)}")
    if not labels:
        raise ValueError(f"{path}: labels must name at least one column, of {header[:10]}")
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    Y = np.column_stack([_label(path, label, columns[label]) for label in labels])
    taken = set(labels)
    features = [column for column in header if column not in taken]
    cells = [columns[feature] for feature in features]
    X, categories = _features(len(rows), cells, features, categorical)
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
    path: str | Path, *, categorical: Sequence[str] = (), delimiter: str | None = None
) -> MultiLabelData:
    """Read a CSV file with a header, all of its columns features.

    Parameters
    ----------
    path : path
        The file, plain or compressed (gz, bz2, xz).
    categorical : sequence of str, default=()
        Names of columns whose cells are only names; those that are not there do not matter.
    delimiter : str, default=None
        What stands between cells; None takes what the header has most of: comma, semicolon
        or tab. Where it is no comma, numbers may have decimal commas.

    Returns
    -------
    MultiLabelData
        Without labels.
    """
    path = Path(path)
    delimiter = delimiter or _delimiter_of(path)
    header, rows = _read_rows(path, delimiter, "utf-8-sig")
    columns = list(zip(*rows, strict=True))
    if delimiter != ",":
        columns = [
            cells if name in categorical else _with_points(cells)
            for name, cells in zip(header, columns, strict=True)
        ]
    X, categories = _features(len(rows), columns, header, categorical)
    nothing = np.empty((len(rows), 0), dtype=np.int64)
    return MultiLabelData(X, nothing, tuple(header), (), categories, set_name(path), (path,))


def _delimiter_of(path: Path) -> str:
    with told_if_broken(path), OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
        header = file.readline()
    return max(",;\t", key=lambda delimiter: header.count(delimiter.encode()))


def _with_points(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Write numbers with decimal commas as others are; leave texts as they are."""
    if not any("," in cell for cell in cells):
        return cells
    pointed = tuple(cell.replace(",", ".") for cell in cells)
    return cells if _numbers(pointed) is None else pointed


def _features(
    n_rows: int,
    columns: Sequence[Sequence[str]],
    names: Sequence[str],
    categorical: Sequence[str],
) -> tuple[FloatArray, dict[int, tuple[str, ...]]]:
    """Return the numbers of columns of cells, and the values of the categorical ones."""
    X = np.empty((n_rows, len(columns)))
    categories = {}
    for place, (name, cells) in enumerate(zip(names, columns, strict=True)):
        numbers = None if name in categorical else _numbers(cells)
        if numbers is None:
            numbers, categories[place] = _codes(cells)
        X[:, place] = numbers
    return X, categories


def save_csv(data: MultiLabelData, path: str | Path, *, delimiter: str = ",") -> None:
    """Write a data set as a CSV file with a header, features first, then labels.

    Parameters
    ----------
    data : MultiLabelData
        The set. Missing values become empty cells.
    path : path
        The file; compressed by its suffix gz, bz2 or xz.
    delimiter : str, default=","
        What stands between cells.
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
    """Refuse names and values that would be read back as others."""
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


def _read_rows(path: Path, delimiter: str, encoding: str) -> tuple[list[str], list[list[str]]]:
    if len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, got {delimiter!r}")
    try:
        with (
            told_if_broken(path),
            OPENERS.get(path.suffix.lower(), open)(
                path, "rt", encoding=encoding, newline=""
            ) as file,
        ):
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            header = [cell.strip() for cell in next(reader, [])]
            _check_header(path, header)
            rows = []
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise ValueError(
                        f"{path}, line {reader.line_num}: {len(row)} cells where the header has "
                        f"{len(header)}"
                    )
                rows.append([cell.strip() for cell in row])
    except (csv.Error, LookupError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a CSV file in {encoding}: {error}") from error
    if not rows:
        raise ValueError(f"{path}: no rows behind the header")
    return header, rows


def _check_header(path: Path, header: list[str]) -> None:
    if not header:
        raise ValueError(f"{path}: empty; expected a header with the names of the columns")
    if len(set(header)) != len(header):
        twice = Counter(header).most_common(1)[0][0]
        raise ValueError(f"{path}, line 1: two columns are named {twice!r}")


def _label(path: Path, label: str, cells: Sequence[str]) -> NDArray[np.int64]:
    numbers = _numbers(cells)
    if numbers is None or not np.isin(numbers, (0, 1)).all():
        for row, cell in enumerate(cells, start=1):
            if cell not in ("0", "1", "0.0", "1.0"):
                raise ValueError(
                    f"{path}: label {label!r} must be 0 or 1, but is {cell!r} in data row {row}"
                )
    return np.asarray(numbers).astype(np.int64)


def _numbers(cells: Sequence[str]) -> FloatArray | None:
    text = "".join(cells)
    if "_" in text or not text.isascii():
        return None
    try:
        return np.array(["nan" if cell in MISSING else cell for cell in cells], dtype=float)
    except ValueError:
        return None


def _codes(cells: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
    values = tuple(sorted(set(cells) - MISSING))
    place = {value: float(code) for code, value in enumerate(values)}
    return np.array([place.get(cell, np.nan) for cell in cells]), values

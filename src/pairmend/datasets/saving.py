"""save_file: writes ARFF files for Mulan and Meka, and CSV files."""

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.files import written
from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.labels import write_label_names
from pairmend.datasets.limits import kind_of
from pairmend.datasets.table import MISSING

_NEEDS_QUOTES = re.compile(r"[\s,{}%'\"\\?]|[\x00-\x1f]")
_ESCAPED = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def save_file(data: MultiLabelData, path: str | Path, *, xml: str | Path | None = None) -> None:
    """Write a data set in the format of the file's suffix.

    Parameters
    ----------
    data : MultiLabelData
        The set; sparse X gives a sparse ARFF file.
    path : path
        An ARFF or CSV file; compressed with a further suffix gz, bz2 or xz.
    xml : path, default=None
        File to write the names of the labels to, for Mulan; None writes a Meka file, labels first.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_file, make_hypercubes, save_file
    >>> data = make_hypercubes(10, n_labels=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cubes.arff")
    ...     save_file(data, path)
    ...     again = load_file(path)
    >>> bool((again.X == data.X).all())
    True
    """
    path, kind = Path(path), kind_of(Path(path))
    names = Counter((*data.feature_names, *data.label_names))
    if twice := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"{data.name}: two columns are named {twice[0]!r}; rename one of them")
    if kind == ".csv" and xml is None:
        _save_csv(data, path)
    elif kind == ".arff" and xml is not None:
        if path == Path(xml):
            raise ValueError(f"{path}: cannot hold both the data and the names of the labels")
        with written(xml) as file:
            write_label_names(file, data.label_names)
            # Before the XML file is renamed: both files or none.
            _save_arff(data, path, data.name, labels_first=False)
    elif kind == ".arff":
        relation = f"{data.name}: -C {len(data.label_names)}"
        _save_arff(data, path, relation, labels_first=True)
    else:
        raise ValueError(
            f"{path}: expected .arff or .csv, which may be followed by .gz, .bz2 or .xz, and an "
            "XML file for .arff only"
        )


def _save_arff(data: MultiLabelData, path: Path, relation: str, *, labels_first: bool) -> None:
    """Write an ARFF file, sparse if the features are."""
    features = [(name, data.categories.get(f)) for f, name in enumerate(data.feature_names)]
    labels = [(name, ("0", "1")) for name in data.label_names]
    columns: list[tuple[str, tuple[str, ...] | None]]
    columns = [*labels, *features] if labels_first else [*features, *labels]
    if nul := [
        name for name, values in columns for text in (name, *(values or ())) if "\0" in text
    ]:
        raise ValueError(f"{nul[0]!r}: a name or value holds the character NUL")
    matrices = (data.Y, data.X) if labels_first else (data.X, data.Y)
    cells: Any
    if is_sparse := sparse.issparse(data.X):
        cells = sparse.hstack([sparse.csr_array(m) for m in matrices], format="csr")
        cells.sum_duplicates()
    else:
        cells = np.hstack(matrices)
    with written(path) as file:
        file.write(f"@relation {_quote(relation)}\n\n")
        for name, values in columns:
            kind = f"{{{','.join(map(_quote, values))}}}" if values else "numeric"
            file.write(f"@attribute {_quote(name)} {kind}\n")
        file.write("\n@data\n")
        for row in range(cells.shape[0]):
            if is_sparse:
                inside = slice(cells.indptr[row], cells.indptr[row + 1])
                pairs = zip(cells.indices[inside].tolist(), cells.data[inside], strict=True)
                texts = [f"{c} {_cell(columns[c], value)}" for c, value in pairs if value != 0]
                file.write(f"{{{','.join(texts)}}}\n")
            else:
                texts = [_cell(columns[c], value) for c, value in enumerate(cells[row])]
                file.write(f"{','.join(texts)}\n")


def _cell(column: tuple[str, tuple[str, ...] | None], value: Any) -> str:
    name, values = column
    if np.isnan(value):
        return "?"
    if values is not None:
        return _quote(_category(name, values, value))
    is_whole = float(value).is_integer() and abs(value) < 1e15
    return str(int(value)) if is_whole else repr(float(value))


def _category(name: str, values: tuple[str, ...], code: Any) -> str:
    """Return the value of a categorical feature with some code."""
    if code != int(code) or not 0 <= code < len(values):
        raise ValueError(
            f"feature {name!r} holds {code}, which is none of its {len(values)} categories"
        )
    return values[int(code)]


def _quote(text: str) -> str:
    """Add quotes and escapes where they are needed."""
    return text if text and not _NEEDS_QUOTES.search(text) else f"'{text.translate(_ESCAPED)}'"


def _save_csv(data: MultiLabelData, path: Path) -> None:
    """Write features, then labels; missing values become empty cells."""
    values = (value for values in data.categories.values() for value in values)
    for text in (*data.feature_names, *data.label_names, *values):
        if text in MISSING or text != text.strip() or "\r" in text or text.startswith("\ufeff"):
            raise ValueError(
                f"{data.name}: a CSV file cannot hold the name or value {text!r}, which would be "
                "read as another; rename it, or save as ARFF"
            )
    with written(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*data.feature_names, *data.label_names])
        for row, labels in enumerate(data.Y):
            cells = data.X[[row]].toarray()[0] if sparse.issparse(data.X) else data.X[row]
            texts = (_text(data, place, value) for place, value in enumerate(cells))
            writer.writerow([*texts, *labels.tolist()])


def _text(data: MultiLabelData, place: int, value: Any) -> str:
    if np.isnan(value):
        return ""
    if place in data.categories:
        return _category(data.feature_names[place], data.categories[place], value)
    return repr(float(value))

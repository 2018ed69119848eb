"""load_file and save_file: the reader or writer by the suffix of the file."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.files import OPENERS, written
from pairmend.datasets.arff import read_arff
from pairmend.datasets.data import (
    ChosenLabels,
    MultiLabelData,
    find_labels,
    read_label_names,
    take_labels,
    take_tags,
    write_label_names,
)
from pairmend.datasets.limits import DEFAULT_LIMITS, ReadLimits
from pairmend.datasets.tables import MISSING, read_parquet, read_text_file, read_workbook

_OF_TEXTS = ("encoding", "delimiter", "decimal", "thousands", "header_row")
_OF_SHEETS = ("sheet", "decimal", "thousands", "header_row")
_READERS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), (read_text_file, _OF_TEXTS)),
    **dict.fromkeys((".xlsx", ".xlsm"), (read_workbook, _OF_SHEETS)),
    ".parquet": (read_parquet, ()),
    ".arff": (read_arff, ("encoding",)),
}
"""Readers by suffix, and the options that they take."""
_MEKA_OPTION = re.compile(r"(?:^|[\s:])-[Cc]\s*+(-?[0-9]++)")
_NEEDS_QUOTES = re.compile(r"[\s,{}%'\"\\?]|[\x00-\x1f]")
_ESCAPED = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def load_file(
    path: str | Path,
    labels: ChosenLabels | str | Path | None = None,
    *,
    threshold: float | None = None,
    tags: str | None = None,
    separator: str | None = None,
    categorical: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    header_row: int | None = None,
    sheet: str | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    r"""Read a data set from a text, Excel, Parquet or ARFF file.

    Parameters
    ----------
    path : path
        A text file with delimiters (.csv, .tsv, .txt), an Excel workbook (.xlsx), a Parquet or
        ARFF file; text files and ARFF plain or compressed (.gz, .bz2, .xz).
    labels : sequence of str, int or path, default=None
        Columns that are labels: their names, how many of the last columns, or a Mulan XML file
        that names them; ``()`` for none. Cells are 0 and 1, yes and no, true and false, t and f,
        or + and -, in upper or lower case. Empty cells of a table are 0 if all other cells of the
        column stand for 1, as x does.

        None is for files that state their labels: an ARFF file with an XML file of the same name
        beside it (Mulan), or with the option ``-C n`` in its relation name (Meka: the first n
        attributes, or the last -n).
    tags : str, default=None
        A column that lists the tags of each row. Each tag becomes a label. Empty cells and ``-``,
        ``none`` and the like are rows without tags.
    separator : str, default=None
        Text between tags. None means the one of ``;|,/`` and line breaks that the column has.
    threshold : float, default=None
        The labels are columns of numbers, as of regression with several targets: 1 above this
        value. None means that they hold 0 and 1, or texts that stand for them.
    categorical : sequence of str, default=()
        Names of columns whose numbers are codes; names that the file lacks are ignored. Columns
        with a whole number that begins with 0, as 00501, are always categorical.
    encoding : str, default=None
        Encoding of a text or ARFF file. None means that of its byte order mark, else UTF-8, else
        cp1252 if the bytes agree.
    delimiter : str, default=None
        Character between the cells of a text file. None means the one of comma, semicolon, tab
        and | that the header has.
    decimal : {".", ","}, default=None
        Decimal sign of the numbers of a text file or workbook. None means the point, and the comma
        in columns where it can be nothing else, as in 0,5.
    thousands : {".", ",", " ", "'"}, default=None
        Sign between the thousands of such numbers. None means no sign, and the comma in columns
        where it can be nothing else, as in 1,234.5.
    header_row : int, default=None
        Line of a text file or workbook with the names of the columns, from 1 on; lines above it
        are left out. 0 means that there is none: the columns are named column_1, column_2 and so
        on. None means the first line that is not empty.
    sheet : str, default=None
        Name of the sheet of a workbook. None means the only one with cells.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiLabelData
        Columns whose cells are all numbers or missing are numbers; other columns are categorical.
        Rows without any value are left out.

    Raises
    ------
    ValueError
        If the file cannot be read, or can be read in several ways: the message names the parameter
        that decides.

    Warns
    -----
    ReadWarning
        Of an encoding, empty rows and empty labels, and how they are read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.csv")
    ...     _ = path.write_text("size;hue;sea;sun\n2,5;red;yes;no\n;blue;no;yes\n")
    ...     photos = load_file(path, labels=2)
    ...     _ = path.write_text("size,seen\n2.5,sea|sun\n0.5,sun\n")
    ...     tagged = load_file(path, tags="seen")
    >>> photos.feature_names, photos.label_names
    (('size', 'hue'), ('sea', 'sun'))
    >>> tagged.label_names, tagged.Y.tolist()
    (('sea', 'sun'), [[1, 1], [0, 1]])
    """
    path = Path(path)
    kind, source = _kind_of(path), [path]
    if kind not in _READERS:
        raise ValueError(
            f"{path}: cannot read {kind or 'a file without suffix'}; expected .csv, .tsv, .txt or "
            ".arff (also with .gz, .bz2 or .xz), .xlsx or .parquet; export the table as one of "
            "them, or rename the file; load_miml in Python reads bags (.mat)"
        )
    read, allowed = _READERS[kind]
    options: dict[str, Any] = {
        "encoding": encoding, "delimiter": delimiter, "decimal": decimal, "thousands": thousands,
        "header_row": header_row, "sheet": sheet,
    }  # fmt: skip
    options = {option: value for option, value in options.items() if value is not None}
    if unused := options.keys() - allowed:
        raise ValueError(f"{path}: a {kind} file takes no {min(unused)}; leave it out")
    is_stated = labels is None and tags is None
    if is_stated and kind != ".arff":
        raise ValueError(
            f"{path}: no labels are given; name their columns: --labels NAME NAME, in Python "
            "labels=[...] (() for none), or the column that lists the tags of each row: --tags "
            "NAME, in Python tags=..."
        )
    if kind == ".arff":
        data, relation = read_arff(path, limits, **options)
        if is_stated:
            labels, title = _own_labels(data.feature_names, relation, path)
            data = replace(data, name=title or data.name)
    if isinstance(labels, str | Path):
        source.append(Path(labels))
        labels = read_label_names(source[1], limits)
    if kind != ".arff":
        options["texts"] = [*categorical, *([] if tags is None else [tags])]
        options["labels"] = labels if threshold is None and labels else ()
        data = read(path, limits, **options)
    data = replace(data, source=tuple(source))
    names = find_labels(path, data.feature_names, () if labels is None else labels)
    if names:
        data = take_labels(data, names, limits, threshold, allow_empty=kind != ".arff")
    return data if tags is None else take_tags(data, tags, separator, limits)


def _own_labels(names: Sequence[str], relation: str, path: Path) -> tuple[ChosenLabels | Path, str]:
    """Return the labels that an ARFF file states itself or that are beside it, and its title."""
    stem = path.name.lower().split(".arff")[0]
    for candidate in sorted(path.parent.glob("*.xml*")):
        if _kind_of(candidate) == ".xml" and candidate.name.lower().split(".xml")[0] == stem:
            return candidate, ""
    options = list(_MEKA_OPTION.finditer(relation))
    if not options:
        raise ValueError(
            f"{path}: labels are neither given, nor in an XML file beside it, nor does the "
            f"relation name {relation[:60]!r} have Meka's option '-C n'; name them: "
            "labels=..., --labels NAME NAME"
        )
    option = options[-1]  # the title may contain such a text, too
    n_labels, title = int(option[1][:20]), relation[: option.start()].strip(" :")
    return names[:n_labels] if n_labels > 0 else names[n_labels:], title


def _kind_of(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of its compression."""
    return (path.with_suffix("") if path.suffix.lower() in OPENERS else path).suffix.lower()


def save_file(data: MultiLabelData, path: str | Path, *, xml: str | Path | None = None) -> None:
    """Write a data set in the format of the file's suffix.

    Parameters
    ----------
    data : MultiLabelData
        The set; sparse X gives a sparse ARFF file.
    path : path
        An ARFF or CSV file; compressed with a further suffix gz, bz2 or xz.
    xml : path, default=None
        File to write the names of the labels to, for Mulan; None writes a Meka file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_file, make_shapes, save_file
    >>> data = make_shapes(10, n_labels=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cubes.arff")
    ...     save_file(data, path)
    ...     again = load_file(path)
    >>> bool((again.X == data.X).all())
    True
    """
    path, kind = Path(path), _kind_of(Path(path))
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
            _save_arff(data, path, data.name)
    elif kind == ".arff":
        _save_arff(data, path, f"{data.name}: -C -{len(data.label_names)}")
    else:
        raise ValueError(
            f"{path}: expected .arff or .csv, which may be followed by .gz, .bz2 or .xz, and an "
            "XML file for .arff only"
        )


def _save_arff(data: MultiLabelData, path: Path, relation: str) -> None:
    """Write an ARFF file, sparse if the features are."""
    columns = [(name, data.categories.get(f)) for f, name in enumerate(data.feature_names)]
    columns += [(name, ("0", "1")) for name in data.label_names]
    cells: Any
    if is_sparse := sparse.issparse(data.X):
        cells = sparse.hstack([data.X, sparse.csr_array(data.Y)], format="csr")
        cells.sum_duplicates()
    else:
        cells = np.hstack([data.X, data.Y])
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
        if value != int(value) or not 0 <= value < len(values):
            raise ValueError(
                f"feature {name!r} holds {value}, which is none of its {len(values)} categories"
            )
        return _quote(values[int(value)])
    return repr(float(value)).removesuffix(".0")


def _quote(text: str) -> str:
    """Add quotes and escapes where they are needed."""
    if "\0" in text:
        raise ValueError(f"{text!r}: a name or value holds the character NUL")
    return text if text and not _NEEDS_QUOTES.search(text) else f"'{text.translate(_ESCAPED)}'"


def _save_csv(data: MultiLabelData, path: Path) -> None:
    """Write features, then labels; missing values become empty cells."""
    import pandas as pd

    values = (value for values in data.categories.values() for value in values)
    for text in (*data.feature_names, *data.label_names, *values):
        if text in MISSING or text != text.strip() or "\r" in text or text.startswith("\ufeff"):
            raise ValueError(
                f"{data.name}: a CSV file cannot hold the name or value {text!r}, which would be "
                "read as another; rename it, or save as ARFF"
            )
    with written(path) as file:
        pd.concat(data.to_pandas(), axis=1).to_csv(file, index=False)

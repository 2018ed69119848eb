"""load_file, load_table, save_file: the reader or writer by the suffix of the file."""

import csv
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.files import OPENERS, written
from pairmend._utils.text import counted
from pairmend.datasets.arff import read_arff
from pairmend.datasets.arff.text import Progress
from pairmend.datasets.assembly import assemble, set_name
from pairmend.datasets.bags import MultiInstanceData
from pairmend.datasets.columns import MISSING, Column, Notation, Texts
from pairmend.datasets.data import MultiLabelData, category, check_finite
from pairmend.datasets.excel import read_excel
from pairmend.datasets.label_columns import ChosenLabels, find_labels
from pairmend.datasets.limits import COLUMN_CELLS, DEFAULT_LIMITS, ReadLimits
from pairmend.datasets.meka import load_meka, save_meka
from pairmend.datasets.miml import load_miml
from pairmend.datasets.mulan import load_mulan, save_mulan
from pairmend.datasets.multitarget import load_multitarget
from pairmend.datasets.parquet import read_parquet
from pairmend.datasets.preparation import take_labels
from pairmend.datasets.tag_column import take_tags
from pairmend.datasets.text_files import Header, TextFile
from pairmend.datasets.warning import ReadWarning

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
EXCEL_SUFFIXES = (".xlsx", ".xlsm")
_MAX_NOTES = 3
"""Columns that a warning describes; of further ones it has the number."""
TABLE_SUFFIXES = (*TEXT_SUFFIXES, *EXCEL_SUFFIXES, ".parquet")


def load_file(
    path: str | Path,
    *,
    xml: str | Path | None = None,
    labels: Sequence[str] | None = None,
    targets: int | None = None,
    progress: Progress | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    r"""Read a data set from an ARFF, text, Excel, Parquet or MATLAB file.

    Parameters
    ----------
    path : path
        An ARFF, text, Excel, Parquet or MATLAB file, plain or compressed where the kind allows.
    xml : path, default=None
        The file that names the labels of a Mulan ARFF file. None means the XML file of the same
        name in the same folder; without one, the ARFF file is read as Meka's.
    labels : sequence of str, default=None
        Columns that are labels, of files other than ARFF and MATLAB.
    targets : int, default=None
        How many of the last attributes of an ARFF file are regression targets; above 0 they
        are labels.
    progress : callable, default=None
        Called with the share of an ARFF file that has been read, from 0 to 1.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiLabelData
        Bags of one size are flattened, others embedded.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.csv")
    ...     _ = path.write_text("size,sea,sun\n2.5,1,0\n0.5,0,1\n")
    ...     photos = load_file(path, labels=["sea", "sun"])
    >>> photos.X.tolist(), photos.Y.tolist()
    ([[2.5], [0.5]], [[1, 0], [0, 1]])
    """
    path = Path(path)
    match _kind(path):
        case ".arff" if targets is not None:
            return load_multitarget(path, targets, progress=progress, limits=limits)
        case ".arff":
            names = Path(xml) if xml is not None else _xml_beside(path)
            if names is not None:
                return load_mulan(path, names, progress=progress, limits=limits)
            return load_meka(path, progress=progress, limits=limits)
        case ".mat":
            return _as_rows(load_miml(path, limits=limits), path, limits)
        case kind if kind in TABLE_SUFFIXES and labels:
            return load_table(path, labels, limits=limits)
        case kind if kind in TABLE_SUFFIXES:
            raise ValueError(f"{path}: labels must name the columns of the file that are labels")
        case kind:
            raise ValueError(_unknown_suffix(path, kind, ".arff, .parquet or .mat"))


def load_table(
    path: str | Path,
    labels: ChosenLabels = (),
    *,
    tags: str | None = None,
    separator: str | None = None,
    categorical: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    header_row: int | None = None,
    sheet: str | None = None,
    name: str | None = None,
    progress: Progress | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    r"""Read a table, of which some columns may be labels.

    Parameters
    ----------
    path : path
        A text file with delimiters (.csv, .tsv, .txt), an Excel workbook (.xlsx), an ARFF or a
        Parquet file; text files and ARFF plain or compressed (.gz, .bz2, .xz).
    labels : sequence of str, int or path, default=()
        Columns that are labels: their names, how many of the last columns, or a Mulan XML file
        that names them. By default all columns are features. Cells are 0 and 1, yes and no, true
        and false, t and f, or + and -, in upper or lower case. Empty cells are 0 if all other
        cells of the column stand for 1, as x does.
    tags : str, default=None
        A column that lists the tags of each row. Each tag becomes a label.
    separator : str, default=None
        Text between tags. None means the most frequent of ``;|,/`` and line breaks.
    categorical : sequence of str, default=()
        Names of columns whose numbers are codes; names that the file lacks are ignored. Columns
        with a whole number that begins with 0, as 00501, are always categorical.
    encoding : str, default=None
        Encoding of a text file. None means that of its byte order mark, else UTF-8, else cp1252 if
        the bytes agree.
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
    name : str, default=None
        Name of the set; that of the file if None.
    progress : callable, default=None
        Called with the share of an ARFF file that has been read, from 0 to 1.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiLabelData
        Columns whose cells are all numbers or missing are numbers; other columns are categorical,
        with their values sorted. Rows without any value are left out.

    Raises
    ------
    ValueError
        If the file cannot be read, or can be read in several ways: the message names the parameter
        that decides.

    Warns
    -----
    ReadWarning
        Of columns and cells that are easily read in another way than they are meant.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.csv")
    ...     _ = path.write_text("size;hue;sea;sun\n2,5;red;yes;no\n;blue;no;yes\n")
    ...     photos = load_table(path, labels=2)
    ...     _ = path.write_text("size,seen\n2.5,sea|sun\n0.5,sun\n")
    ...     tagged = load_table(path, tags="seen", separator="|")
    >>> photos.feature_names, photos.label_names
    (('size', 'hue'), ('sea', 'sun'))
    >>> tagged.label_names, tagged.Y.tolist()
    (('sea', 'sun'), [[1, 1], [0, 1]])
    """
    path = Path(path)
    kind = _kind(path)
    of_text = {"--encoding": encoding, "--delimiter": delimiter}
    of_cells = {"--decimal": decimal, "--thousands": thousands, "--header-row": header_row}
    unused = {
        **({} if kind in TEXT_SUFFIXES else of_text),
        **({} if kind in EXCEL_SUFFIXES else {"--sheet": sheet}),
        **({} if kind in (*TEXT_SUFFIXES, *EXCEL_SUFFIXES) else of_cells),
    }
    if wrong := [option for option, value in unused.items() if value is not None]:
        raise ValueError(f"{path}: a {kind} file has no {' and no '.join(wrong)}; leave it out")
    if header_row is not None and header_row < 0:
        raise ValueError(f"header_row must be at least 0, got {header_row}")
    texts = [*categorical, *([tags] if tags is not None else [])]
    notation = Notation.of(decimal, thousands)
    notes: list[str] = []
    if kind in TEXT_SUFFIXES:
        file = TextFile(path, limits, encoding=encoding, delimiter=delimiter, notation=notation,
                        header_row=header_row)  # fmt: skip
        columns = file.columns(texts, find_labels(path, file.header.names, labels), notes)
        data = _table_data(path, file.header, columns, notes, name)
    elif kind in EXCEL_SUFFIXES:
        header, columns = read_excel(
            path, limits, sheet=sheet, notation=notation, header_row=header_row, texts=texts,
            labels=labels, notes=notes,
        )  # fmt: skip
        data = _table_data(path, header, columns, notes, name)
    elif kind == ".arff":
        content = read_arff(path, progress=progress, limits=limits)
        nothing = np.empty((content.cells.shape[0], 0), dtype=np.int64)
        data = assemble(content, [], nothing, name=name or set_name(path), source=(path,))
    elif kind == ".parquet":
        header, columns = read_parquet(path, limits, texts)
        data = _table_data(path, header, columns, notes, name)
    else:
        raise ValueError(_unknown_suffix(path, kind, ".arff or .parquet"))
    check_finite(data)
    names = find_labels(path, data.feature_names, labels)
    limits.check_cells(path, data.X.shape[0] * len(names))
    if tags in names:
        raise ValueError(f"{path}: column {tags!r} cannot be a label and a list of tags")
    data = take_labels(data, names) if names else data
    return data if tags is None else take_tags(data, tags, separator, limits)


def _table_data(
    path: Path, header: Header, columns: dict[str, Column], notes: list[str], name: str | None
) -> MultiLabelData:
    """Return columns as features, without rows that have no value; warn of how they were read."""
    cells = {n: c.codes if isinstance(c, Texts) else c for n, c in columns.items()}
    names = [n for n in cells if n not in header.unnamed or not np.isnan(cells[n]).all()]
    if unnamed := [n for n in names if n in header.unnamed]:
        notes.append(
            f"{counted(len(unnamed), 'column')} without a name, read as "
            f"{', '.join(map(repr, unnamed[:3]))}{', ...' if len(unnamed) > 3 else ''}; give "
            "names, and leave out columns that only number the rows"
        )
    X = np.column_stack([cells[n] for n in names or cells])
    is_empty = np.isnan(X).all(axis=1)
    if len(names) > 1 and is_empty.any():
        verb = "is" if is_empty.sum() == 1 else "are"
        rows = counted(int(is_empty.sum()), "row")
        notes.insert(0, f"{rows} without any value {verb} left out")
        X = X[~is_empty]
    if notes:
        shown = "; ".join(notes[:_MAX_NOTES])
        if len(notes) > _MAX_NOTES:
            shown += f"; {counted(len(notes) - _MAX_NOTES, 'further column')} in similar ways"
        warnings.warn(f"{path}: {shown}", ReadWarning, stacklevel=3)
    categories = {
        place: column.values
        for place, n in enumerate(names)
        if isinstance(column := columns[n], Texts)
    }
    nothing = np.empty((len(X), 0), dtype=np.int64)
    return MultiLabelData(X, nothing, tuple(names), (), categories, name or set_name(path), (path,))


def _unknown_suffix(path: Path, kind: str, others: str) -> str:
    advice = {
        ".xls": "save it as .xlsx or .csv",
        ".ods": "save it as .xlsx or .csv",
        ".json": "in Python, read it with pandas.read_json",
        ".zip": "unpack it first",
    }.get(kind, "rename or convert the file")
    return (
        f"{path}: cannot read {kind or 'a file without suffix'}; expected "
        f"{', '.join(TEXT_SUFFIXES)} (also with .gz, .bz2 or .xz), {', '.join(EXCEL_SUFFIXES)}, "
        f"{others}; {advice}"
    )


def save_file(data: MultiLabelData, path: str | Path, *, xml: str | Path | None = None) -> None:
    """Write a data set in the format of the file's suffix.

    Parameters
    ----------
    data : MultiLabelData
        The set.
    path : path
        An ARFF or CSV file; compressed with a further suffix gz, bz2 or xz.
    xml : path, default=None
        File to write the names of the labels to, for Mulan; None writes a Meka file.

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
    path = Path(path)
    match _kind(path):
        case ".arff" if xml is not None:
            save_mulan(data, path, xml)
        case ".arff":
            save_meka(data, path)
        case ".csv" if xml is not None:
            raise ValueError(f"{path}: a CSV file has no label file beside it, but got {xml}")
        case ".csv":
            _save_csv(data, path)
        case kind:
            raise ValueError(
                f"{path}: cannot write {kind or 'a file without suffix'}; expected "
                ".arff or .csv, which may be followed by .gz, .bz2 or .xz"
            )


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
            texts = [_text(data, place, value) for place, value in enumerate(cells)]
            writer.writerow([*texts, *labels.tolist()])


def _text(data: MultiLabelData, place: int, value: Any) -> str:
    if np.isnan(value):
        return ""
    if place in data.categories:
        return category(data.categories[place], value, data.feature_names[place])
    return repr(float(value))


def _as_rows(data: MultiInstanceData, path: Path, limits: ReadLimits) -> MultiLabelData:
    if len({bag.shape for bag in data.bags}) == 1:
        limits.check_cells(path, data.bags[0].size * COLUMN_CELLS)
        return data.flatten()
    limits.check_cells(path, len(data.bags) ** 2)  # the distances between the bags
    return data.embed()


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in OPENERS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _xml_beside(path: Path) -> Path | None:
    stem = path.name.lower().split(".arff")[0]
    for candidate in sorted(path.parent.glob("*.xml*")):
        if _kind(candidate) == ".xml" and candidate.name.lower().split(".xml")[0] == stem:
            return candidate
    return None

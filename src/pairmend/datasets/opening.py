"""load_file, load_table, save_file: the reader or writer by the suffix of the file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pairmend._utils.files import OPENERS
from pairmend.datasets.arff import read_arff
from pairmend.datasets.arff.text import Progress
from pairmend.datasets.assembly import assemble, set_name
from pairmend.datasets.bags import MultiInstanceData
from pairmend.datasets.csv import read_csv_table, save_csv, table_data
from pairmend.datasets.data import MultiLabelData, check_finite
from pairmend.datasets.excel import choose_sheet, excel_rows
from pairmend.datasets.label_columns import ChosenLabels, find_labels
from pairmend.datasets.limits import COLUMN_CELLS, DEFAULT_LIMITS, ReadLimits
from pairmend.datasets.meka import load_meka, save_meka
from pairmend.datasets.miml import load_miml
from pairmend.datasets.mulan import load_mulan, save_mulan
from pairmend.datasets.multitarget import load_multitarget
from pairmend.datasets.number_columns import decode_numbers
from pairmend.datasets.parquet import read_parquet_table
from pairmend.datasets.preparation import take_labels
from pairmend.datasets.tag_column import take_tags
from pairmend.datasets.text_table import TextTable

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
EXCEL_SUFFIXES = (".xlsx", ".xlsm")
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
    header: bool | None = None,
    sheet: str | None = None,
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
        and false, or + and -, in upper or lower case. Empty cells are 0 if all other cells of the
        column stand for 1, as x does.
    tags : str, default=None
        A column that lists the tags of each row. Each tag becomes a label.
    separator : str, default=None
        Text between tags. None means the most frequent of ``;|,/`` and line breaks.
    categorical : sequence of str, default=()
        Names of columns whose numbers are codes; names that the file lacks are ignored.
    encoding : str, default=None
        Encoding of a text file. None means UTF-8 or UTF-16 if the bytes agree, else cp1252.
    delimiter : str, default=None
        Character between the cells of a text file. None means the comma, semicolon, tab or ``|``
        that cuts the first lines into equally many cells.
    header : bool, default=None
        Whether the first line of a text file or a workbook holds the names of the columns. None
        means that it does, unless all columns of numbers have a number there, too.
    sheet : str, default=None
        Sheet of a workbook; None means the first that holds a table.
    progress : callable, default=None
        Called with the share of an ARFF file that has been read, from 0 to 1.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiLabelData
        Texts that are numbers with decimal commas or with separators of thousands are numbers;
        other texts are categories.

    Warns
    -----
    ReadWarning
        If the file can be read in several ways: of the way that was chosen.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.csv")
    ...     _ = path.write_text("size;hue;sea;sun\n2.5;red;yes;no\n;blue;no;yes\n")
    ...     photos = load_table(path, labels=2)
    ...     _ = path.write_text("size,seen\n2.5,sea|sun\n0.5,sun\n")
    ...     tagged = load_table(path, tags="seen", separator="|")
    >>> photos.feature_names, photos.label_names
    (('size', 'hue'), ('sea', 'sun'))
    >>> tagged.label_names, tagged.Y.tolist()
    (('sea', 'sun'), [[1, 1], [0, 1]])
    """
    data = read_table(
        path, labels, tags=tags, separator=separator, categorical=categorical, encoding=encoding,
        delimiter=delimiter, header=header, sheet=sheet, decimal_commas=True, progress=progress,
        limits=limits,
    )  # fmt: skip
    return data if _kind(Path(path)) == ".arff" else decode_numbers(data, set(categorical))


def read_table(
    path: str | Path,
    labels: ChosenLabels = (),
    *,
    tags: str | None = None,
    separator: str | None = None,
    categorical: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    decimal_commas: bool = False,
    progress: Progress | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    """Read a table as :func:`load_table`, but leave numbers with separators texts.

    With `decimal_commas`, columns of text files with nothing but numbers with decimal commas are
    numbers, which is faster than :func:`decode_numbers` afterwards.
    """
    path = Path(path)
    kind = _kind(path)
    given = {"--encoding": encoding, "--delimiter": delimiter, "--header": header, "--sheet": sheet}
    allowed = {
        **dict.fromkeys(TEXT_SUFFIXES, ("--encoding", "--delimiter", "--header")),
        **dict.fromkeys(EXCEL_SUFFIXES, ("--sheet", "--header")),
    }.get(kind, ())
    if wrong := [
        each for each, value in given.items() if value is not None and each not in allowed
    ]:
        raise ValueError(f"{path}: a {kind} file has no {' and no '.join(wrong)}; leave it out")
    texts = [*categorical, *([tags] if tags is not None else [])]
    if kind in TEXT_SUFFIXES:
        data = read_csv_table(
            path, labels=labels, categorical=texts, delimiter=delimiter, encoding=encoding,
            header=header, decimal_commas=decimal_commas, limits=limits,
        )  # fmt: skip
    elif kind in EXCEL_SUFFIXES:
        data = _read_excel(path, labels, texts, header, sheet, limits)
    elif kind == ".arff":
        content = read_arff(path, progress=progress, limits=limits)
        nothing = np.empty((content.cells.shape[0], 0), dtype=np.int64)
        data = assemble(content, [], nothing, name=set_name(path), source=(path,))
    elif kind == ".parquet":
        data = read_parquet_table(path, categorical=texts, limits=limits)
    else:
        raise ValueError(_unknown_suffix(path, kind, ".arff or .parquet"))
    check_finite(data)
    names = find_labels(path, data.feature_names, labels)
    limits.check_cells(path, data.X.shape[0] * len(names))
    if tags in names:
        raise ValueError(f"{path}: column {tags!r} cannot be a label and a list of tags")
    data = take_labels(data, names) if names else data
    return data if tags is None else take_tags(data, tags, separator, limits)


def _read_excel(
    path: Path,
    labels: ChosenLabels,
    categorical: Sequence[str],
    header: bool | None,
    sheet: str | None,
    limits: ReadLimits,
) -> MultiLabelData:
    chosen, note = (sheet, "") if sheet is not None else choose_sheet(path, limits)
    table = TextTable(
        path, lambda: excel_rows(path, limits, chosen), limits, header=header, pads_rows=True
    )
    if note:
        table.notes.insert(0, note)
    return table_data(table, labels, categorical)


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
            save_csv(data, path)
        case kind:
            raise ValueError(
                f"{path}: cannot write {kind or 'a file without suffix'}; expected "
                ".arff or .csv, which may be followed by .gz, .bz2 or .xz"
            )


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

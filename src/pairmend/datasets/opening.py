"""load_file: the reader by the suffix of the file."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend.datasets.arff import ArffFile, read_arff
from pairmend.datasets.data import MultiLabelData, check_finite, set_name
from pairmend.datasets.labels import ChosenLabels, find_labels, take_labels, take_tags
from pairmend.datasets.limits import (
    COLUMN_CELLS,
    DEFAULT_LIMITS,
    ReadLimits,
    kind_of,
    memory_checked,
)
from pairmend.datasets.miml import load_miml
from pairmend.datasets.sheets import read_parquet, read_text_file, read_workbook
from pairmend.datasets.table import Notation

_TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_EXCEL_SUFFIXES = (".xlsx", ".xlsm")
_MEKA_OPTION = re.compile(r"(?:^|[\s:])-[Cc]\s*+(-?[0-9]++)")


def load_file(
    path: str | Path,
    labels: ChosenLabels | None = None,
    *,
    tags: str | None = None,
    separator: str | None = None,
    targets: int | Sequence[str] | None = None,
    threshold: float = 0.0,
    categorical: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    header_row: int | None = None,
    sheet: str | None = None,
    name: str | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    r"""Read a data set from a text, Excel, Parquet, ARFF or MATLAB file.

    Parameters
    ----------
    path : path
        A text file with delimiters (.csv, .tsv, .txt), an Excel workbook (.xlsx), a Parquet, ARFF
        or MATLAB file (.mat, version 5 to 7.2); text files and ARFF plain or compressed (.gz,
        .bz2, .xz).
    labels : sequence of str, int or path, default=None
        Columns that are labels: their names, how many of the last columns, or a Mulan XML file
        that names them; ``()`` for none. Cells are 0 and 1, yes and no, true and false, t and f,
        or + and -, in upper or lower case. Empty cells of a table are 0 if all other cells of the
        column stand for 1, as x does.

        None is for files that state their labels: an ARFF file with an XML file of the same name
        beside it (Mulan), or with the option ``-C n`` in its relation name (Meka: the first n
        attributes, or the last -n); a MATLAB file of bags, see `load_miml`, whose bags are
        flattened if they are of one size, else embedded.
    tags : str, default=None
        A column that lists the tags of each row. Each tag becomes a label. Empty cells and ``-``,
        ``none`` and the like are rows without tags.
    separator : str, default=None
        Text between tags. None means the one of ``;|,/`` and line breaks that the column has.
    targets : int or sequence of str, default=None
        Columns of numbers that become labels, 1 above the `threshold`: how many of the last ones,
        or their names. For regression sets with several targets.
    threshold : float, default=0.0
        Value above which a target makes its label relevant.
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
    name : str, default=None
        Name of the set; that of the file or of Meka's relation if None.
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
    kind = kind_of(path)
    is_text, is_excel = kind in _TEXT_SUFFIXES, kind in _EXCEL_SUFFIXES
    options = {
        "encoding": (encoding, is_text or kind == ".arff"),
        "delimiter": (delimiter, is_text),
        "sheet": (sheet, is_excel),
        "decimal": (decimal, is_text or is_excel),
        "thousands": (thousands, is_text or is_excel),
        "header_row": (header_row, is_text or is_excel),
    }
    for option, (value, is_used) in options.items():
        if value is not None and not is_used:
            raise ValueError(f"{path}: a {kind} file takes no {option}; leave it out")
    if header_row is not None and header_row < 0:
        raise ValueError(f"header_row must be at least 0, got {header_row}")
    given = [option for option in (labels, tags, targets) if option is not None]
    if targets is not None and len(given) > 1:
        raise ValueError("targets cannot be combined with labels or tags")
    source: tuple[Path, ...] = (path,)
    with memory_checked(path):
        if kind == ".mat" and not given:
            data = _read_bags(path, limits)
            return data if name is None else replace(data, name=name)
        if kind == ".arff":
            content = read_arff(path, encoding=encoding, limits=limits)
            data = _features(content, path)
            if not given:
                labels, title = _own_labels(content, path)
                name = name or title
        elif not given:
            raise ValueError(
                f"{path}: no labels are given; name their columns: --labels NAME NAME, in Python "
                "labels=[...] (() for none), or the column that lists the tags of each row: --tags "
                "NAME, in Python tags=..."
            )
        elif is_text or is_excel:
            reading: dict[str, Any] = {
                "header_row": header_row, "notation": Notation.of(decimal, thousands),
                "texts": [*categorical, *([] if tags is None else [tags])], "labels": labels or (),
            }  # fmt: skip
            if is_text:
                data = read_text_file(
                    path, limits, encoding=encoding, delimiter=delimiter, **reading
                )
            else:
                data = read_workbook(path, limits, sheet=sheet, **reading)
        elif kind == ".parquet":
            data = read_parquet(path, limits, [*categorical, *([] if tags is None else [tags])])
        else:
            raise ValueError(
                f"{path}: cannot read {kind or 'a file without suffix'}; expected "
                f"{', '.join(_TEXT_SUFFIXES)} or .arff (also with .gz, .bz2 or .xz), .xlsx, "
                ".parquet or .mat; export the table as one of them, or rename the file"
            )
        check_finite(data)
        if isinstance(labels, str | Path):
            source = (path, Path(labels))
        data = replace(data, name=name or data.name, source=source)
        if targets is not None:
            names = find_labels(path, data.feature_names, targets)
            return take_labels(data, names, limits, threshold=threshold)
        names = find_labels(path, data.feature_names, () if labels is None else labels)
        if tags in names:
            raise ValueError(f"{path}: column {tags!r} cannot be a label and a list of tags")
        if names:
            data = take_labels(data, names, limits, allow_empty=kind != ".arff")
        return data if tags is None else take_tags(data, tags, separator, limits)


def _features(content: ArffFile, path: Path) -> MultiLabelData:
    """Return the columns of an ARFF file as features; those of texts are categorical."""
    categories = {}
    for place, attribute in enumerate(content.attributes):
        is_text = attribute.kind == "text"
        if is_text and sparse.issparse(content.cells):
            raise ValueError(
                f"{path}: attribute {attribute.name!r} holds texts in a sparse file, which are not "
                "read"
            )
        if is_text or attribute.kind == "nominal":
            categories[place] = tuple(content.texts[place]) if is_text else attribute.values
    nothing = np.empty((content.cells.shape[0], 0), dtype=np.int64)
    names = tuple(attribute.name for attribute in content.attributes)
    return MultiLabelData(content.cells, nothing, names, (), categories, set_name(path), (path,))


def _own_labels(content: ArffFile, path: Path) -> tuple[ChosenLabels, str]:
    """Return the labels that an ARFF file states itself or that are beside it, and its title."""
    stem = path.name.lower().split(".arff")[0]
    for candidate in sorted(path.parent.glob("*.xml*")):
        if kind_of(candidate) == ".xml" and candidate.name.lower().split(".xml")[0] == stem:
            return candidate, ""
    options = list(_MEKA_OPTION.finditer(content.relation))
    if not options:
        raise ValueError(
            f"{path}: labels are neither given, nor in an XML file beside it, nor does the "
            f"relation name {content.relation[:60]!r} have Meka's option '-C n'; name them: "
            "labels=..., --labels NAME NAME"
        )
    option = options[-1]  # the title may contain such a text, too
    names = [attribute.name for attribute in content.attributes]
    n_labels = int(option[1][:20])
    if not 0 < abs(n_labels) <= len(names):
        raise ValueError(f"{path}: '-C {n_labels}' does not fit {len(names)} attributes")
    own = names[:n_labels] if n_labels > 0 else names[n_labels:]
    return own, content.relation[: option.start()].strip(" :")


def _read_bags(path: Path, limits: ReadLimits) -> MultiLabelData:
    data = load_miml(path, limits=limits)
    if len({bag.shape for bag in data.bags}) == 1:
        limits.check_cells(path, data.bags[0].size * COLUMN_CELLS)
        return data.flatten()
    limits.check_cells(path, len(data.bags) ** 2)  # the distances between the bags
    return data.embed()

"""Meka's ARFF files, whose relation name says where the labels are."""

import re
from pathlib import Path

import numpy as np

from pairmend.datasets.arff import ArffError, read_arff, write_arff
from pairmend.datasets.arff.text import Progress
from pairmend.datasets.assembly import assemble, label_indicator, set_name
from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.export import as_arff
from pairmend.datasets.limits import DEFAULT_LIMITS, ReadLimits

_OPTION = re.compile(r"(?:^|[\s:])-[Cc]\s*+(-?[0-9]++)")
_MAX_DIGITS = 9


def load_meka(
    arff: str | Path,
    *,
    name: str | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    """Read a Meka data set.

    Parameters
    ----------
    arff : path
        The ARFF file, plain or compressed. The option ``-C n`` in its relation name says that
        the first n attributes are the labels, or the last n if n is negative.
    name : str, default=None
        Name of the set; what stands before the options, or that of the file, if None.
    encoding : str, default=None
        Encoding of the file, found out if None.
    progress : callable, default=None
        Is told the share of the file that has been read.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiLabelData
    """
    path = Path(arff)
    content = read_arff(path, encoding=encoding, progress=progress, limits=limits)
    options = list(_OPTION.finditer(content.relation))
    option = options[-1] if options else None  # what comes before is the name
    if option is None:
        raise ArffError(
            path,
            1,
            f"the relation name {content.relation[:60]!r} lacks Meka's option '-C n', which says "
            "where the labels are; for a file with an XML file beside it use load_mulan",
        )
    n_columns = len(content.attributes)
    n_labels = int(option[1]) if len(option[1]) <= _MAX_DIGITS else 0
    if not 0 < abs(n_labels) <= n_columns:
        raise ArffError(
            path, 1, f"'-C {option[1][:20]}' does not fit a file with {n_columns} attributes"
        )
    limits.check_cells(path, content.cells.shape[0] * abs(n_labels))
    labels = list(range(n_columns))
    labels = labels[:n_labels] if n_labels > 0 else labels[n_labels:]
    indicators = np.column_stack([label_indicator(content, place, path) for place in labels])
    title = content.relation[: option.start()].strip(" :")
    return assemble(
        content, labels, indicators, name=name or title or set_name(path), source=(path,)
    )


def save_meka(data: MultiLabelData, arff: str | Path) -> None:
    """Write a data set as a Meka file, labels first.

    Parameters
    ----------
    data : MultiLabelData
        The set; sparse X gives a sparse file.
    arff : path
        The file; compressed by its suffix gz, bz2 or xz.
    """
    relation = f"{data.name}: -C {len(data.label_names)}"
    write_arff(arff, as_arff(data, labels_first=True, relation=relation))

"""Meka's ARFF files, whose relation name has the number of labels."""

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
    r"""Read a Meka data set.

    Parameters
    ----------
    arff : path
        The ARFF file, plain or compressed. With the option ``-C n`` in its relation name,
        the first n attributes are the labels, or the last -n if n is negative.
    name : str, default=None
        Name of the set; None means the part of the relation name before the options, or the name
        of the file.
    encoding : str, default=None
        Encoding of the file; as for `read_arff` if None.
    progress : callable, default=None
        Called with the share of the file that has been read, from 0 to 1.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiLabelData

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_meka
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.arff")
    ...     _ = path.write_text("@relation 'photos: -C 1'\n@attribute sea {0,1}\n"
    ...                         "@attribute size numeric\n@data\n1,2.5\n0,0.5\n")
    ...     photos = load_meka(path)
    >>> photos.name, photos.label_names, photos.Y.tolist()
    ('photos', ('sea',), [[1], [0]])
    """
    path = Path(arff)
    content = read_arff(path, encoding=encoding, progress=progress, limits=limits)
    options = list(_OPTION.finditer(content.relation))
    option = options[-1] if options else None  # the name may contain such a text, too
    if option is None:
        raise ArffError(
            path,
            1,
            f"the relation name {content.relation[:60]!r} lacks Meka's option '-C n', the "
            "number of labels; for a file with an XML file beside it use load_mulan",
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

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_meka, make_hypercubes, save_meka
    >>> data = make_hypercubes(10, n_labels=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cubes.arff")
    ...     save_meka(data, path)
    ...     again = load_meka(path)
    >>> bool((again.X == data.X).all())
    True
    """
    relation = f"{data.name}: -C {len(data.label_names)}"
    write_arff(arff, as_arff(data, labels_first=True, relation=relation))

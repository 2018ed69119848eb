"""Multi-target regression datasets; targets above a threshold become labels."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pairmend.datasets.arff import read_arff
from pairmend.datasets.arff.text import Progress
from pairmend.datasets.assembly import assemble, set_name
from pairmend.datasets.data import MultiLabelData, column_values
from pairmend.datasets.limits import DEFAULT_LIMITS, ReadLimits


def load_multitarget(
    arff: str | Path,
    targets: int | Sequence[str],
    threshold: float = 0.0,
    *,
    name: str | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    r"""Read a regression set; a target above the threshold makes its label relevant.

    Parameters
    ----------
    arff : path
        The ARFF file, plain or compressed.
    targets : int or list of str
        How many of the last attributes are targets, or their names.
    threshold : float, default=0.0
        Value above which a target makes its label relevant.
    name : str, default=None
        Name of the set; that of the file if None.
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
    >>> from pairmend.datasets import load_multitarget
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rivers.arff")
    ...     _ = path.write_text("@relation rivers\n@attribute depth numeric\n"
    ...                         "@attribute trout numeric\n@data\n2.5,3\n1.5,0\n")
    ...     rivers = load_multitarget(path, targets=1)
    >>> rivers.label_names, rivers.Y.tolist()
    (('trout',), [[1], [0]])
    """
    path = Path(arff)
    content = read_arff(path, encoding=encoding, progress=progress, limits=limits)
    names = [attribute.name for attribute in content.attributes]
    if isinstance(targets, int):
        if not 0 < targets < len(names):
            raise ValueError(
                f"{path}: targets={targets}, but the file has {len(names)} attributes in all"
            )
        places = list(range(len(names) - targets, len(names)))
    else:
        if missing := [target for target in targets if target not in names]:
            raise ValueError(f"{path}: lacks the targets {missing}; it has {names[-10:]}")
        if len(set(targets)) != len(targets):
            raise ValueError(f"{path}: a target is named twice: {list(targets)}")
        places = [names.index(target) for target in targets]
    for place in places:
        if content.attributes[place].kind != "numeric":
            raise ValueError(
                f"{path}: target {names[place]!r} is {content.attributes[place].kind}, expected a "
                "number"
            )
    limits.check_cells(path, content.cells.shape[0] * len(places))
    values = np.column_stack([column_values(content.cells, place) for place in places])
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values).any(axis=1))[0])
        raise ValueError(f"{path}: a target is missing in row {row}")
    indicators = (values > threshold).astype(np.int64)
    return assemble(content, places, indicators, name=name or set_name(path), source=(path,))

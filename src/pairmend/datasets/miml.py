"""Reading multi-instance multi-label data from MATLAB and relational ARFF files."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.typing import FloatArray, IntArray
from pairmend.datasets.arff import read_arff
from pairmend.datasets.bags import MultiInstanceData
from pairmend.datasets.data import MultiLabelData, set_name
from pairmend.datasets.labels import take_labels
from pairmend.datasets.limits import (
    COLUMN_CELLS,
    DEFAULT_LIMITS,
    ReadLimits,
    kind_of,
    memory_checked,
)
from pairmend.datasets.matlab import load_variables

_LAYOUTS = (
    (("bags", "targets"),),
    (("train_bags", "train_target"), ("test_bags", "test_target")),
)
"""Accepted names of variables: the parts of a set, each with its bags and its targets."""


def load_miml(
    path: str | Path, *, name: str | None = None, limits: ReadLimits = DEFAULT_LIMITS
) -> MultiInstanceData:
    r"""Read bags of instances and the labels of each bag.

    Parameters
    ----------
    path : path
        A MATLAB file (.mat, version 5 to 7.2) or a relational ARFF file (.arff, plain or
        compressed).

        MATLAB: a cell array ``bags`` of matrices, instances in rows, and a matrix ``targets``
        of -1 and 1, or of 0 and 1, with a row a label and a column a bag; a cell array
        ``class_name``, if there, names the labels, else they are numbered from 0. Or the four
        ``train_bags``, ``train_target``, ``test_bags``, ``test_target``, joined in this order.
        All may be fields of a struct.

        ARFF: at most one attribute before the relational one, which identifies the bag and is
        left out; then the relational attribute, with numeric attributes; then the labels, 0 or 1.
    name : str, default=None
        Name of the set; that of the file if None.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiInstanceData
        Its methods ``flatten`` and ``embed``, and :class:`~pairmend.datasets.BagEmbedding`, turn
        bags into rows.

    Raises
    ------
    ValueError
        If the file is not as described.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_miml
    >>> text = r'''@relation photos
    ... @attribute id {first,second}
    ... @attribute bag relational
    ...   @attribute hue numeric
    ...   @attribute size numeric
    ... @end bag
    ... @attribute sea {0,1}
    ... @attribute sun {0,1}
    ... @data
    ... first,"0.5,2\n0.1,3",1,0
    ... second,"0.9,4",1,1
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.arff")
    ...     _ = path.write_text(text)
    ...     photos = load_miml(path)
    >>> [bag.tolist() for bag in photos.bags]
    [[[0.5, 2.0], [0.1, 3.0]], [[0.9, 4.0]]]
    >>> photos.Y.tolist(), photos.label_names
    ([[1, 0], [1, 1]], ('sea', 'sun'))
    """
    path = Path(path)
    readers = {".mat": _read_matlab, ".arff": _read_arff}
    if kind_of(path) not in readers:
        raise ValueError(f"{path}: expected a MATLAB file (.mat) or an ARFF file (.arff)")
    with memory_checked(path):
        return readers[kind_of(path)](path, name or set_name(path), limits)


def _read_matlab(path: Path, name: str, limits: ReadLimits) -> MultiInstanceData:
    variables = load_variables(path, limits)
    found = [
        (layout, scope)
        for scope in _scopes(variables)
        for layout in _LAYOUTS
        if all(variable in scope for part in layout for variable in part)
    ]
    if len(found) != 1:
        raise ValueError(
            f"{path}: holds {len(found)} sets of bags in the variables {sorted(variables)}; "
            "expected one: bags and targets, or train_bags, train_target, test_bags and "
            "test_target, perhaps in a struct"
        )
    layout, scope = found[0]
    bags, parts = [], []
    for bags_name, targets_name in layout:
        own = _read_bags(path, bags_name, scope[bags_name])
        parts.append(_read_targets(path, targets_name, scope[targets_name], len(own)))
        bags += own
    if len({bag.shape[1] for bag in bags}) != 1 or len({part.shape[1] for part in parts}) != 1:
        raise ValueError(f"{path}: expected instances of the same width, and the same labels")
    Y, width = np.concatenate(parts), bags[0].shape[1]
    names = scope.get("class_name")
    if names is None:
        names = list(map(str, range(Y.shape[1])))
    labels = [n.strip() for n in names if isinstance(n, str) and n.strip()]
    if len(set(labels)) != Y.shape[1]:
        raise ValueError(
            f"{path}: class_name must name each of the {Y.shape[1]} labels, each by another text; "
            f"found {names!r:.200}"
        )
    limits.check_cells(path, (width + Y.shape[1]) * COLUMN_CELLS)
    features = tuple(map(str, range(width)))
    return MultiInstanceData(bags, Y, features, tuple(labels), name, (path,))


def _scopes(variables: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the variables, and the fields of each struct."""
    yield variables
    for value in variables.values():
        if isinstance(value, dict):
            yield from _scopes(value)


def _read_bags(path: Path, variable: str, cell: Any) -> list[FloatArray]:
    bags = cell if isinstance(cell, list) else []
    for number, bag in enumerate(bags, start=1):
        if not isinstance(bag, np.ndarray) or bag.ndim != 2 or bag.size == 0:
            raise ValueError(
                f"{path}: bag {number} of {variable} is no full matrix of numbers with at least "
                "one instance"
            )
    if not bags:
        raise ValueError(f"{path}: {variable} must be a cell array with a matrix a bag")
    return [np.ascontiguousarray(bag) for bag in bags]


def _read_targets(path: Path, variable: str, targets: Any, n_bags: int) -> IntArray:
    """Return the indicators of a part, a row a bag."""
    is_matrix = isinstance(targets, np.ndarray) and targets.ndim == 2 and targets.size > 0
    # In a matrix with both -1 and 0, 0 may mean "unknown".
    if (
        not is_matrix
        or targets.shape[1] != n_bags
        or not (np.isin(targets, (-1, 1)).all() or np.isin(targets, (0, 1)).all())
    ):
        raise ValueError(
            f"{path}: {variable} must be a full matrix of -1 and 1, or of 0 and 1, with a row a "
            f"label and {n_bags} columns, one a bag"
        )
    return (targets.T == 1).astype(np.int64, order="C")


def _read_arff(path: Path, name: str, limits: ReadLimits) -> MultiInstanceData:
    content = read_arff(path, limits=limits)
    attributes = content.attributes
    relational = [place for place, a in enumerate(attributes) if a.kind == "relational"]
    place = relational[0] if len(relational) == 1 else len(attributes)
    labels = attributes[place + 1 :]
    if place > 1 or not labels or any(a.kind in ("text", "relational") for a in labels):
        raise ValueError(
            f"{path}: expected at most one attribute, the identifier, then one relational "
            "attribute, which holds the bags, then labels of 0 and 1"
        )
    if any(attribute.kind != "numeric" for attribute in attributes[place].attributes):
        raise ValueError(f"{path}: the attributes of instances must be numeric")
    bags = content.relations[place]
    limits.check_cells(path, sum(bag.shape[0] * bag.shape[1] for bag in bags))  # sparse ones, too
    cells = content.cells
    limits.check_cells(path, cells.shape[0] * len(attributes))
    table = cells.toarray() if sparse.issparse(cells) else cells
    # In a sparse row, a cell that was left out reads as 0, the first bag.
    has_bags = np.array_equal(table[:, place], np.arange(len(bags)))
    if content.weights is not None or not has_bags:
        raise ValueError(f"{path}: expected a bag in each row, and no instance weights")
    identifiers = table[:, 0][~np.isnan(table[:, 0])]
    if place and len(np.unique(identifiers)) < len(identifiers):
        raise ValueError(f"{path}: two rows have the same identifier; expected a row a bag")
    names = tuple(attribute.name for attribute in attributes)
    categories = {f: a.values for f, a in enumerate(attributes) if a.kind == "nominal"}
    nothing = np.empty((len(table), 0), dtype=np.int64)
    rows = MultiLabelData(table, nothing, names, (), categories, name, (path,))
    rows = take_labels(rows, names[place + 1 :], limits)
    return MultiInstanceData(
        bags=[bag.toarray() if sparse.issparse(bag) else bag for bag in bags],
        Y=rows.Y,
        feature_names=tuple(attribute.name for attribute in attributes[place].attributes),
        label_names=rows.label_names,
        name=name,
        source=(path,),
    )

"""Reading multi-instance multi-label data from MATLAB and relational ARFF files."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairmend._utils.files import OPENERS
from pairmend._utils.text import counted
from pairmend.datasets.arff import ArffFile, read_arff
from pairmend.datasets.assembly import label_indicator, set_name
from pairmend.datasets.bags import MultiInstanceData
from pairmend.datasets.data import column_values
from pairmend.datasets.limits import COLUMN_CELLS, DEFAULT_LIMITS, ReadLimits
from pairmend.datasets.matlab import load_variables

_LAYOUTS = (
    (("bags", "targets"),),
    (("train_bags", "train_target"), ("test_bags", "test_target")),
)
"""Accepted names of variables: the parts of a set, each with its bags and its targets."""

_EXPECTED = (
    "expected the variables bags and targets, or a struct with train_bags, train_target, "
    "test_bags and test_target"
)


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
        If the file is not as described. For a file that is not in ARFF format it is an
        ArffError.

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
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".mat"]:
        return _read_matlab(path, name or set_name(path), limits)
    if suffixes and suffixes[-1] in OPENERS:
        suffixes.pop()
    if suffixes[-1:] == [".arff"]:
        content = read_arff(path, limits=limits)
        return _from_arff(content, path, name or set_name(path), limits)
    raise ValueError(
        f"{path}: expected a MATLAB file (.mat) or an ARFF file (.arff, .arff.gz, .arff.bz2, "
        ".arff.xz); found another suffix"
    )


def _read_matlab(path: Path, name: str, limits: ReadLimits) -> MultiInstanceData:
    scope = _find_scope(path, load_variables(path, limits))
    layout = next(layout for layout in _LAYOUTS if _any_of(layout, scope))
    if missing := [variable for part in layout for variable in part if variable not in scope]:
        raise ValueError(f"{path}: lacks the variables {missing}; {_EXPECTED}")
    bags: list[NDArray[np.float64]] = []
    indicators = []
    for bags_name, targets_name in layout:
        part = _read_bags(path, bags_name, scope[bags_name])
        bags += part
        indicators.append(_read_targets(path, targets_name, scope[targets_name], len(part)))
    _check_columns(path, bags)
    if len({part.shape[1] for part in indicators}) != 1:
        shapes = " and ".join(str(part.shape[1]) for part in indicators)
        raise ValueError(
            f"{path}: targets of {shapes} labels; expected the same number in all parts"
        )
    Y = np.concatenate(indicators)
    limits.check_cells(path, (bags[0].shape[1] + Y.shape[1]) * COLUMN_CELLS)
    return MultiInstanceData(
        bags=bags,
        Y=Y,
        feature_names=tuple(map(str, range(bags[0].shape[1]))),
        label_names=_label_names(path, scope.get("class_name"), Y.shape[1]),
        name=name,
        source=(path,),
    )


def _find_scope(path: Path, variables: dict[str, Any]) -> Mapping[str, Any]:
    """Return the variables, or the fields of the one struct, that have the expected names."""
    found = [
        (place, scope)
        for place, scope in _scopes("", variables)
        if any(_any_of(layout, scope) for layout in _LAYOUTS)
    ]
    if not found:
        raise ValueError(f"{path}: holds the variables {sorted(variables)}; {_EXPECTED}")
    if len(found) > 1 or all(_any_of(layout, found[0][1]) for layout in _LAYOUTS):
        places = [place or "the file itself" for place, _ in found]
        raise ValueError(f"{path}: holds more than one data set, in {places}; expected one")
    return found[0][1]


def _scopes(place: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield place, variables
    for key, value in variables.items():
        names = value.dtype.names if isinstance(value, np.ndarray) else None
        if names and value.size == 1:
            fields = value.ravel()[0]
            yield from _scopes(f"{place}.{key}".lstrip("."), {n: fields[n] for n in names})


def _any_of(layout: tuple[tuple[str, str], ...], scope: Mapping[str, Any]) -> bool:
    return any(variable in scope for part in layout for variable in part)


def _read_bags(path: Path, variable: str, cell: Any) -> list[NDArray[np.float64]]:
    if not isinstance(cell, np.ndarray) or cell.dtype != object:
        raise ValueError(
            f"{path}: {variable} is {_describe(cell)}; expected a cell array with a matrix a bag"
        )
    if cell.size == 0 or max(cell.shape) != cell.size:
        raise ValueError(
            f"{path}: {variable} is a cell array of shape {cell.shape}; expected one row or one "
            "column of bags"
        )
    bags = []
    for number, bag in enumerate(cell.ravel(), start=1):
        if not isinstance(bag, np.ndarray) or bag.dtype.kind not in "biuf" or bag.ndim != 2:
            raise ValueError(
                f"{path}: bag {number} of {variable} is {_describe(bag)}; expected a matrix of "
                "numbers, instances in rows"
            )
        if bag.size == 0:
            raise ValueError(
                f"{path}: bag {number} of {variable} is empty, of shape {bag.shape}; expected at "
                "least one instance"
            )
        bags.append(bag.astype(np.float64, order="C"))
    return bags


def _check_columns(path: Path, bags: Sequence[NDArray[np.float64]]) -> None:
    for number, bag in enumerate(bags, start=1):
        if bag.shape[1] != bags[0].shape[1]:
            raise ValueError(
                f"{path}: the instances of bag {number} hold "
                f"{counted(bag.shape[1], 'number')}, those of bag 1 {bags[0].shape[1]}; expected "
                "the same number in all"
            )


def _read_targets(path: Path, variable: str, targets: Any, n_bags: int) -> NDArray[np.int64]:
    """Return the indicators of a part, a row a bag."""
    if not isinstance(targets, np.ndarray) or targets.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: {variable} is {_describe(targets)}; expected a full matrix of -1 and 1"
        )
    if targets.ndim != 2 or targets.shape[1] != n_bags or targets.shape[0] == 0:
        raise ValueError(
            f"{path}: {variable} is of shape {targets.shape}; expected a row a label and "
            f"{counted(n_bags, 'column')}, one a bag"
        )
    values = np.unique(targets)
    # In a matrix with both -1 and 0, 0 may mean "unknown".
    if not (np.isin(values, (-1, 1)).all() or np.isin(values, (0, 1)).all()):
        shown = ", ".join(f"{value:g}" for value in values[:6])
        raise ValueError(
            f"{path}: {variable} holds the values {shown}{', ...' if len(values) > 6 else ''}; "
            "expected -1 and 1, or 0 and 1"
        )
    return (targets.T == 1).astype(np.int64, order="C")


def _label_names(path: Path, cells: Any, n_labels: int) -> tuple[str, ...]:
    if cells is None:
        return tuple(map(str, range(n_labels)))
    if not isinstance(cells, np.ndarray) or cells.dtype.kind not in "OU":
        raise ValueError(f"{path}: class_name is {_describe(cells)}; expected a cell of strings")
    # A cell holds an array of one string; a character matrix is an array of padded ones.
    texts = [cell.item() if getattr(cell, "size", 0) == 1 else cell for cell in cells.ravel()]
    names = tuple(text.strip() if isinstance(text, str) else "" for text in texts)
    if len(names) != n_labels:
        raise ValueError(
            f"{path}: class_name names {counted(len(names), 'label')}, targets has {n_labels}"
        )
    if "" in names or len(set(names)) != len(names):
        raise ValueError(
            f"{path}: class_name must name each label, each by another string; found {names}"
        )
    return names


def _describe(value: Any) -> str:
    if sparse.issparse(value):
        return f"a sparse matrix of shape {value.shape} (use full() in MATLAB)"
    if not isinstance(value, np.ndarray):
        return f"a {type(value).__name__}"
    kinds = {"O": "a cell array", "U": "text", "V": "a struct", "c": "an array of complex numbers"}
    return f"{kinds.get(value.dtype.kind, 'an array of numbers')} of shape {value.shape}"


def _from_arff(content: ArffFile, path: Path, name: str, limits: ReadLimits) -> MultiInstanceData:
    attributes = content.attributes
    relational = [place for place, a in enumerate(attributes) if a.kind == "relational"]
    if len(relational) != 1:
        raise ValueError(
            f"{path}: {len(relational)} relational attributes; expected one, which holds the bags"
        )
    place = relational[0]
    labels = range(place + 1, len(attributes))
    if place > 1 or not labels:
        raise ValueError(
            f"{path}: {counted(place, 'attribute')} before the bags and "
            f"{len(labels)} behind them; expected at most one before, the identifier, and "
            "the labels behind"
        )
    for kinds, checked in (
        (("numeric",), attributes[place].attributes),
        (("numeric", "nominal"), attributes[place + 1 :]),
    ):
        for attribute in checked:
            if attribute.kind not in kinds:
                raise ValueError(
                    f"{path}: attribute {attribute.name!r} is {attribute.kind}; the numbers of "
                    "instances must be numeric, and labels numeric or nominal of 0 and 1"
                )
    bags = content.relations[place]
    limits.check_cells(path, sum(math.prod(bag.cells.shape) for bag in bags))  # sparse ones, too
    limits.check_cells(path, len(bags) * len(labels))
    if any(part.weights is not None for part in (content, *bags)):
        raise ValueError(f"{path}: has instance weights, which bags cannot have; remove them")
    _check_every_row_has_a_bag(content, place, path)
    _check_identifiers(content, place, path)
    return MultiInstanceData(
        bags=[_dense(bag) for bag in bags],
        Y=np.column_stack([label_indicator(content, label, path) for label in labels]),
        feature_names=tuple(a.name for a in attributes[place].attributes),
        label_names=tuple(attributes[label].name for label in labels),
        name=name,
        source=(path,),
    )


def _check_every_row_has_a_bag(content: ArffFile, place: int, path: Path) -> None:
    given = ~np.isnan(column_values(content.cells, place))
    if sparse.issparse(content.cells):  # a cell that was left out reads as 0, the first bag
        entries = content.cells.tocoo()
        given &= np.isin(np.arange(len(given)), entries.row[entries.col == place])
    if not given.all():
        row = int(np.flatnonzero(~given)[0])
        raise ValueError(f"{path}: row {row} has no bag; expected one in each row")


def _check_identifiers(content: ArffFile, place: int, path: Path) -> None:
    """Raise an error if two bags have the same identifier: they may be parts of one bag."""
    if place == 0:
        return
    texts = content.texts.get(0)
    first: dict[Any, int] = {}
    for row, cell in enumerate(column_values(content.cells, 0)):
        if np.isnan(cell):
            continue
        key = texts[int(cell)] if texts else cell
        if first.setdefault(key, row) != row:
            raise ValueError(
                f"{path}: rows {first[key]} and {row} have the same identifier in "
                f"{content.attributes[0].name!r}; expected a row a bag"
            )


def _dense(bag: ArffFile) -> NDArray[np.float64]:
    cells = bag.cells.toarray() if sparse.issparse(bag.cells) else bag.cells
    return np.asarray(cells, dtype=np.float64)

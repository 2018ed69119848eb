"""Reading multi-instance multi-label data from MATLAB and relational ARFF files."""

import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import loadmat

from pairmend.datasets.arff import ArffFile, read_arff
from pairmend.datasets.assembly import column_values, label_indicator, set_name
from pairmend.datasets.bags import MultiInstanceData
from pairmend.datasets.files import OPENERS

_LAYOUTS = (
    (("bags", "targets"),),
    (("train_bags", "train_target"), ("test_bags", "test_target")),
)
"""Known ways to hold bags and targets: parts, to be joined, each a pair of names."""

# Numbers of the MATLAB 5 format: types of elements, then classes of arrays.
_MATRIX, _COMPRESSED = 14, 15
_ITEM_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_UNICODE = (16, 17, 18)
_CELL, _STRUCT, _CHAR, _SPARSE = 1, 2, 4, 5
_NUMERIC = range(6, 16)
_DEEPEST = 20
"""Cells and structs within each other that are followed."""

_EXPECTED = (
    "expected the variables bags and targets, or a struct with train_bags, train_target, "
    "test_bags and test_target"
)


def load_miml(path: str | Path, *, name: str | None = None) -> MultiInstanceData:
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
        They may lie in a struct.

        ARFF: at most one attribute before the relational one, which identifies the bag and is
        left out; then the relational attribute, of numeric ones; then the labels, 0 or 1.
    name : str, default=None
        Name of the set; that of the file if None.

    Returns
    -------
    MultiInstanceData
        Use its ``flatten`` or ``embed``, or :class:`~pairmend.datasets.BagEmbedding`, to get
        rows.

    Raises
    ------
    ValueError
        If the file is not as described; the message names it and says what was expected.
        ArffError, a ValueError too, where it is not an ARFF file in the first place.

    Examples
    --------
    >>> import tempfile, pathlib
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
        return _read_matlab(path, name or set_name(path))
    if suffixes and suffixes[-1] in OPENERS:
        suffixes.pop()
    if suffixes[-1:] == [".arff"]:
        return _from_arff(read_arff(path), path, name or set_name(path))
    raise ValueError(
        f"{path}: expected a MATLAB file (.mat) or an ARFF file (.arff, .arff.gz, .arff.bz2, "
        ".arff.xz); the suffix tells them apart"
    )


def _read_matlab(path: Path, name: str) -> MultiInstanceData:
    scope = _find_scope(path, _load_variables(path))
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
        raise ValueError(f"{path}: targets of {shapes} labels; all parts must have the same")
    Y = np.concatenate(indicators)
    return MultiInstanceData(
        bags=bags,
        Y=Y,
        feature_names=tuple(map(str, range(bags[0].shape[1]))),
        label_names=_label_names(path, scope.get("class_name"), Y.shape[1]),
        name=name,
        source=(path,),
    )


def _load_variables(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    try:
        _check_structure(content)
        variables = loadmat(BytesIO(content))
    except NotImplementedError as error:
        raise ValueError(
            f"{path}: a MATLAB 7.3 (HDF5) file, which is not read. In MATLAB, load it and save "
            "it again with save(..., '-v7'); expected version 5 to 7.2."
        ) from error
    except Exception as error:  # scipy raises many kinds on broken files
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"{path}: not a MATLAB file, or a broken one ({reason}); expected version 5 to 7.2"
        ) from error
    return {key: value for key, value in variables.items() if not key.startswith("__")}


def _check_structure(content: bytes) -> None:
    """Walk through a MATLAB file and refuse one whose parts do not fit into each other.

    scipy trusts type numbers and sizes: a damaged file can end the whole process.
    """
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise ValueError("no MATLAB header")
    (version,) = struct.unpack(f"{order}H", content[124:126])
    if version >> 8 == 2:
        raise NotImplementedError
    elements = _Elements(content, 128, order)
    while not elements.at_end:
        kind, part = elements.next()
        if kind == _COMPRESSED:
            kind, part = _Elements(zlib.decompress(part), 0, order).next()
        _check_matrix(kind, part, order, depth=0)


class _Elements:
    """Takes the elements of a MATLAB file, or of a matrix in it, one after the other."""

    def __init__(self, content: bytes, start: int, order: str):
        self.content, self.position, self.order = content, start, order

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.content)

    def next(self) -> tuple[int, bytes]:
        """Return the type number and the content of the next element."""
        tag = self.content[self.position : self.position + 8]
        if len(tag) < 8:
            raise ValueError("the file is cut off")
        kind, size = struct.unpack(f"{self.order}II", tag)
        if kind >> 16:  # a small element: type, size and content in eight bytes
            kind, size, start, step = kind & 0xFFFF, kind >> 16, self.position + 4, 4
            if size > 4:
                raise ValueError(f"a small element of {size} bytes")
        else:
            start = self.position + 8
            step = size if kind == _COMPRESSED else size + -size % 8
        part = self.content[start : start + size]
        if len(part) < size:
            raise ValueError("the file is cut off")
        self.position = start + step
        return kind, part

    def expect(self, what: str, *kinds: int) -> tuple[int, bytes]:
        kind, part = self.next()
        if kind not in kinds:
            raise ValueError(f"{what} are of type {kind}")
        return kind, part


def _check_matrix(kind: int, content: bytes, order: str, depth: int) -> None:
    if kind != _MATRIX or depth > _DEEPEST:
        raise ValueError(f"element of type {kind} at depth {depth}")
    if not content:  # an empty cell
        return
    elements = _Elements(content, 0, order)
    _, flags = elements.expect("array flags", 6)
    if len(flags) != 8:
        raise ValueError(f"array flags of {len(flags)} bytes")
    (flag,) = struct.unpack_from(f"{order}I", flags)
    matlab_class, n_parts = flag & 0xFF, 2 if flag & 0x800 else 1  # a second part is imaginary
    dimensions = _integers(elements.expect("dimensions", 5, 6)[1], order)
    if len(dimensions) < 2 or min(dimensions) < 0:
        raise ValueError(f"dimensions {dimensions}")
    size = math.prod(dimensions)
    elements.expect("names", 1, 2, 16)
    if matlab_class in (_CELL, _STRUCT):
        n_fields = 1
        if matlab_class == _STRUCT:
            (length,) = _integers(elements.expect("lengths of field names", 5, 6)[1], order)
            _, names = elements.expect("field names", 1, 2, 16)
            if length < 1 or len(names) % length:
                raise ValueError(f"field names of length {length}")
            n_fields = len(names) // length
        for _ in range(size * n_fields):
            _check_matrix(*elements.next(), order, depth + 1)
    elif matlab_class == _SPARSE:
        elements.expect("row numbers", 5, 6)
        elements.expect("column starts", 5, 6)
        for _ in range(n_parts):
            elements.expect("numbers", *_ITEM_SIZES)
    elif matlab_class == _CHAR:
        elements.expect("characters", *_ITEM_SIZES, *_UNICODE)
    elif matlab_class in _NUMERIC:
        for _ in range(n_parts):
            item, numbers = elements.expect("numbers", *_ITEM_SIZES)
            if len(numbers) != size * _ITEM_SIZES[item]:
                raise ValueError(f"{len(numbers)} bytes for an array of shape {dimensions}")
    else:
        raise ValueError(f"a variable of class {matlab_class}: an object or a function")
    if not elements.at_end:
        raise ValueError("more content than the dimensions say")


def _integers(content: bytes, order: str) -> tuple[int, ...]:
    return struct.unpack(f"{order}{len(content) // 4}i", content)


def _find_scope(path: Path, variables: dict[str, Any]) -> Mapping[str, Any]:
    """Find where the known names are: among the variables, or in a struct within them."""
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
                f"{path}: the instances of bag {number} hold {bag.shape[1]} numbers, those of "
                f"bag 1 {bags[0].shape[1]}; all must hold the same"
            )


def _read_targets(path: Path, variable: str, targets: Any, n_bags: int) -> NDArray[np.int64]:
    """Return the indicators of a part, a row a bag."""
    if not isinstance(targets, np.ndarray) or targets.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: {variable} is {_describe(targets)}; expected a full matrix of -1 and 1"
        )
    if targets.ndim != 2 or targets.shape[1] != n_bags or targets.shape[0] == 0:
        raise ValueError(
            f"{path}: {variable} is of shape {targets.shape}; expected a row a label and a column "
            f"for each of the {n_bags} bags"
        )
    values = np.unique(targets)
    # With both -1 and 0 in it, 0 may well mean "unknown".
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
        raise ValueError(f"{path}: class_name names {len(names)} labels, targets has {n_labels}")
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


def _from_arff(content: ArffFile, path: Path, name: str) -> MultiInstanceData:
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
            f"{path}: {place} attributes before the bags and {len(labels)} behind them; expected "
            "at most one before, the identifier, and the labels behind"
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
    if any(part.weights is not None for part in (content, *bags)):
        raise ValueError(f"{path}: has instance weights, which bags cannot carry; remove them")
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
        row = int(np.flatnonzero(~given)[0]) + 1
        raise ValueError(f"{path}: data row {row} has no bag; expected one in each row")


def _check_identifiers(content: ArffFile, place: int, path: Path) -> None:
    """Refuse an identifier that two bags share: they may be parts of one."""
    if place == 0:
        return
    texts = content.texts.get(0)
    first: dict[Any, int] = {}
    for row, cell in enumerate(column_values(content.cells, 0), start=1):
        if np.isnan(cell):
            continue
        key = texts[int(cell)] if texts else cell
        if first.setdefault(key, row) != row:
            raise ValueError(
                f"{path}: data rows {first[key]} and {row} have the same identifier in "
                f"{content.attributes[0].name!r}; expected a row a bag"
            )


def _dense(bag: ArffFile) -> NDArray[np.float64]:
    cells = bag.cells.toarray() if sparse.issparse(bag.cells) else bag.cells
    return np.asarray(cells, dtype=np.float64)

"""Reading multi-instance multi-label data from MATLAB files of version 5 to 7.2.

scipy's loadmat checks neither type numbers nor sizes: of 4,000 files with a few changed bytes, 111
ended the process (scipy 1.17). What bags need is little: numbers, texts, cells and structs.
"""

import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray, IntArray
from pairmend.datasets.bags import MultiInstanceData
from pairmend.datasets.data import set_name
from pairmend.datasets.limits import (
    COLUMN_CELLS,
    DEFAULT_LIMITS,
    CellCount,
    ReadLimitError,
    ReadLimits,
    memory_checked,
)

# Numbers of the format: types of elements, then classes of arrays.
_MATRIX, _COMPRESSED = 14, 15
_INTEGERS, _BYTES = (5, 6), (1, 2, 16)
_DTYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8",
           13: "u8"}  # fmt: skip
_CODECS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_CELL, _STRUCT, _CHAR = 1, 2, 4
_NUMERIC = range(6, 16)
_DEEPEST = 20
"""Deepest level of nested cells and structs that is read."""


def _load_variables(path: Path, limits: ReadLimits) -> dict[str, Any]:
    """Read the variables of a MATLAB file.

    Numbers are arrays of floats, cells lists, structs dicts, lines of characters texts; None stands
    for anything else.
    """
    limits.check_bytes(path, path.stat().st_size)
    content, count, variables = path.read_bytes(), CellCount(path, limits), {}
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    try:
        if order is None or struct.unpack(f"{order}H", content[124:126])[0] >> 8 != 1:
            raise ValueError("no header of version 5; MATLAB saves it by save(..., '-v7')")
        elements, n_bytes = _Elements(memoryview(content)[128:], order), len(content)
        while elements.content:
            kind, part = elements.next(_MATRIX, _COMPRESSED)
            if kind == _COMPRESSED:
                left = limits.max_bytes - n_bytes
                unpacked = zlib.decompressobj().decompress(part, left + 1)
                n_bytes += len(unpacked)
                limits.check_bytes(path, n_bytes)
                _, part = _Elements(memoryview(unpacked), order).next(_MATRIX)
            name, variables[name] = _read_matrix(part, order, 0, count)
    except ReadLimitError:
        raise
    except (ValueError, LookupError, struct.error, zlib.error) as error:
        raise ValueError(
            f"{path}: not a MATLAB file of version 5 to 7.2, or a broken one ({error})"
        ) from error
    return variables


class _Elements:
    """The elements of a MATLAB file, or of a matrix in it; `content` is what is left."""

    def __init__(self, content: memoryview, order: str):
        self.content, self.order = content, order

    def next(self, *kinds: int) -> tuple[int, memoryview]:
        """Return the type number and the content of the next element, which is of some types."""
        kind, size = struct.unpack(f"{self.order}II", self.content[:8])
        start, step = 8, 8 + size + (0 if kind == _COMPRESSED else -size % 8)
        if kind >> 16:  # a small element: type, size and content in eight bytes
            kind, size, start, step = kind & 0xFFFF, kind >> 16, 4, 8
        part = self.content[start : start + size]
        if len(part) < size or (start == 4 and size > 4) or kind not in kinds:
            raise ValueError(f"an element of type {kind} and {size} bytes")
        self.content = self.content[step:]
        return kind, part

    def integers(self) -> tuple[int, ...]:
        """Return the numbers of the next element."""
        part = self.next(*_INTEGERS)[1]
        return struct.unpack(f"{self.order}{len(part) // 4}i", part[: len(part) // 4 * 4])


def _read_matrix(part: memoryview, order: str, depth: int, count: CellCount) -> tuple[str, Any]:
    """Return the name and the value of an array."""
    count.add(0, columns=1)  # an array takes about as much memory as a column
    if depth > _DEEPEST or not part:  # nothing stands for an empty cell
        return "", None
    elements = _Elements(part, order)
    flag, _ = elements.integers()
    dimensions = elements.integers()
    name = bytes(elements.next(*_BYTES)[1]).decode("latin-1")
    size, matlab_class = math.prod(dimensions), flag & 0xFF
    if len(dimensions) < 2 or min(dimensions) < 0:
        raise ValueError(f"dimensions {dimensions}")
    if matlab_class in (_CELL, _STRUCT):
        fields = [""]
        if matlab_class == _STRUCT:
            length = max(elements.integers()[0], 1)
            names = bytes(elements.next(*_BYTES)[1]).decode("latin-1")
            starts = range(0, len(names), length)
            fields = [names[start : start + length].partition("\0")[0] for start in starts]
        n_parts = size * len(fields)
        if 8 * n_parts > len(part):
            raise ValueError(f"an array of shape {dimensions} in {len(part)} bytes")
        values = [
            _read_matrix(elements.next(_MATRIX)[1], order, depth + 1, count)[1]
            for _ in range(n_parts)
        ]
        if matlab_class == _CELL:
            return name, values
        return name, dict(zip(fields, values, strict=True)) if size == 1 else None
    if flag & 0x800 or (matlab_class != _CHAR and matlab_class not in _NUMERIC):
        return name, None  # complex, sparse, an object or a function
    count.add(size)
    if matlab_class == _CHAR:
        if not size:
            return name, ""
        kind, data = elements.next(*_CODECS)
        order_name = {"<": "-le", ">": "-be"}[order] if kind not in _BYTES else ""
        text = bytes(data).decode(f"{_CODECS[kind]}{order_name}")
        characters = np.array(list(text)).reshape(dimensions, order="F")
        lines = ["".join(line) for line in characters.reshape(dimensions[0], -1).tolist()]
        return name, lines[0] if len(lines) == 1 else lines
    kind, data = elements.next(*_DTYPES)
    if len(data) != size * np.dtype(_DTYPES[kind]).itemsize:
        raise ValueError(f"{len(data)} bytes for an array of shape {dimensions}")
    numbers = np.frombuffer(data, dtype=f"{order}{_DTYPES[kind]}")
    return name, numbers.astype(np.float64).reshape(dimensions, order="F")


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
        A MATLAB file (.mat, version 5 to 7.2): a cell array ``bags`` of matrices, instances in
        rows, and a matrix ``targets`` of -1 and 1, or of 0 and 1, with a row a label and a column a
        bag; a cell array ``class_name``, if there, names the labels, else they are numbered from
        0. Or the four ``train_bags``, ``train_target``, ``test_bags``, ``test_target``, joined in
        this order. All may be fields of a struct.
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
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from pairmend.datasets import load_miml
    >>> bags = np.empty((1, 2), dtype=object)
    >>> bags[0] = [np.array([[0.5, 2.0], [0.1, 3.0]]), np.array([[0.9, 4.0]])]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.mat")
    ...     savemat(path, {"bags": bags, "targets": np.array([[1, 1], [0, 1]])})
    ...     photos = load_miml(path)
    >>> [bag.tolist() for bag in photos.bags]
    [[[0.5, 2.0], [0.1, 3.0]], [[0.9, 4.0]]]
    >>> photos.Y.tolist()
    [[1, 0], [1, 1]]
    """
    path = Path(path)
    with memory_checked(path):
        variables = _load_variables(path, limits)
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
    return MultiInstanceData(bags, Y, features, tuple(labels), name or set_name(path), (path,))


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

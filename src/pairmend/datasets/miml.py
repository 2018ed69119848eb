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
    unpacked,
)

# Numbers of the format: types of elements, then classes of arrays.
_MATRIX, _COMPRESSED = 14, 15
_INTEGERS, _BYTES = (5, 6), (1, 2, 16)
_DTYPES = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8",
           12: "<i8", 13: "<u8"}  # fmt: skip
_CODECS = {1: "latin-1", 2: "latin-1", 4: "utf-16-le", 16: "utf-8", 17: "utf-16-le",
           18: "utf-32-le"}  # fmt: skip
_CELL, _STRUCT, _CHAR = 1, 2, 4
_NUMERIC = range(6, 16)
_DEEPEST = 20
"""Deepest level of nested cells and structs that is read."""


def _load_variables(path: Path, limits: ReadLimits) -> dict[str, Any]:
    """Read the variables of a MATLAB file.

    Numbers are arrays of floats, cells lists, structs dicts, lines of characters texts; None stands
    for anything else.
    """
    content, count, variables = unpacked(path, limits), CellCount(path, limits), {}
    n_bytes = len(content)
    try:
        if content[124:128] != b"\0\1IM":
            raise ValueError("no header of version 5; MATLAB saves it by save(..., '-v7')")
        elements = _Elements(memoryview(content)[128:])
        while elements.content:
            kind, part = elements.next(_MATRIX, _COMPRESSED)
            if kind == _COMPRESSED:
                left = limits.max_bytes - n_bytes
                inner = zlib.decompressobj().decompress(part, left + 1)
                n_bytes += len(inner)
                limits.check_bytes(path, n_bytes)
                _, part = _Elements(memoryview(inner)).next(_MATRIX)
            name, variables[name] = _read_matrix(part, 0, count)
    except ReadLimitError:
        raise
    except (ValueError, LookupError, struct.error, zlib.error) as error:
        raise ValueError(
            f"{path}: not a MATLAB file of version 5 to 7.2, or a broken one ({error})"
        ) from error
    return variables


class _Elements:
    """The elements of a MATLAB file, or of a matrix in it; `content` is what is left."""

    def __init__(self, content: memoryview):
        self.content = content

    def next(self, *kinds: int) -> tuple[int, memoryview]:
        """Return the type number and the content of the next element, which is of some types."""
        kind, size = struct.unpack("<II", self.content[:8])
        start, step = 8, 8 + size + (0 if kind == _COMPRESSED else -size % 8)
        if kind >> 16:  # a small element: type, size and content in eight bytes
            kind, size, start, step = kind & 0xFFFF, kind >> 16, 4, 8
        part = self.content[start : start + size]
        if len(part) < size or (start == 4 and size > 4) or kind not in kinds:
            raise ValueError(f"an element of type {kind} and {size} bytes")
        self.content = self.content[step:]
        return kind, part

    def integers(self) -> list[int]:
        """Return the numbers of the next element."""
        return np.frombuffer(self.next(*_INTEGERS)[1], dtype="<i4").tolist()

    def text(self) -> str:
        """Return the characters of the next element."""
        return bytes(self.next(*_BYTES)[1]).decode("latin-1")


def _read_matrix(part: memoryview, depth: int, count: CellCount) -> tuple[str, Any]:
    """Return the name and the value of an array."""
    count.add(0, columns=1)  # an array takes about as much memory as a column
    if depth > _DEEPEST or not part:  # nothing stands for an empty cell
        return "", None
    elements = _Elements(part)
    flag, _ = elements.integers()
    dimensions, name = elements.integers(), elements.text()
    size, kind = math.prod(dimensions), flag & 0xFF
    if len(dimensions) < 2 or min(dimensions) < 0:
        raise ValueError(f"dimensions {dimensions}")
    if kind in (_CELL, _STRUCT):
        fields = [""]
        if kind == _STRUCT:
            length, names = max(elements.integers()[0], 1), elements.text()
            starts = range(0, len(names), length)
            fields = [names[start : start + length].partition("\0")[0] for start in starts]
        n_parts = size * len(fields)
        if 8 * n_parts > len(part):
            raise ValueError(f"an array of shape {dimensions} in {len(part)} bytes")
        inner = (elements.next(_MATRIX)[1] for _ in range(n_parts))
        values = [_read_matrix(each, depth + 1, count)[1] for each in inner]
        if kind == _STRUCT:
            return name, dict(zip(fields, values, strict=True)) if size == 1 else None
        return name, values
    if flag & 0x800 or (kind != _CHAR and kind not in _NUMERIC):
        return name, None  # complex, sparse, an object or a function
    count.add(size)
    if kind == _CHAR:
        if not size:
            return name, ""
        codec, data = elements.next(*_CODECS)
        characters = np.array(list(bytes(data).decode(_CODECS[codec])), dtype="U1")
        rows = characters.reshape(dimensions, order="F").reshape(dimensions[0], -1)
        lines = ["".join(row) for row in rows.tolist()]
        return name, lines[0] if len(lines) == 1 else lines
    number, data = elements.next(*_DTYPES)
    numbers = np.frombuffer(data, dtype=_DTYPES[number])
    return name, numbers.astype(np.float64).reshape(dimensions, order="F")


_LAYOUTS = (
    (("bags", "targets"),),
    (("train_bags", "train_target"), ("test_bags", "test_target")),
)
"""Accepted names of variables: the parts of a set, each with its bags and its targets."""


def load_miml(path: str | Path, *, limits: ReadLimits = DEFAULT_LIMITS) -> MultiInstanceData:
    r"""Read bags of instances and the labels of each bag.

    Parameters
    ----------
    path : path
        A MATLAB file (.mat, version 5 to 7.2): a cell array ``bags`` of matrices, instances in
        rows, and a matrix ``targets`` of -1 and 1, or of 0 and 1, with a row a label and a column a
        bag; a cell array ``class_name``, if there, names the labels, else they are numbered from
        0. Or the four ``train_bags``, ``train_target``, ``test_bags``, ``test_target``, joined in
        this order. All may be fields of a struct.
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
        own, Y = _read_part(path, scope, bags_name, targets_name)
        parts.append(Y)
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
    return MultiInstanceData(bags, Y, features, tuple(labels), set_name(path), (path,))


def _scopes(variables: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the variables, and the fields of each struct."""
    yield variables
    for value in variables.values():
        if isinstance(value, dict):
            yield from _scopes(value)


def _read_part(
    path: Path, scope: Mapping[str, Any], bags_name: str, targets_name: str
) -> tuple[list[FloatArray], IntArray]:
    """Return the bags of a part, and their indicators, a row a bag."""
    bags, targets = scope[bags_name], scope[targets_name]
    bags = bags if isinstance(bags, list) else [None]
    full = [isinstance(bag, np.ndarray) and bag.ndim == 2 and bag.size > 0 for bag in bags]
    if not full or not all(full):
        raise ValueError(
            f"{path}: bag {[*full, False].index(False) + 1} of {bags_name} is no full matrix of "
            "numbers; expected a cell array with a matrix a bag, with at least one instance each"
        )
    is_matrix = isinstance(targets, np.ndarray) and targets.ndim == 2 and targets.size > 0
    # In a matrix with both -1 and 0, 0 may mean "unknown".
    if (
        not is_matrix
        or targets.shape[1] != len(bags)
        or not (np.isin(targets, (-1, 1)).all() or np.isin(targets, (0, 1)).all())
    ):
        raise ValueError(
            f"{path}: {targets_name} must be a full matrix of -1 and 1, or of 0 and 1, with a row "
            f"a label and {len(bags)} columns, one a bag"
        )
    contiguous = [np.ascontiguousarray(bag) for bag in bags]
    return contiguous, (targets.T == 1).astype(np.int64, order="C")

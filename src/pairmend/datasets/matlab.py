"""Reading MATLAB files, checked before scipy parses them."""

import math
import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

from scipy.io import loadmat

from pairmend.datasets.limits import DEFAULT_LIMITS, CellCount, ReadLimitError, ReadLimits

# Numbers of the MATLAB 5 format: types of elements, then classes of arrays.
_MATRIX, _COMPRESSED = 14, 15
_ITEM_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_UNICODE = (16, 17, 18)
_CELL, _STRUCT, _CHAR, _SPARSE = 1, 2, 4, 5
_NUMERIC = range(6, 16)
_DEEPEST = 20
"""Deepest level of nested cells and structs that is read."""


class _NewerVersion(Exception):
    """Raised for files of version 7.3, which are HDF5 files."""


def load_variables(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> dict[str, Any]:
    """Read the variables of a MATLAB file of version 5 to 7.2, as :func:`scipy.io.loadmat` does."""
    limits.check_bytes(path, path.stat().st_size)
    content = path.read_bytes()
    try:
        _check_structure(content, path, limits)
        variables = loadmat(BytesIO(content))
    except _NewerVersion as error:
        raise ValueError(
            f"{path}: a MATLAB 7.3 (HDF5) file, which is not read. In MATLAB, load it and save "
            "it again with save(..., '-v7'); expected version 5 to 7.2."
        ) from error
    except ReadLimitError:
        raise
    except Exception as error:  # scipy raises many kinds on broken files
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"{path}: not a MATLAB file, or a broken one ({reason}); expected version 5 to 7.2"
        ) from error
    return {key: value for key, value in variables.items() if not key.startswith("__")}


def _check_structure(content: bytes, path: Path, limits: ReadLimits) -> None:
    """Raise an error if the sizes of the parts of a MATLAB file do not match.

    scipy does not check type numbers and sizes: a damaged file can end the whole process.
    """
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise ValueError("no MATLAB header")
    (version,) = struct.unpack(f"{order}H", content[124:126])
    if version >> 8 == 2:
        raise _NewerVersion
    elements = _Elements(memoryview(content), 128, order)
    n_bytes, count = len(content), CellCount(path, limits)
    while not elements.at_end:
        kind, part = elements.next()
        if kind == _COMPRESSED:
            left = limits.max_bytes - n_bytes
            unpacked = zlib.decompressobj().decompress(part, left + 1)
            n_bytes += len(unpacked)
            limits.check_bytes(path, n_bytes)
            kind, part = _Elements(memoryview(unpacked), 0, order).next()
        _check_matrix(kind, part, order, 0, count)


class _Elements:
    """Iterates over the elements of a MATLAB file, or of a matrix in it."""

    def __init__(self, content: memoryview, start: int, order: str):
        self.content, self.position, self.order = content, start, order

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.content)

    def next(self) -> tuple[int, memoryview]:
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

    def expect(self, what: str, *kinds: int) -> tuple[int, memoryview]:
        kind, part = self.next()
        if kind not in kinds:
            raise ValueError(f"{what} are of type {kind}")
        return kind, part


def _check_matrix(kind: int, content: memoryview, order: str, depth: int, count: CellCount) -> None:
    count.add_columns(1)  # an array takes about as much memory as a column, whatever it holds
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
    if matlab_class not in (_CELL, _STRUCT, _SPARSE):
        count.add(size * n_parts)
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
            _check_matrix(*elements.next(), order, depth + 1, count)
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
        raise ValueError("more content than the dimensions allow")


def _integers(content: memoryview, order: str) -> tuple[int, ...]:
    return struct.unpack(f"{order}{len(content) // 4}i", content)

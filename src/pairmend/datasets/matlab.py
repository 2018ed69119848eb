"""Reading MATLAB files of version 5 to 7.2.

scipy's loadmat checks neither type numbers nor sizes: of 4,000 files with a few changed bytes, 111
ended the process (scipy 1.17). What bags need is little: numbers, texts, cells and structs.
"""

import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from pairmend.datasets.limits import CellCount, ReadLimitError, ReadLimits

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


def load_variables(path: Path, limits: ReadLimits) -> dict[str, Any]:
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

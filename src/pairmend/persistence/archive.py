"""Unpacking the archive of a model file, and checking its arrays; `Budget` is the limit of memory.

Sizes that a file declares may be forged: members are unpacked in small parts, and the head of an
array is checked before the array is created.
"""

import zlib
from dataclasses import dataclass
from io import BytesIO
from math import prod
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

PART = 2**20
"""Bytes that are unpacked at once."""


class TooLargeError(ValueError):
    """An archive holds more than allowed."""


@dataclass
class Budget:
    """Counts the bytes of an estimator in memory, up to a limit."""

    limit: int
    used: int = 0

    def spend(self, n_bytes: int) -> None:
        """Count bytes; more than the limit is an error."""
        self.check(n_bytes)
        self.used += n_bytes

    def check(self, n_bytes: int) -> None:
        """Raise an error for bytes beyond the limit, without counting them."""
        if self.used + n_bytes > self.limit:
            raise TooLargeError(
                f"unpacked, it takes more than max_bytes={self.limit} ({show_bytes(self.limit)})"
            )


def show_bytes(n_bytes: int) -> str:
    """Format a number of bytes, such as 4.0 GiB."""
    size, units = float(n_bytes), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.1f} {units[0]}"


def open_archive(content: bytes) -> ZipFile:
    """Open an archive; repeated names and unknown compression are errors."""
    archive = ZipFile(BytesIO(content))
    names = archive.namelist()
    if len(set(names)) != len(names):
        raise BadZipFile("two members have the same name")
    for entry in archive.infolist():
        if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise BadZipFile(f"{entry.filename} has an unknown compression")
        if entry.flag_bits & 0x1:
            raise BadZipFile(f"{entry.filename} is encrypted")
    return archive


def read_member(archive: ZipFile, name: str, budget: Budget) -> bytes:
    """Unpack a member of at most the bytes that are left of the budget; they are not counted."""
    parts: list[bytes] = []
    size = 0
    try:
        with archive.open(name) as file:
            while part := file.read(PART):
                size += len(part)
                budget.check(size)
                parts.append(part)
    except (KeyError, zlib.error, EOFError) as error:
        raise BadZipFile(f"{name} cannot be unpacked: {error}") from error
    if size != archive.getinfo(name).file_size:
        raise BadZipFile(f"{name} differs in size from the archive's directory")
    return b"".join(parts)


MAX_DIMENSIONS = 32
INTEGERS = "iu"
NUMBERS = "biufc"


@dataclass(frozen=True)
class ArrayHead:
    """Shape and type of an array in a file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """Bytes of the array."""
        return prod(self.shape) * self.dtype.itemsize


def read_head(data: bytes) -> ArrayHead:
    """Read the head of a ``.npy`` file, and check that its cells follow."""
    file = BytesIO(data)
    version = npy_format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = npy_format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = npy_format.read_array_header_2_0(file)
    else:
        raise ValueError(f"an array is of the unknown version {version}")
    if dtype.hasobject:
        raise ValueError("an array holds pickled objects, which are not read (allow_pickle=False)")
    is_shape = all(type(size) is int and size >= 0 for size in shape)
    if not is_shape or len(shape) > MAX_DIMENSIONS or dtype.itemsize == 0:
        raise ValueError(f"an array has the impossible shape {shape} or type {dtype}")
    head = ArrayHead(shape, dtype)
    if head.n_bytes != len(data) - file.tell():
        raise ValueError(f"an array of shape {shape} and type {dtype} has too few or many cells")
    return head


def read_array(data: bytes) -> NDArray[Any]:
    """Read an array in numpy's format whose head has been checked."""
    read_head(data)
    array: NDArray[Any] = np.load(BytesIO(data), allow_pickle=False)
    return array


SPARSE_PARTS = {"indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy"}


def check_sparse(data: bytes, *, is_array: bool, budget: Budget) -> None:
    """Check a CSR matrix in a ``.npz`` file: compiled code of scipy does not check its indices."""
    archive = open_archive(data)
    if {*archive.namelist()} - {"_is_array.npy"} != SPARSE_PARTS:
        raise ValueError("a sparse array has other parts than those of CSR")
    parts = {name: read_array(read_member(archive, name, budget)) for name in archive.namelist()}
    for part in parts.values():
        budget.spend(part.nbytes)
    if parts["format.npy"].tolist() not in (b"csr", "csr"):
        raise ValueError("a sparse array is not CSR")
    marked = parts.get("_is_array.npy", np.array(False))
    if marked.shape != () or bool(marked) != is_array:
        raise ValueError("a sparse array does not have its declared type")
    shape, indptr = parts["shape.npy"], parts["indptr.npy"]
    indices, values = parts["indices.npy"], parts["data.npy"]
    if shape.shape != (2,) or shape.dtype.kind not in INTEGERS or (shape < 0).any():
        raise ValueError("a sparse array has an impossible shape")
    n_rows, n_columns = shape.tolist()
    budget.spend(8 * n_columns)  # the size of a sum over its rows
    if any(each.dtype not in (np.int32, np.int64) for each in (indptr, indices)):
        raise ValueError("a sparse array has indices that are no 32 or 64 bit integers")
    if not (indptr.ndim == indices.ndim == values.ndim == 1 and len(indptr) == n_rows + 1):
        raise ValueError("a sparse array has parts whose shapes do not match")
    if values.dtype.kind not in NUMBERS or len(values) != len(indices):
        raise ValueError("a sparse array has other values than one number for each index")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or indptr[-1] != len(indices):
        raise ValueError("a sparse array has rows that lie outside of it")
    if len(indices) and (indices.min() < 0 or indices.max() >= n_columns):
        raise ValueError("a sparse array has indices that lie outside of it")

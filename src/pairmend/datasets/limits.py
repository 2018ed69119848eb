"""How much of a file is read, and in which encoding: limits, compressed files, text files."""

import codecs
import io
import lzma
import math
import warnings
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pairmend._utils.defaults import MAX_FILE_BYTES, MAX_FILE_CELLS
from pairmend._utils.files import OPENERS

TEXT_CELLS = 16
"""Cells that a stored text counts as, a category or a string: about 128 bytes."""
COLUMN_CELLS = 64
"""Cells that a column counts as, for its name and its description: about 512 bytes."""
BYTES_OF_CELL = 48
"""Memory that a cell takes at most while a file is read: 8 bytes, copied while columns are put
together and labels are taken out."""


class ReadWarning(UserWarning):
    """A file was read in one of several possible ways, which the message describes.

    Examples
    --------
    >>> import warnings
    >>> from pairmend.datasets import ReadWarning
    >>> warnings.simplefilter("error", ReadWarning)  # refuse files that need a guess
    >>> warnings.simplefilter("default", ReadWarning)
    """


class ReadLimitError(ValueError):
    """A file that holds more than :class:`ReadLimits`, or the memory of the process, allow."""


@dataclass(frozen=True)
class ReadLimits:
    r"""How much is read from one file before a ReadLimitError is raised.

    Compressed files of a few kilobytes can unpack to terabytes. The readers check these limits
    while they read, so their memory stays in proportion to them. Where the memory of the process
    is limited (``ulimit -v``, a container), a file that needs more is refused, too.

    Parameters
    ----------
    max_bytes : int, default=2**32
        Bytes of the file after it is unpacked.
    max_cells : int, default=2**28
        Cells of the table, and cells of the label matrix. A stored cell of a sparse file counts
        as 2, each different text of a column as 16, a column as 64. A cell takes 8 bytes in the
        result and more while the file is read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import ReadLimits, load_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.csv")
    ...     _ = path.write_text("size,hue\n1,2\n3,4\n")
    ...     load_file(path, (), limits=ReadLimits(max_bytes=10))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    pairmend.datasets.limits.ReadLimitError: ...photos.csv: more than 10 bytes when unpacked...
    """

    max_bytes: int = MAX_FILE_BYTES
    max_cells: int = MAX_FILE_CELLS

    def check_bytes(self, path: Path, n_bytes: int) -> None:
        """Raise a ReadLimitError if a file unpacks to more bytes than are allowed.

        Parameters
        ----------
        path : Path
            The file, for the message.
        n_bytes : int
            Number of bytes.

        Examples
        --------
        >>> from pathlib import Path
        >>> from pairmend.datasets import ReadLimits
        >>> ReadLimits(max_bytes=10).check_bytes(Path("photos.csv"), 10)
        """
        if n_bytes > self.max_bytes:
            raise ReadLimitError(
                f"{path}: more than {self.max_bytes} bytes when unpacked. If you trust the file, "
                "raise the limit: limits=ReadLimits(max_bytes=...), --max-bytes NUMBER"
            )

    def check_cells(self, path: Path, n_cells: int) -> None:
        """Raise a ReadLimitError if a file holds more cells than are allowed.

        Parameters
        ----------
        path : Path
            The file, for the message.
        n_cells : int
            Number of cells.

        Examples
        --------
        >>> from pathlib import Path
        >>> from pairmend.datasets import ReadLimits
        >>> ReadLimits(max_cells=10).check_cells(Path("photos.csv"), 10)
        """
        if n_cells > self.max_cells:
            raise ReadLimitError(
                f"{path}: more than {self.max_cells} cells (a text counts as {TEXT_CELLS}, a "
                f"column as {COLUMN_CELLS}). If you trust the file, raise the limit: "
                "limits=ReadLimits(max_cells=...), --max-cells on the command line"
            )


DEFAULT_LIMITS = ReadLimits()


class CellCount:
    """Adds up the cells of one file; raises a ReadLimitError above the limit or free memory."""

    def __init__(self, path: Path, limits: ReadLimits):
        self.path, self.limits = path, limits
        self.n_cells = 0
        self._room = free_memory()

    def add(self, n_cells: int, *, texts: int = 0, columns: int = 0) -> None:
        """Count cells, stored texts and columns."""
        self.n_cells += n_cells + texts * TEXT_CELLS + columns * COLUMN_CELLS
        self.check(self.n_cells)

    def check(self, n_cells: int) -> None:
        """Raise a ReadLimitError if the file has so many cells, and this is too much."""
        self.limits.check_cells(self.path, n_cells)
        if n_cells * BYTES_OF_CELL > self._room:
            raise _memory_error(self.path)

    @property
    def texts_left(self) -> int:
        """How many more texts are allowed."""
        return (self.limits.max_cells - self.n_cells) // TEXT_CELLS


def _memory_error(path: Path) -> ReadLimitError:
    return ReadLimitError(
        f"{path}: needs more memory than this process may use. Raise the limit of the "
        "process (ulimit -v, or that of the container), or read a part of the file"
    )


def free_memory() -> float:
    """Return the bytes that the process may still take by RLIMIT_AS and its control groups."""
    room = math.inf
    with suppress(ImportError, OSError, ValueError):  # other systems than Linux
        import resource

        pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()
        size, resident = (int(n) * resource.getpagesize() for n in pages[:2])
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        room = _memory_of_groups() - resident
        if limit != resource.RLIM_INFINITY:
            room = min(room, limit - size)
    return max(0.0, room)


@cache
def _memory_of_groups() -> float:
    """Return the smallest limit of memory among the control groups of the process."""
    limits = [math.inf]
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        group = Path("/sys/fs/cgroup") / line.split(":", 2)[2].lstrip("/")
        for folder in (group, *group.parents):
            with suppress(OSError, ValueError):  # no such file, or "max"
                limits.append(int((folder / "memory.max").read_text(encoding="utf-8")))
    return min(limits)


def unpacked(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> bytes:
    """Return the content of a file, decompressed by its suffix, if the limits allow it."""
    blocks, n_bytes, room = [], 0, free_memory()
    try:
        with OPENERS.get(path.suffix.lower(), Path.open)(path, "rb") as file:
            while block := file.read(_BLOCK):
                blocks.append(block)
                n_bytes += len(block)
                limits.check_bytes(path, n_bytes)
                if 2 * n_bytes > room:
                    raise _memory_error(path)
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if getattr(error, "errno", None) is not None:  # not of the content
            raise
        raise ValueError(f"{path}: the compressed file is broken: {error}") from error
    return b"".join(blocks)


_BLOCK = 2**22
_SAMPLE = 2**12
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by byte order mark."""


def open_text(
    path: Path, limits: ReadLimits, encoding: str | None, newline: str | None = None
) -> io.TextIOWrapper:
    """Open a text file in UTF-8, cp1252 or the encoding that is given or marked."""
    content = unpacked(path, limits)
    marked = (name for mark, name in _MARKS.items() if content.startswith(mark))
    chosen = encoding or next(marked, "utf-8")
    try:
        with io.TextIOWrapper(io.BytesIO(content), chosen, newline="") as file:
            while text := file.read(_BLOCK):
                if "\0" in text:
                    raise ValueError("it holds the character NUL")
    except (ValueError, LookupError) as error:
        best = _best_encoding(getattr(error, "object", content[:_SAMPLE]))
        is_western = isinstance(error, UnicodeError) and chosen == "utf-8" and not encoding
        if not is_western or best is None or "cp1252" not in best.could_be_from_charset:
            such = f", such as {best.encoding}" if best and b"\0" in content else ""
            raise ValueError(
                f"{path}: not a text in {chosen}: {error}; does its suffix fit its content? If it "
                f"is a text, give its encoding: --encoding NAME, in Python encoding=...{such}"
            ) from None
        warnings.warn(
            f"{path}: not in UTF-8, read as cp1252 (Western European, a superset of latin-1); if "
            "letters look wrong, give the encoding: --encoding NAME, in Python encoding=...",
            ReadWarning,
            stacklevel=4,
        )
        chosen = "cp1252"
    return io.TextIOWrapper(io.BytesIO(content), chosen, newline=newline)


def _best_encoding(sample: bytes) -> Any:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    return from_bytes(sample).best()

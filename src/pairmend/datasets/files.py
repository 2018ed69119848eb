"""Opening packed files up to a limit, and writing files whole or not at all."""

import bz2
import gzip
import io
import lzma
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pairmend.datasets.limits import ReadLimits

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""How compressed files are opened, by suffix."""
_BUFFER = 2**16


class UnpackedFile(io.RawIOBase):
    """The bytes of a file, unpacked by its suffix, up to a limit.

    Damage of a compressed file raises a ValueError that names the file.

    Parameters
    ----------
    path : Path
        The file; gz, bz2 and xz are unpacked.
    limits : ReadLimits
        Their `max_bytes` is the limit.
    """

    def __init__(self, path: Path, limits: ReadLimits):
        self._path, self._limits = path, limits
        self._file = path.open("rb")
        self._size = max(1, path.stat().st_size)
        opener = OPENERS.get(path.suffix.lower())
        self._stream = self._file if opener is None else opener(self._file, "rb")
        self._n_bytes = 0

    @property
    def share_read(self) -> float:
        """Share of the packed file that has been read, from 0 to 1."""
        return min(1.0, self._file.tell() / self._size)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read and count bytes."""
        try:
            n_bytes: int = self._stream.readinto(buffer)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise ValueError(f"{self._path}: the compressed file is broken: {error}") from error
        except OSError as error:
            if error.filename is not None or error.errno is not None:
                raise
            raise ValueError(f"{self._path}: the compressed file is broken: {error}") from error
        self._n_bytes += n_bytes
        self._limits.check_bytes(self._path, self._n_bytes)
        return n_bytes

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._stream.close()
            self._file.close()
        super().close()


def opened(path: Path, limits: ReadLimits) -> io.BufferedReader:
    """Open a file for reading bytes, unpacked by its suffix, up to a limit.

    Parameters
    ----------
    path : Path
        The file; gz, bz2 and xz are unpacked.
    limits : ReadLimits
        Their `max_bytes` is the limit.
    """
    return io.BufferedReader(UnpackedFile(path, limits), _BUFFER)


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """Give a place to write a file to, which takes its own place only when all went well.

    Parameters
    ----------
    path : str or Path
        Where the file is to be.

    Yields
    ------
    Path
        Where it is to be written, with the same suffix.
    """
    path = Path(path)
    if path.is_symlink():  # write where it points to, not over it
        path = path.resolve()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    # In a folder of its own beside the place: the file itself gets the usual permissions.
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".pairmend-") as folder:
        temporary = Path(folder) / f"new{path.suffix}"
        yield temporary
        os.replace(temporary, path)


@contextmanager
def written(path: str | Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file for writing that takes its place only when all went well.

    Parameters
    ----------
    path : str or Path
        The file; gz, bz2 and xz are compressed by their suffix.

    Yields
    ------
    file
        The text file to write to.
    """
    opener = OPENERS.get(Path(path).suffix.lower(), open)
    with (
        replaced(path) as temporary,
        opener(temporary, "wt", encoding="utf-8", newline="\n") as file,
    ):
        yield file

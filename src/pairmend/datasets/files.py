"""Opening compressed files up to a limit of unpacked bytes."""

import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import Any

from pairmend._utils.files import OPENERS
from pairmend.datasets.limits import ReadLimits

_BUFFER = 2**16


def require_pandas() -> Any:
    """Return pandas, or raise an ImportError with the command that installs it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "data files need pandas, which is not installed: pip install 'pairmend[data]'"
        ) from error
    return pandas


def read_csv(source: Any, **options: Any) -> Any:
    """Read a text table by pandas; numbers are read exactly."""
    pandas = require_pandas()
    if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):
        # Before 3.1, pandas reads the last digit of some numbers wrongly without the option.
        options["float_precision"] = "round_trip"
    return pandas.read_csv(source, **options)


class UnpackedFile(io.RawIOBase):
    """The bytes of a file, decompressed by its suffix (gz, bz2, xz), up to `limits.max_bytes`.

    Damage of a compressed file raises a ValueError that names the file.
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
        """Share of the compressed file that has been read, from 0 to 1."""
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
    """Open a file for reading bytes, decompressed by its suffix, up to `limits.max_bytes`."""
    return io.BufferedReader(UnpackedFile(path, limits), _BUFFER)

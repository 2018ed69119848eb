"""Unpacking the zip archive in a model file; `Budget` is the limit of memory.

Sizes that a file declares may be forged: members are unpacked in small parts.
"""

import zlib
from dataclasses import dataclass
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

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

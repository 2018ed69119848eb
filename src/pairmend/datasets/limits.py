"""ReadLimits: the largest number of bytes and cells that readers accept; ReadLimitError."""

from dataclasses import dataclass
from pathlib import Path

from pairmend._utils.defaults import MAX_FILE_BYTES, MAX_FILE_CELLS

TEXT_CELLS = 16
"""Cells that a stored text counts as, a category or a string: about 128 bytes."""
COLUMN_CELLS = 64
"""Cells that a column counts as, for its name and its description: about 512 bytes."""


class ReadLimitError(ValueError):
    """A file that holds more than :class:`ReadLimits` allow."""


@dataclass(frozen=True)
class ReadLimits:
    r"""How much is read from one file before a ReadLimitError is raised.

    Compressed files of a few kilobytes can unpack to terabytes. The readers check these limits
    while they read, so their memory stays in proportion to them.

    Parameters
    ----------
    max_bytes : int, default=2**32
        Bytes of the file after it is unpacked.
    max_cells : int, default=2**28
        Cells of the table, and cells of the label matrix. A stored cell of a sparse file counts
        as 2, each different text of a column as 16, a column as 64. A cell takes 8 bytes in the
        result and about as much again while the file is read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import ReadLimits, load_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.csv")
    ...     _ = path.write_text("size,hue\n1,2\n3,4\n")
    ...     load_table(path, limits=ReadLimits(max_bytes=10))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    pairmend.datasets.limits.ReadLimitError: ...photos.csv: more than 10 bytes when unpacked...
    """

    max_bytes: int = MAX_FILE_BYTES
    max_cells: int = MAX_FILE_CELLS

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_cells"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a positive integer, got {value!r}")

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
                "raise the limit: limits=ReadLimits(max_bytes=...), --max-bytes on the command "
                "line"
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
    """Adds up the cells of one file and raises a ReadLimitError above the limit."""

    def __init__(self, path: Path, limits: ReadLimits):
        self.path, self.limits = path, limits
        self.n_cells = 0

    def add(self, n_cells: int) -> None:
        """Count cells."""
        self.n_cells += n_cells
        self.limits.check_cells(self.path, self.n_cells)

    def add_texts(self, n_texts: int) -> None:
        """Count stored texts."""
        self.add(n_texts * TEXT_CELLS)

    def add_columns(self, n_columns: int) -> None:
        """Count columns."""
        self.add(n_columns * COLUMN_CELLS)

    @property
    def texts_left(self) -> int:
        """How many more texts are allowed."""
        return (self.limits.max_cells - self.n_cells) // TEXT_CELLS

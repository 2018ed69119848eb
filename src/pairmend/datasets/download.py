"""Downloading files of the catalogue into a cache by pooch, checked by SHA-256."""

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from pairmend.datasets.catalogue import CatalogueEntry, CatalogueFile, find_entry

CACHE_VARIABLE = "PAIRMEND_CACHE"
"""Environment variable that names the cache folder."""
DATA_VARIABLE = "PAIRMEND_DATA"
"""Environment variable that names a folder with the user's own copies of the files."""
MIRROR_VARIABLE = "PAIRMEND_MIRROR"
"""Environment variable with an address to use in place of GitHub's."""

GITHUB_RAW = "https://raw.githubusercontent.com"
_GITHUB = "https://github.com/"
_TIMEOUT = 30.0
"""Seconds without any byte after which a connection is given up."""
_CHUNK = 2**16

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, the number of bytes received, and its size in bytes."""


class DownloadError(OSError):
    """A file that could not be downloaded, or has another SHA-256 than in the catalogue."""


def fetch(name: str, *, progress: Progress | None = None) -> tuple[Path, ...]:
    """Download the files of a set that are not in the cache yet.

    Needs pooch: ``pip install 'pairmend[data]'``. A file is stored only if its SHA-256 is that of
    the catalogue. The cache is the folder of the environment variable PAIRMEND_CACHE, or else the
    user's cache folder; each set has a sub-folder. PAIRMEND_MIRROR is an address to use in place
    of https://raw.githubusercontent.com.

    Parameters
    ----------
    name : str
        Name of the set.
    progress : callable, default=None
        Called with the name of a file, the number of bytes received, and its size in bytes.

    Returns
    -------
    tuple of Path
        The files, in the order of the catalogue.

    Raises
    ------
    OSError
        If a file cannot be downloaded or has another SHA-256. The message names the files and
        the folder to copy them to by hand.

    Examples
    --------
    >>> from pairmend.datasets import fetch
    >>> fetch("simplehc")  # a generated set has no files
    ()
    """
    entry = find_entry(name)
    if entry.status == "not found":
        raise DownloadError(f"{entry.name}: {entry.notes}")
    return tuple(fetch_file(entry, file, progress=progress) for file in entry.files)


def fetch_file(
    entry: CatalogueEntry, file: CatalogueFile, *, progress: Progress | None = None
) -> Path:
    """Download one file of a set into the cache, if it is not there yet; as :func:`fetch`."""
    cached = cached_file(entry, file)
    if cached is not None:
        return cached
    pooch = _import_pooch(entry)
    folder = cache_folder() / entry.folder
    url = file_url(entry, file)
    try:
        with _quiet(pooch.get_logger()):
            pooch.retrieve(
                url,
                known_hash=f"sha256:{file.sha256}",
                fname=file.name,
                path=folder,
                downloader=pooch.HTTPDownloader(
                    progressbar=_Received(file, progress), timeout=_TIMEOUT, chunk_size=_CHUNK
                ),
            )
    except (OSError, ValueError) as error:  # a wrong hash is a ValueError
        raise DownloadError(f"cannot fetch {url}: {error}. {by_hand(entry)}") from error
    return folder / file.name


class _Received:
    """Counts the bytes of a download, as the progress bars that pooch takes."""

    def __init__(self, file: CatalogueFile, progress: Progress | None):
        self.file, self.progress = file, progress
        self.total = self.n_bytes = 0

    def update(self, n_bytes: int) -> None:
        if self.n_bytes > self.file.bytes:
            raise DownloadError(f"the server sends more than the {self.file.bytes} bytes of it")
        self.n_bytes += n_bytes  # a whole chunk, also for the last one
        if self.progress is not None:
            self.progress(self.file.name, min(self.n_bytes, self.file.bytes), self.file.bytes)

    def reset(self) -> None:
        """Pooch ends with a reset and an update by the total."""
        self.n_bytes = self.total = 0

    def close(self) -> None:
        pass


def cached_file(entry: CatalogueEntry, file: CatalogueFile) -> Path | None:
    """Return the path of a file in the cache, None if it is missing or its SHA-256 is wrong."""
    try:
        path = cache_folder() / entry.folder / file.name
    except ImportError:  # without pooch and PAIRMEND_CACHE there is no cache yet
        return None
    return path if path.is_file() and sha256_of(path) == file.sha256 else None


def cache_folder() -> Path:
    """Return the folder of the cache: PAIRMEND_CACHE, or the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).expanduser() if chosen else Path(_import_pooch().os_cache("pairmend"))


def file_url(entry: CatalogueEntry, file: CatalogueFile) -> str:
    """Return the address of a file at the commit it is pinned to."""
    if not entry.repository.startswith(_GITHUB):
        raise ValueError(f"{entry.name}: expected a GitHub repository, got {entry.repository}")
    base = os.environ.get(MIRROR_VARIABLE) or GITHUB_RAW
    if urlsplit(base).scheme not in ("http", "https"):
        raise ValueError(f"a mirror must be an http or https address, got {base!r}")
    repository = entry.repository.removeprefix(_GITHUB)
    return f"{base.rstrip('/')}/{repository}/{entry.commit}/{quote(file.path)}"


def by_hand(entry: CatalogueEntry) -> str:
    """Return which files of a set to put where if they cannot be downloaded."""
    names = " and ".join(file.name for file in entry.files)
    origin = f"{entry.repository}/tree/{entry.commit}"
    try:
        cache = f"into {cache_folder() / entry.folder}, or "
    except ImportError:
        cache = ""
    return (
        f"To work without the network, get {names} from {origin} on another machine and put "
        f"{'them' if len(entry.files) > 1 else 'it'} {cache}into a folder of yours (or its "
        f"sub-folder {entry.folder}) that data_dir or the environment variable {DATA_VARIABLE} "
        "names."
    )


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _import_pooch(entry: CatalogueEntry | None = None) -> Any:
    try:
        import pooch
    except ImportError as error:
        hint = "" if entry is None or not entry.files else f" {by_hand(entry)}"
        raise ImportError(
            f"downloads need pooch: pip install 'pairmend[data]'.{hint}", name="pooch"
        ) from error
    return pooch


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep pooch from writing to the terminal: the caller shows the progress."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)

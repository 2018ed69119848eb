"""Downloading files of the catalogue into a cache, checked by SHA-256.

pooch finds the cache folder, checks the hash, and renames only a correct file. The downloader is
our own: pooch's downloader starts again from the beginning after a broken connection.
"""

import hashlib
import importlib
import logging
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from pairmend._utils.files import replace_file
from pairmend.datasets.catalogue import CatalogueEntry, CatalogueFile, find_entry

CACHE_VARIABLE = "PAIRMEND_CACHE"
"""Environment variable that names the cache folder."""
DATA_VARIABLE = "PAIRMEND_DATA"
"""Environment variable that names a folder with the user's own copies of the files."""
MIRROR_VARIABLE = "PAIRMEND_MIRROR"
"""Environment variable with an address to use in place of GitHub's."""

GITHUB_RAW = "https://raw.githubusercontent.com"
_GITHUB = "https://github.com/"
TIMEOUT = 30.0
"""Seconds to wait for the next bytes of a download, by default."""
_CHUNK = 1 << 16

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, the number of bytes received, and its size in bytes."""


class DownloadError(OSError):
    """A file that could not be downloaded, or has another SHA-256 than in the catalogue."""


def fetch(
    name: str,
    *,
    cache_dir: str | Path | None = None,
    mirror: str | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
) -> tuple[Path, ...]:
    """Download the files of a set that are not in the cache yet.

    Needs pooch: ``pip install 'pairmend[data]'``. A file is stored only if its SHA-256 is that of
    the catalogue. After a broken connection the received part is stored, too, and the next call
    continues from there if the server supports it. Several processes may download the same file
    at once.

    Parameters
    ----------
    name : str
        Name of the set.
    cache_dir : path, default=None
        Folder of the cache; each set has a sub-folder. None means that of the environment
        variable PAIRMEND_CACHE, or else the user's cache folder.
    mirror : str, default=None
        Address to use in place of https://raw.githubusercontent.com. None means that of the
        environment variable PAIRMEND_MIRROR, if it is set.
    timeout : float, default=30.0
        Seconds without any byte after which the connection is given up.
    progress : callable, default=None
        Called with the name of a file, the number of bytes received, and its size in bytes.

    Returns
    -------
    tuple of Path
        The files, in the order of the catalogue.

    Raises
    ------
    DownloadError
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
    return tuple(
        fetch_file(
            entry, file, cache_dir=cache_dir, mirror=mirror, timeout=timeout, progress=progress
        )
        for file in entry.files
    )


def fetch_file(
    entry: CatalogueEntry,
    file: CatalogueFile,
    *,
    cache_dir: str | Path | None = None,
    mirror: str | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
) -> Path:
    """Download one file of a set into the cache, if it is not there yet; as :func:`fetch`."""
    cached = cached_file(entry, file, cache_dir=cache_dir)
    if cached is not None:
        return cached
    pooch = _import_pooch(entry)
    folder = cache_folder(cache_dir) / entry.folder
    download = _Resuming(file, timeout=timeout, progress=progress)
    url = file_url(entry, file, mirror=mirror)
    try:
        with _quiet(pooch.get_logger()):
            pooch.retrieve(
                url,
                known_hash=f"sha256:{file.sha256}",
                fname=file.name,
                path=folder,
                downloader=download,
            )
    except ValueError as error:
        if not download.sha256:
            raise
        # pooch raises a ValueError for a wrong hash and removes its temporary file.
        raise DownloadError(
            f"{url} is not the file {file.name} of the set {entry.name!r}: its SHA-256 is "
            f"{download.sha256}, expected {file.sha256}. It was not stored."
        ) from error
    except (OSError, HTTPException) as error:
        # URLError, timeouts and broken connections are all OSErrors.
        reason = getattr(error, "reason", None) or error
        raise DownloadError(
            f"cannot fetch {url}: {reason}. {by_hand(entry, cache_dir=cache_dir)}"
        ) from error
    return folder / file.name


def cached_file(
    entry: CatalogueEntry, file: CatalogueFile, *, cache_dir: str | Path | None = None
) -> Path | None:
    """Return the path of a file in the cache, None if it is missing or its SHA-256 is wrong."""
    try:
        path = cache_folder(cache_dir) / entry.folder / file.name
    except ImportError:  # without pooch and PAIRMEND_CACHE there is no cache yet
        return None
    return path if path.is_file() and sha256_of(path) == file.sha256 else None


def cache_folder(cache_dir: str | Path | None = None) -> Path:
    """Return the folder of the cache: the argument, PAIRMEND_CACHE, or the user's cache folder."""
    chosen = cache_dir or os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    return Path(_import_pooch().os_cache("pairmend"))


def file_url(entry: CatalogueEntry, file: CatalogueFile, *, mirror: str | None = None) -> str:
    """Return the address of a file at the commit it is pinned to."""
    if not entry.repository.startswith(_GITHUB):
        raise ValueError(f"{entry.name}: expected a GitHub repository, got {entry.repository}")
    base = mirror or os.environ.get(MIRROR_VARIABLE) or GITHUB_RAW
    if urlsplit(base).scheme not in ("http", "https"):
        raise ValueError(f"a mirror must be an http or https address, got {base!r}")
    repository = entry.repository.removeprefix(_GITHUB)
    return f"{base.rstrip('/')}/{repository}/{entry.commit}/{quote(file.path)}"


def by_hand(entry: CatalogueEntry, *, cache_dir: str | Path | None = None) -> str:
    """Return which files of a set to put where if they cannot be downloaded."""
    names = " and ".join(file.name for file in entry.files)
    origin = f"{entry.repository}/tree/{entry.commit}"
    try:
        cache = f"into {cache_folder(cache_dir) / entry.folder}, or "
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


class _Resuming:
    """A downloader for pooch that continues interrupted downloads.

    An interrupted download is stored as ``NAME.HASH.part``. A download first renames that file to
    a unique name, so that no two processes write to one file, and renames it back if it fails. A
    process that was killed cannot rename it back: its part is reused once it is older than any
    timeout.
    """

    def __init__(self, file: CatalogueFile, *, timeout: float, progress: Progress | None):
        self.file = file
        self.timeout = timeout
        self.progress = progress
        self.sha256 = ""

    def __call__(self, url: str, output_file: str, _pooch: Any) -> None:
        """Download a file to a temporary file of pooch."""
        output = Path(output_file)
        left = output.parent / f"{self.file.name}.{self.file.sha256[:8]}.part"
        own = left.with_name(f"{left.name}.{uuid.uuid4().hex}")
        self._take_over(left, own)
        try:
            self._receive(url, own)
        except BaseException:  # also when the user presses Ctrl-C
            if own.exists() and own.stat().st_size:
                replace_file(own, left)
            else:
                own.unlink(missing_ok=True)
            raise
        self.sha256 = sha256_of(own)
        replace_file(own, output)

    def _take_over(self, left: Path, own: Path) -> None:
        """Rename the part that an earlier download left, if any, to a unique name."""
        for part in sorted(left.parent.glob(f"{left.name}*")):
            try:
                # A running download writes to its file within its timeout, or fails.
                abandoned = time.time() - part.stat().st_mtime > 60 + 2 * self.timeout
                if part != left and not abandoned:
                    continue
                if own.exists():
                    part.unlink()  # another part is used
                else:
                    part.rename(own)
                    os.utime(own)
            except OSError:  # another process was faster
                continue

    def _receive(self, url: str, own: Path) -> None:
        present = own.stat().st_size if own.exists() else 0
        if present >= self.file.bytes:  # complete, but its SHA-256 was wrong
            own.unlink()
            present = 0
        headers = {"User-Agent": "pairmend"}
        if present:
            headers["Range"] = f"bytes={present}-"
        try:
            response = urlopen(Request(url, headers=headers), timeout=self.timeout)
        except HTTPError as error:
            error.close()
            if present and error.code == 416:  # the server's file is shorter than the part
                own.unlink()
                return self._receive(url, own)
            raise URLError(f"the server responds with {error.code} {error.reason}") from error
        with response:
            if not _continues_at(response, present):
                present = 0
            with own.open("ab" if present else "wb", buffering=0) as part:
                self._copy(response, part, present)

    def _copy(self, response: HTTPResponse, part: Any, present: int) -> None:
        announced = response.headers.get("Content-Length", "")
        total = present + int(announced) if announced.isdecimal() else self.file.bytes
        reason: object = "the response ended early"
        try:
            # read1 returns the bytes received so far; read would lose them on a timeout.
            while chunk := response.read1(_CHUNK):
                part.write(chunk)
                present += len(chunk)
                if present > self.file.bytes:
                    part.truncate(0)
                    raise URLError(
                        f"the server sends more than the {self.file.bytes} bytes of the file"
                    )
                if self.progress is not None:
                    self.progress(self.file.name, present, self.file.bytes)
        except (TimeoutError, ConnectionError, HTTPException) as error:
            reason = error
        if present < total:
            raise URLError(
                f"the connection broke after {present} of {total} bytes ({reason}). They are "
                "stored: the next download continues from there"
            )


def _continues_at(response: HTTPResponse, present: int) -> bool:
    """Return whether the server sends the requested rest, and not the whole file."""
    if response.status != 206:
        return False
    if response.headers.get("Content-Range", "").startswith(f"bytes {present}-"):
        return True
    raise URLError(
        f"the bytes from {present} on were requested, the server sends "
        f"{response.headers.get('Content-Range', 'a part without Content-Range')!r}"
    )


def _import_pooch(entry: CatalogueEntry | None = None) -> Any:
    try:
        return importlib.import_module("pooch")
    except ImportError as error:
        hint = "" if entry is None or not entry.files else f" {by_hand(entry)}"
        raise ImportError(
            f"downloads need pooch: pip install 'pairmend[data]'.{hint}", name="pooch"
        ) from error


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep pooch from writing to the terminal: the caller shows the progress."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)

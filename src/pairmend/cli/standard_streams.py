"""Standard input and output as files, by the name ``-``."""

import io
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pairmend._utils.files import written
from pairmend.cli.display import notes_replaced, show_status
from pairmend.datasets import ReadLimits

STANDARD = Path("-")
_NAME = "standard input"
_BLOCK = 2**20
_SUFFIXES = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"\x1f\x8b": ".csv.gz"}


@contextmanager
def utf8_output() -> Iterator[IO[str]]:
    """Yield standard output for the contents of a file: UTF-8, with the line ends as written."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a replacement of standard output, such as that of a notebook
        yield sys.stdout
        return
    sys.stdout.flush()
    text = io.TextIOWrapper(buffer, encoding="utf-8", newline="")
    try:
        yield text
        text.flush()
    finally:
        text.detach()


@contextmanager
def data_file(path: Path, limits: ReadLimits) -> Iterator[Path]:
    """Return the path of a data file; for ``-``, of a temporary copy of standard input.

    The readers open a file several times. Messages name standard input, not the copy.
    """
    if path != STANDARD:
        yield path
        return
    # Windows does not remove a file that a reader has left open.
    with tempfile.TemporaryDirectory(prefix="pairmend-", ignore_cleanup_errors=True) as folder:
        start = sys.stdin.buffer.read(_BLOCK)
        first = start[:4096].lstrip().lower()
        suffix = next((s for magic, s in _SUFFIXES.items() if start.startswith(magic)), ".csv")
        suffix = ".arff" if first.startswith((b"@relation", b"%")) else suffix
        copy = Path(folder, f"data{suffix}")
        n_bytes, block = 0, start
        with copy.open("wb") as file:
            while block:
                n_bytes += len(block)
                limits.check_bytes(Path(_NAME), n_bytes)
                file.write(block)
                block = sys.stdin.buffer.read(_BLOCK)
        try:
            with notes_replaced(str(copy), _NAME):
                yield copy
        except ValueError as error:
            raise ValueError(str(error).replace(str(copy), _NAME)) from error


def write_json(path: Path | None, content: Any) -> None:
    """Write JSON to a file, or to standard output for ``-``; nothing if the path is None."""
    if path is None:
        return
    text = json.dumps(_without_nan(content), indent=2, allow_nan=False)
    if path == STANDARD:
        print(text)
        return
    with written(path) as file:
        file.write(f"{text}\n")
    show_status(f"wrote {path}")


def _without_nan(content: Any) -> Any:
    """Replace numbers that JSON does not have, NaN and infinity, by null."""
    if isinstance(content, dict):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def shown(path: Path) -> str:
    """Return the name of a data file for messages."""
    return _NAME if path == STANDARD else str(path)

"""Encodings of text files: that of the byte order mark, UTF-8, or cp1252."""

import codecs
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

from pairmend.datasets.limits import ReadLimits, ReadWarning, opened

Result = TypeVar("Result")

_SAMPLE = 2**12
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by byte order mark; that of UTF-32 begins with that of UTF-16."""


def read_text(
    path: Path,
    encoding: str | None,
    limits: ReadLimits,
    read: Callable[[IO[str]], Result],
    newline: str | None = None,
) -> Result:
    """Call a function with an open text file; again, if it turns out not to be in UTF-8."""
    with opened(path, limits) as file:
        start = file.read(_SAMPLE)
    marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
    chosen = encoding or marked
    if chosen is None and b"\0" in start:
        raise _unknown_encoding(path, start)
    problem: Exception
    try:
        codecs.lookup(chosen or "utf-8")
        with io.TextIOWrapper(opened(path, limits), chosen or "utf-8", newline=newline) as text:
            return read(text)
    except UnicodeError as error:
        problem, sample = error, getattr(error, "object", start)
    except LookupError as error:
        problem = error
    if chosen is not None:
        raise ValueError(
            f"{path}: not a text file in {chosen}: {problem}; give another encoding: --encoding "
            "NAME, in Python encoding=..."
        )
    best = _best_encoding(sample)
    if best is None or "cp1252" not in best.could_be_from_charset:
        raise _unknown_encoding(path, sample)
    warnings.warn(
        f"{path}: not in UTF-8, read as cp1252 (Western European, a superset of latin-1); if "
        "letters look wrong, give the encoding: --encoding NAME, in Python encoding=...",
        ReadWarning,
        stacklevel=4,
    )
    with io.TextIOWrapper(opened(path, limits), "cp1252", newline=newline) as text:
        return read(text)


def _best_encoding(sample: bytes) -> Any:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    return from_bytes(sample).best()


def _unknown_encoding(path: Path, sample: bytes) -> ValueError:
    best = _best_encoding(sample) if b"\0" in sample else None
    such = (
        "" if best is None or best.encoding in ("ascii", "utf_8") else f", such as {best.encoding}"
    )
    return ValueError(
        f"{path}: not a text in UTF-8; does its suffix fit its content? If it is a text, give its "
        f"encoding: --encoding NAME, in Python encoding=...{such}"
    )

"""Guessing the encoding of a text file: UTF-8, UTF-16 or cp1252."""

import codecs
from pathlib import Path

from pairmend.datasets.files import opened
from pairmend.datasets.limits import ReadLimits

UTF_8 = "utf-8-sig"
_BLOCK = 2**20
_UNDEFINED_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"
_OTHER_FORMATS = {
    b"PK\x03\x04": "a ZIP archive, as Excel files are; if it is one, rename it to .xlsx",
    b"PAR1": "a Parquet file; rename it to .parquet",
    b"\x1f\x8b": "a gzip file; rename it to .csv.gz",
    b"BZh": "a bzip2 file; rename it to .csv.bz2",
    b"\xfd7zXZ": "an xz file; rename it to .csv.xz",
    b"\xd0\xcf\x11\xe0": "a file of Excel 97; save it as .xlsx or .csv",
    b"%PDF": "a PDF file; export the table as .csv",
}
"""First bytes of files that are no text, and what to do."""


def guess_encoding(path: Path, limits: ReadLimits) -> tuple[str, str]:
    """Return the encoding of a file, and a note if it is a guess.

    charset-normalizer, the usual library, is not used: it holds the whole file in memory and its
    guess depends on statistics of languages, while tables are mostly numbers.
    """
    with opened(path, limits) as file:
        start = file.read(_BLOCK)
        for magic, advice in _OTHER_FORMATS.items():
            if start.startswith(magic):
                raise ValueError(f"{path}: not a text file, but {advice}")
        if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
            return "utf-32", ""
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16", ""
        if utf_16 := _utf_16_without_mark(start):
            return utf_16, f"{path}: without a byte order mark, read as {utf_16}"
        if b"\0" in start:
            raise ValueError(f"{path}: not a text file: it holds zero bytes; export it as .csv")
        decoder = codecs.getincrementaldecoder("utf-8")()
        is_utf_8, block = True, start
        while block:
            if is_utf_8:
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    is_utf_8 = False
            block = file.read(_BLOCK)
            # A block without any of the bytes is shorter to check than to decode again.
            if not is_utf_8 and any(byte in block for byte in _UNDEFINED_IN_CP1252):
                raise ValueError(_unknown(path))
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            is_utf_8 = False
    if is_utf_8:
        return UTF_8, ""
    if any(byte in start for byte in _UNDEFINED_IN_CP1252):
        raise ValueError(_unknown(path))
    return "cp1252", (
        f"{path}: not in UTF-8, read as cp1252 (Western European, a superset of latin-1); if "
        "letters look wrong, give the encoding: --encoding NAME, in Python encoding=..."
    )


def _utf_16_without_mark(start: bytes) -> str:
    """Return the UTF-16 in which a text mostly of ASCII has a zero byte at every other place."""
    sample = start[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = max(1, len(sample) // 2)
    if odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd < 0.05 * half:
        return "utf-16-be"
    return ""


def _unknown(path: Path) -> str:
    return (
        f"{path}: in none of the encodings UTF-8, UTF-16 and cp1252; give its encoding: "
        "--encoding NAME, in Python encoding=..., such as cp1250, cp437 or shift_jis"
    )

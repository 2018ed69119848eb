"""Parsing many plain decimal numbers at once.

A number of at most 15 digits is an integer divided by a power of ten, both exact in double
precision, so one division gives the same float as parsing it would.
"""

import re

import numpy as np

from pairmend._utils.typing import FloatArray, IntArray

MAX_DIGITS = 15
POWERS_OF_TEN = 10.0 ** np.arange(MAX_DIGITS + 1)
COMMA, NEWLINE, DOT, MINUS = b",\n.-"
_PLAIN = b"0123456789.,\n-"
_NEWLINES_AWAY = bytes.maketrans(b"\n", b",")
_NUMBER = r"(?:-?(?:0|[1-9][0-9]{0,6})\.[0-9]{1,8}|0|-?[1-9][0-9]{0,14})"
_CELL = rf"[0-9]{{1,9}} {_NUMBER}"
_SPARSE_ROWS = re.compile(rf"(?:\{{(?:{_CELL}(?:,{_CELL})*+)?\}}\n)*+".encode())
_BRACES_AWAY = bytes.maketrans(b"{},\n", b"    ")


class NotPlain(Exception):
    """Raised for text that needs the row parser."""


def parse_table(text: bytes, n_columns: int) -> tuple[FloatArray, IntArray]:
    """Parse lines of plain numbers between commas; return the numbers and their lengths.

    Both arrays have the shape (n_lines, n_columns).
    """
    if not text or text.translate(None, _PLAIN):
        raise NotPlain
    characters = np.frombuffer(text, dtype=np.uint8)
    newlines = characters == NEWLINE
    is_end = newlines | (characters == COMMA)
    ends = np.flatnonzero(is_end)
    n_lines = len(ends) // n_columns
    if (
        n_lines * n_columns != len(ends)
        or not newlines[ends[n_columns - 1 :: n_columns]].all()
        or np.count_nonzero(newlines) != n_lines
    ):
        raise NotPlain
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts
    number_of = np.cumsum(is_end, dtype=np.int32)  # which number a character belongs to
    dots, signs = np.flatnonzero(characters == DOT), np.flatnonzero(characters == MINUS)
    with_dot, with_sign = number_of[dots], number_of[signs]
    if (np.diff(with_dot) == 0).any() or (starts[with_sign] != signs).any():
        raise NotPlain  # two points in a number, or a sign inside
    decimals = np.zeros(len(ends), dtype=np.intp)
    decimals[with_dot] = ends[with_dot] - dots - 1
    digits = lengths.copy()
    digits[with_dot] -= 1
    digits[with_sign] -= 1
    if digits.min() < 1 or digits.max() > MAX_DIGITS:
        raise NotPlain
    integers = np.fromstring(text.translate(_NEWLINES_AWAY, b"."), dtype=np.int64, sep=",")
    values = integers / POWERS_OF_TEN[decimals]
    values[with_sign] = -np.abs(values[with_sign])  # an integer has no negative zero
    return values.reshape(n_lines, n_columns), lengths.reshape(n_lines, n_columns)


def parse_sparse_rows(text: bytes) -> tuple[IntArray, FloatArray, IntArray, IntArray]:
    """Parse lines like ``{3 1,17 0.5}``.

    Return columns and values of all cells, the number of cells on each line, and the decimals of
    each cell.
    """
    if b"-0" in text or _SPARSE_ROWS.fullmatch(text) is None:  # integers have no negative zero
        raise NotPlain
    characters = np.frombuffer(text, dtype=np.uint8)
    line_ends = np.flatnonzero(characters == NEWLINE)
    commas = np.flatnonzero(characters == COMMA)
    counts = np.diff(np.searchsorted(commas, line_ends), prepend=0) + 1
    counts[np.diff(line_ends, prepend=-1) == len("{}\n")] = 0
    numbers = np.fromstring(text.translate(_BRACES_AWAY, b"."), dtype=np.int64, sep=" ")
    if len(numbers) != 2 * counts.sum():
        raise NotPlain
    columns, integers = numbers[::2], numbers[1::2]
    decimals: IntArray = np.zeros(len(integers), dtype=np.intp)
    if b"." in text:
        ends = np.flatnonzero((characters == COMMA) | (characters == ord("}")))
        ends = ends[characters[ends - 1] != ord("{")]  # an empty row ends no number
        dots = np.flatnonzero(characters == DOT)
        place = np.searchsorted(ends, dots)
        decimals[place] = ends[place] - dots - 1
    return columns, integers / POWERS_OF_TEN[decimals], counts, decimals

"""Quoting, escaping and splitting of ARFF text."""

import re

# Possessive, so that a quote which never ends takes linear time and no memory.
QUOTED = r"'[^'\\]*+(?:\\.[^'\\]*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\""
_CELL = re.compile(rf"\s*+({QUOTED}|(?:[^\s,'\"][^,]*+)?)\s*+(?:(,)|$)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_NEEDS_QUOTES = re.compile(r"[\s,{}%'\"\\?]|[\x00-\x1f]")


def split(text: str, at_most: int) -> list[str]:
    """Split at commas that are not quoted; cells keep their quotes.

    Of more than `at_most` cells, the first `at_most` and the unsplit rest are returned.
    """
    if "'" not in text and '"' not in text:
        return [cell.strip() for cell in text.split(",", at_most)]
    cells: list[str] = []
    position = 0
    while len(cells) <= at_most:
        match = _CELL.match(text, position)
        if match is None:
            raise ValueError(
                f"expected values separated by commas at {text[position : position + 40]!r}"
            )
        cells.append(match[1].rstrip())
        position = match.end()
        if match[2] is None:
            break
    return cells


def unquote(text: str) -> str:
    """Remove quotes and escapes."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def quote(text: str) -> str:
    """Add quotes and escapes where they are needed."""
    if text and not _NEEDS_QUOTES.search(text):
        return text
    for plain, escaped in (
        ("\\", "\\\\"),
        ("'", "\\'"),
        ("\n", "\\n"),
        ("\r", "\\r"),
        ("\t", "\\t"),
    ):
        text = text.replace(plain, escaped)
    return f"'{text}'"


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    if len(escaped) == 5:
        return chr(int(escaped[1:], 16))
    return _ESCAPES.get(escaped, escaped)

"""Numbers written as texts: plain, with decimal commas, or with separators of thousands."""

import re
from collections.abc import Iterable

PLAIN, DECIMAL_COMMA, THOUSANDS = "plain", "decimal comma", "thousands"
_EXPONENT = r"([eE][+-]?\d+)?"
_GAPS = "'\u2019 \u00a0\u202f"
_PATTERNS = {
    PLAIN: re.compile(rf"[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}"),
    THOUSANDS: re.compile(rf"[+-]?([1-9]\d{{0,2}}(?:[,{_GAPS}]\d{{3}})+|\d+)(\.\d*)?{_EXPONENT}"),
    DECIMAL_COMMA: re.compile(
        rf"[+-]?([1-9]\d{{0,2}}(?:[.{_GAPS}]\d{{3}})+|\d+)(,\d*)?{_EXPONENT}"
    ),
}
_LEADING_ZERO = re.compile(r"[+-]?0\d")
_WITHOUT_SEPARATORS = {
    PLAIN: str.maketrans({}),
    THOUSANDS: str.maketrans(dict.fromkeys("," + _GAPS, "")),
    DECIMAL_COMMA: str.maketrans({**dict.fromkeys("." + _GAPS, ""), ",": "."}),
}


def number_forms(texts: Iterable[str]) -> list[str]:
    """Return the forms in which all texts are numbers, the more probable one first.

    Texts with a leading zero, such as 00501, are codes, not numbers.
    """
    forms = list(_PATTERNS)
    for text in texts:
        stripped = text.strip()
        if not stripped.isascii() and not any(gap in stripped for gap in _GAPS):
            return []
        if _LEADING_ZERO.match(stripped):
            return []
        forms = [form for form in forms if _PATTERNS[form].fullmatch(stripped)]
        if not forms:
            return []
    return forms[:1] if forms[:1] == [PLAIN] else forms


def parse_number(text: str, form: str = PLAIN) -> float:
    """Return a text in a form, or else in the plain one, as a number."""
    stripped = text.strip()
    if _LEADING_ZERO.match(stripped):
        raise ValueError(f"{text!r} is a code, not a number")
    for each in (form, PLAIN):
        if _PATTERNS[each].fullmatch(stripped):
            return float(stripped.translate(_WITHOUT_SEPARATORS[each]))
    raise ValueError(f"{text!r} is no number")


def form_note(texts: Iterable[str], forms: list[str]) -> str:
    """Describe how texts were read as numbers in the first of some forms; empty for plain ones."""
    if forms[0] == PLAIN:
        return ""
    written = [text for text in texts if not _PATTERNS[PLAIN].fullmatch(text.strip())]
    name = "decimal commas" if forms[0] == DECIMAL_COMMA else "separators of thousands"
    note = f"{len(written)} texts such as {written[0]!r} are read as numbers with {name}"
    if len(forms) > 1:
        note += "; they could also have decimal commas: write these with points"
    return note

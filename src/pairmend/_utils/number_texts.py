"""Numbers written as texts: decimal commas, separators of thousands, signs of currency, gaps."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan

PLAIN, DECIMAL_COMMA, THOUSANDS = "plain", "decimal comma", "thousands"
MISSING_TEXTS = frozenset({
    "?", "-", "--", "---", "\u2013", "\u2014", ".", "n/a", "na", "n.a.", "nan", "null", "none",
    "unknown", "missing", "<na>", "#n/a", "#na", "#div/0!", "#null!", "#num!", "#ref!", "#value!",
    "#name?", "k.a.", "k. a.", "keine angabe", "unbekannt", "#nv", "#wert!", "#bezug!", "#zahl!",
    "#valeur!", "#nombre!", "#nom?",
})  # fmt: skip
"""Texts that stand for a missing number or date, in lower case: those of programs, the errors of
Excel in English, German and French, and what people write."""
SIGNS = ("$", "€", "£", "¥", "₹", "EUR", "USD", "GBP", "CHF", "%")
"""Signs of currency and of per cent, before or after a number."""
_LONGEST_MISSING = max(map(len, MISSING_TEXTS))
_EXPONENT = r"([eE][+-]?\d+)?"
_GAPS = "'\u2019 \u00a0\u202f"
_PATTERNS = {
    PLAIN: re.compile(rf"[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}", re.ASCII),
    THOUSANDS: re.compile(
        rf"[+-]?([1-9]\d{{0,2}}(?:[,{_GAPS}]\d{{3}})+|\d+)(\.\d*)?{_EXPONENT}", re.ASCII
    ),
    DECIMAL_COMMA: re.compile(
        rf"[+-]?([1-9]\d{{0,2}}(?:[.{_GAPS}]\d{{3}})+|\d+)(,\d*)?{_EXPONENT}", re.ASCII
    ),
}
_CODE = re.compile(r"[+-]?0\d+", re.ASCII)
_CODE_IN_LINES = re.compile(r"^[+-]?0\d+$", re.ASCII | re.MULTILINE)
_WITHOUT_SEPARATORS = {
    PLAIN: str.maketrans({}),
    THOUSANDS: str.maketrans(dict.fromkeys("," + _GAPS, "")),
    DECIMAL_COMMA: str.maketrans({**dict.fromkeys("." + _GAPS, ""), ",": "."}),
}


@dataclass(frozen=True)
class NumberFormat:
    """How the texts of a column are numbers: the separators, and a sign that some texts have."""

    form: str = PLAIN
    sign: str = ""

    def parse(self, text: str) -> float:
        """Return a text in this format, or else a plain one, as a number; NaN if it is missing."""
        if is_missing_text(text):
            return nan
        sign, rest = _split_sign(text)
        if sign in ("", self.sign) and not _CODE.fullmatch(rest):
            for form in (self.form, PLAIN):
                if _PATTERNS[form].fullmatch(rest):
                    return float(rest.translate(_WITHOUT_SEPARATORS[form]))
        raise ValueError(f"{text!r} is no number")

    def parse_all(self, texts: Sequence[str]) -> list[float]:
        """Return texts as numbers as :meth:`parse` does, faster if all are in this form."""
        if not texts or not _all_numbers(texts, self.form):
            return list(map(self.parse, texts))
        return list(
            map(float, "\n".join(texts).translate(_WITHOUT_SEPARATORS[self.form]).split("\n"))
        )


PLAIN_NUMBERS = NumberFormat()


def number_formats(texts: Iterable[str]) -> list[NumberFormat]:
    """Return the formats in which all texts are numbers or missing, the more probable one first.

    Texts with a leading zero, such as 00501, are codes, not numbers. Numbers with different signs
    have different units; those with and without a per cent sign, too.
    """
    forms, signs = list(_PATTERNS), set()
    texts = list(texts)
    if texts and (found := [form for form in forms if _all_numbers(texts, form)]):
        return [NumberFormat(form) for form in _without_equal(found, texts)]
    for text in texts:
        if is_missing_text(text):
            continue
        sign, rest = _split_sign(text)
        signs.add(sign)
        if _CODE.fullmatch(rest):
            return []
        forms = [form for form in forms if _PATTERNS[form].fullmatch(rest)]
        if not forms:
            return []
    if not signs or len(signs - {""}) > 1 or signs == {"", "%"}:
        return []
    return [NumberFormat(form, max(signs)) for form in _without_equal(forms, texts)]


def _without_equal(forms: list[str], texts: Sequence[str]) -> list[str]:
    """Leave out forms that give the same numbers: without point and comma, 1 000 is 1000 in all."""
    if forms[0] == PLAIN or not any("," in text or "." in text for text in texts):
        return forms[:1]
    return forms


def _all_numbers(texts: Sequence[str], form: str) -> bool:
    """Return whether all texts are numbers in a form, without spaces around them or a sign."""
    return all(map(_PATTERNS[form].fullmatch, texts)) and not has_codes("\n".join(texts))


def is_missing_text(text: str) -> bool:
    """Return whether a text stands for a missing number or date."""
    if text[:1].isdigit() or len(text) > _LONGEST_MISSING:
        return False
    return text.strip().lower() in MISSING_TEXTS


def missing_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts that stand for a missing number or date."""
    if MISSING_TEXTS.isdisjoint(map(str.lower, map(str.strip, texts))):  # much faster
        return []
    return [text for text in texts if is_missing_text(text)]


def has_codes(lines: str) -> bool:
    """Return whether one of the lines of a text is a whole number with a leading zero."""
    return _CODE_IN_LINES.search(lines) is not None


def format_note(texts: Iterable[str], formats: list[NumberFormat]) -> str:
    """Describe how texts are read in the first of some formats; empty if all are plain numbers."""
    form, sign = formats[0].form, formats[0].sign
    all_texts = list(texts)
    missing = missing_texts(all_texts)
    present = [text for text in all_texts if not is_missing_text(text)] if missing else all_texts
    notes = []
    unsigned = [_split_sign(text)[1] for text in present] if sign else map(str.strip, present)
    is_plain = map(_PATTERNS[PLAIN].fullmatch, unsigned)
    written = [text for text, plain in zip(present, is_plain, strict=True) if not plain]
    if written and form != PLAIN:
        has_commas = any("," in text for text in written)
        notes.append(separators_note(len(written), written[0], form if has_commas else THOUSANDS))
        if len(formats) > 1:
            notes.append("they could also have decimal commas: write these with points")
    elif written:
        minus = "a minus sign" if len(written) == 1 else "minus signs"
        notes.append(f"{_such_as(len(written), written[0])} read with {minus}")
    if signed := [text for text in present if sign and _split_sign(text)[0]]:
        notes.append(f"{_such_as(len(signed), signed[0])} read without the sign {sign!r}")
    if missing:
        notes.append(missing_note(missing, "number"))
    return "; ".join(notes)


def missing_note(texts: list[str], thing: str) -> str:
    """Describe texts that are taken as missing numbers or dates."""
    different = list(dict.fromkeys(texts))
    shown = ", ".join(map(repr, different[:4])) + (", ..." if len(different) > 4 else "")
    which = f"text that is no {thing} is" if len(texts) == 1 else f"texts that are no {thing}s are"
    return f"{len(texts)} {which} taken as missing: {shown}"


def separators_note(n_texts: int, example: str, form: str) -> str:
    """Describe texts that are read as numbers with separators."""
    name = "decimal commas" if form == DECIMAL_COMMA else "separators of thousands"
    what = "a number" if n_texts == 1 else "numbers"
    return f"{_such_as(n_texts, example)} read as {what} with {name}"


def _such_as(n_texts: int, example: str) -> str:
    return (
        f"1 text, {example!r}, is" if n_texts == 1 else f"{n_texts} texts such as {example!r} are"
    )


def _split_sign(text: str) -> tuple[str, str]:
    """Return the sign of currency or of per cent of a text, and the text without it."""
    if text[:1].isdigit() and text[-1:].isdigit():
        return "", text
    stripped = text.strip().replace("\u2212", "-")  # the minus of typography
    minus = stripped[:1] if stripped[:1] in ("+", "-") else ""
    unsigned = stripped.removeprefix(minus).lstrip()
    for sign in SIGNS:
        if unsigned.startswith(sign):
            return sign, minus + unsigned.removeprefix(sign).lstrip()
        if unsigned.endswith(sign):
            return sign, minus + unsigned.removesuffix(sign).rstrip()
    return "", stripped


_PLAIN_NUMBER = re.compile(rf"(?![+-]?0\d+\Z)[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}", re.ASCII)
_GROUP = rf"[.,{_GAPS}]"
_SIGN = f"(?:{'|'.join(map(re.escape, SIGNS))})?"
_OTHER_NOTATION = re.compile(
    rf"{_SIGN}\s*[+-]?\s*{_SIGN}\s*(\d+|[1-9]\d{{0,2}}({_GROUP}\d{{3}})+)([.,]\d*)?\s*{_SIGN}",
    re.ASCII,
)
_POINT_OF_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)


def is_code(text: str) -> bool:
    """Return whether a text is a whole number with a leading zero, such as 00501."""
    return _CODE.fullmatch(text.strip()) is not None


def is_plain_number(text: str) -> bool:
    """Return whether a text is a number with at most a sign, a decimal point and an exponent."""
    return _PLAIN_NUMBER.fullmatch(text.strip()) is not None


def plain_number(text: str) -> float:
    """Return a text in plain notation as a number, NaN for one that stands for a missing value."""
    if is_missing_text(text):
        return nan
    if not is_plain_number(text):
        raise ValueError(f"{text!r} is no number in plain notation")
    return float(text)


def is_other_notation(text: str) -> bool:
    """Return whether a text is a number with a comma, separators, a currency or per cent."""
    is_number = _OTHER_NOTATION.fullmatch(text.strip()) is not None
    return is_number and not is_plain_number(text) and not is_code(text)


def may_have_thousands(texts: Iterable[str]) -> bool:
    """Return whether all points of plain numbers may separate thousands, and some have none."""
    has_point = [(text, "." in text) for text in map(str.strip, texts)]
    return {is_there for _, is_there in has_point} == {True, False} and all(
        _POINT_OF_THOUSANDS.fullmatch(text) for text, is_there in has_point if is_there
    )

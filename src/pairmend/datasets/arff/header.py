"""Parsing the header of an ARFF file: relation, attributes and their types."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pairmend.datasets.arff.model import ArffAttribute, ArffError
from pairmend.datasets.arff.tokens import QUOTED, split, unquote
from pairmend.datasets.limits import CellCount, ReadLimitError

Numbered = Iterator[tuple[int, str]]
"""Lines that are neither empty nor comments, each with its number."""

ISO_DATE = "yyyy-MM-dd'T'HH:mm:ss"
NUMERIC_TYPES = frozenset({"numeric", "real", "integer"})
_ATTRIBUTE = re.compile(rf"@attribute\s++({QUOTED}|[^\s{{]++)\s*+(.*+)", re.IGNORECASE | re.DOTALL)
_UNTIL_COMMENT = re.compile(rf"[^%'\"]*+(?:(?:{QUOTED})[^%'\"]*+)*+")
_MAX_DATE_FORMAT = 200


def read_header(
    path: Path, lines: Numbered, count: CellCount
) -> tuple[str, tuple[ArffAttribute, ...]]:
    """Read up to and including the line @data; return the relation's name and the attributes."""
    relation = ""
    attributes: dict[str, ArffAttribute] = {}
    number = 1
    for number, line in _without_comments(lines):
        word = line.split(maxsplit=1)[0].lower()
        if word == "@data":
            if not attributes:
                raise ArffError(path, number, "@data before any @attribute")
            return relation, tuple(attributes.values())
        if word == "@relation":
            relation = unquote(line[len(word) :].strip())
        elif word.startswith("@attribute"):
            _add(path, number, attributes, _read_attribute(path, number, line, lines, count))
        else:
            raise ArffError(
                path, number, f"expected @relation, @attribute or @data, got {line[:40]!r}"
            )
    raise ArffError(path, number, "the file ends before @data")


def _without_comments(lines: Numbered) -> Numbered:
    """Cut comments that follow a line's own text."""
    for number, line in lines:
        match = _UNTIL_COMMENT.match(line)
        if match is not None and line[match.end() : match.end() + 1] == "%":
            line = match[0].rstrip()
        yield number, line


def _read_attribute(
    path: Path, number: int, line: str, lines: Numbered, count: CellCount, *, nested: bool = False
) -> ArffAttribute:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None or not match[2]:
        raise ArffError(path, number, f"expected '@attribute name type', got {line[:80]!r}")
    count.add_columns(1)
    name, kind = unquote(match[1]), match[2].strip()
    if kind.startswith("{"):
        return ArffAttribute(name, "nominal", values=_read_values(path, number, name, kind, count))
    kind = _without_weight(kind)
    word, *rest = kind.split(maxsplit=1) or [""]
    match word.lower():
        case "string":
            return ArffAttribute(name, "string")
        case "date":
            date_format = unquote(rest[0]) if rest else ISO_DATE
            if len(date_format) > _MAX_DATE_FORMAT:
                raise ArffError(
                    path,
                    number,
                    f"attribute {name[:40]!r}: a date format of {len(date_format)} characters; "
                    f"at most {_MAX_DATE_FORMAT} are read",
                )
            return ArffAttribute(name, "date", date_format=date_format)
        case "relational" if nested:
            raise ArffError(path, number, f"{name!r}: relations within relations are not read")
        case "relational":
            nested_attributes = _read_nested(path, name, number, lines, count)
            return ArffAttribute(name, "relational", attributes=nested_attributes)
        case lower if lower in NUMERIC_TYPES:
            return ArffAttribute(name, "numeric")
    raise ArffError(
        path,
        number,
        f"attribute {name!r} is of the unknown type {kind[:40]!r}; expected numeric, real, "
        "integer, string, date, relational or a list of values in braces",
    )


def _without_weight(kind: str) -> str:
    """Remove the weight of an attribute: braces at the end of its type."""
    start = kind.rfind("{")
    if kind.endswith("}") and start >= 0 and kind.find("}", start) == len(kind) - 1:
        return kind[:start].rstrip()
    return kind


def _read_values(
    path: Path, number: int, name: str, kind: str, count: CellCount
) -> tuple[str, ...]:
    try:
        end = kind.rindex("}")
        cells = split(kind[1:end], count.texts_left)
        count.add_texts(len(cells))
        if "" in cells:
            raise ValueError("an empty value")
        values = tuple(unquote(value) for value in cells)
        if kind[end + 1 :].strip():
            raise ValueError(f"{kind[end + 1 : end + 41]!r} behind the values")
    except ReadLimitError:
        raise
    except ValueError as error:
        raise ArffError(path, number, f"values of attribute {name!r}: {error}") from None
    if len(set(values)) != len(values):
        twice = Counter(values).most_common(1)[0][0]
        raise ArffError(path, number, f"attribute {name!r} lists the value {twice!r} twice")
    return values


def _read_nested(
    path: Path, name: str, number: int, lines: Numbered, count: CellCount
) -> tuple[ArffAttribute, ...]:
    nested: dict[str, ArffAttribute] = {}
    for number, line in _without_comments(lines):
        word = line.split(maxsplit=1)[0].lower()
        if word == "@end":
            if not nested:
                raise ArffError(
                    path, number, f"the relational attribute {name!r} has no attributes"
                )
            return tuple(nested.values())
        if word != "@attribute":
            break
        attribute = _read_attribute(path, number, line, lines, count, nested=True)
        _add(path, number, nested, attribute)
    raise ArffError(path, number, f"the relational attribute {name!r} lacks its @end")


def _add(path: Path, number: int, attributes: dict[str, ArffAttribute], new: ArffAttribute) -> None:
    if new.name in attributes:
        raise ArffError(path, number, f"two attributes are named {new.name!r}")
    attributes[new.name] = new

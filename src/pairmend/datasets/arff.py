"""Reading ARFF files: the header, and what a file holds."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from pairmend._utils.typing import Matrix
from pairmend.datasets.arff_rows import (
    QUOTED,
    ArffAttribute,
    LineError,
    Rows,
    split,
    text_lines,
    unquote,
)
from pairmend.datasets.limits import (
    DEFAULT_LIMITS,
    CellCount,
    ReadLimitError,
    ReadLimits,
    read_text,
)

Numbered = Iterator[tuple[int, str]]
"""Lines that are neither empty nor comments, each with its number."""

_BLOCK = 2**18
"""Characters read at once: the arrays made of them fit into the processor's cache."""
_MAX_LINE = 2**28
"""Characters of the longest line that is read."""
_DATA = re.compile(r"^[ \t]*+@data(?![^\s%])[^\n]*+\n?", re.IGNORECASE | re.MULTILINE)
_ATTRIBUTE = re.compile(rf"@attribute\s++({QUOTED}|[^\s{{]++)\s*+(.*+)", re.IGNORECASE | re.DOTALL)
_UNTIL_COMMENT = re.compile(rf"[^%'\"]*+(?:(?:{QUOTED})[^%'\"]*+)*+")


@dataclass(frozen=True)
class ArffFile:
    """The content of an ARFF file.

    Cells are numbers; the place of a nominal value among the values of its attribute, and of a
    string or date in `texts`. NaN where a value is missing.
    """

    relation: str
    attributes: tuple[ArffAttribute, ...]
    cells: Matrix
    texts: dict[int, list[str]]


def read_arff(
    path: Path, *, encoding: str | None = None, limits: ReadLimits = DEFAULT_LIMITS
) -> ArffFile:
    """Read an ARFF file: dense or sparse, plain or compressed by its suffix."""
    return read_text(path, encoding, limits, partial(_read, path, limits))


def _read(path: Path, limits: ReadLimits, file: IO[str]) -> ArffFile:
    count = CellCount(path, limits)
    blocks = _blocks(file)
    try:
        rest: list[tuple[int, str]] = []
        relation, attributes = _read_header(_header_lines(blocks, rest), count)
        rows = Rows(attributes, count)
        for number, text in rest:
            rows.add(number, text)
        for number, text in blocks:
            rows.add(number, text)
        cells = rows.finish()
    except LineError as error:
        raise ValueError(f"{path}, line {error.line}: {error}") from None
    texts: dict[int, list[str]] = {c: [] for c, a in enumerate(attributes) if a.kind == "text"}
    texts |= {column: list(found) for column, found in rows.texts.items()}
    return ArffFile(relation, attributes, cells, texts)


def _blocks(file: IO[str]) -> Iterator[tuple[int, str]]:
    """Yield whole lines, many at once, with the number of the first."""
    number, pieces, length = 1, [""], 0
    while block := file.read(_BLOCK):
        lines, newline, rest = block.rpartition("\n")
        if newline:
            text = "".join([*pieces, lines, newline])
            yield number, text
            number, pieces, length = number + text.count("\n"), [], 0
        pieces.append(rest)
        length += len(rest)
        if length > _MAX_LINE:
            raise LineError(number, f"a line of more than {_MAX_LINE} characters")
    yield number, "".join(pieces)


def _header_lines(blocks: Iterable[tuple[int, str]], rest: list[tuple[int, str]]) -> Numbered:
    """Yield the lines up to @data; put what follows in its block into `rest`."""
    number = 1
    for number, text in blocks:
        match = _DATA.search(text)
        end = len(text) if match is None else match.end()
        if match is not None:
            rest.append((number + text.count("\n", 0, end), text[end:]))
        for place, line in text_lines(number, text[:end]):
            comment = _UNTIL_COMMENT.match(line)
            if comment is not None and line[comment.end() : comment.end() + 1] == "%":
                line = comment[0].rstrip()
            yield place, line
        if match is not None:
            return
    raise LineError(number, "the file ends before @data")


def _read_header(lines: Numbered, count: CellCount) -> tuple[str, tuple[ArffAttribute, ...]]:
    """Read up to the line @data; return the relation's name and the attributes."""
    relation = ""
    attributes: dict[str, ArffAttribute] = {}
    for number, line in lines:
        word = line.split(maxsplit=1)[0].lower()
        if word == "@data":
            if not attributes:
                raise LineError(number, "@data before any @attribute")
            break
        if word == "@relation":
            relation = unquote(line[len(word) :].strip())
        elif word.startswith("@attribute"):
            new = _read_attribute(number, line, count)
            if new.name in attributes:
                raise LineError(number, f"two attributes are named {new.name!r}")
            attributes[new.name] = new
        else:
            raise LineError(number, f"expected @relation, @attribute or @data, got {line[:40]!r}")
    return relation, tuple(attributes.values())


def _read_attribute(number: int, line: str, count: CellCount) -> ArffAttribute:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None or not match[2]:
        raise LineError(number, f"expected '@attribute name type', got {line[:80]!r}")
    count.add(0, columns=1)
    name, kind = unquote(match[1]), match[2].strip()
    if kind.startswith("{"):
        return ArffAttribute(name, "nominal", _read_values(number, name, kind, count))
    match (kind.split(maxsplit=1) or [""])[0].lower():
        case "string" | "date":
            return ArffAttribute(name, "text")
        case "numeric" | "real" | "integer":
            return ArffAttribute(name, "numeric")
    raise LineError(
        number,
        f"attribute {name!r} is of the unknown type {kind[:40]!r}; expected numeric, real, "
        "integer, string, date or a list of values in braces",
    )


def _read_values(number: int, name: str, kind: str, count: CellCount) -> tuple[str, ...]:
    """Read the values of a nominal attribute."""
    try:
        end = kind.rindex("}")
        cells = [cell.strip() for cell in split(kind[1:end], count.texts_left)]
        count.add(0, texts=len(cells))
        if "" in cells:
            raise ValueError("an empty value")
        if kind[end + 1 :].strip():
            raise ValueError(f"{kind[end + 1 : end + 41]!r} behind the values")
    except ReadLimitError:
        raise
    except ValueError as error:
        raise LineError(number, f"values of attribute {name!r}: {error}") from None
    values = tuple(unquote(value) for value in cells)
    if len(set(values)) != len(values):
        twice = Counter(values).most_common(1)[0][0]
        raise LineError(number, f"attribute {name!r} lists the value {twice!r} twice")
    return values

"""Parsing rows of an ARFF file one by one, with the line number in errors."""

import re
from collections.abc import Sequence
from copy import copy

from pairmend._utils.text import counted
from pairmend.datasets.arff.dates import seconds
from pairmend.datasets.arff.model import ArffAttribute
from pairmend.datasets.arff.tokens import QUOTED, split, unquote
from pairmend.datasets.limits import CellCount

_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]++)?|inf(?:inity)?|nan)", re.I
)
_SPARSE = re.compile(
    rf"\{{([^{{}}'\"]*+(?:(?:{QUOTED})[^{{}}'\"]*+)*+)\}}\s*+(?:,\s*+(\{{[^{{}}]*+\}})\s*+)?",
    re.DOTALL,
)
_SPARSE_CELL = re.compile(rf"\s*+([0-9]++)\s++({QUOTED}|[^\s,'\"][^,]*+)\s*+(?:,|$)", re.DOTALL)
_MAX_INDEX_DIGITS = 18


class RowParser:
    """Turns lines into cells, and collects strings and nested relations.

    The caller sets `line`, the number of the line that is parsed. `texts` holds the code of each
    string by column, `bags` the line and the text of each nested relation by column.
    """

    def __init__(self, attributes: Sequence[ArffAttribute], count: CellCount):
        self.attributes = attributes
        self.count = count
        self.texts: dict[int, dict[str, int]] = {}
        self.line = 0
        self.bags: dict[int, list[tuple[int, str]]] = {
            c: [] for c, a in enumerate(attributes) if a.kind == "relational"
        }
        self._places: list[dict[str, float]] | None = None

    @property
    def places(self) -> list[dict[str, float]]:
        """The place of each nominal value; attributes with the same values share a dict."""
        if self._places is None:  # made when the first row needs it
            self._places = self._make_places()
        return self._places

    def _make_places(self) -> list[dict[str, float]]:
        shared: dict[tuple[str, ...], dict[str, float]] = {}
        for attribute in self.attributes:
            if attribute.values not in shared:
                shared[attribute.values] = {
                    value: float(place) for place, value in enumerate(attribute.values)
                }
        return [shared[attribute.values] for attribute in self.attributes]

    def for_bag(self) -> "RowParser":
        """Return a parser for the same columns without any texts; `places` are shared."""
        parser = copy(self)
        parser.texts = {}
        return parser

    def dense(self, line: str) -> tuple[list[int], list[float], float | None]:
        """Parse a dense row; returns columns, values and the instance weight."""
        cells = split(line, len(self.attributes) + 1)
        weight = None
        if len(cells) == len(self.attributes) + 1 and cells[-1].startswith("{"):
            weight = _weight(cells.pop())
        if len(cells) != len(self.attributes):
            more = "at least " if len(cells) > len(self.attributes) + 1 else ""
            raise ValueError(
                f"{more}{counted(len(cells), 'value')} where "
                f"{counted(len(self.attributes), 'attribute')} "
                f"{'is' if len(self.attributes) == 1 else 'are'} declared"
            )
        values = [self.cell(column, cell) for column, cell in enumerate(cells)]
        return list(range(len(cells))), values, weight

    def sparse(self, line: str) -> tuple[list[int], list[float], float | None]:
        """Parse a sparse row; returns columns, values and the instance weight."""
        match = _SPARSE.fullmatch(line)
        if match is None:
            raise ValueError("a sparse row must be '{index value, ...}', a weight may follow")
        columns: list[int] = []
        values = []
        text, position = match[1].strip(), 0
        while position < len(text):
            cell = _SPARSE_CELL.match(text, position)
            if (
                cell is None
                or len(cell[1]) > _MAX_INDEX_DIGITS
                or int(cell[1]) >= len(self.attributes)
            ):
                raise ValueError(
                    f"expected 'index value' with an index below {len(self.attributes)}, got "
                    f"{text[position : position + 40].split(',')[0].strip()!r}"
                )
            column = int(cell[1])
            if columns and column <= columns[-1]:
                raise ValueError(f"index {column} after {columns[-1]}: indices must ascend")
            columns.append(column)
            values.append(self.cell(column, cell[2].rstrip()))
            position = cell.end()
        if text.endswith(","):
            raise ValueError("a comma without a cell after it")
        return columns, values, None if match[2] is None else _weight(match[2])

    def cell(self, column: int, text: str) -> float:
        """Turn a cell into its number."""
        if text == "?":
            return float("nan")
        attribute = self.attributes[column]
        match attribute.kind:
            case "numeric":
                if _NUMBER.fullmatch(text):
                    return float(text)
                expected = "a number"
            case "nominal":
                place = self.places[column].get(unquote(text))
                if place is not None:
                    return place
                expected = f"one of {_shortened(attribute.values)}"
            case "date":
                try:
                    return seconds(unquote(text), attribute.date_format)
                except ValueError as error:
                    expected = f"a date like {attribute.date_format!r} ({str(error)[:200]})"
            case "string" if text:
                texts = self.texts.setdefault(column, {})
                n_texts = len(texts)
                place = texts.setdefault(unquote(text), n_texts)
                if place == n_texts:
                    self.count.add_texts(1)
                return float(place)
            case "relational" if text:
                self.count.add_columns(1)  # a bag takes about as much as a column
                self.bags[column].append((self.line, unquote(text)))
                return float(len(self.bags[column]) - 1)
            case _:
                expected = "a value"
        raise ValueError(f"attribute {attribute.name!r}: expected {expected}, got {text[:40]!r}")


def _weight(text: str) -> float:
    inner = text[1:-1].strip() if text.endswith("}") else ""
    if not _NUMBER.fullmatch(inner) or not 0 <= float(inner) < float("inf"):
        raise ValueError(f"expected an instance weight like '{{2.0}}', got {text[:40]!r}")
    return float(inner)


def _shortened(values: tuple[str, ...]) -> str:
    shown = ", ".join(repr(value) for value in values[:8])
    return f"{{{shown}{', ...' if len(values) > 8 else ''}}}"

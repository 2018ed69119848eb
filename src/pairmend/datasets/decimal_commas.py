"""Columns of a text table whose cells are all numbers with decimal commas."""

import re
from collections.abc import Sequence

import numpy as np

from pairmend._utils.number_texts import DECIMAL_COMMA, separators_note
from pairmend._utils.typing import FloatArray
from pairmend.datasets.dialect import MISSING

_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:,\d+)?", re.ASCII)
_AMBIGUOUS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)


class DecimalCommas:
    """Reads a column in chunks: numbers with decimal commas, without points, signs and gaps.

    Attributes
    ----------
    n_written : int
        Number of cells with a comma.
    example : str
        The first of them whose comma cannot be a separator of thousands; empty if there is none.
    """

    def __init__(self) -> None:
        self.n_written, self.example = 0, ""

    def read(self, cells: Sequence[str]) -> FloatArray | None:
        """Return cells as numbers, None if one of them is not missing and no such number."""
        if not all(cell in MISSING or _NUMBER.fullmatch(cell) for cell in cells):
            return None
        written = [cell for cell in cells if "," in cell]
        self.n_written += len(written)
        if not self.example:
            self.example = next((c for c in written if not _AMBIGUOUS.fullmatch(c)), "")
        numbers = ["nan" if cell in MISSING else cell.replace(",", ".") for cell in cells]
        return np.array(numbers, dtype=float)

    def note(self, name: str) -> str:
        """Describe how a column was read."""
        return f"column {name!r}: {separators_note(self.n_written, self.example, DECIMAL_COMMA)}"

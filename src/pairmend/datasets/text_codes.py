"""Codes of the categories of a text column, read in chunks of rows."""

from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray
from pairmend.datasets.limits import CellCount


class TextCodes:
    """Numbers the different texts of a column in the order of appearance; `missing` become NaN."""

    def __init__(self, count: CellCount, missing: Set[Any]):
        self.count, self.missing = count, missing
        self.code_of: dict[str, int] = {}

    def encode(self, texts: Iterable[Any]) -> FloatArray:
        """Return the codes of texts; NaN for missing ones."""
        code_of, missing = self.code_of, self.missing
        n_before = len(code_of)
        codes = np.array(
            [
                np.nan if text in missing else code_of.setdefault(text, len(code_of))
                for text in texts
            ],
            dtype=float,
        )
        self.count.add_texts(len(code_of) - n_before)
        return codes

    def sort(self, codes: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
        """Return the codes by the alphabetical order of the texts, and the texts."""
        values = tuple(sorted(self.code_of))
        place = np.empty(len(values) + 1)
        place[[self.code_of[value] for value in values]] = np.arange(len(values))
        place[-1] = np.nan
        return place[np.where(np.isnan(codes), len(values), codes).astype(np.intp)], values

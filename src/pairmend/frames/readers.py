"""Readers of columns: how numbers, categories, dates and text become numbers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from pairmend._utils.number_texts import PLAIN, NumberFormat
from pairmend._utils.typing import FloatArray
from pairmend.frames.columns import Column, category_key
from pairmend.frames.parsing import ISO, date_formats_of, dates_of, numbers_of

VOCABULARY = 10_000
"""Words of a text column that are counted, the most frequent ones."""
COMPONENTS = 100
"""Components that represent a text column."""

BETWEEN_UNIT_VECTORS = 1 / np.sqrt(2)
"""Factor that makes the distance of two different categories, or of two texts without common
words, 1: the largest difference of a number that is divided by its range."""


@dataclass(frozen=True)
class NumberReader:
    """Reads numbers, strings that are numbers in a form, and durations, in seconds.

    `sign` is a sign of currency or of per cent that strings may have.
    """

    kind: str = "number"
    form: str = PLAIN
    sign: str = ""
    layout: ClassVar[list[tuple[int, float]]] = [(0, np.nan)]

    def read(self, column: Column) -> FloatArray:
        """Return the numbers, (n, 1)."""
        values: Any = column.values
        if column.holds == "strings":
            values = numbers_of(column.values.tolist(), NumberFormat(self.form, self.sign))
        if values is None or column.holds == "dates":
            raise ValueError(unexpected_kind(column, "numbers"))
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise ValueError(
                f"Input X contains infinity: column {column.name!r}, row {row}. Replace it by a "
                "number, or by NaN if the value is missing."
            )
        return np.asarray(values)[:, np.newaxis]


@dataclass(frozen=True)
class CategoryReader:
    """Reads categories as codes; the code of any other value is the number of categories."""

    keys: NDArray[np.str_]
    is_declared: bool
    kind: ClassVar[str] = "category"

    @property
    def layout(self) -> list[tuple[int, float]]:
        """Number of categories, and the factor of their coordinates in distances."""
        return [(max(len(self.keys), 1), BETWEEN_UNIT_VECTORS)]

    def read(self, column: Column) -> FloatArray:
        """Return the codes, (n, 1); NaN where missing."""
        codes: dict[str | None, float] = {
            key: float(code) for code, key in enumerate(self.keys.tolist())
        }
        codes[None] = np.nan
        other = float(len(self.keys))
        return np.array([codes.get(key, other) for key in category_keys(column)], dtype=float)[
            :, None
        ]


@dataclass(frozen=True)
class DateReader:
    """Reads dates as days since 1970, and as sine and cosine of the year, the week and the day.

    `format` is that of strings, None for a column of dates.
    """

    format: str | None
    has_times: bool
    kind: ClassVar[str] = "date"

    @property
    def layout(self) -> list[tuple[int, float]]:
        """Days are a number; each period has two coordinates, which distances leave out."""
        return [(0, np.nan)] + [(-1, 0.0)] * 2 * len(self._periods)

    @property
    def _periods(self) -> list[float]:
        return [365.2425, 7.0, 1.0] if self.has_times else [365.2425, 7.0]

    def read(self, column: Column) -> FloatArray:
        """Return days since 1970, and sine and cosine of each period."""
        days: Any = column.values if column.holds == "dates" else None
        if column.holds == "strings":
            strings = column.values.tolist()
            # Dates of frames and dicts are converted to strings in ISO 8601.
            formats = [self.format, ISO] if self.format else date_formats_of(strings) or [ISO]
            read = (dates_of(strings, each) for each in formats)
            days = next((each for each in read if each is not None), None)
        if days is None:
            expected = f"dates in the format {self.format}" if self.format else "dates"
            raise ValueError(unexpected_kind(column, expected))
        angles = [2 * np.pi * days / period for period in self._periods]
        circles = [turn(angle) for angle in angles for turn in (np.sin, np.cos)]
        # A missing date is in the centre of each circle.
        return np.column_stack([days, *(np.nan_to_num(circle) for circle in circles)])


@dataclass(frozen=True)
class TextReader:
    """Reads text as TF-IDF of its words, projected to components and scaled to length 1.

    `projection` is None if there are no more words than components.
    """

    vectorizer: Any
    projection: Any
    kind: ClassVar[str] = "text"

    @classmethod
    def fit(cls, column: Column) -> "TextReader":
        """Find the words and the components of a column."""
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, max_features=VOCABULARY, strip_accents="unicode"
        )
        try:
            counts = vectorizer.fit_transform(texts_of(column))
        except ValueError as error:
            raise ValueError(
                f"Column {column.name!r} cannot be read as text: {error}. Leave the column out, "
                "or encode it as numbers."
            ) from error
        n_components = min(COMPONENTS, counts.shape[0] - 1)
        if counts.shape[1] <= max(n_components, 1):
            return cls(vectorizer, None)
        projection = TruncatedSVD(max(n_components, 1), random_state=0).fit(counts)
        return cls(vectorizer, projection)

    @property
    def layout(self) -> list[tuple[int, float]]:
        """The components, which distances do not scale."""
        width = len(self.vectorizer.vocabulary_)
        if self.projection is not None:
            width = len(self.projection.components_)
        return [(-1, BETWEEN_UNIT_VECTORS)] * width

    def read(self, column: Column) -> FloatArray:
        """Return the components; all are 0 where a text is missing."""
        if column.holds != "strings":
            raise ValueError(unexpected_kind(column, "text"))
        counts = self.vectorizer.transform(texts_of(column))
        if self.projection is None:
            return np.asarray(counts.toarray())
        return np.asarray(normalize(self.projection.transform(counts)))


@dataclass(frozen=True)
class NothingReader:
    """Leaves a column out."""

    kind: str
    layout: ClassVar[list[tuple[int, float]]] = []

    def read(self, column: Column) -> FloatArray:
        """Return no features, (n, 0)."""
        return np.empty((len(column.values), 0))


def category_keys(column: Column) -> list[str | None]:
    """Return the cells as strings that represent categories."""
    if column.holds == "strings":
        return list(column.values)
    return [None if np.isnan(value) else category_key(value) for value in column.values.tolist()]


def texts_of(column: Column) -> list[str]:
    """Return the cells as texts; a missing one is empty."""
    return ["" if key is None else key for key in category_keys(column)]


def unexpected_kind(column: Column, expected: str) -> str:
    """Return the message for a column whose kind differs from that of fit."""
    present = column.values[~column.missing]
    found = f"such as {present[0]!r}" if len(present) and column.holds == "strings" else ""
    if column.holds == "strings" and expected == "numbers":
        odd = [value for value in present.tolist() if numbers_of([value]) is None]
        found = f"such as {odd[0]!r}" if odd else found
    return (
        f"Column {column.name!r} holds {column.holds} {found}".rstrip()
        + f"; expected {expected}. Convert the column, or fit again with the column unchanged."
    )

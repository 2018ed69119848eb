"""Which columns are numbers, categories, dates, text or ignored, and their encoding."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from pairmend._utils.typing import FloatArray
from pairmend.frames.columns import Column, category_key
from pairmend.frames.parsing import date_formats_of, dates_of, numbers_of

KINDS = ("number", "category", "date", "text", "ignored")
"""Ways to read a column that can be requested."""

MAX_CATEGORIES = 100
"""Largest number of categories of a column; the less frequent ones share one code."""
MIN_IDENTIFIERS = 20
"""Number of different strings up to which a column is never an identifier."""
DISTINCT_SHARE = 0.9
"""Share of different strings among the rows from which on a column is an identifier."""
TEXT_WORDS = 3.0
"""Mean number of words from which on strings that rarely repeat are text."""
TEXT_SHARE = 0.05
"""Share of different strings among the rows up to which even long strings are categories."""
VOCABULARY = 10_000
"""Words of a text column that are counted, the most frequent ones."""
COMPONENTS = 100
"""Components that represent a text column."""

BETWEEN_UNIT_VECTORS = 1 / np.sqrt(2)
"""Factor that makes the distance of two different categories, or of two texts without common
words, 1: the largest difference of a number that is divided by its range."""


class ColumnWarning(UserWarning):
    """A column of a frame that was left out, or read in one of several possible ways."""


@dataclass(frozen=True)
class ColumnSummary:
    """How a column of the training frame was read.

    Attributes
    ----------
    name : object
        Name of the column.
    kind : str
        "number", "category", "date", "duration" or "text"; "identifier", "empty" or "ignored"
        if the column is left out.
    n_distinct : int
        Number of distinct values.
    n_missing : int
        Number of rows without a value.
    example : str
        The first value, as a string; empty if there is none.
    note : str
        Text of the warning about the column; empty if there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairmend.frames import FrameEncoder
    >>> FrameEncoder().fit(pd.DataFrame({"blue": [0.5, None, 2.0]})).columns_[0]
    ColumnSummary(name='blue', kind='number', n_distinct=2, n_missing=1, example='0.5', note='')
    """

    name: Any
    kind: str
    n_distinct: int
    n_missing: int
    example: str
    note: str = ""


@dataclass(frozen=True)
class NumberReader:
    """Reads numbers, strings that are numbers, and durations, in seconds."""

    kind: str = "number"
    layout: ClassVar[list[tuple[int, float]]] = [(0, np.nan)]

    def read(self, column: Column) -> FloatArray:
        """Return the numbers, (n, 1)."""
        values: Any = column.values
        if column.holds == "strings":
            values = numbers_of(column.values.tolist())
        if values is None or column.holds == "dates":
            raise ValueError(_unexpected(column, "numbers"))
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
        return np.array([codes.get(key, other) for key in _keys(column)], dtype=float)[:, None]


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
            forms = [self.format] if self.format else date_formats_of(column.values.tolist())
            if not column.missing.all():
                days = dates_of(column.values.tolist(), forms[0]) if forms else None
            else:
                days = np.full(len(column.values), np.nan)
        if days is None:
            expected = f"dates in the format {self.format}" if self.format else "dates"
            raise ValueError(_unexpected(column, expected))
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
            counts = vectorizer.fit_transform(_texts(column))
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
            raise ValueError(_unexpected(column, "text"))
        counts = self.vectorizer.transform(_texts(column))
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


def choose_reader(column: Column, kind: str | None = None) -> tuple[Any, ColumnSummary]:
    """Return the reader and the summary of a training column; `kind` replaces the choice."""
    missing = column.missing
    present = column.values[~missing].tolist()
    n_distinct = len(set(present))
    note = ""
    if kind is not None:
        reader = _requested_reader(column, kind)
    elif len(missing) and missing.all():
        reader, note = NothingReader("empty"), "it has no values and is left out"
    elif column.holds != "strings":
        reader = _plain_reader(column)
    else:
        reader, note = _string_reader(column, present, n_distinct)
    if note:
        warnings.warn(f"Column {column.name!r}: {note}.", ColumnWarning, stacklevel=2)
    example = str(category_key(present[0])) if present else ""
    if present and column.holds == "dates":
        example = str(np.datetime64(round(present[0] * 86400), "s"))
    n_missing = int(np.count_nonzero(missing))
    return reader, ColumnSummary(column.name, reader.kind, n_distinct, n_missing, example, note)


def _plain_reader(column: Column) -> Any:
    """Return the reader of a column that holds no strings."""
    if column.holds == "dates":
        return DateReader(None, _has_times(column.values))
    return NumberReader("duration" if column.holds == "durations" else "number")


def _string_reader(column: Column, present: list[str], n_distinct: int) -> tuple[Any, str]:
    """Return the reader of a column of strings, and a note for a warning."""
    note = ""
    if not column.is_category:  # a categorical dtype is never read as numbers, dates or text
        if present and numbers_of(present) is not None:
            return NumberReader(), note
        if forms := date_formats_of(present):
            if len(forms) > 1:
                note = (
                    f"its dates can be read as {' or '.join(forms)}, and the first format is used; "
                    "convert the column to dates to choose the format"
                )
            return DateReader(forms[0], _has_times(dates_of(present, forms[0]))), note
        if _is_text(present, n_distinct):
            return TextReader.fit(column), note
    if n_distinct > max(MIN_IDENTIFIERS, DISTINCT_SHARE * len(present)):
        return NothingReader("identifier"), (
            f"its {n_distinct} different values in {len(present)} rows are taken for identifiers "
            "of rows, and the column is left out; encode it as numbers to use it"
        )
    return _category_reader(column), note


def _is_text(present: list[str], n_distinct: int) -> bool:
    """Return whether strings rarely repeat and have several words."""
    if n_distinct <= max(min(MIN_IDENTIFIERS, len(present) / 2), TEXT_SHARE * len(present)):
        return False
    return bool(np.mean([len(string.split()) for string in present]) >= TEXT_WORDS)


def _category_reader(column: Column) -> CategoryReader:
    keys, counts = np.unique([k for k in _keys(column) if k is not None], return_counts=True)
    listed = column.categories or tuple(keys.tolist())
    if len(listed) > MAX_CATEGORIES:
        repeated = np.flatnonzero(counts > 1)
        order = repeated[np.argsort(-counts[repeated], kind="stable")][:MAX_CATEGORIES]
        kept = {str(key) for key in keys[order]}
        listed = tuple(key for key in listed if key in kept)
    if not column.is_ordered:
        listed = tuple(sorted(listed))
    return CategoryReader(np.array(listed, dtype=str), column.is_category)


def _requested_reader(column: Column, kind: str) -> Any:
    if kind == "ignored":
        return NothingReader("ignored")
    if kind == "category":
        return _category_reader(column)
    if kind == "text":
        return TextReader.fit(column)
    if kind == "date":
        forms = date_formats_of(column.values.tolist()) if column.holds == "strings" else [None]
        if not forms:
            raise ValueError(_unexpected(column, "dates"))
        days = DateReader(forms[0], False).read(column)[:, 0]
        return DateReader(forms[0], _has_times(days))
    reader = NumberReader()
    reader.read(column)  # raises an error for anything but numbers
    return reader


def _has_times(days: Any) -> bool:
    present = days[~np.isnan(days)]
    return bool((present != np.floor(present)).any())


def _keys(column: Column) -> list[str | None]:
    """Return the cells as strings that represent categories."""
    if column.holds == "strings":
        return list(column.values)
    return [None if np.isnan(value) else category_key(value) for value in column.values.tolist()]


def _texts(column: Column) -> list[str]:
    return ["" if key is None else key for key in _keys(column)]


def _unexpected(column: Column, expected: str) -> str:
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

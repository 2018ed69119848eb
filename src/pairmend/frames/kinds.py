"""Kinds of columns, and readers that turn a column of each kind into numbers."""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from pairmend._utils.text import counted, is_missing_text, quoted
from pairmend._utils.typing import FloatArray
from pairmend.frames.columns import Column, days_of, read_column

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
VOCABULARY = 100_000
"""Words and pairs of words of a text column that are counted, the most frequent ones."""
TOKENS = r"(?u)\w+|[^\w\s]"
"""Words, and single characters that are neither letters, digits nor spaces, such as emoji."""
COMPONENTS = 100
"""Components that represent a text column."""
BETWEEN_UNIT_VECTORS = 1 / np.sqrt(2)
"""Factor that makes the distance of two different categories, or of two texts without common
words, 1: the largest difference of a number that is divided by its range."""
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_CODE = re.compile(r"[+-]?0\d+", re.ASCII)
_ISO_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d")
_OTHER_NUMBER = re.compile(r"\s*[-+]?(\d[\d.' ]*,\d+|\d[\d.,' ]*[€$£%]|[€$£] ?\d[\d.,]*)\s*")
_OTHER_DATE = re.compile(r"\s*(\d\d?[-/.]\d\d?[-/.]\d{4}|\d{4}[-/.]\d\d?[-/.]\d\d?)( \d.*)?\s*")


def is_plain_number(text: str) -> bool:
    """Return whether a text is a number with at most a sign, a decimal point and an exponent.

    Whole numbers with a leading zero, such as 00501, are codes.
    """
    return bool(_PLAIN.fullmatch(text.strip())) and not _CODE.fullmatch(text.strip())


def plain_number(text: str) -> float:
    """Return a text in plain notation as a number, NaN for one that stands for a missing value."""
    if is_missing_text(text):
        return np.nan
    if not is_plain_number(text):
        raise ValueError(f"{text!r} is no number in plain notation")
    return float(text)


class ColumnWarning(UserWarning):
    """A column of a frame was left out, or may be read in another way than it is meant."""


@dataclass(frozen=True)
class ColumnSummary:
    """How a column of the training frame was read.

    Attributes
    ----------
    name : object
        Name of the column.
    kind : str
        "number", "category", "date" or "text"; "identifier", "empty" or "ignored"
        if the column is left out.
    n_distinct : int
        Number of distinct values.
    n_missing : int
        Number of rows without a value.
    n_words : int
        Of a text column the number of words and pairs of words, or of other numbers of a
        vectorizer, that logistic regressions see; else 0.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairmend.frames import FrameEncoder
    >>> FrameEncoder().fit(pd.DataFrame({"blue": [0.5, None, 2.0]})).columns_[0]
    ColumnSummary(name='blue', kind='number', n_distinct=2, n_missing=1, n_words=0)
    """

    name: Any
    kind: str
    n_distinct: int
    n_missing: int
    n_words: int


class NumberReader:
    """Reads numbers, booleans and durations, and strings that are numbers in plain notation."""

    kind: ClassVar[str] = "number"
    layout: ClassVar[list[tuple[int, float]]] = [(0, np.nan)]

    def read(self, column: Column) -> FloatArray:
        """Return the numbers, (n, 1)."""
        values = column.as_numbers(("numbers", "booleans"), plain_number, "numbers")
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise ValueError(
                f"Input X contains infinity: column {column.name!r}, row {row}. Replace it by a "
                "number, or by NaN if the value is missing."
            )
        return values[:, np.newaxis]


@dataclass(frozen=True)
class CategoryReader:
    """Reads categories as codes; the code of any other value is the number of categories."""

    keys: tuple[str, ...]
    kind: ClassVar[str] = "category"

    @classmethod
    def fit(cls, column: Column) -> "CategoryReader":
        """Find the categories of a column, the most frequent ones if there are too many."""
        keys, counts = np.unique([k for k in column.keys if k is not None], return_counts=True)
        if max(len(keys), len(column.categories)) > MAX_CATEGORIES:
            repeated = np.flatnonzero(counts > 1)
            order = repeated[np.argsort(-counts[repeated], kind="stable")][:MAX_CATEGORIES]
            return cls(tuple(sorted(keys[order].tolist())))
        return cls(tuple(sorted(column.categories or keys.tolist())))

    @property
    def layout(self) -> list[tuple[int, float]]:
        """Number of categories, and the factor of their coordinates in distances."""
        return [(max(len(self.keys), 1), BETWEEN_UNIT_VECTORS)]

    def read(self, column: Column) -> FloatArray:
        """Return the codes, (n, 1); NaN where missing."""
        codes: dict[str | None, float] = {None: np.nan}
        codes.update((key, code) for code, key in enumerate(self.keys))
        others = len(self.keys)
        return np.array([codes.get(key, others) for key in column.keys], dtype=float)[:, None]


@dataclass(frozen=True)
class DateReader:
    """Reads dates as days since 1970, and as sine and cosine of the year, the week and the day."""

    has_times: bool
    kind: ClassVar[str] = "date"

    @classmethod
    def fit(cls, column: Column) -> "DateReader":
        """Find whether a column has times of day."""
        days = cls(False).read(column)[:, 0]
        return cls(bool((days[~np.isnan(days)] % 1 != 0).any()))

    @property
    def layout(self) -> list[tuple[int, float]]:
        """Days are a number; each period has two coordinates, which distances leave out."""
        return [(0, np.nan)] + [(-1, 0.0)] * 2 * len(self._periods)

    @property
    def _periods(self) -> list[float]:
        return [365.2425, 7.0, 1.0] if self.has_times else [365.2425, 7.0]

    def read(self, column: Column) -> FloatArray:
        """Return days since 1970, and sine and cosine of each period."""
        days = column.as_numbers(("dates",), iso_date, "dates in ISO 8601, such as 2024-12-31")
        angles = [2 * np.pi * days / period for period in self._periods]
        circles = [turn(angle) for angle in angles for turn in (np.sin, np.cos)]
        # A missing date is in the centre of each circle.
        return np.column_stack([days, *(np.nan_to_num(circle) for circle in circles)])


@dataclass(frozen=True)
class TextReader:
    """Reads text as numbers by a vectorizer, by default TF-IDF of its words and pairs of words.

    Words of a single row are left out: they may be names, and no other row has them. The numbers
    are projected to components of length 1; `projection` is None if there are not more of them.
    """

    vectorizer: Any
    projection: Any
    n_words: int
    kind: ClassVar[str] = "text"

    @classmethod
    def fit(cls, column: Column, vectorizer: Any, n_components: int) -> "TextReader":
        """Find the words and the components of a column; 0 components mean no projection."""
        vectorizer = clone(vectorizer)
        try:
            words = sparse.csr_array(vectorizer.fit_transform(texts_of(column)))
        except ValueError as error:
            raise ValueError(
                f"Column {column.name!r} cannot be read as text, for instance because no word "
                f"occurs in two rows: {error} Leave the column out, or encode it as numbers."
            ) from error
        n_words = words.shape[1]
        n_used = max(min(n_components, words.shape[0] - 1), 1)
        if n_words <= n_used or not n_components:
            return cls(vectorizer, None, n_words)
        return cls(vectorizer, TruncatedSVD(n_used, random_state=0).fit(words), n_words)

    @property
    def layout(self) -> list[tuple[int, float]]:
        """The components, which distances do not scale; -2 for those of a projection."""
        if self.projection is None:
            return [(-1, BETWEEN_UNIT_VECTORS)] * self.n_words
        return [(-2, BETWEEN_UNIT_VECTORS)] * len(self.projection.components_)

    def read(self, column: Column) -> FloatArray:
        """Return the components; all are 0 where a text is missing."""
        return self.components(self.words(column))

    def words(self, column: Column) -> Any:
        """Return the numbers of texts, such as the TF-IDF of words, CSR."""
        if column.holds != "strings" and not column.missing.all():
            raise column.unexpected("text")
        return sparse.csr_array(self.vectorizer.transform(texts_of(column)))

    def components(self, words: Any) -> FloatArray:
        """Return the components of rows of words."""
        project = words.toarray() if self.projection is None else self.projection.transform(words)
        return np.asarray(normalize(project))


def texts_of(column: Column) -> list[str]:
    """Return the texts of a column, empty where missing."""
    return [key or "" for key in column.keys]


def word_counter(
    ngram_range: tuple[int, int] = (1, 2), min_df: float = 2, max_words: int | None = VOCABULARY
) -> TfidfVectorizer:
    """Return the vectorizer of texts that is used by default."""
    return TfidfVectorizer(
        sublinear_tf=True, max_features=max_words, min_df=min_df, strip_accents="unicode",
        ngram_range=ngram_range, token_pattern=TOKENS,
    )  # fmt: skip


@dataclass(frozen=True)
class NothingReader:
    """Leaves a column out."""

    kind: str
    layout: ClassVar[list[tuple[int, float]]] = []

    def read(self, column: Column) -> FloatArray:
        """Return no features, (n, 0)."""
        return np.empty((len(column.values), 0))


def iso_date(text: str) -> float:
    """Return the days since 1970 of a date in ISO 8601, NaN for a text that stands for missing."""
    return np.nan if is_missing_text(text) else days_of(datetime.fromisoformat(text.strip()))


def _is_date(text: str) -> bool:
    """Return whether a text is a date in ISO 8601 with hyphens: without, it may be a number."""
    try:
        return _ISO_DATE.match(text) is not None and np.isfinite(iso_date(text))
    except ValueError:
        return False


def summarise_columns(X: Any) -> list[tuple[ColumnSummary, str]]:
    """Return how a FrameEncoder would read each column of a frame, and the text of its warning."""
    columns = (read_column(X, place) for place in range(X.shape[1]))
    return [choose_reader(column, None, word_counter(), 0)[1:] for column in columns]


def choose_reader(
    column: Column, kind: str | None, vectorizer: Any, n_components: int
) -> tuple[Any, ColumnSummary, str]:
    """Return reader, summary and the text of a warning for a column; `kind` replaces the choice.

    With 0 components, the reader of a text column has no projection, but is found sooner.
    """
    counts, note = Counter(column.values[~column.missing].tolist()), ""
    are_strings, is_given = column.holds == "strings", kind is not None
    texts = [text for text in counts if not is_missing_text(text)] if are_strings else []
    if kind is None:
        kind, note = _kind_of(column, counts, texts)
    reader: Any = NothingReader(kind)
    if kind == "number":
        reader = NumberReader()
        reader.read(column)  # raises an error for anything but numbers
    elif kind == "category":
        reader = CategoryReader.fit(column)
    elif kind == "date":
        reader = DateReader.fit(column)
    elif kind == "text":
        try:
            reader = TextReader.fit(column, vectorizer, n_components)
        except ValueError:
            if is_given:
                raise
            reader = NothingReader("identifier")
            note = "its texts have no word in common, and the column is left out"
    if kind in ("number", "date") and are_strings:
        counts = Counter({text: counts[text] for text in texts})
    n_missing, n_words = len(column.values) - counts.total(), getattr(reader, "n_words", 0)
    found = ColumnSummary(column.name, reader.kind, len(counts), n_missing, n_words)
    return reader, found, note


def _kind_of(column: Column, counts: Counter[Any], texts: list[str]) -> tuple[str, str]:
    """Return the kind of a column by its values, and the text of a warning.

    `texts` are those that do not stand for a missing value.
    """
    n_rows, n_texts = counts.total(), sum(counts[text] for text in texts)
    if not counts and len(column.values):
        return "empty", "it has no values and is left out"
    if column.holds != "strings":
        return "date" if column.holds == "dates" else "number", ""
    notes = []
    if not column.is_category:  # which is never read as numbers, dates or text
        are_numbers = all(map(is_plain_number, texts))
        if texts and (are_numbers or all(map(_is_date, texts))):
            kind = "number" if are_numbers else "date"
            if n_texts == n_rows:
                return kind, ""
            missing = quoted([text for text in counts if is_missing_text(text)], 3)
            rows = counted(n_rows - n_texts, "row")
            return kind, f"taken as missing {kind}s in {rows}: {missing}"
        for things, likeness, remedy in (
            ("dates", _OTHER_DATE, "pandas.to_datetime, or write them as 2024-12-31"),
            ("numbers", _OTHER_NUMBER, "options of pandas.read_csv, or write them as 1234.5"),
        ):
            found = [text for text in texts if likeness.fullmatch(text) and not _is_date(text)]
            if 2 * sum(counts[text] for text in found) > n_texts:
                notes.append(
                    f"its {things}, such as {found[0]!r}, are strings in this notation; convert "
                    f"them by {remedy}"
                )
        are_codes = any(_CODE.fullmatch(text.strip()) for text in texts)
        for things, is_thing in (("numbers", is_plain_number), ("dates", _is_date)):
            others = [text for text in texts if not is_thing(text)]
            if others and not are_codes and 2 * sum(counts[t] for t in others) < n_texts:
                notes.append(
                    f"most of its values are {things}, but not {quoted(others, 3)}; correct or "
                    f"empty such values to read the column as {things}"
                )
        n_words = sum(len(text.split()) * count for text, count in counts.items())
        rarely_repeat = len(counts) > max(min(MIN_IDENTIFIERS, n_rows / 2), TEXT_SHARE * n_rows)
        if rarely_repeat and n_words >= TEXT_WORDS * n_rows:
            return "text", "; ".join(notes)
    if len(counts) <= max(MIN_IDENTIFIERS, DISTINCT_SHARE * n_rows):
        return "category", "; ".join(notes)
    notes.append(
        f"its {len(counts)} different values in {n_rows} rows are taken for identifiers of rows, "
        "and the column is left out; encode it as numbers to use it"
    )
    return "identifier", "; ".join(notes)

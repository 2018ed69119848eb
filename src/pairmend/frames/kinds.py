"""Kinds of columns: which are numbers, categories, dates, text, identifiers or ignored."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._utils.number_texts import (
    NumberFormat,
    format_note,
    is_missing_text,
    missing_note,
    missing_texts,
    number_formats,
)
from pairmend._utils.typing import FloatArray
from pairmend.frames.columns import Column, category_key, read_column
from pairmend.frames.parsing import date_formats_of, dates_of
from pairmend.frames.readers import (
    CategoryReader,
    DateReader,
    NothingReader,
    NumberReader,
    TextReader,
    category_keys,
    unexpected_kind,
)

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


def summarise_columns(X: Any) -> tuple[ColumnSummary, ...]:
    """Return how a FrameEncoder would read the columns of a frame, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        columns = (read_column(X, place) for place in range(X.shape[1]))
        return tuple(choose_reader(column, fits_text=False)[1] for column in columns)


def numbers_to_compare(X: Any, training: Any) -> dict[int, tuple[FloatArray, FloatArray]]:
    """Return the columns that are numbers, dates or durations in training, as numbers.

    The keys are positions of columns, the values the numbers of X and of training; dates are days.
    A column whose cells in X cannot be read in this way is left out.
    """
    found: dict[int, tuple[FloatArray, FloatArray]] = {}
    for place in range(training.shape[1]):
        column = read_column(training, place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ColumnWarning)
            reader, summary = choose_reader(column, fits_text=False)
        if summary.kind in ("number", "date", "duration"):
            try:
                read = reader.read(read_column(X, place)), reader.read(column)
            except ValueError:
                continue
            found[place] = (read[0][:, 0], read[1][:, 0])
    return found


def choose_reader(
    column: Column, kind: str | None = None, *, fits_text: bool = True
) -> tuple[Any, ColumnSummary]:
    """Return the reader and the summary of a training column; `kind` replaces the choice.

    Without `fits_text` the reader of a text column is not usable, but found sooner.
    """
    missing = column.missing
    present = column.values[~missing].tolist()
    n_distinct = len(set(present))
    n_missing = int(np.count_nonzero(missing))
    note = ""
    if kind is not None:
        reader = _requested_reader(column, kind)
    elif len(missing) and missing.all():
        reader, note = NothingReader("empty"), "it has no values and is left out"
    elif column.holds != "strings":
        reader = _plain_reader(column)
    else:
        reader, note = _string_reader(column, present, n_distinct, fits_text)
    is_parsed = column.holds == "strings" and reader.kind in ("number", "date")
    if is_parsed and (texts := missing_texts(present)):
        n_missing += len(texts)
        present = [text for text in present if not is_missing_text(text)]
        n_distinct = len(set(present))
    if note:
        warnings.warn(f"Column {column.name!r}: {note}.", ColumnWarning, stacklevel=2)
    example = str(category_key(present[0])) if present else ""
    if present and column.holds == "dates":
        example = str(np.datetime64(round(present[0] * 86400), "s"))
    return reader, ColumnSummary(column.name, reader.kind, n_distinct, n_missing, example, note)


def _plain_reader(column: Column) -> Any:
    """Return the reader of a column that holds no strings."""
    if column.holds == "dates":
        return DateReader(None, _has_times(column.values))
    return NumberReader("duration" if column.holds == "durations" else "number")


def _string_reader(
    column: Column, present: list[str], n_distinct: int, fits_text: bool
) -> tuple[Any, str]:
    """Return the reader of a column of strings, and a note for a warning."""
    note = ""
    if not column.is_category:  # a categorical dtype is never read as numbers, dates or text
        if numbers := number_formats(dict.fromkeys(present)):
            return _number_reader(numbers), format_note(present, numbers)
        if formats := date_formats_of(present):
            note = _date_note(present, formats)
            return DateReader(formats[0], _has_times(dates_of(present, formats[0]))), note
        if _is_text(present, n_distinct):
            return TextReader.fit(column) if fits_text else NothingReader("text"), note
    if n_distinct > max(MIN_IDENTIFIERS, DISTINCT_SHARE * len(present)):
        return NothingReader("identifier"), (
            f"its {n_distinct} different values in {len(present)} rows are taken for identifiers "
            "of rows, and the column is left out; encode it as numbers to use it"
        )
    return _category_reader(column), note


def _number_reader(formats: list[NumberFormat]) -> NumberReader:
    return NumberReader(form=formats[0].form, sign=formats[0].sign)


def _date_note(present: list[str], formats: list[str]) -> str:
    """Return a note for dates that can be read in several formats, or that are missing."""
    notes = []
    missing = missing_texts(present)
    if len(formats) > 1:
        date = next(text for text in present if not is_missing_text(text))
        notes.append(
            f"the day or the month may come first in its dates, such as {date!r}, and the "
            f"{'month' if formats[0].startswith('%m') else 'day'} is taken first; if this is "
            "wrong, write the dates as 2024-12-31"
        )
    if missing:
        notes.append(missing_note(missing, "date"))
    return "; ".join(notes)


def _is_text(present: list[str], n_distinct: int) -> bool:
    """Return whether strings rarely repeat and have several words."""
    if n_distinct <= max(min(MIN_IDENTIFIERS, len(present) / 2), TEXT_SHARE * len(present)):
        return False
    return bool(np.mean([len(string.split()) for string in present]) >= TEXT_WORDS)


def _category_reader(column: Column) -> CategoryReader:
    keys, counts = np.unique(
        [k for k in category_keys(column) if k is not None], return_counts=True
    )
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
            raise ValueError(unexpected_kind(column, "dates"))
        days = DateReader(forms[0], False).read(column)[:, 0]
        return DateReader(forms[0], _has_times(days))
    numbers = number_formats(column.values[~column.missing]) if column.holds == "strings" else []
    reader = _number_reader(numbers) if numbers else NumberReader()
    reader.read(column)  # raises an error for anything but numbers
    return reader


def _has_times(days: Any) -> bool:
    present = days[~np.isnan(days)]
    return bool((present != np.floor(present)).any())

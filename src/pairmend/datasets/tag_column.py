"""A column that lists the tags of each row, as labels."""

import csv
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.preprocessing import MultiLabelBinarizer

from pairmend._utils.text import is_missing_text
from pairmend.datasets.data import MultiLabelData, column_values, drop_features, source_name
from pairmend.datasets.limits import ReadLimits
from pairmend.datasets.warning import ReadWarning

SEPARATORS = ";|,/\n"
"""Separators of tags that are guessed, the first of the most frequent ones."""
_BRACKETS = {"[": "]", "{": "}", "(": ")"}


def take_tags(
    data: MultiLabelData,
    column: str,
    separator: str | None,
    limits: ReadLimits,
    labels: Sequence[str] | None = None,
) -> MultiLabelData:
    """Replace a column of tags by a label for each; `labels` are those of an earlier table.

    Rows without tags have no label.
    """
    separator = separator or guess_separator(data, column)
    place = _place(data, column)
    codes, texts = column_values(data.X, place), data.categories.get(place, ())
    tags = [[] if is_missing_text(text) else _split(text, separator) for text in texts]
    if empty := [text for text in texts if is_missing_text(text)]:
        warnings.warn(
            f"{source_name(data)}: cells of column {column!r} that are read as no tags: "
            f"{', '.join(map(repr, empty[:5]))}",
            ReadWarning,
            stacklevel=4,
        )
    names = sorted(set().union(*tags)) if labels is None else list(labels)
    if not names:
        raise ValueError(f"{source_name(data)}: column {column!r} has no tags in any row")
    limits.check_cells(Path(source_name(data)), (len(codes) + len(texts)) * len(names))
    _warn_of_spellings(source_name(data), column, names)
    known = set(names)
    if unknown := sorted(set().union(*tags) - known):
        shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        warnings.warn(
            f"{source_name(data)}: column {column!r} has tags that did not occur in training, "
            f"which are ignored: {shown}",
            ReadWarning,
            stacklevel=4,
        )
    binarizer = MultiLabelBinarizer(classes=names)
    by_text = binarizer.fit_transform([*([t for t in each if t in known] for each in tags), []])
    Y = by_text[np.where(np.isnan(codes), len(texts), codes).astype(int)].astype(np.int64)
    rest = drop_features(data, [column])
    return replace(rest, Y=np.hstack([data.Y, Y]), label_names=(*data.label_names, *names))


def _split(text: str, separator: str) -> list[str]:
    """Return the different tags of a cell, without the brackets and quotes of a list."""
    text = text.strip()
    if text[:1] in _BRACKETS and text[-1:] == _BRACKETS[text[:1]]:
        text = text[1:-1].strip()
        if text and text[0] in "'\"":  # a list as Python or JSON write it
            with suppress(csv.Error):  # a cell that is too long
                cells = next(csv.reader([text], quotechar=text[0], skipinitialspace=True))
                return list(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))
    tags = (_unquoted(tag.strip()) for tag in text.split(separator))
    return list(dict.fromkeys(tag for tag in tags if tag))


def _unquoted(tag: str) -> str:
    if len(tag) > 1 and tag[0] in "'\"" and tag[0] == tag[-1]:
        return tag[1:-1].strip()
    return tag


def guess_separator(data: MultiLabelData, column: str) -> str:
    """Return the separator that most texts of a column contain; warn of the guess."""
    texts = data.categories.get(_place(data, column), ())
    counts = Counter({each: sum(each in text for text in texts) for each in SEPARATORS})
    best, count = counts.most_common(1)[0]
    if count:
        message = f"the tags in column {column!r} are separated by {best!r}"
    else:
        message = f"column {column!r} has none of ;|,/ and is read as one tag in each row"
    warnings.warn(
        f"{source_name(data)}: {message}; if this is wrong, give the separator: --separator TEXT, "
        "in Python separator=...",
        ReadWarning,
        stacklevel=5,
    )
    return best


def matching_separator(
    data: MultiLabelData, column: str, labels: Sequence[str], expected: str | None
) -> str | None:
    """Return the separator with which most texts list known labels, first the expected one."""
    texts, known = data.categories.get(_place(data, column), ()), set(labels)
    candidates = dict.fromkeys([expected or SEPARATORS[0], *SEPARATORS])
    counts = {
        each: sum(not known.issuperset(_split(text, each)) for text in texts) for each in candidates
    }
    best = min(counts, key=lambda each: counts[each])
    if best != expected and expected is not None:
        warnings.warn(
            f"{source_name(data)}: the tags in column {column!r} are separated by {best!r}, not "
            f"by {expected!r} as in training; if they are not, give the separator: --separator",
            ReadWarning,
            stacklevel=4,
        )
    return best


def _place(data: MultiLabelData, column: str) -> int:
    if column not in data.feature_names:
        raise ValueError(
            f"{source_name(data)} has no column named {column!r}; it has "
            f"{', '.join(map(repr, data.feature_names[:10]))}"
        )
    return data.feature_names.index(column)


def _warn_of_spellings(source: str, column: str, names: Sequence[str]) -> None:
    """Warn of tags that differ in upper and lower case only."""
    spellings = defaultdict(list)
    for name in names:
        spellings[name.lower()].append(name)
    if several := [each for each in spellings.values() if len(each) > 1]:
        shown = "; ".join(" and ".join(map(repr, each)) for each in several[:3])
        warnings.warn(
            f"{source}: tags of column {column!r} that differ only in case are different labels: "
            f"{shown}",
            ReadWarning,
            stacklevel=5,
        )

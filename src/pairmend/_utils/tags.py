"""Targets that list the tags of each row, converted to label indicators."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.preprocessing import MultiLabelBinarizer

from pairmend._utils.typing import IntArray, TargetLike

COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
PRESENT = (
    "yes", "y", "true", "t", "on", "x", "+", "✓", "✔", "☑", "present", "positive",
    "ja", "j", "wahr", "oui", "vrai", "sí", "si", "sim",
)  # fmt: skip
"""Texts that usually stand for a label that is present."""
ABSENT = (
    "no", "n", "false", "f", "off", "", "-", "✗", "✘", "☐", "absent", "negative",
    "nein", "nee", "falsch", "non", "faux", "não",
)  # fmt: skip
"""Texts that usually stand for a label that is absent."""


def tags_of(y: TargetLike) -> list[Any] | None:
    """Return the tags of each row; None for label indicators and classes.

    Lists and tuples must hold strings: those of numbers are rows of indicators. Sets may hold any
    values. Empty strings, which splitting an empty string gives, are no tags.
    """
    if hasattr(y, "columns") or (isinstance(y, np.ndarray) and y.dtype != object):
        return None
    if isinstance(y, list | tuple):
        rows = list(y)
    elif getattr(y, "ndim", 1) == 1 and hasattr(y, "__len__") and hasattr(y, "dtype"):
        rows = y.to_list() if hasattr(y, "to_list") else list(y)
    else:
        return None
    if not any(_is_tags(row) for row in rows):
        return None
    for number, row in enumerate(rows):
        if not isinstance(row, COLLECTIONS):
            raise ValueError(
                f"y holds lists of tags, but row {number} is {row!r}. Pass an empty list for a row "
                "without tags."
            )
        if not isinstance(row, set | frozenset) and not all(isinstance(tag, str) for tag in row):
            odd = next(tag for tag in row if not isinstance(tag, str))
            raise ValueError(
                f"y holds lists of tags, but row {number} has the tag {odd!r}. Tags in lists must "
                "be strings; convert them with str, or pass sets."
            )
    if _is_spelled_matrix(rows):
        return None
    return [{tag for tag in row if not isinstance(tag, str) or tag.strip()} for row in rows]


def indicators_of(tags: list[Any], classes: Any = None) -> tuple[IntArray, np.ndarray[Any, Any]]:
    """Return label indicators of tags, and the names of the labels, sorted if not given."""
    present = set().union(*tags)
    if not present:
        raise ValueError("y has no labels: no row has a tag. Expected at least one tag.")
    if classes is not None:
        classes = np.asarray(classes)
        if unknown := sorted(map(str, present - set(classes.tolist()))):
            raise ValueError(
                f"y has tags that are not among the labels of the first call: {unknown[:10]}; "
                f"expected those of {classes.tolist()[:10]}."
            )
    binarizer = MultiLabelBinarizer(classes=classes)
    try:
        return binarizer.fit_transform(tags), np.asarray(binarizer.classes_, dtype=object)
    except TypeError as error:  # values that have no order
        raise ValueError(
            f"y holds tags of several types, which cannot be sorted: {error}. Convert them to "
            "strings."
        ) from error


def joined_tags_separator(texts: Iterable[str]) -> str | None:
    """Return the separator of texts that seem to list tags, as "sea;sun" does, else None.

    Names of classes may have a separator, too. With ``;`` or ``|``, some tag must occur in two
    texts; with a comma or slash there must be at most as many different tags as different texts.
    """
    different = set(texts)
    for separator in ";|,/":
        lists = [{tag.strip() for tag in text.split(separator)} for text in different]
        n_listed, n_tags = sum(map(len, lists)), len(set().union(*lists))
        limit = n_listed - 1 if separator in ";|" else len(different)
        if n_listed > len(different) and n_tags <= limit:
            return separator
    return None


def _is_tags(row: Any) -> bool:
    if isinstance(row, set | frozenset):
        return True
    return isinstance(row, COLLECTIONS) and any(isinstance(tag, str) for tag in row)


def _is_spelled_matrix(rows: list[Any]) -> bool:
    """Return whether lists are rows of a matrix of texts such as yes and no, or 0 and 1.

    Lists of one text each are tags.
    """
    if all(len(row) == 1 for row in rows):
        return False
    if any(isinstance(row, set | frozenset) for row in rows) or len({len(r) for r in rows}) > 1:
        return False
    known = {*PRESENT, *ABSENT, "0", "1"}
    return {tag.strip().lower() for row in rows for tag in row} <= known

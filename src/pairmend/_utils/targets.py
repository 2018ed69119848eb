"""Targets: label indicators, tags of each row, or classes; errors for anything else."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    column_or_1d,
)

from pairmend._utils.arrays import as_numpy, foreign_namespace
from pairmend._utils.text import counted
from pairmend._utils.typing import BoolArray, IntArray, MatrixLike, TargetLike

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


@dataclass(frozen=True)
class Target:
    """Label indicators of a target, (n, L), and names of the labels.

    A 1-D target is not `multilabel`: each row has exactly one class.
    """

    Y: BoolArray
    classes: np.ndarray[Any, Any]
    multilabel: bool

    def as_given(self, rows: IntArray) -> np.ndarray[Any, Any]:
        """Return rows of the target in its own form: 0/1 indicators, or 1-D classes."""
        if self.multilabel:
            return self.Y[rows].astype(np.int64)
        return np.asarray(self.classes[self.Y[rows].argmax(axis=1)])


def check_target(
    estimator: BaseEstimator, X: MatrixLike, y: TargetLike, *, min_labels: int = 2
) -> Target:
    """Read a target: label indicators (n, L), tags of each row, or classes (n,)."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the "
            "target y is None."
        )
    # pyarrow's `columns` are not the names.
    listed = getattr(y, "column_names", getattr(y, "columns", None))
    names = None if listed is None else np.asarray(listed)
    check_row_order(X, y, "y")
    if (tags := tags_of(y)) is not None:
        check_consistent_length(X, tags)
        y, names = indicators_of(tags)
    indicators = _as_array(y)
    check_consistent_length(X, indicators)
    if indicators.ndim == 2 and indicators.shape[1] != 1:
        return Target(_check_indicators(indicators), _label_names(names, indicators), True)
    if indicators.ndim > 2:
        raise ValueError(
            f"y has {indicators.ndim} dimensions, shape {indicators.shape}; expected label "
            "indicators of shape (n_samples, n_labels) or classes of shape (n_samples,)."
        )
    if indicators.ndim == 2 and np.isin(indicators, [0, 1]).all():
        if min_labels == 1:
            return Target(_check_indicators(indicators), _label_names(names, indicators), True)
        raise ValueError(
            "y has one label only, and pairs need at least two. MendedClassifier and "
            "CalibratedLabelRanking accept a single label; to learn it as a binary problem here, "
            "pass a 1-D y, for instance numpy.ravel(y)."
        )
    return _check_classes(column_or_1d(indicators, warn=True))


def numpy_target(y: TargetLike) -> TargetLike:
    """Return a target of another array library as numpy's; indicators as bool, which is smaller."""
    namespace = foreign_namespace(y)
    if namespace is None:
        return y
    is_bool = namespace.xp.isdtype(y.dtype, "bool")  # not comparable with numbers
    if y.ndim == 2 and not is_bool and bool(namespace.xp.all((y == 0) | (y == 1))):
        return namespace.numpy(y == 1)
    return as_numpy(y)


def check_row_order(X: MatrixLike, other: Any, name: str) -> None:
    """Raise an error for a frame whose index has the values of X's index in another order.

    Rows are matched by position, as in scikit-learn. If the indices have different values, as after
    ``reset_index`` of one of them, the order cannot be checked.
    """
    ours, theirs = (_row_index(part) for part in (X, other))
    if ours is None or theirs is None or len(ours) != len(theirs) or ours.equals(theirs):
        return
    if not len(ours.symmetric_difference(theirs, sort=False)):
        row = int(np.argmax(np.asarray(ours != theirs)))
        first, second = ours[[row]].tolist()[0], theirs[[row]].tolist()[0]
        unique = ours.is_unique and theirs.is_unique
        by_index = f"pass {name}.loc[X.index]" if unique else "give both an index without repeats"
        raise ValueError(
            f"X and {name} have the same index values in a different order: row {row} is "
            f"{first!r} in X and {second!r} in {name}. Rows are matched by position. If they "
            f"belong together by index, {by_index}; if by position, pass {name}.set_axis(X.index)."
        )


def _row_index(part: Any) -> Any:
    """Return the index of a pandas frame or series, None for anything else."""
    index = getattr(part, "index", None)
    return index if hasattr(index, "symmetric_difference") else None


def check_further_target(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: TargetLike,
    classes: Any = None,
    *,
    min_labels: int = 2,
) -> Target:
    """Read the target of a ``partial_fit``, whose labels may be those of an earlier call.

    `classes` are all classes, or the names of the labels; None means those of the first call.
    """
    fitted_classes = getattr(estimator, "classes_", None)
    if classes is not None:
        classes = np.asarray(classes)
        if fitted_classes is not None and not np.array_equal(
            np.sort(classes), np.sort(fitted_classes)
        ):
            raise ValueError(
                f"classes are {classes.tolist()}, but were {fitted_classes.tolist()} in an earlier "
                "call; leave them out, or start again with a new estimator."
            )
    tags = None if y is None else tags_of(y)
    known = classes if fitted_classes is None else fitted_classes
    if tags is not None and known is not None:
        check_row_order(X, y, "y")
        y, tags = indicators_of(tags, known)[0], None
    single = y is not None and tags is None and _as_array(y).ndim == 1
    if fitted_classes is not None and single is estimator.multilabel_:
        forms = ["classes of shape (n_samples,)", "indicators of shape (n_samples, n_labels)"]
        raise ValueError(f"y has {forms[not single]}, but an earlier call had {forms[single]}.")
    if single and (fitted_classes is not None or classes is not None):
        check_consistent_length(X, y)
        return _among_classes(
            _as_array(y), np.unique(classes) if fitted_classes is None else fitted_classes
        )
    target = check_target(estimator, X, y, min_labels=min_labels)
    if known is None:
        return target
    if len(known) != target.Y.shape[1]:
        raise ValueError(f"y has {target.Y.shape[1]} labels, expected {len(known)}.")
    if hasattr(y, "columns") and not np.array_equal(target.classes, known):
        raise ValueError(f"y has the labels {target.classes.tolist()}, expected {known.tolist()}.")
    return replace(target, classes=known)


def _among_classes(y: np.ndarray[Any, Any], classes: np.ndarray[Any, Any]) -> Target:
    """Read classes, all of which must be among given ones."""
    if len(classes) < 2:
        raise ValueError(
            f"classes has one class only, {classes[0]!r}; a classifier needs at least two classes."
        )
    if unknown := sorted(set(np.unique(y).tolist()) - set(classes.tolist())):
        raise ValueError(
            f"y has classes that are not among those of the first call: {unknown}. Give all that "
            "will ever occur as `classes` in the first call."
        )
    return Target(
        np.searchsorted(classes, y)[:, np.newaxis] == np.arange(len(classes)), classes, False
    )


def check_indicators(Y: TargetLike) -> BoolArray:
    """Read label indicators of shape (n, L)."""
    indicators = _as_array(Y)
    if indicators.ndim != 2:
        raise ValueError(
            f"Y has the shape {indicators.shape}; expected label indicators of shape "
            "(n_samples, n_labels)."
        )
    return _check_indicators(indicators)


def _as_array(y: TargetLike) -> np.ndarray[Any, Any]:
    y = numpy_target(y)
    if sparse.issparse(y):
        return np.asarray(y.toarray())
    try:
        array = np.asarray(y)
    except ValueError as error:
        array = None
        cause: Exception | None = error
    else:
        cause = None
    if array is None or (array.dtype == object and array.ndim == 1 and _has_collections(array)):
        raise ValueError(
            "y holds lists of numbers, of different lengths. Expected label indicators of 0 and "
            "1, one for each label in every row. If the numbers are tags, pass sets, or use "
            "sklearn.preprocessing.MultiLabelBinarizer."
        ) from cause
    return array


def _has_collections(array: np.ndarray[Any, Any]) -> bool:
    return any(isinstance(cell, list | tuple | set | frozenset) for cell in array)


def _label_names(
    names: np.ndarray[Any, Any] | None, indicators: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    if names is None:
        return np.arange(indicators.shape[1])
    if twice := [name for name, count in Counter(names.tolist()).items() if count > 1]:
        raise ValueError(
            f"y has several columns of the same name: {twice[:5]}. Rename them, or drop all but "
            "one of each."
        )
    return names


def _check_indicators(indicators: np.ndarray[Any, Any]) -> BoolArray:
    if indicators.shape[1] == 0:
        raise ValueError(
            "y has no labels: its shape is (n_samples, 0). Expected at least one column."
        )
    if indicators.dtype.kind == "f":
        assert_all_finite(indicators, input_name="y")
    if indicators.dtype == object:  # pandas' nullable numbers, too
        valid = np.vectorize(_is_indicator, otypes=[bool])(indicators)
    else:
        valid = np.asarray((indicators == 0) | (indicators == 1))
    if not np.all(valid):
        row, column = np.argwhere(~valid)[0]
        found = indicators[row].tolist()[column]
        raise ValueError(
            f"Unknown label type: y must hold 0 and 1 only, but row {row}, column {column} "
            f"is {found!r}. {_remedy(found, indicators)}"
        )
    return np.asarray(indicators == 1)


def _remedy(found: Any, indicators: np.ndarray[Any, Any]) -> str:
    """Return advice for a cell that is not an indicator."""
    if isinstance(found, str) and found.strip() in ("0", "1"):
        return "Turn texts into numbers, y.astype(int)."
    if isinstance(found, str):
        return _remedy_of_texts(indicators)
    if isinstance(found, int | float) and found == -1:
        return "Where -1 stands for labels that are absent, pass (y > 0).astype(int)."
    return "For classes instead of label indicators, pass a 1-D y."


def _remedy_of_texts(indicators: np.ndarray[Any, Any]) -> str:
    """Return advice for a matrix with texts, by how many different ones there are."""
    texts = sorted({cell for cell in indicators.ravel().tolist() if isinstance(cell, str)})
    if len(texts) > 2:
        return (
            "If each row lists the names of its labels, use "
            "sklearn.preprocessing.MultiLabelBinarizer. If each column is a label, compare with "
            "the text that stands for its presence, (y == text).astype(int)."
        )
    present = next((repr(text) for text in texts if text.strip().lower() in PRESENT), "text")
    where = "y" if all(isinstance(cell, str) for cell in indicators.flat) else "y[column]"
    return (
        "Compare with the text that stands for the presence of a label, "
        f"({where} == {present}).astype(int)."
    )


def _is_indicator(cell: Any) -> bool:
    return isinstance(cell, bool | int | float | np.number | np.bool_) and cell in (0, 1)


def _check_class_names(names: list[Any]) -> None:
    """Raise an error for missing classes, classes of several types, and lists of tags."""
    missing = [row for row, name in enumerate(names) if _is_missing(name)]
    if missing:
        raise ValueError(
            f"y is missing in {counted(len(missing), 'row')}, first in row {missing[0]} "
            f"({names[missing[0]]!r}). Leave these rows out, or, if they have no labels, pass a "
            "list of tags for each row, an empty list for these."
        )
    texts = [name for name in names if isinstance(name, str)]
    if 0 < len(texts) < len(names):
        other = next(name for name in names if not isinstance(name, str))
        raise ValueError(
            f"y holds texts such as {texts[0]!r} and other values such as {other!r}. Give them "
            "one type, for instance with y.astype(str)."
        )
    if (separator := joined_tags_separator(texts)) is not None:
        text = next(text for text in texts if separator in text)
        raise ValueError(
            f"y holds texts that seem to list tags, such as {text!r}. Split them into lists: "
            f'y.str.split("{separator}") for a series, [text.split("{separator}") for text in y] '
            f"for a list. If they are names of classes, replace the {separator!r} in them."
        )


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _check_classes(y: np.ndarray[Any, Any]) -> Target:
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if y.dtype.kind in "OUT":
        _check_class_names(y.tolist())
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes[0]!r}; a classifier needs at least two classes."
        )
    return Target(codes[:, np.newaxis] == np.arange(len(classes)), classes, False)

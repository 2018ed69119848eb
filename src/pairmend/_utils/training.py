"""What fit is given beside rows: targets, sample weights, other parameters and their routing.

A prior mass, a smoothing count or a minimum number of rows is a number of rows. Where rows have
weights, such a number is multiplied by a unit that is computed from the weights, so that all
weights times a constant give the same classifier.
"""

from collections import Counter
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import LabelEncoder, MultiLabelBinarizer
from sklearn.utils import check_consistent_length
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d, has_fit_parameter

from pairmend._utils.arrays import as_numpy, take_rows
from pairmend._utils.sklearn_private import (
    check_method_params,
    count_rows,
    read_sample_weight,
    routing_enabled,
)
from pairmend._utils.text import is_missing
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike

LISTS = (list, tuple, np.ndarray)
SETS = (set, frozenset)


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
    estimator: BaseEstimator | None, X: MatrixLike, y: TargetLike, *, min_labels: int = 2
) -> Target:
    """Read a target: label indicators (n, L), tags of each row, or classes (n,)."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the "
            "target y is None."
        )
    # pyarrow's `columns` are not the names.
    names = getattr(y, "column_names", getattr(y, "columns", None))
    check_row_order(X, y, "y")
    if (tags := tags_of(y)) is not None:
        y, names = indicators_of(tags)
    y = _as_array(y)
    check_consistent_length(X, y)
    is_one_label = y.ndim == 2 and y.shape[1] == 1
    if y.ndim == 1 or (is_one_label and not np.isin(y, [0, 1]).all()):
        return _check_classes(column_or_1d(y, warn=True))
    if is_one_label and min_labels > 1:
        raise ValueError(
            "y has one label only, and pairs need at least two. MendedClassifier and "
            "CalibratedLabelRanking accept a single label; to learn it as a binary problem here, "
            "pass a 1-D y, for instance numpy.ravel(y)."
        )
    indicators = check_indicators(y)
    classes = np.arange(y.shape[1]) if names is None else np.asarray(names)
    if twice := [name for name, n in Counter(classes.tolist()).items() if n > 1]:
        raise ValueError(
            f"y has several columns of the same name: {twice[:5]}. Rename them, or drop all but "
            "one of each."
        )
    return Target(indicators, classes, True)


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
    fitted = getattr(estimator, "classes_", None)
    known = fitted if classes is None or fitted is not None else np.asarray(classes)
    if known is None or y is None:
        return check_target(estimator, X, y, min_labels=min_labels)
    if classes is not None and not np.array_equal(np.sort(classes), np.sort(known)):
        raise ValueError(
            f"classes are {list(classes)}, but were {known.tolist()} in an earlier call; leave "
            "them out, or start again with a new estimator."
        )
    check_row_order(X, y, "y")
    if (tags := tags_of(y)) is not None:
        y, _ = indicators_of(tags, known)
    has_classes = _as_array(y).ndim == 1
    if fitted is not None and has_classes is estimator.multilabel_:
        forms = ["indicators of shape (n_samples, n_labels)", "classes of shape (n_samples,)"]
        raise ValueError(
            f"y has {forms[has_classes]}, but an earlier call had {forms[not has_classes]}."
        )
    if has_classes:
        return _check_classes(_as_array(y), np.unique(known))
    target = check_target(estimator, X, y, min_labels=min_labels)
    expected = known if hasattr(y, "columns") else np.arange(len(known))
    if not np.array_equal(target.classes, expected):
        raise ValueError(
            f"y has the labels {target.classes.tolist()}, expected {expected.tolist()}."
        )
    return replace(target, classes=known)


def tags_of(y: TargetLike) -> list[Any] | None:
    """Return the tags of each row; None for label indicators and classes.

    Lists and tuples must hold strings: those of numbers are rows of indicators, and so are those of
    the strings 0 and 1. Sets may hold any values. Empty strings, which splitting an empty string
    gives, are no tags.
    """
    is_column = getattr(y, "ndim", 1) == 1 and hasattr(y, "dtype")  # of pandas, polars or numpy
    if not (is_column or isinstance(y, list | tuple)):
        return None
    if isinstance(y, np.ndarray) and y.dtype != object:
        return None
    rows = y.to_list() if hasattr(y, "to_list") else list(y)
    lists = [row for row in rows if isinstance(row, LISTS)]
    strings = {tag for row in lists for tag in row if isinstance(tag, str)}
    is_table = strings <= {"0", "1"} and len(set(map(len, lists))) < 2
    if is_table and not any(isinstance(row, SETS) for row in rows):
        return None
    for number, row in enumerate(rows):
        is_list = isinstance(row, LISTS) and all(isinstance(tag, str) for tag in row)
        if not (is_list or isinstance(row, SETS)):
            raise ValueError(
                f"y holds tags of each row, but row {number} is {row!r}. Pass a list of strings or "
                "a set for each row, an empty list for a row without tags, such as those of "
                "y.fillna('').str.split(';') for a column of texts."
            )
    return [{tag for tag in row if not isinstance(tag, str) or tag.strip()} for row in rows]


def indicators_of(tags: list[Any], classes: Any = None) -> tuple[IntArray, np.ndarray[Any, Any]]:
    """Return label indicators of tags, and the names of the labels, sorted if not given."""
    present = set().union(*tags)
    if not present:
        raise ValueError("y has no labels: no row has a tag. Expected at least one tag.")
    if classes is not None and (unknown := present - set(np.asarray(classes).tolist())):
        raise ValueError(
            f"y has tags that are not among the labels of the first call: "
            f"{sorted(map(str, unknown))[:10]}; expected those of {list(classes)[:10]}."
        )
    binarizer = MultiLabelBinarizer(classes=classes)
    return binarizer.fit_transform(tags), np.asarray(binarizer.classes_, dtype=object)


def check_row_order(X: MatrixLike, other: Any, name: str) -> None:
    """Raise an error for a frame whose index has the values of X's index in another order.

    Rows are matched by position, as in scikit-learn. If the indices have different values, as after
    ``reset_index`` of one of them, the order cannot be checked.
    """
    ours: Any = getattr(X, "index", None)
    theirs: Any = getattr(other, "index", None)
    if not (hasattr(ours, "symmetric_difference") and hasattr(theirs, "symmetric_difference")):
        return  # a list has a method of this name
    if len(ours) != len(theirs) or ours.equals(theirs):
        return
    if not len(ours.symmetric_difference(theirs, sort=False)):
        raise ValueError(
            f"X and {name} have the same index values in a different order, and rows are matched "
            f"by position. If they belong together by index, pass {name}.loc[X.index] (without "
            f"repeated index values); if by position, pass {name}.set_axis(X.index)."
        )


def check_indicators(Y: TargetLike) -> BoolArray:
    """Read label indicators of shape (n, L)."""
    indicators = _as_array(Y)
    if indicators.ndim != 2 or not indicators.shape[1]:
        raise ValueError(
            f"y has the shape {indicators.shape}; expected label indicators of shape "
            "(n_samples, n_labels), of at least one label."
        )
    if indicators.dtype.kind == "f":
        assert_all_finite(indicators, input_name="y", allow_nan=True)
    if indicators.dtype == object:  # pandas' nullable numbers, too
        numbers = bool | int | float | np.number | np.bool_
        valid = np.vectorize(lambda cell: isinstance(cell, numbers) and cell in (0, 1))(indicators)
    else:
        valid = np.asarray((indicators == 0) | (indicators == 1))
    if not np.all(valid):
        row, column = np.argwhere(~valid)[0]
        raise ValueError(
            f"Unknown label type: y must hold 0 and 1 only, but row {row}, column {column} "
            f"is {indicators[row].tolist()[column]!r}. Compare with the value of a present label, "
            "such as (y == 'yes').astype(int) or (y > 0).astype(int), or use "
            "sklearn.preprocessing.MultiLabelBinarizer for lists of labels; leave out rows whose "
            "labels are not known. For classes instead of label indicators, pass a 1-D y."
        )
    return np.asarray(indicators == 1)


def _as_array(y: TargetLike) -> np.ndarray[Any, Any]:
    y = as_numpy(y)
    return np.asarray(y.toarray() if sparse.issparse(y) else y)


def _check_classes(y: np.ndarray[Any, Any], known: np.ndarray[Any, Any] | None = None) -> Target:
    """Read classes, which must be among known ones if there are any."""
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if y.dtype == object:
        missing = [row for row, name in enumerate(y.tolist()) if is_missing(name)]
        if missing:
            raise ValueError(
                f"y is missing in {len(missing)} row(s), first in row {missing[0]}. Leave these "
                "rows out, or, if they have no labels, pass a list of tags for each row, such as "
                "those of y.fillna('').str.split(';')."
            )
    encoder = LabelEncoder().fit(y if known is None else known)
    check_classification_targets(y)
    classes = encoder.classes_
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes[0]!r}; a classifier needs at least two classes."
        )
    codes = encoder.transform(y)
    return Target(codes[:, np.newaxis] == np.arange(len(classes)), classes, False)


SHARE = 0.02
"""Share of the total weight of the rows up to the unit."""
NEGLIGIBLE = 1e-6
"""Rows that weigh less than this many units are left out, as rows of weight 0 are."""
SLACK = 1e-9
"""Relative difference of sums below which they count as equal."""


def unit_weight(weights: FloatArray) -> float:
    """Return the weight that counts as one row, 1 if no weight is above 0.

    It is the smallest weight such that the rows with weights up to it have at least 2 % of the
    total weight. Rows of weight 1 among heavier ones are the unit as long as they have 2 % of the
    total, and rows of very small weight do not change it.
    """
    positive = np.sort(weights[weights > 0])
    if len(positive) == 0:
        return 1.0
    up_to = np.cumsum(positive)
    return float(positive[np.searchsorted(up_to, SHARE * (1 - SLACK) * up_to[-1])])


def without_negligible(weights: FloatArray, unit: float | None = None) -> FloatArray:
    """Return weights with 0 in place of those below a millionth of the unit."""
    unit = unit_weight(weights) if unit is None else unit
    return np.where(weights < NEGLIGIBLE * unit, 0, weights)


def relative_weights(weights: FloatArray) -> FloatArray:
    """Return weights in units of :func:`unit_weight`."""
    return weights / unit_weight(weights)


def all_equal(weights: FloatArray) -> bool:
    """Return whether all weights are the same, so that they have no effect."""
    return bool((weights == weights[:1]).all())


def fit_with_weights(estimator: Any, given: tuple[Any, ...], weights: FloatArray | None) -> Any:
    """Fit an estimator, with sample weights if there are any and its fit accepts them."""
    if weights is None or not has_fit_parameter(estimator, "sample_weight"):
        return estimator.fit(*given)
    return estimator.fit(*given, sample_weight=weights)


def check_sample_weight(sample_weight: Any, X: MatrixLike, **options: Any) -> FloatArray:
    """Read sample weights; None gives ones, and weights that are all zero are an error.

    scikit-learn 1.7 accepts weights that are all zero, newer versions do not.
    """
    check_row_order(X, sample_weight, "sample_weight")
    # Only the number of rows matters. A dispatching scikit-learn refuses an `EncodedFrame`.
    rows = np.empty((count_rows(X), 0))
    weights: FloatArray = read_sample_weight(as_numpy(sample_weight), rows, **options)
    if np.all(weights == 0):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def check_row_weights(sample_weight: Any, X: MatrixLike) -> FloatArray:
    """Read sample weights; those below a millionth of the unit become 0, None gives ones."""
    return without_negligible(check_sample_weight(sample_weight, X, ensure_non_negative=True))


def route_fit_params(
    estimator: BaseEstimator, base: Any, X: MatrixLike, params: dict[str, Any]
) -> tuple[dict[str, Any], FloatArray]:
    """Return fit parameters of the base classifier, and the checked weights of rows.

    Without weights these are ones. Weights below a millionth of the unit are 0.
    """
    routed = dict(params)
    if routing_enabled():
        routed = dict(process_routing(estimator, "fit", **params).estimator.fit)
    if routed.get("sample_weight") is None:
        routed.pop("sample_weight", None)
    if not routing_enabled():  # which raises its own errors
        try:
            signature(base.fit).bind(X, None, **routed)
        except TypeError as error:
            raise TypeError(f"{type(base).__name__}.fit() {error}") from error
    if "sample_weight" not in routed:
        return routed, np.ones(count_rows(X))
    checked = check_row_weights(routed["sample_weight"], X)
    return {**routed, "sample_weight": checked}, checked


def take_params(X: MatrixLike, params: dict[str, Any], rows: IntArray) -> dict[str, Any]:
    """Select rows of those fit parameters that have one value a row."""
    selected: dict[str, Any] = check_method_params(X, params=params, indices=rows)
    return selected


def take_present(
    X: MatrixLike, params: dict[str, Any], weights: FloatArray
) -> tuple[MatrixLike, dict[str, Any], IntArray]:
    """Return the rows of positive weight, their fit parameters, and their numbers."""
    present = np.flatnonzero(weights > 0)
    if len(present) == len(weights):
        return X, params, present
    return take_rows(X, present), take_params(X, params, present), present

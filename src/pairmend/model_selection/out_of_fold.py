"""Out-of-fold scores: scores of rows by classifiers that were not trained on them."""

import re
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import delayed

from pairmend._utils.fit_params import take_params
from pairmend._utils.per_label import PerLabelClassifier
from pairmend._utils.predictions import label_scores
from pairmend._utils.progress import run_calls
from pairmend._utils.targets import Target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.model_selection.splits import MultilabelStratifiedKFold

ABOUT_CLASSES = re.compile(r"\b(class|classes|unique values?|constant)\b", re.IGNORECASE)
"""Words in error messages of classifiers that cannot be trained on a single class."""
MAX_NAMES = 10
"""Number of labels that a message lists at the most."""


def split_rows(
    cv: Any, X: MatrixLike, target: Target, present: BoolArray, random_state: Any
) -> list[tuple[IntArray, IntArray]]:
    """Return the training and test rows of each split, without rows of weight 0.

    `cv` splits all rows; an int is the number of folds of a `MultilabelStratifiedKFold` of the rows
    that are `present`. Splits without test rows are left out.
    """
    if isinstance(cv, Integral):
        # Single-label classes are stratified in the same way, as labels of which each row has one.
        rows = np.flatnonzero(present)
        folds = MultilabelStratifiedKFold(int(cv), random_state=random_state)
        parts = folds.split(rows, target.Y[rows].astype(np.int64))
        return [(rows[train], rows[test]) for train, test in parts]
    parts = check_cv(cv).split(X, target.as_given(np.arange(len(present))))
    splits = [(_row_numbers(train, present), _row_numbers(test, present)) for train, test in parts]
    splits = [(train, test) for train, test in splits if len(test)]
    if not splits:
        raise ValueError(
            "n_samples = 0 in the test parts of the splits; expected out-of-fold predictions of at "
            "least 1 row of positive weight. Pass a cv with larger test parts."
        )
    if any(len(train) == 0 for train, _ in splits):
        raise ValueError(
            "A split of cv has no training rows of positive weight; expected at least one. Pass a "
            "cv with larger training parts."
        )
    return splits


def _row_numbers(part: Any, present: BoolArray) -> IntArray:
    """Return the numbers of the rows of positive weight in a part of a split.

    The part is given as row numbers or as a mask, as for ``cross_validate`` of scikit-learn.
    """
    try:
        rows: IntArray = np.arange(len(present))[part if len(part) else slice(0)]
    except IndexError as error:
        raise ValueError(
            f"A split of cv does not fit to the {len(present)} rows: {error}. Expected row numbers "
            f"below {len(present)}, or boolean masks of {len(present)} values."
        ) from error
    return rows[present[rows]]


def cross_fit(
    estimator: Any,
    X: MatrixLike,
    target: Target,
    params: dict[str, Any],
    splits: list[tuple[IntArray, IntArray]],
    *,
    method: str,
    purpose: str,
    n_jobs: int | None,
    owner: Any = None,
) -> list[FloatArray]:
    """Return a list with the scores (n_test, L) of each split's test rows.

    A clone of the estimator is fitted on the training rows of each split. Progress is reported for
    `owner`.

    ``cross_val_predict`` is not used because it encodes the labels of each fold: a label that all
    rows have becomes one that no row has. `purpose` is part of the note on an error in training.
    """
    calls = (
        delayed(_fit_and_score)(estimator, X, target, params, train, test, method, purpose)
        for train, test in splits
    )
    doing = "out-of-fold predictions"
    return run_calls(owner, calls, len(splits), "split", doing, n_jobs=n_jobs)


def _fit_and_score(
    estimator: Any,
    X: MatrixLike,
    target: Target,
    params: dict[str, Any],
    train: IntArray,
    test: IntArray,
    method: str,
    purpose: str,
) -> FloatArray:
    """Fit a clone on training rows and return the scores of the test rows."""
    fitted = fit_on_rows(estimator, X, target, params, train, purpose)
    return label_scores(fitted, take_rows(X, test), method, len(target.classes))


def fit_on_rows(
    estimator: Any,
    X: MatrixLike,
    target: Target,
    params: dict[str, Any],
    train: IntArray,
    purpose: str | None,
) -> Any:
    """Return a clone that is fitted on some rows.

    `purpose` is part of the note on an error in cross-fitting; None means no cross-fitting.
    """
    rows, own_params = take_rows(X, train), take_params(X, params, train)  # rows are a copy
    try:
        if isinstance(estimator, PerLabelClassifier):
            return clone(estimator).fit_overwriting(rows, target.Y[train], **own_params)
        return clone(estimator).fit(rows, target.as_given(train), **own_params)
    except Exception as error:
        if purpose is not None:
            number = f"{len(train)} of {len(target.Y)} rows"
            error.add_note(f"while cross-fitting {purpose} on {number}.")
        if note := _note_on_constant_labels(error, target, train):
            error.add_note(note)
        raise


def first_predictions(
    tests: Sequence[IntArray], parts: list[FloatArray], n_labels: int
) -> tuple[IntArray, FloatArray, IntArray]:
    """Return the rows of the test parts, the first prediction of each, and its split.

    Rows are in ascending order. A row predicted twice would be its own neighbour. `parts` is
    emptied.
    """
    rows = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *tests]))
    proba = np.empty((len(rows), n_labels))
    folds = np.empty(len(rows), dtype=np.int64)
    while parts:
        fold = len(parts) - 1
        places = np.searchsorted(rows, tests[fold])
        # Of a row that a fold predicts twice, the first prediction is kept.
        proba[places[::-1]], folds[places] = parts.pop()[::-1], fold
    return rows, proba, folds


def _note_on_constant_labels(error: Exception, target: Target, train: IntArray) -> str | None:
    """Return a note on labels that are constant in training rows, if an error is about classes."""
    if not ABOUT_CLASSES.search(str(error)):
        return None
    Y = target.Y[train]
    constant = target.classes[~Y.any(axis=0) | Y.all(axis=0)].tolist()
    if not constant:
        return None
    names = ", ".join(map(repr, constant[:MAX_NAMES])) + (", ..." * (len(constant) > MAX_NAMES))
    return (
        f"In these training rows, {len(constant)} label(s) have the same value in all rows: "
        f"{names}. Use a classifier that accepts such labels, fewer folds, or remove these labels."
    )

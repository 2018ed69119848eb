"""Scores of rows by classifiers that did not see them."""

import re
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from pairmend._utils.fit_params import take_params
from pairmend._utils.predictions import label_scores
from pairmend._utils.targets import Target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.model_selection.splits import MultilabelStratifiedKFold

ABOUT_CLASSES = re.compile(r"\b(class|classes|unique values?|constant)\b", re.IGNORECASE)
"""Words in the messages of classifiers that cannot be trained on a single class."""
MAX_NAMES = 10
"""How many labels are named in a message."""


def split_rows(
    cv: Any, X: MatrixLike, target: Target, present: BoolArray, random_state: Any
) -> list[tuple[IntArray, IntArray]]:
    """Split rows into those to train on and those to score.

    Parameters
    ----------
    cv : int, splitter or iterable
        The splits, which number all rows. An int is the number of folds of a
        :class:`~pairmend.model_selection.MultilabelStratifiedKFold` of the rows that count.
    X : array-like
        Rows.
    target : Target
        Their labels.
    present : ndarray of bool, shape (n,)
        Rows that count; the others are left out.
    random_state : int, RandomState or None
        Shuffles the rows, if `cv` is an int.

    Returns
    -------
    list of pairs of ndarray of int
        Of those splits that have rows to score.
    """
    if isinstance(cv, Integral):
        # Classes are labels of which each row has one, and their folds alike, too.
        rows = np.flatnonzero(present)
        folds = MultilabelStratifiedKFold(int(cv), random_state=random_state)
        parts = folds.split(rows, target.Y[rows].astype(np.int64))
        return [(rows[train], rows[test]) for train, test in parts]
    parts = check_cv(cv).split(X, target.as_given(np.arange(len(present))))
    return [
        (train[present[train]], test[present[test]])
        for train, test in ((np.asarray(train), np.asarray(test)) for train, test in parts)
        if present[test].any()
    ]


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
) -> list[FloatArray]:
    """Return the scores of each split's rows by a classifier trained on its other rows.

    It is not ``cross_val_predict``, which encodes every label anew, so that one that is always
    there becomes one that never is.

    Parameters
    ----------
    estimator : classifier
        Multi-label classifier.
    X : array-like
        Rows.
    target : Target
        Their labels.
    params : dict
        Parameters of the classifier's fit.
    splits : list of pairs of ndarray of int
        Rows to train on, and rows to score.
    method : {"predict_proba", "decision_function"}
        What gives the scores.
    purpose : str
        What the scores are for, told where a training fails.
    n_jobs : int or None
        Number of processes.

    Returns
    -------
    list of ndarray of shape (n_rows, L)
    """
    return list(
        Parallel(n_jobs=n_jobs)(
            delayed(_score_left_out)(estimator, X, target, params, train, test, method, purpose)
            for train, test in splits
        )
    )


def _score_left_out(
    estimator: Any,
    X: MatrixLike,
    target: Target,
    params: dict[str, Any],
    train: IntArray,
    test: IntArray,
    method: str,
    purpose: str,
) -> FloatArray:
    try:
        fitted = clone(estimator).fit(
            take_rows(X, train), target.as_given(train), **take_params(X, params, train)
        )
    except Exception as error:
        error.add_note(f"while cross-fitting {purpose} on {len(train)} of {len(target.Y)} rows.")
        if note := _note_on_constant_labels(error, target, train):
            error.add_note(note)
        raise
    return label_scores(fitted, take_rows(X, test), method, len(target.classes))


def _note_on_constant_labels(error: Exception, target: Target, train: IntArray) -> str | None:
    """Return a note on labels that do not vary in a training part, if an error is about that."""
    if not ABOUT_CLASSES.search(str(error)):
        return None
    carried = target.Y[train].any(axis=0), ~target.Y[train].all(axis=0)
    constant = target.classes[~np.logical_and(*carried)].tolist()
    if not constant:
        return None
    names = ", ".join(map(repr, constant[:MAX_NAMES])) + (", ..." * (len(constant) > MAX_NAMES))
    return (
        f"In this part, {len(constant)} label(s) have the same value in all rows: {names}. "
        "Choose a classifier that takes such labels, fewer folds, or leave these labels out."
    )

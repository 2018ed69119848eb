"""Scores of rows by classifiers that did not see them."""

import re
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from pairmend._typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._validation import Target, count_rows, take_params, take_rows
from pairmend.model_selection import MultilabelStratifiedKFold

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


def label_scores(estimator: Any, X: MatrixLike, method: str, n_labels: int) -> FloatArray:
    """Return the scores of labels in one array, whatever form the classifier gives them.

    Parameters
    ----------
    estimator : classifier
        A fitted multi-label classifier.
    X : array-like of shape (n_samples, n_features)
        Rows.
    method : {"predict_proba", "decision_function"}
        What gives the scores. Some of scikit-learn's classifiers give an array of all classes
        for each label; the column of class 1 counts.
    n_labels : int
        Number of labels.

    Returns
    -------
    ndarray of shape (n_samples, n_labels)
    """
    found = getattr(estimator, method)(X)
    if isinstance(found, list):
        classes = getattr(estimator, "classes_", [[0, 1]] * len(found))
        columns = [_column_of_one(part, own) for part, own in zip(found, classes, strict=True)]
        scores = np.column_stack(columns)
    else:
        scores = found.toarray() if sparse.issparse(found) else np.asarray(found)
        if n_labels == 1:  # many classifiers take one label for a problem of two classes
            scores = scores.reshape(count_rows(X), -1)[:, -1:]
    if scores.shape != (count_rows(X), n_labels):
        raise ValueError(
            f"{method} of {type(estimator).__name__} gave an array of shape {scores.shape}; "
            f"expected a score for each of {count_rows(X)} rows and {n_labels} labels."
        )
    if np.isnan(scores).any():
        raise ValueError(
            f"{method} of {type(estimator).__name__} gave NaN for {np.isnan(scores).sum()} of "
            f"{scores.size} rows and labels; expected numbers."
        )
    return scores


def _column_of_one(probabilities: Any, classes: Any) -> FloatArray:
    """Return the probabilities of class 1; a label that never or always occurs has one column."""
    probabilities = np.asarray(probabilities)
    where = np.flatnonzero(np.asarray(classes) == 1)
    return probabilities[:, where[0]] if len(where) else np.zeros(len(probabilities))

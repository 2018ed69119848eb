"""Splits of multi-label rows for cross-validation; scores of rows outside of their folds."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.parallel import delayed

from pairmend._utils.arrays import take_rows
from pairmend._utils.classifiers import PerLabelClassifier, label_scores, varying_labels
from pairmend._utils.progress import run_calls
from pairmend._utils.training import Target, check_indicators, take_params
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend.frames.columns import hint_of_encoder

__all__ = ["MultilabelStratifiedKFold"]


class MultilabelStratifiedKFold(KFold):
    """Stratified k-fold cross-validation of label indicators, with scikit-learn's interface.

    Rows are always shuffled.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    random_state : int, RandomState or None, default=None
        Seed of the split. An int gives the same folds every time.

    Notes
    -----
    This is the iterative stratification of K. Sechidis, G. Tsoumakas and I. Vlahavas, "On the
    stratification of multi-label data", ECML PKDD 2011: the rows of the rarest label are assigned
    first, each to the fold with the largest deficit of that label; ties go to the fold with the
    most free places.

    Other than there, sizes of folds differ by at most one: a full fold gets no more rows.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> cv = MultilabelStratifiedKFold(3, random_state=0)
    >>> cross_val_score(KNeighborsClassifier(), X, Y, cv=cv, scoring="f1_micro").round(2)
    array([0.57, 0.61, 0.62])
    """

    def __init__(
        self, n_splits: int = 5, *, random_state: int | np.random.RandomState | None = None
    ) -> None:
        super().__init__(n_splits, shuffle=True, random_state=random_state)

    def _iter_test_masks(
        self, X: MatrixLike = None, y: TargetLike = None, groups: Any = None
    ) -> Iterator[BoolArray]:
        """Yield the masks of the folds; `split` of scikit-learn checks sizes, and calls it."""
        Y = check_indicators(y)
        fold_of = _assign_rows(Y, self.n_splits, check_random_state(self.random_state))
        return (fold_of == number for number in range(self.n_splits))


def _assign_rows(Y: BoolArray, n_folds: int, rng: np.random.RandomState) -> IntArray:
    """Return the fold of each row by iterative stratification."""
    n_rows = len(Y)
    free = np.full(n_folds, n_rows // n_folds)
    free[: n_rows % n_folds] += 1
    left_of_label = Y.sum(axis=0)
    # Times n_rows, deficits are whole numbers, and ties are exact.
    deficit = np.outer(left_of_label, free)
    fold_of = np.empty(n_rows, dtype=np.int64)
    left = rng.permutation(n_rows)
    while left_of_label.any():
        label = int(np.argmin(np.where(left_of_label, left_of_label, n_rows + 1)))
        has_label = Y[left, label]
        rows = left[has_label]
        folds = _largest_deficits(deficit[label], free, len(rows), n_rows, rng)
        fold_of[rows] = folds
        for fold in range(n_folds):
            inside = rows[folds == fold]
            free[fold] -= len(inside)
            of_label = Y[inside].sum(axis=0)
            deficit[:, fold] -= n_rows * of_label
            left_of_label -= of_label
        left = left[~has_label]
    fold_of[left] = np.repeat(np.arange(n_folds), free)
    return fold_of


def _largest_deficits(
    deficits: IntArray, free: IntArray, n_chosen: int, unit: int, rng: np.random.RandomState
) -> IntArray:
    """Return the folds with the largest deficit of a label, one after the other.

    A fold loses one free place, and `unit` of its deficit, each time that it is chosen. Only folds
    with free places are. In a tie that with most of them is chosen, then a random one.
    """
    owed, places = deficits.tolist(), free.tolist()
    chosen = []
    for _ in range(n_chosen):
        first = max(key for key in zip(owed, places, strict=True) if key[1])
        tied = [k for k, key in enumerate(zip(owed, places, strict=True)) if key == first]
        fold = tied[rng.randint(len(tied))] if len(tied) > 1 else tied[0]
        chosen.append(fold)
        owed[fold] -= unit
        places[fold] -= 1
    return np.array(chosen, dtype=np.int64)


def given_split(split: tuple[Any, Any], n_rows: int) -> tuple[IntArray, IntArray]:
    """Return the row numbers of given training and validation parts, ascending."""
    parts = [np.sort(np.asarray(part)) for part in split]
    rows = np.concatenate(parts)
    is_valid = rows.ndim == 1 and np.isin(rows, np.arange(n_rows)).all()
    if len(parts) != 2 or not is_valid or 0 in map(len, parts) or len(np.unique(rows)) < len(rows):
        raise ValueError(
            "A split is a pair of arrays, the row numbers of the training and of the validation "
            f"part: neither empty, no row twice, all from 0 to {n_rows - 1}. Got {split!r}."
        )
    return parts[0], parts[1]


def validation_split(
    rows: IntArray, validation: float | int, rng: np.random.RandomState
) -> tuple[IntArray, IntArray, list[tuple[IntArray, IntArray]]]:
    """Split rows into a training and a validation part, which may be cross-fitted folds.

    A float is the share of rows in the training part, rounded to whole rows; all others are
    validation rows. With an int K, all rows are in both parts, and are cross-fitted in K folds: the
    positions of rows to train on, and of those to predict.
    """
    n_rows = len(rows)
    if isinstance(validation, Integral):
        folds = KFold(int(validation), shuffle=True, random_state=rng)
        return rows, rows, list(folds.split(rows))
    n_train = int(np.floor(validation * n_rows + 0.5))
    if not 0 < n_train < n_rows:
        empty = "training" if n_train == 0 else "validation"
        raise ValueError(
            f"validation={validation} leaves the {empty} part of {n_rows} sample(s) empty. Use "
            "more samples, or another share."
        )
    order = rng.permutation(n_rows)
    return rows[np.sort(order[:n_train])], rows[np.sort(order[n_train:])], []


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
    if not splits or any(len(train) == 0 for train, _ in splits):
        raise ValueError(
            "cv gives n_samples = 0 of positive weight for training or for tests; expected at "
            "least 1 in each split. Pass a cv with larger parts."
        )
    return splits


def _row_numbers(part: Any, present: BoolArray) -> IntArray:
    """Return the rows of positive weight in a part, given as row numbers or as a mask."""
    rows: IntArray = np.arange(len(present))[part if len(part) else slice(0)]
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
    **options: Any,
) -> list[FloatArray]:
    """Return a list with the scores (n_test, L) of each split's test rows.

    A clone of the estimator is fitted on the training rows of each split; `options` are those of
    the fit of a `PerLabelClassifier`. Progress is reported for `owner`.

    ``cross_val_predict`` is not used because it encodes the labels of each fold: a label that all
    rows have becomes one that no row has. `purpose` is part of the note on an error in training.
    """
    calls = (
        delayed(_fit_and_score)(estimator, X, target, params, train, test, method, purpose, options)
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
    options: dict[str, Any],
) -> FloatArray:
    """Fit a clone on training rows and return the scores of the test rows."""
    rows, own_params = take_rows(X, train), take_params(X, params, train)  # rows are a copy
    fitted = clone(estimator)
    try:
        if isinstance(fitted, PerLabelClassifier):
            fitted.fit(rows, target.Y[train], overwrite=True, **options, **own_params)
        else:
            fitted.fit(rows, target.as_given(train), **own_params)
    except Exception as error:
        constant = np.delete(target.classes, varying_labels(target.Y[train])).tolist()
        note = f"while cross-fitting {purpose} on {len(train)} of {len(target.Y)} rows."
        if constant:
            note += f" In these, {len(constant)} label(s) have the same value in all rows: "
            note += f"{constant[:10]}. Use a classifier that accepts this, or remove these labels."
        error.add_note(f"{note} {hint_of_encoder(rows)}".strip())
        raise
    return label_scores(fitted, take_rows(X, test), method, len(target.classes))

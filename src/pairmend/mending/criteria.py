"""What decisions are judged by, fast on indicator arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pairmend._typing import BoolArray, FloatArray, IntArray

Loss = Callable[[BoolArray, BoolArray], float]


def _hamming(Y: BoolArray, said: BoolArray) -> float:
    return float(np.mean(said != Y))


def _zero_one(Y: BoolArray, said: BoolArray) -> float:
    return float(np.mean((said != Y).any(axis=1)))


def _f1_loss(hits: Any, carried_or_said: Any) -> float:
    """One minus the mean F1; where nothing is carried and nothing said, F1 is 1."""
    something = carried_or_said > 0
    return 1 - float(np.mean(np.where(something, 2 * hits / np.maximum(carried_or_said, 1), 1)))


def _micro_f1(Y: BoolArray, said: BoolArray) -> float:
    return _f1_loss(np.count_nonzero(Y & said), np.count_nonzero(Y) + np.count_nonzero(said))


def _macro_f1(Y: BoolArray, said: BoolArray) -> float:
    carried_or_said = np.count_nonzero(Y, axis=0) + np.count_nonzero(said, axis=0)
    return _f1_loss(np.count_nonzero(Y & said, axis=0), carried_or_said)


FOLDS = 5
"""Into so many a single fold is cut."""

LOSSES: dict[str, Loss] = {
    "hamming": _hamming,
    "zero_one": _zero_one,
    "micro_f1": _micro_f1,
    "macro_f1": _macro_f1,
}
"""The losses of :mod:`pairmend.metrics` by name."""


class Judge:
    """Judges decisions fold by fold, as a cross-validation does.

    Parameters
    ----------
    criterion : str or scorer
        One of :data:`LOSSES`, or a scorer of scikit-learn, of which more is better.
    Y : ndarray of bool, shape (n, L)
        Truth.
    folds : sequence of ndarray of int
        Rows of each fold. If there is only one, it is cut.
    """

    def __init__(self, criterion: Any, Y: BoolArray, folds: Sequence[IntArray]):
        self.criterion = criterion
        self.Y = Y
        # With one fold there are no others to learn a threshold from: its rows are dealt out.
        dealt = np.array_split(folds[0], min(FOLDS, len(folds[0])))
        self.folds = folds if len(folds) > 1 else dealt

    def loss(self, said: IntArray, scores: FloatArray) -> float:
        """Return the mean loss of decisions over the folds in which it is defined."""
        if isinstance(self.criterion, str):
            loss, decided = LOSSES[self.criterion], said.astype(bool)
            return float(np.mean([loss(self.Y[fold], decided[fold]) for fold in self.folds]))
        told = _Told(said, scores)
        truth = self.Y.astype(np.int64)
        found = np.array([self.criterion(told, fold, truth[fold]) for fold in self.folds])
        defined = np.isfinite(found)
        return -float(found[defined].mean()) if defined.any() else np.inf


class _Told(ClassifierMixin, BaseEstimator):
    """A classifier that tells what is known, its X being numbers of rows: scorers ask it."""

    def __init__(self, said: IntArray, scores: FloatArray):
        self.said = said
        self.scores = scores
        self.classes_ = [np.arange(2)] * said.shape[1]  # or two labels pass for two classes

    def predict(self, X: IntArray) -> IntArray:
        return self.said[X]

    def predict_proba(self, X: IntArray) -> FloatArray:
        return self.scores[X]

    def __sklearn_is_fitted__(self) -> bool:
        return True

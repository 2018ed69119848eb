"""What decisions are judged by, fast on indicator arrays."""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.weights import all_equal
from pairmend.kernels.threshold import DIGITS

Loss = Callable[[BoolArray, BoolArray, FloatArray], float]


def _hamming(Y: BoolArray, said: BoolArray, weights: FloatArray) -> float:
    return float(np.sum(weights @ (said != Y)) / (weights.sum() * Y.shape[1]))


def _zero_one(Y: BoolArray, said: BoolArray, weights: FloatArray) -> float:
    return float(weights @ (said != Y).any(axis=1) / weights.sum())


def _f1_loss(hits: Any, carried_or_said: Any) -> float:
    """One minus the mean F1; where nothing is carried and nothing said, F1 is 1."""
    something = carried_or_said > 0
    return 1 - float(
        np.mean(np.where(something, 2 * hits / np.where(something, carried_or_said, 1), 1))
    )


def _micro_f1(Y: BoolArray, said: BoolArray, weights: FloatArray) -> float:
    return _f1_loss(np.sum(weights @ (Y & said)), np.sum(weights @ Y) + np.sum(weights @ said))


def _macro_f1(Y: BoolArray, said: BoolArray, weights: FloatArray) -> float:
    return _f1_loss(weights @ (Y & said), weights @ Y + weights @ said)


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
    weights : ndarray of shape (n,), default=None
        Weights of the rows, above 0; None means that each weighs 1. A scorer gets them if it
        takes ``sample_weight``.

    Attributes
    ----------
    weights : ndarray of shape (n,) or None
        None where all are equal.
    """

    def __init__(
        self,
        criterion: Any,
        Y: BoolArray,
        folds: Sequence[IntArray],
        weights: FloatArray | None = None,
    ):
        self.criterion = criterion
        self.Y = Y
        self.weights = None if weights is None or all_equal(weights) else weights
        # With one fold there are no others to learn a threshold from: its rows are dealt out.
        dealt = np.array_split(folds[0], min(FOLDS, len(folds[0])))
        self.folds = folds if len(folds) > 1 else dealt

    def loss(self, said: IntArray, scores: FloatArray) -> float:
        """Return the mean loss of decisions over the folds in which it is defined."""
        weights = np.ones(len(self.Y)) if self.weights is None else self.weights
        if isinstance(self.criterion, str):
            loss, p_decide = LOSSES[self.criterion], said.astype(bool)
            losses = [loss(self.Y[fold], p_decide[fold], weights[fold]) for fold in self.folds]
            return self._without_rounding(float(np.mean(losses)))
        told = _Told(said, scores)
        truth = self.Y.astype(np.int64)
        weighted = self.weights is not None and takes_weights(self.criterion)
        found = np.array(
            [
                self.criterion(
                    told,
                    fold,
                    truth[fold],
                    **({"sample_weight": weights[fold]} if weighted else {}),
                )
                for fold in self.folds
            ]
        )
        defined = np.isfinite(found)
        return self._without_rounding(-float(found[defined].mean())) if defined.any() else np.inf

    def _without_rounding(self, loss: float) -> float:
        """Cut a weighted loss to the digits that do not depend on the scale of weights."""
        return loss if self.weights is None else round(loss, DIGITS)


def takes_weights(scorer: Any) -> bool:
    """Return whether a scorer takes ``sample_weight``.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> takes_weights(get_scorer("f1_micro")), takes_weights(lambda estimator, X, y: 0.0)
    (True, False)
    """
    # What make_scorer makes takes weights always, but the function inside need not.
    parameters = signature(getattr(scorer, "_score_func", scorer)).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


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

"""DecisionScorer: mean loss of decisions over folds, by a loss or a scikit-learn scorer."""

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring, get_scorer

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.weights import all_equal
from pairmend.kernels.threshold import DIGITS
from pairmend.metrics import LOSSES, WEIGHTED_LOSSES

N_FOLDS = 5
"""Number of parts into which a single fold is split."""


def find_metric(classifier: Any) -> Any:
    """Return the name of a loss, or a scorer, by the `criterion` of a classifier."""
    criterion = classifier.criterion
    if callable(criterion):
        return check_scoring(classifier, criterion)
    if criterion in LOSSES:
        return criterion
    try:
        return get_scorer(criterion)
    except ValueError as error:
        raise ValueError(
            f"criterion={criterion!r} is neither one of {', '.join(map(repr, LOSSES))} "
            "nor the name of a scorer of scikit-learn, which "
            "sklearn.metrics.get_scorer_names() lists."
        ) from error


class DecisionScorer:
    """Mean loss of decisions over folds, by the name of a loss or a scikit-learn scorer."""

    def __init__(
        self,
        metric: Any,
        Y: BoolArray,
        folds: Sequence[IntArray],
        weights: FloatArray | None = None,
    ):
        self.metric = metric
        self.Y = Y
        self.weights = None if weights is None or all_equal(weights) else weights
        # A threshold is fitted on the other folds: a single fold is split to have others.
        parts = np.array_split(folds[0], min(N_FOLDS, len(folds[0])))
        self.folds = folds if len(folds) > 1 else parts

    def loss(self, decisions: IntArray, proba: FloatArray) -> float:
        """Return the mean loss of 0/1 decisions over the folds in which it is defined."""
        weights = np.ones(len(self.Y)) if self.weights is None else self.weights
        if isinstance(self.metric, str):
            loss, accepted = WEIGHTED_LOSSES[self.metric], decisions.astype(bool)
            losses = [loss(self.Y[fold], accepted[fold], weights[fold]) for fold in self.folds]
            return self._without_rounding(float(np.mean(losses)))
        predictor = _StoredPredictions(decisions, proba)
        truth = self.Y.astype(np.int64)
        weighted = self.weights is not None and takes_weights(self.metric)
        scores = np.array(
            [
                self.metric(
                    predictor,
                    fold,
                    truth[fold],
                    **({"sample_weight": weights[fold]} if weighted else {}),
                )
                for fold in self.folds
            ]
        )
        defined = np.isfinite(scores)
        return self._without_rounding(-float(scores[defined].mean())) if defined.any() else np.inf

    def _without_rounding(self, loss: float) -> float:
        """Round a weighted loss to the digits that do not depend on the scale of weights."""
        return loss if self.weights is None else round(loss, DIGITS)


def takes_weights(scorer: Any) -> bool:
    """Return whether a scorer takes ``sample_weight``."""
    # A scorer of make_scorer takes weights always, but its metric may not.
    parameters = signature(getattr(scorer, "_score_func", scorer)).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


class _StoredPredictions(ClassifierMixin, BaseEstimator):
    """A classifier for scorers that returns stored predictions; X holds row numbers."""

    def __init__(self, decisions: IntArray, proba: FloatArray):
        self.decisions = decisions
        self.proba = proba
        # Without classes_, scorers would take two labels for two classes.
        self.classes_ = [np.arange(2)] * decisions.shape[1]

    def predict(self, X: IntArray) -> IntArray:
        return self.decisions[X]

    def predict_proba(self, X: IntArray) -> FloatArray:
        return self.proba[X]

    def __sklearn_is_fitted__(self) -> bool:
        return True

"""From scores to labels: thresholds as objects.

Each has ``fit(scores, Y, sample_weight=None)``, which learns where to cut, and
``decide(scores)``, which gives 0/1 indicators. The scores to fit on must be those of rows the
classifier was not trained on; :class:`~pairmend.ThresholdedClassifier` sees to that. Scores of
:class:`~pairmend.CalibratedLabelRanking` need no fitting: ``FixedThreshold(0.5)`` is its virtual
label.
"""

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.fit_params import check_row_weights, fit_with_weights
from pairmend._utils.sklearn_private import HasMethods, Interval, StrOptions, fit_context
from pairmend._utils.targets import check_indicators
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, TargetLike
from pairmend._utils.weights import all_equal, relative_weights
from pairmend.kernels.threshold import (
    accept,
    cardinality_cut,
    expected_f1_cut,
    f1_cut,
    top_labels,
)


class Threshold(BaseEstimator, ABC):
    """What all thresholds have in common."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, scores: ArrayLike, Y: TargetLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn where to cut.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_labels)
            Scores of rows the classifier was not trained on; the higher, the likelier.
        Y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators of these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Only their ratios count. Rows of weight 0, or of less than a
            millionth of what counts as one row, are left out.

        Returns
        -------
        self
        """
        indicators = check_indicators(Y)
        checked = _check_scores(scores)
        check_consistent_length(checked, indicators)
        if checked.shape != indicators.shape:
            raise ValueError(
                f"scores have the shape {checked.shape}, Y {indicators.shape}; expected a score "
                "for each row and label."
            )
        weights = None
        if sample_weight is not None:
            weights = check_row_weights(sample_weight, checked)
            present = weights > 0
            checked, indicators = checked[present], indicators[present]
            weights = None if all_equal(weights[present]) else relative_weights(weights[present])
        self._learn(checked, indicators, weights)
        return self

    def decide(self, scores: ArrayLike) -> IntArray:
        """Decide on labels.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_labels)
            Scores of labels.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            0 or 1.
        """
        check_is_fitted(self)
        return self._decide(_check_scores(scores))

    @abstractmethod
    def _learn(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        """Learn from what was checked; weights are None where all rows weigh 1."""

    @abstractmethod
    def _decide(self, scores: FloatArray) -> IntArray:
        """Decide on what was checked."""


class FixedThreshold(Threshold):
    """Accept scores above a number, strictly.

    Parameters
    ----------
    value : float, default=0.5
        The number.

    Examples
    --------
    >>> from pairmend.thresholds import FixedThreshold
    >>> FixedThreshold(0.5).decide([[0.2, 0.5, 0.7]])
    array([[0, 0, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "value": [Interval(Real, None, None, closed="neither")],
    }

    def __init__(self, value: float = 0.5):
        self.value = value

    def _learn(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        """There is nothing to learn."""

    def _decide(self, scores: FloatArray) -> IntArray:
        return accept(scores, self.value)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class CardinalityThreshold(Threshold):
    """One threshold for all labels that accepts as many as rows carry (PCut).

    The threshold is chosen so that the mean number of labels accepted in a row is as close as
    possible to the mean number carried (Read et al., 2011).

    Attributes
    ----------
    threshold_ : float
        What scores must exceed.

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G., Frank, E. (2011). Classifier chains for multi-label
    classification. Machine Learning 85(3), 333-359.

    Examples
    --------
    >>> from pairmend.thresholds import CardinalityThreshold
    >>> cut = CardinalityThreshold().fit([[0.1, 0.3], [0.2, 0.4]], [[0, 1], [0, 1]])
    >>> cut.threshold_
    0.25
    """

    def _learn(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        if weights is None:
            self.threshold_ = cardinality_cut(scores, int(np.count_nonzero(Y)))
            return
        each = np.repeat(weights[:, np.newaxis], scores.shape[1], axis=1)
        self.threshold_ = cardinality_cut(scores, float(each[Y].sum()), each)

    def _decide(self, scores: FloatArray) -> IntArray:
        return accept(scores, self.threshold_)


class F1Thresholds(Threshold):
    """Thresholds where F1 is largest: one for each label (SCut), or one for all.

    Choose the default for macro F1, ``average="micro"`` for micro F1. Where a label has few rows
    its own threshold is uncertain, and `shrinkage` draws it to the common one.

    Parameters
    ----------
    average : {"macro", "micro"}, default="macro"
        Whether each label has a threshold of its own, or all share one.
    expected : bool, default=False
        Whether to go by the F1 that is to be expected if scores are calibrated probabilities,
        not by that of the rows seen. Steadier, but only as good as the probabilities.
    shrinkage : float, default=0.0
        With so many rows that carry a label, its own threshold and the common one count alike.
        Only for "macro". With sample weights, one row is the smallest weight such that rows
        with weights up to it hold at least 2 % of the total weight.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        What the scores of each label must exceed. Infinite for a label that no row carries,
        unless it is the common one or the expected F1 is gone by. Minus infinity where F1 is
        largest if all rows get the label, unless `shrinkage` is above 0: the label's own
        threshold is then the largest number below its lowest score.

    References
    ----------
    Yang, Y. (2001). A study of thresholding strategies for text categorization. SIGIR 2001,
    137-145.

    Lipton, Z. C., Elkan, C., Naryanaswamy, B. (2014). Optimal thresholding of classifiers to
    maximize F1 measure. ECML PKDD 2014, 225-239.

    Examples
    --------
    >>> from pairmend.thresholds import F1Thresholds
    >>> scores, Y = [[0.1, 0.5], [0.2, 0.7], [0.4, 0.9]], [[0, 0], [1, 0], [1, 1]]
    >>> F1Thresholds().fit(scores, Y).thresholds_.round(2).tolist()
    [0.15, 0.8]
    >>> F1Thresholds("micro").fit(scores, Y).thresholds_.round(2).tolist()
    [0.15, 0.15]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "average": [StrOptions({"macro", "micro"})],
        "expected": ["boolean"],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, average: str = "macro", *, expected: bool = False, shrinkage: float = 0.0):
        self.average = average
        self.expected = expected
        self.shrinkage = shrinkage

    def _learn(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        if self.expected and (scores.min() < 0 or scores.max() > 1):
            raise ValueError(
                f"F1Thresholds(expected=True) needs probabilities, but scores go from "
                f"{scores.min():g} to {scores.max():g}. Use expected=False for other scores."
            )
        shared = self.average == "micro" or self.shrinkage > 0
        each = None if weights is None else np.repeat(weights, scores.shape[1])
        common = self._cut(scores.ravel(), Y.ravel(), each) if shared else np.nan
        if self.average == "micro":
            self.thresholds_ = np.full(scores.shape[1], common)
            return
        own = np.array([self._cut(s, y, weights) for s, y in zip(scores.T, Y.T, strict=True)])
        if self.shrinkage > 0 and common < np.inf:
            count = np.count_nonzero(Y, axis=0) if weights is None else weights @ Y
            # A mean needs finite numbers: in place of minus infinity, what also accepts all rows.
            common = _finite(common, scores.min())
            own = _finite(own, scores.min(axis=0))
            # Infinity is left where no row carries the label, of which nothing is known.
            known = np.isfinite(own)
            mixed = (count * np.where(known, own, 0) + self.shrinkage * common) / (
                count + self.shrinkage
            )
            own = np.where(known, mixed, own)
        self.thresholds_ = own

    def _cut(self, scores: FloatArray, y: BoolArray, weights: FloatArray | None) -> float:
        if self.expected:
            return expected_f1_cut(scores, weights)
        return f1_cut(scores, y, weights)

    def _decide(self, scores: FloatArray) -> IntArray:
        if scores.shape[1] != len(self.thresholds_):
            raise ValueError(
                f"scores have {scores.shape[1]} labels, but the thresholds were fitted on "
                f"{len(self.thresholds_)}."
            )
        return accept(scores, self.thresholds_)


class TopLabels(Threshold):
    """Accept the same number of labels in every row: the best (RCut).

    Parameters
    ----------
    k : int or "cardinality", default="cardinality"
        How many labels; all if there are fewer. "cardinality" is the mean number of labels of
        a row, rounded, and at least one.

    Attributes
    ----------
    k_ : int
        How many labels are accepted.

    References
    ----------
    Yang, Y. (2001). A study of thresholding strategies for text categorization. SIGIR 2001,
    137-145.

    Notes
    -----
    Of labels that score alike the first is accepted.

    Examples
    --------
    >>> from pairmend.thresholds import TopLabels
    >>> scores, Y = [[0.2, 0.3, 0.1], [0.9, 0.8, 0.7]], [[0, 1, 0], [1, 1, 1]]
    >>> TopLabels().fit(scores, Y).decide(scores).tolist()
    [[1, 1, 0], [1, 1, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k": [Interval(Integral, 1, None, closed="left"), StrOptions({"cardinality"})],
    }

    def __init__(self, k: int | str = "cardinality"):
        self.k = k

    def _learn(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        if not isinstance(self.k, str):
            self.k_ = int(self.k)
            return
        mean = np.average(np.count_nonzero(Y, axis=1), weights=weights)
        # A mean of 2.5 is rounded up, also where its last digit is lost in rounding.
        self.k_ = max(1, int(np.floor(np.round(mean, 9) + 0.5)))

    def _decide(self, scores: FloatArray) -> IntArray:
        return top_labels(scores, self.k_)


class NeverEmpty(Threshold):
    """Another threshold, but a row without any label gets its best one.

    Parameters
    ----------
    threshold : threshold, default=None
        The other threshold. None means :class:`CardinalityThreshold`.

    Attributes
    ----------
    threshold_ : threshold
        The other threshold, fitted.

    Notes
    -----
    Of labels that score alike the first is accepted.

    Examples
    --------
    >>> from pairmend.thresholds import FixedThreshold, NeverEmpty
    >>> scores = [[0.2, 0.3, 0.1], [0.9, 0.8, 0.4]]
    >>> NeverEmpty(FixedThreshold()).fit(scores, [[0, 1, 0], [1, 1, 0]]).decide(scores).tolist()
    [[0, 1, 0], [1, 1, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [HasMethods(["fit", "decide"]), None],
    }

    def __init__(self, threshold: Any = None):
        self.threshold = threshold

    def _learn(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        inner = CardinalityThreshold() if self.threshold is None else clone(self.threshold)
        self.threshold_ = fit_with_weights(inner, (scores, Y), weights)

    def _decide(self, scores: FloatArray) -> IntArray:
        decided: IntArray = self.threshold_.decide(scores)
        empty = ~decided.any(axis=1)
        decided[empty] = top_labels(scores[empty], 1)
        return decided


def _finite(thresholds: Any, lowest: Any) -> Any:
    """Replace thresholds of minus infinity by the largest numbers below the lowest scores."""
    return np.where(thresholds == -np.inf, np.nextafter(lowest, -np.inf), thresholds)


def _check_scores(scores: ArrayLike) -> FloatArray:
    checked: FloatArray = check_array(scores, input_name="scores", dtype=[np.float64, np.float32])
    return checked

"""Thresholds that are fitted by a rule; their cuts are found in kernels."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.arrays import as_numpy, like_rows
from pairmend._utils.sklearn_private import HasMethods, Interval, StrOptions, fit_context
from pairmend._utils.training import (
    all_equal,
    check_indicators,
    check_row_weights,
    fit_with_weights,
    relative_weights,
)
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, TargetLike
from pairmend.kernels import threshold as cuts
from pairmend.kernels.pairs import accept


class Threshold(BaseEstimator):
    """Base class of thresholds.

    Subclasses implement ``_fit(scores, Y, weights)`` on checked arrays. It sets ``threshold_`` or
    ``thresholds_``, or they implement ``_decide(scores)``, too.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, scores: ArrayLike, Y: TargetLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the threshold on scores and true labels.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_labels)
            Out-of-fold scores: of rows on which the classifier was not fitted.
        Y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators of these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, used up to a common factor. Rows of weight 0, or of less than a
            millionth of what counts as one row, are left out.

        Returns
        -------
        self
            Fitted threshold.
        """
        checked, indicators = check_scores(scores), check_indicators(Y)
        if checked.shape != indicators.shape:
            raise ValueError(
                f"scores have the shape {checked.shape}, Y {indicators.shape}; expected a score "
                "for each row and label."
            )
        weights = None
        if sample_weight is not None:
            weights = check_row_weights(as_numpy(sample_weight), checked)
            present = weights > 0
            checked, indicators = checked[present], indicators[present]
            weights = None if all_equal(weights[present]) else relative_weights(weights[present])
        self._fit(checked, indicators, weights)
        return self

    def decide(self, scores: ArrayLike) -> IntArray:
        """Return the labels whose scores exceed the threshold.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_labels)
            Scores of labels.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            0/1 label indicators.
        """
        check_is_fitted(self)
        return like_rows(self._decide(check_scores(scores)), scores)

    def _fit(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        """Fit on checked arrays, if there is anything to fit; weights are None if all are equal."""

    def _decide(self, scores: FloatArray) -> IntArray:
        """Return 0/1 indicators of checked scores: of those above the fitted threshold."""
        cut = fitted_cuts(self)
        if np.ndim(cut) and len(cut) != scores.shape[1]:
            raise ValueError(
                f"scores have {scores.shape[1]} labels; the threshold was fitted on {len(cut)}."
            )
        return accept(scores, cut)


class FixedThreshold(Threshold):
    """The same fixed threshold for all labels; scores must be strictly above it.

    Parameters
    ----------
    value : float, default=0.5
        The threshold.

    Examples
    --------
    >>> from pairmend.thresholds import FixedThreshold
    >>> FixedThreshold(0.5).decide([[0.2, 0.5, 0.7]])
    array([[0, 0, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "value": [Interval(Real, None, None, closed="neither")]
    }

    def __init__(self, value: float = 0.5):
        self.value = value

    def __sklearn_is_fitted__(self) -> bool:
        return True


class CardinalityThreshold(Threshold):
    """One threshold for all labels that matches the label cardinality (PCut).

    The threshold is chosen so that the mean number of labels predicted per row is as close as
    possible to the mean number of true labels per row [1]_.

    Attributes
    ----------
    threshold_ : float
        The threshold.

    References
    ----------
    .. [1] Read, J., Pfahringer, B., Holmes, G., Frank, E. (2011). Classifier chains for
       multi-label classification. Machine Learning 85(3), 333-359.

    Examples
    --------
    >>> from pairmend.thresholds import CardinalityThreshold
    >>> cut = CardinalityThreshold().fit([[0.1, 0.3], [0.2, 0.4]], [[0, 1], [0, 1]])
    >>> cut.threshold_
    0.25
    """

    def _fit(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        each = None if weights is None else np.repeat(weights[:, np.newaxis], Y.shape[1], axis=1)
        n_accepted = float(np.count_nonzero(Y) if each is None else each[Y].sum())
        self.threshold_ = cuts.cardinality_cut(scores, n_accepted, each)


class F1Thresholds(Threshold):
    """Thresholds that maximize F1: one for each label (SCut) [1]_, or one for all.

    The default maximizes macro F1, ``average="micro"`` micro F1. The threshold of a label with few
    rows is uncertain; `shrinkage` shrinks it towards the common threshold.

    Parameters
    ----------
    average : {"macro", "micro"}, default="macro"
        One threshold per label, or one for all labels.
    expected : bool, default=False
        Whether to maximize the expected F1 under the assumption that scores are calibrated
        probabilities [2]_, instead of the F1 of the rows. It has less variance, and the bias of
        the probabilities.
    shrinkage : float, default=0.0
        Prior mass of the common threshold: the number of rows with a label at which its own
        threshold and the common one have the same weight. Only for "macro". With sample
        weights, one row is the smallest weight such that rows with weights up to it hold at
        least 2 % of the total weight.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        Threshold of each label. Infinity for a label without rows, unless it is the common
        threshold or `expected` is true. Minus infinity where F1 is largest if the label is
        predicted for all rows, unless `shrinkage` is above 0: the label's own threshold is then
        the largest number below its lowest score.

    References
    ----------
    .. [1] Yang, Y. (2001). A study of thresholding strategies for text categorization. SIGIR
       2001, 137-145.
    .. [2] Lipton, Z. C., Elkan, C., Naryanaswamy, B. (2014). Optimal thresholding of classifiers
       to maximize F1 measure. ECML PKDD 2014, 225-239.

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

    def _fit(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        if self.expected:
            check_probabilities(scores, "F1Thresholds(expected=True)", "Use expected=False")
        if self.average == "micro" and self.shrinkage > 0:
            warnings.warn(
                f"shrinkage={self.shrinkage} has no effect with average='micro', which gives all "
                "labels the common threshold. Set shrinkage=0.",
                stacklevel=3,
            )
        common = np.inf
        if self.average == "micro" or self.shrinkage > 0:
            each = None if weights is None else np.repeat(weights, scores.shape[1])
            common = self._cut(scores.ravel(), Y.ravel(), each)
        if self.average == "micro":
            self.thresholds_ = np.full(scores.shape[1], common)
            return
        own = np.array([self._cut(s, y, weights) for s, y in zip(scores.T, Y.T, strict=True)])
        if common < np.inf:
            count = np.count_nonzero(Y, axis=0) if weights is None else weights @ Y
            # Finite thresholds that accept all rows, in place of minus infinity.
            common = _finite(common, scores.min())
            own = _finite(own, scores.min(axis=0))
            # The threshold of a label without rows stays infinite.
            has_rows = np.isfinite(own)
            mixed = count * np.where(has_rows, own, 0) + self.shrinkage * common
            own = np.where(has_rows, mixed / (count + self.shrinkage), own)
        self.thresholds_ = own

    def _cut(self, scores: FloatArray, y: BoolArray, weights: FloatArray | None) -> float:
        if self.expected:
            return cuts.expected_f1_cut(scores, weights)
        return cuts.f1_cut(scores, y, weights)


class BatchF1Thresholds(Threshold):
    """Thresholds of labels that maximize the mean F1 over batches of rows, for rare labels.

    Macro F1 is measured on a number of rows in which a rare label may not occur. There its F1 is 1
    if no row gets the label, else 0, see :data:`~pairmend.metrics.LOSSES`. Each threshold
    maximizes the mean F1 over random batches of `batch_size` rows: the threshold of a label that
    is absent from most batches is higher, or infinite.

    Parameters
    ----------
    batch_size : float, default=100.0
        Number of rows on which F1 is measured.
    prior_mass : float, default=30.0
        Number of rows with a label at which the true positives counted in these rows, and those
        expected from their probabilities, have the same weight. Few rows decide little about the
        threshold of a rare label; its probabilities decide the rest. With sample weights, one
        row is the smallest weight such that rows with weights up to it hold at least 2 % of the
        total weight.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        Threshold of each label; infinity if no row is to get the label.

    See Also
    --------
    F1Thresholds : The same for batches of many rows.

    Notes
    -----
    Numbers of true positives and of errors in a batch are taken as independent Poisson variables.

    Examples
    --------
    >>> from pairmend.thresholds import BatchF1Thresholds
    >>> proba, Y = [[0.1, 0.1], [0.2, 0.3], [0.4, 0.8]], [[0, 0], [0, 0], [1, 1]]
    >>> BatchF1Thresholds(batch_size=1).fit(proba, Y).thresholds_.round(2).tolist()
    [inf, 0.55]
    >>> BatchF1Thresholds(batch_size=100).fit(proba, Y).thresholds_.round(2).tolist()
    [0.3, 0.55]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "batch_size": [Interval(Real, 0, None, closed="neither")],
        "prior_mass": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, batch_size: float = 100.0, *, prior_mass: float = 30.0):
        self.batch_size = batch_size
        self.prior_mass = prior_mass

    def _fit(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        check_probabilities(scores, "BatchF1Thresholds", "Use F1Thresholds()")
        masses = self.batch_size, self.prior_mass
        each = zip(scores.T, Y.T, strict=True)
        self.thresholds_ = np.array([cuts.batch_f1_cut(p, y, *masses, weights) for p, y in each])


class TopLabels(Threshold):
    """Predict the same number of labels in every row, those of largest score (RCut) [1]_.

    Parameters
    ----------
    k : int or "cardinality", default="cardinality"
        Number of labels; all if there are fewer. "cardinality" is the mean number of labels per
        row, rounded, and at least one.

    Attributes
    ----------
    k_ : int
        Number of labels predicted per row.

    Notes
    -----
    Of labels with equal scores the first is predicted.

    References
    ----------
    .. [1] Yang, Y. (2001). A study of thresholding strategies for text categorization. SIGIR
       2001, 137-145.

    Examples
    --------
    >>> from pairmend.thresholds import TopLabels
    >>> scores, Y = [[0.2, 0.3, 0.1], [0.9, 0.8, 0.7]], [[0, 1, 0], [1, 1, 1]]
    >>> TopLabels().fit(scores, Y).decide(scores).tolist()
    [[1, 1, 0], [1, 1, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "k": [Interval(Integral, 1, None, closed="left"), StrOptions({"cardinality"})]
    }

    def __init__(self, k: int | str = "cardinality"):
        self.k = k

    def _fit(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        if not isinstance(self.k, str):
            self.k_ = int(self.k)
            return
        mean = np.average(np.count_nonzero(Y, axis=1), weights=weights)
        # A mean of 2.5 is rounded up, also if rounding errors put it slightly below.
        self.k_ = max(1, int(np.floor(np.round(mean, 9) + 0.5)))

    def _decide(self, scores: FloatArray) -> IntArray:
        return cuts.top_labels(scores, self.k_)


class NeverEmpty(Threshold):
    """Another threshold, and the label of largest score for rows without any label.

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
    Of labels with equal scores the first is predicted.

    Examples
    --------
    >>> from pairmend.thresholds import FixedThreshold, NeverEmpty
    >>> scores = [[0.2, 0.3, 0.1], [0.9, 0.8, 0.4]]
    >>> NeverEmpty(FixedThreshold()).fit(scores, [[0, 1, 0], [1, 1, 0]]).decide(scores).tolist()
    [[0, 1, 0], [1, 1, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [HasMethods(["fit", "decide"]), None]
    }

    def __init__(self, threshold: Any = None):
        self.threshold = threshold

    def _fit(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        other = CardinalityThreshold() if self.threshold is None else clone(self.threshold)
        self.threshold_ = fit_with_weights(other, (scores, Y), weights)

    def _decide(self, scores: FloatArray) -> IntArray:
        decisions: IntArray = self.threshold_.decide(scores)
        empty = ~decisions.any(axis=1)
        decisions[empty] = cuts.top_labels(scores[empty], 1)
        return decisions


def abstain(scores: ArrayLike, low: Any, high: Any) -> IntArray:
    """Decide on labels, and leave open those with scores between two thresholds.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_labels)
        Scores of labels, such as those of ``predict_proba``.
    low, high : float, array-like of shape (n_labels,) or fitted threshold
        Labels with scores above `high` are accepted, others with scores up to `low` are rejected.
        A fitted threshold is one with ``threshold_`` or ``thresholds_``, such as
        :class:`RecallControl` for `low` and :class:`PrecisionControl` for `high`. If `low` is
        above `high`, nothing is left open.

    Returns
    -------
    ndarray of int, shape (n_samples, n_labels)
        1 for accepted labels, 0 for rejected ones, -1 for those left open.

    Notes
    -----
    Around a threshold t with a margin m: ``abstain(proba, t - m, t + m)``. If probabilities are
    calibrated, a label whose probability is more than m from t = 0.5 is wrong with a probability
    of at most 0.5 - m: for decisions that are right in nine of ten cases choose m = 0.4. If they
    are not, choose the smallest margin with which out-of-fold decisions are wrong seldom enough.

    Examples
    --------
    >>> from pairmend.thresholds import abstain
    >>> abstain([[0.1, 0.45, 0.9], [0.6, 0.7, 0.3]], 0.4, 0.6)
    array([[ 0, -1,  1],
           [-1,  1,  0]])
    """
    checked, bounds = check_scores(scores), []
    for bound in (low, high):
        found = fitted_cuts(bound)
        bounds.append(np.asarray(bound if found is None else found, dtype=np.float64))
        if np.isnan(bounds[-1]).any():
            raise ValueError(f"low and high must be numbers or fitted thresholds, got {bound!r}.")
    return np.where(checked > bounds[1], 1, np.where(checked > bounds[0], -1, 0))


def fitted_cuts(threshold: Any) -> Any:
    """Return the number, or the numbers of labels, that scores must exceed; None without any."""
    for name in ("thresholds_", "threshold_", "value"):
        found = getattr(threshold, name, None)
        if isinstance(found, Real | np.ndarray):
            return found
    return None


def _finite(thresholds: Any, lowest: Any) -> Any:
    """Replace thresholds of minus infinity by the largest numbers below the lowest scores."""
    return np.where(thresholds == -np.inf, np.nextafter(lowest, -np.inf), thresholds)


def check_probabilities(scores: FloatArray, name: str, remedy: str) -> None:
    """Raise an error for scores outside of [0, 1]."""
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError(
            f"{name} needs probabilities in [0, 1], but scores lie in "
            f"[{scores.min():g}, {scores.max():g}]. {remedy} for other scores."
        )


def check_scores(scores: ArrayLike) -> FloatArray:
    """Return scores as an array of floats of numpy."""
    given, dtypes = as_numpy(scores), [np.float64, np.float32]
    return np.asarray(check_array(given, input_name="scores", dtype=dtypes))

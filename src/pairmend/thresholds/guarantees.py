"""Thresholds with a guarantee for the recall or the precision of new rows."""

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from pairmend._utils.sklearn_private import Interval
from pairmend._utils.typing import BoolArray, FloatArray
from pairmend.kernels import threshold as cuts
from pairmend.thresholds.rules import Threshold, check_probabilities

STARTS = np.arange(9, 0, -1) / 10
"""Probabilities at which the tests of `PrecisionControl` start, fixed before data are seen."""


class RecallControl(Threshold):
    """The largest threshold with a guaranteed mean recall.

    The recall of a row is the share of its labels that are predicted. Rows without labels have
    none and are left out, as by ``recall_score(average="samples", zero_division=np.nan)``.

    Parameters
    ----------
    target : float, default=0.9
        The recall to guarantee.
    confidence : float, default=None
        None means conformal risk control [1]_: the expected recall of a new row is at least
        `target`, on average over the rows of ``fit`` and the new row. A number, such as 0.9,
        means a risk-controlling threshold [2]_: with at least this probability, rows of ``fit``
        are such that the mean recall of all new rows is at least `target`. It is lower than the
        other threshold.

    Attributes
    ----------
    threshold_ : float
        The threshold, midway between two scores or just below the smallest. Minus infinity, with
        a warning, if there are too few rows for the guarantee, so that all labels are predicted.
    recall_ : float
        Mean recall of the rows of ``fit``.
    n_rows_ : int
        Number of rows with labels.

    See Also
    --------
    PrecisionControl : Guarantees precision.
    abstain : Leaves open what lies between two thresholds.

    Notes
    -----
    The guarantee assumes that the rows of ``fit`` and new rows are exchangeable, such as drawn
    independently from one distribution, and that their scores are those of one classifier that
    has seen none of them. Scores in a calibration set have this property. Out-of-fold scores are
    those of several classifiers, each fitted on a part of the rows, while new rows have the scores
    of one that is fitted on all: with :class:`~pairmend.ThresholdedClassifier` and
    :class:`~pairmend.MendedClassifier` the guarantee holds approximately. The guide has measured
    rates.

    Sample weights are refused unless they are equal.

    References
    ----------
    .. [1] Angelopoulos, A. N., Bates, S., Fisch, A., Lei, L., Schuster, T. (2024). Conformal risk
       control. ICLR 2024.
    .. [2] Bates, S., Angelopoulos, A., Lei, L., Malik, J., Jordan, M. (2021). Distribution-free,
       risk-controlling prediction sets. Journal of the ACM 68(6), 43:1-43:34. The bound is
       Hoeffding's and Bentkus'.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.thresholds import RecallControl
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.random((500, 3))
    >>> Y = rng.random((500, 3)) < proba
    >>> [round(RecallControl(0.9, confidence=level).fit(proba, Y).threshold_, 2)
    ...  for level in (None, 0.9)]
    [0.32, 0.27]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "target": [Interval(Real, 0, 1, closed="neither")],
        "confidence": [Interval(Real, 0, 1, closed="neither"), None],
    }

    def __init__(self, target: float = 0.9, *, confidence: float | None = None):
        self.target = target
        self.confidence = confidence

    def _fit(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        _refuse_weights(self, weights)
        labelled = Y.any(axis=1)
        scores, Y = scores[labelled], Y[labelled]
        self.threshold_, self.recall_ = cuts.recall_cut(scores, Y, self.target, self.confidence)
        self.n_rows_ = len(scores)
        if self.threshold_ == -np.inf:
            warnings.warn(
                f"{self} predicts all labels: {self.n_rows_} rows with labels are too few for the "
                "guarantee. Use more rows, or a lower target or confidence.",
                stacklevel=3,
            )


class PrecisionControl(Threshold):
    """The smallest threshold with a guaranteed mean precision.

    The precision of a row is the share of its predicted labels that are correct. Rows without a
    predicted label have none and are left out, as by
    ``precision_score(average="samples", zero_division=np.nan)``.

    Parameters
    ----------
    target : float, default=0.9
        The precision to guarantee.
    confidence : float, default=0.9
        With at least this probability, rows of ``fit`` are such that the mean precision of all
        new rows with a predicted label is at least `target`.

    Attributes
    ----------
    threshold_ : float
        The lowest threshold that passed the tests (see Notes). It lies midway between two scores,
        or is the starting point of the tests if that is lower. Minus infinity if all labels can be
        predicted. Infinity, with a warning, if no threshold passed, so that no label is predicted.
    precision_ : float
        Mean precision of the rows of ``fit`` with a predicted label, NaN if there are none.
    n_rows_ : int
        Number of rows of ``fit`` with a predicted label.

    See Also
    --------
    RecallControl : Guarantees recall.
    abstain : Leaves open what lies between two thresholds.

    Notes
    -----
    Precision is no monotone function of the threshold, so thresholds are tested: learn then test
    [1]_ with p-values of Hoeffding and Bentkus. From each of nine starting points (0.9, 0.8,
    …, 0.1) the threshold is lowered until a test at the level (1 - `confidence`) / 9 fails; the
    lowest threshold that passed is used. Scores must be probabilities, for which these starting
    points are meant.

    What the guarantee assumes is described at :class:`RecallControl`. Sample weights are refused
    unless they are equal.

    References
    ----------
    .. [1] Angelopoulos, A. N., Bates, S., Candès, E. J., Jordan, M. I., Lei, L. (2025). Learn then
       test: calibrating predictive algorithms to achieve risk control. Annals of Applied
       Statistics 19(2), 1641-1662.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.thresholds import PrecisionControl
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.random((500, 3))
    >>> Y = rng.random((500, 3)) < proba
    >>> control = PrecisionControl(0.8).fit(proba, Y)
    >>> round(control.threshold_, 2), round(control.precision_, 2)
    (0.71, 0.86)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "target": [Interval(Real, 0, 1, closed="neither")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, target: float = 0.9, *, confidence: float = 0.9):
        self.target = target
        self.confidence = confidence

    def _fit(self, scores: FloatArray, Y: BoolArray, weights: FloatArray | None) -> None:
        _refuse_weights(self, weights)
        remedy = "Use predict_proba, or sklearn.calibration.CalibratedClassifierCV,"
        check_probabilities(scores, "PrecisionControl", remedy)
        found = cuts.precision_cut(scores, Y, self.target, self.confidence, STARTS)
        self.threshold_, self.precision_, self.n_rows_ = found
        if self.threshold_ == np.inf:
            warnings.warn(
                f"{self} predicts no label: on {len(scores)} rows no threshold has the guarantee. "
                "Use more rows, or a lower target or confidence.",
                stacklevel=3,
            )


def _refuse_weights(control: Any, weights: FloatArray | None) -> None:
    """Raise an error for rows of different weights."""
    if weights is not None:
        raise ValueError(
            f"{type(control).__name__} needs rows of equal weight, found different sample "
            "weights: its guarantee is for new rows drawn like those of fit. Leave out "
            "sample_weight, or choose another threshold."
        )

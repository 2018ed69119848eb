"""ParallelHyperplanesSVM: a support vector machine with two parallel hyperplanes for each pair."""

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from pairmend._utils.sklearn_private import Interval, StrOptions
from pairmend._utils.training import relative_weights
from pairmend._utils.typing import BoolArray, FloatArray, Matrix, MatrixLike, TargetLike
from pairmend.pairwise.both_labels import BothLabelsVoting
from pairmend.pairwise.voting import NumericVoting, TrainingInput, numeric_rows

SIDES = np.array([1.0, -1.0])
"""The first label lies on the positive side of its hyperplane, the second on the negative."""


class ParallelHyperplanesSVM(NumericVoting, BothLabelsVoting):
    """Multi-label classification by linear machines with two parallel hyperplanes a pair.

    For each pair of labels one direction is learnt along which rows with the second label alone,
    with both and with the first alone follow each other, and two thresholds between them (Wang,
    Chang and Feng, 2005). All pairs vote, for both labels or for one, and labels that rank above a
    virtual label are predicted. Use it for many or sparse features, as of texts; scale the features
    first.

    Parameters
    ----------
    C : float, default=1.0
        Cost of rows on the wrong side or too near; the larger, the less regularised.
    voting : {"votes", "soft"}, default="votes"
        "votes": 1 for each label on whose side of its hyperplane a row lies. "soft": the logistic
        function of the distances to the hyperplanes. "soft" ranks labels more finely; on one split
        each of four sets "votes" had the smaller zero-one loss on all, the smaller Hamming loss on
        three and the larger micro F1 on two.
    tol : float, default=1e-6
        Largest component of the gradient at which a machine's training stops.
    max_iter : int, default=1000
        Number of steps of a machine's training at the most.
    n_jobs : int, default=None
        Number of processes that train.

    Attributes
    ----------
    coef_ : ndarray of shape (n_pairs, n_features)
        Direction of each pair.
    thresholds_ : ndarray of shape (n_pairs, 2)
        The first label is predicted above the first threshold, the second label below the second
        threshold, which is not smaller. Infinite for a label that all or none of the pair's rows
        have, nan for a pair without rows.
    n_iter_ : int
        Number of steps of the machine that took most.
    pairs_ : ndarray of shape (n_pairs, 2)
        Indices of the labels of each pair; the virtual label has the index ``n_labels``.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels; after a fit on 1-D classes, the classes.
    multilabel_ : bool
        True after a fit on label indicators, False after a fit on 1-D classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a frame with string names.

    See Also
    --------
    SharedFirstClassifier : The same vote with any base classifier.

    Notes
    -----
    With L labels there are L (L + 1) / 2 machines: one for each pair, trained on the rows with one
    label or both, and one for each label against its absence, its pair with the virtual label. A
    machine minimises ``|w|² / 2`` + C / 2 times the sum over its rows of the squared hinge losses
    of both hyperplanes; all rows count for both, as in ordinal regression (Chu and Keerthi, 2005),
    so the thresholds are in order without being forced to. If no row has both labels the two
    hyperplanes are one, and the machine is ``LinearSVC(C=C)`` with an intercept that is not
    regularised. The squared loss, which makes the problem smooth, and the virtual label are our
    choice. Training is by L-BFGS on the primal problem.

    The score of a label is (1 + mean over its L pairs - mean of the virtual label) / 2. Supports of
    a pair without rows are 1/2. A threshold that may lie anywhere in an interval, where the rows
    leave more room than the margins need, lies in its middle. `voting` takes effect at prediction.

    References
    ----------
    Wang, L., Chang, M., Feng, J. (2005). Parallel and sequential support vector machines for
    multi-label classification. International Journal of Information Technology 11(9), 11-18.

    Chu, W., Keerthi, S. S. (2005). New approaches to support vector ordinal regression. ICML
    2005, 145-152.

    Examples
    --------
    >>> from pairmend.pairwise import ParallelHyperplanesSVM
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.preprocessing import scale
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = ParallelHyperplanesSVM(C=0.1).fit(scale(X), Y)
    >>> clf.predict(scale(X)[:2]).tolist()
    [[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "voting": [StrOptions({"soft", "votes"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = ("voting",)
    """Parameters that take effect at prediction: changing them needs no new fit."""

    coef_: FloatArray
    thresholds_: FloatArray
    n_iter_: int

    def __init__(
        self,
        C: float = 1.0,
        *,
        voting: str = "votes",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ):
        self.C = C
        self.voting = voting
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: MatrixLike, y: TargetLike, sample_weight: Any = None) -> Self:
        """Learn directions and thresholds of all pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of numbers.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1, or the tags of each row, as lists or sets of strings.
            A 1-D array of classes is learnt as indicators of which
            each row has one.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the rows' costs, relative to the weight that counts as one row: all
            weights times a constant change nothing. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight=sample_weight)

    def _fit_rows(self, data: TrainingInput, rows: Any) -> Self:
        present, pairs = rows.take(np.flatnonzero(data.row_weights > 0)), data.pairs
        n_labels = present.Y.shape[1]
        X = numeric_rows(present.X, type(self).__name__)
        costs = relative_weights(present.fit_params["sample_weight"]) * self.C
        limits = {"tol": self.tol, "max_iter": self.max_iter}

        def calls() -> Iterator[Any]:
            for i, j in pairs:
                first = present.Y[:, i]  # rows without the label have the virtual label
                has_label = np.column_stack([first, ~first if j == n_labels else present.Y[:, j]])
                rows = np.flatnonzero(has_label.any(axis=1))
                part = X[rows], has_label[rows], costs[rows]
                yield delayed(fit_parallel_hyperplanes)(*part, **limits)

        found = Parallel(n_jobs=self.n_jobs)(calls())
        directions, thresholds, converged, n_iter = zip(*found, strict=True)
        if not all(converged):
            warnings.warn(
                f"The training of {len(pairs) - sum(converged)} of {len(pairs)} pairs did not "
                f"converge in {self.max_iter} steps. Scale the features, or raise max_iter.",
                ConvergenceWarning,
                stacklevel=5,
            )
        fitted = {"coef_": np.array(directions), "thresholds_": np.array(thresholds)}
        fitted |= {"n_iter_": max(n_iter), "pairs_": pairs}
        return self._set_fitted(data.X, data.target, **fitted)

    def _supports(self, X: MatrixLike) -> FloatArray:
        along = (numeric_rows(X, type(self).__name__) @ self.coef_.T)[:, :, np.newaxis]
        beyond = np.where(np.isnan(self.thresholds_), 0.0, (along - self.thresholds_) * [1.0, -1.0])
        return np.asarray((1 + np.sign(beyond)) / 2 if self.voting == "votes" else expit(beyond))


def fit_parallel_hyperplanes(
    X: Matrix, Y: BoolArray, costs: FloatArray, *, tol: float, max_iter: int
) -> tuple[FloatArray, FloatArray, bool, int]:
    """Return the direction w, thresholds (a, b), whether it converged, and the number of steps.

    A row x is predicted to have the first label if w x > a, the second if w x < b; Y is (n, 2), and
    each row has at least one label. Minimised is w² / 2 plus, for each row and label, half the
    row's cost times the squared hinge loss at the label's hyperplane. Then a <= b within the
    tolerance. The threshold of a label that all rows have, or none, is infinite, and nan without
    rows. One that may lie anywhere between two distances is put in the middle.
    """
    varying = np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
    # If all rows have a label, every w x is beyond its threshold; if none has it, none is.
    thresholds = np.where(Y.all(axis=0), -np.inf, np.inf) * SIDES
    if len(varying) == 0:
        return np.zeros(X.shape[1]), thresholds if len(Y) else np.full(2, np.nan), True, 0
    above = np.where(Y[:, varying], 1.0, -1.0) * SIDES[varying]
    # Thresholds are not regularised, so rows may be centred; with columns scaled to similar
    # curvature it is the same problem in coordinates in which descent is fast.
    mean = np.asarray(costs @ X).ravel() / costs.sum()
    squares = X.multiply(X) if hasattr(X, "multiply") else X * X
    spread = np.asarray(costs @ squares).ravel() - costs.sum() * mean**2
    scale = 1 / np.sqrt(1 + np.maximum(spread, 0))
    threshold_scale = 1 / np.sqrt(costs.sum())

    def loss(unknowns: FloatArray) -> tuple[float, FloatArray]:
        w = scale * unknowns[: len(mean)]
        places = unknowns[len(mean) :] * threshold_scale
        along = X @ w - mean @ w
        hinge = np.maximum(1 - above * (along[:, np.newaxis] - places), 0)
        weighted = costs[:, np.newaxis] * hinge
        slopes = -weighted * above
        by_row = slopes.sum(axis=1)
        gradient = w + np.asarray(by_row @ X).ravel() - mean * by_row.sum()
        total = (w @ w + (weighted * hinge).sum()) / 2
        return total, np.append(scale * gradient, -threshold_scale * slopes.sum(axis=0))

    with np.errstate(over="ignore", invalid="ignore"):  # the line search rejects such steps
        found: Any = minimize(
            loss,
            np.zeros(len(mean) + len(varying)),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": 20, "gtol": tol, "ftol": 0.0,
            },
        )  # fmt: skip
    direction = scale * found.x[: len(mean)]
    along, places = X @ direction, found.x[len(mean) :] * threshold_scale + mean @ direction
    for label, place, side in zip(varying, places, above.T, strict=True):
        low, high = along[side < 0].max() + 1, along[side > 0].min() - 1
        thresholds[label] = (low + high) / 2 if low < high else place
    # In these coordinates curvatures are about 1, so the squared gradient is about the excess of
    # the loss: below `slack`, a step does not change the digits of the loss.
    slack = 1e-7 * max(1.0, float(np.sqrt(found.fun)))
    converged = bool(np.abs(found.jac).max() <= max(10 * tol, slack))
    return direction, thresholds, converged, int(found.nit)

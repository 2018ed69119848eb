"""MLkNN: probabilities of labels from the labels of the nearest rows."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from pairmend._base import MultiLabelClassifier
from pairmend._utils.arrays import check_magnitude
from pairmend._utils.computing import lazy, row_chunks
from pairmend._utils.sklearn_private import Interval, count_rows, fit_context
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend.frames.columns import require_numbers
from pairmend.kernels.local_sums import squared_norms

ROUNDING = 64 * np.finfo(np.float64).eps
"""Rounding error of a squared distance, relative to the largest squared norm."""


class MLkNN(MultiLabelClassifier):
    """Multi-label classification by the labels of the nearest rows (ML-kNN).

    For each label, Bayes' rule turns the number of a row's k nearest training rows with the label
    into a probability. The likelihoods are estimated on the training rows, each without itself
    among its neighbours (Zhang and Zhou, 2007). Scale features first.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours k; one less than there are rows if these are too few.
    s : float, default=1.0
        Additive smoothing of counts; 1 is Laplace smoothing.
    metric : str or callable, default="euclidean"
        Distance, as :class:`sklearn.neighbors.NearestNeighbors` takes it.
    n_jobs : int, default=None
        Number of workers of the neighbour search.

    Attributes
    ----------
    prior_ : ndarray of shape (n_labels,)
        Smoothed share of training rows with each label.
    posterior_ : ndarray of shape (n_labels, k + 1)
        Probability of each label given the number of neighbours with the label.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels; after a fit on 1-D classes, the classes.
    multilabel_ : bool
        True after a fit on label indicators, False after a fit on 1-D classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a frame with string names.

    Notes
    -----
    Of training rows that are equally far, the first are the neighbours. Distances count as equal if
    they differ by rounding errors only.

    A label that never occurs in training has a small probability, by smoothing; one that always
    occurs a large one.

    References
    ----------
    Zhang, M.-L., Zhou, Z.-H. (2007). ML-KNN: a lazy learning approach to multi-label learning.
    Pattern Recognition 40(7), 2038-2048.

    Examples
    --------
    >>> from pairmend.baselines import MLkNN
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = MLkNN().fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "s": [Interval(Real, 0, None, closed="neither")],
        "metric": [str, callable],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        s: float = 1.0,
        metric: str | Callable[..., float] = "euclidean",
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.s = s
        self.metric = metric
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike) -> Self:
        """Fit the probabilities of labels given numbers of neighbours.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1, or the tags of each row, as lists or sets of strings.
            A 1-D array of classes is learnt as indicators of which
            each row has one.

        Returns
        -------
        self
        """
        X, target, _, _ = self._check_fit_input(X, y, {})
        require_numbers(X, type(self).__name__)
        Y, n_rows = target.Y, count_rows(X)
        if n_rows < 2:
            raise ValueError("ML-kNN needs neighbours: X has 1 sample, expected at least 2.")
        points = _points(X)
        search = self._search_among(points, min(self.n_neighbors, n_rows - 1), self.metric)
        indicators = sparse.csr_array(Y.astype(np.int64))
        counts = _count(_neighbours(search, points), indicators)
        prior = (self.s + np.count_nonzero(Y, axis=0)) / (2 * self.s + n_rows)
        with_label, without = (
            _likelihood(counts, mask, search.n_neighbors, self.s) * share[:, np.newaxis]
            for mask, share in ((Y, prior), (~Y, 1 - prior))
        )
        return self._set_fitted(
            X, target, prior_=prior, posterior_=with_label / (with_label + without),
            _indicators=indicators, _fit_X=points, _metric=self.metric, _search=search,
        )  # fmt: skip

    def _search_among(self, points: MatrixLike, k: int, metric: Any) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=k, metric=metric, n_jobs=self.n_jobs).fit(points)

    @lazy
    def _search(self) -> NearestNeighbors:
        # Model files do not hold what is lazy: a compiled tree is not safe in them.
        return self._search_among(self._fit_X, self.posterior_.shape[1] - 1, self._metric)

    def _scores(self, X: MatrixLike) -> FloatArray:
        counts = _count(_neighbours(self._search, self._fit_X, _points(X)), self._indicators)
        return self.posterior_[np.arange(counts.shape[1]), counts]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _points(X: MatrixLike) -> MatrixLike:
    """Return rows without names of columns; values whose distances overflow are refused."""
    points = X if sparse.issparse(X) else np.asarray(X)
    check_magnitude(points)
    return points.astype(np.float64, copy=False) if points.dtype.kind in "iuf" else points


def _neighbours(search: NearestNeighbors, rows: Any, queries: Any = None) -> IntArray:
    """Return the numbers of the k nearest rows of each query, of equally far ones the first.

    Without queries, these are the rows, and no row is its own neighbour.
    """
    k, n_others = search.n_neighbors, search.n_samples_fit_ - (queries is None)
    distances, nearest = search.kneighbors(queries, min(k + 1, n_others))
    if n_others == k:
        return np.asarray(nearest)
    farthest = distances[:, k - 1]
    if search.metric in ("euclidean", "l2", "minkowski"):
        largest = squared_norms(rows.astype(np.float64, copy=False)).max()
    else:
        largest = np.square(distances).max()
    slack = np.sqrt(farthest**2 + ROUNDING * largest) - farthest
    tied = np.flatnonzero(distances[:, k] - farthest <= slack)
    for chunk in row_chunks(len(tied), 4 * search.n_samples_fit_):
        own = tied[chunk]
        points = (rows if queries is None else queries)[own]
        found = pairwise_distances(points, rows, search.metric) - farthest[own, np.newaxis]
        if queries is None:
            found[np.arange(len(own)), own] = np.inf
        # Nearer rows, then those that are equally far, in their order.
        slack_of_each = slack[own, np.newaxis]
        order = np.where(found > slack_of_each, 2, found >= -slack_of_each)
        nearest[own, :k] = np.argsort(order, axis=1, kind="stable")[:, :k]
    return np.asarray(nearest[:, :k])


def _count(neighbours: IntArray, indicators: Any) -> IntArray:
    """Return the number of neighbours with each label, for each row."""
    n_rows, k = neighbours.shape
    cells = np.ones(n_rows * k, dtype=np.int64), neighbours.ravel(), k * np.arange(n_rows + 1)
    graph = sparse.csr_array(cells, shape=(n_rows, indicators.shape[0]))
    counts: IntArray = (graph @ indicators).toarray()
    return counts


def _likelihood(counts: IntArray, mask: BoolArray, k: int, s: float) -> FloatArray:
    """Return how likely each number of neighbours is at the rows of a mask, (L, k + 1)."""
    seen = np.array(
        [np.bincount(c[m], minlength=k + 1) for c, m in zip(counts.T, mask.T, strict=True)]
    )
    return (s + seen) / (s * (k + 1) + seen.sum(axis=1, keepdims=True))

"""Rows as the base classifier and as distances take them, the scalings of distances, row draws."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from pairmend._utils import arrays
from pairmend._utils.training import SLACK, all_equal
from pairmend._utils.typing import FloatArray, IntArray, Matrix, MatrixLike
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.frames import ColumnWarning, FrameEncoder
from pairmend.frames.encoder import takes_encoded_frames
from pairmend.kernels.local_sums import offsets_to, squared_norms
from pairmend.neighbourhoods import GaussianNeighbourhood

SCALINGS = ("range", "standard", "unit", "log_odds")
"""Features divided by their range or their standard deviation, rows of length 1, and the log-odds
of the base classifier's probabilities in place of features."""

PROBA_MARGIN = 1e-3
"""Probabilities are clipped to this distance from 0 and 1 before their log-odds are taken."""

MAX_ROWS = 250
"""Number of rows from whose distances the median is taken."""


@dataclass(frozen=True)
class RowEncoder:
    """Encodes frames, and arrays that are mostly zeros, for the base classifier and for distances.

    Other rows are unchanged.

    Attributes
    ----------
    encoder : FrameEncoder or None
        None if fit saw no frame, or if neither needs encoded rows.
    for_base, for_distances : bool
        Whether the base classifier and distances take encoded rows.
    means : ndarray of shape (n_features,) or None, default=None
        Values of NaN in rows that are converted to CSR. None unless fit saw a sparse matrix, or an
        array that is mostly zeros: of these all arrays are converted, however many zeros they have.
    """

    encoder: FrameEncoder | None
    for_base: bool
    for_distances: bool
    means: FloatArray | None = None

    @classmethod
    def fit(cls, owner: Any, X: MatrixLike, weights: FloatArray, base: Any) -> "RowEncoder":
        """Fit an encoder on the rows of positive weight, if a `MendedClassifier` needs one.

        If log-odds can take the place of the features, and the base classifier does not need it, a
        frame that cannot be encoded leads to a warning instead of an error.
        """
        given = owner.transformer if isinstance(owner.transformer, FrameEncoder) else None
        for_distances = owner.transformer is given and owner.scaling != "log_odds"
        takes_texts = takes_encoded_frames(base) or given is not None
        if not (arrays.is_frame(X) or (arrays.is_texts(X) and takes_texts)):
            for_base = type(base) is ScaledLogisticRegression  # others may not take CSR
            is_needed = for_base or for_distances
            return cls(None, for_base, for_distances, _means(X, weights) if is_needed else None)
        for_base = takes_encoded_frames(base)
        if not (for_base or for_distances):
            return cls(None, for_base, for_distances)
        try:
            encoder = FrameEncoder() if given is None else clone(given)
            encoder.fit(arrays.take_rows(X, np.flatnonzero(weights > 0)))
        except ValueError as error:
            if for_base or given is not None or owner.scaling != "auto":
                raise
            _warn_of_log_odds(f"the features cannot be read: {error} Or pass transformer=...")
            return cls(None, for_base, for_distances)
        return cls(encoder, for_base, for_distances)

    def encode(self, X: MatrixLike) -> tuple[MatrixLike, MatrixLike]:
        """Return rows for the base classifier, and rows for distances."""
        if self.encoder is not None:
            encoded: Any = self.encoder.encode(X)
        elif self.means is not None and _is_matrix(X):
            encoded = _as_csr(X, self.means)
        else:
            return X, X
        return encoded if self.for_base else X, encoded if self.for_distances else X


def _warn_of_log_odds(reason: str) -> None:
    warnings.warn(
        "Distances between rows are measured by predicted probabilities only, because " + reason,
        ColumnWarning,
        stacklevel=5,
    )


def _as_csr(X: Any, means: FloatArray) -> Any:
    """Return rows as CSR without NaN; CSR without NaN is not copied."""
    if not sparse.issparse(X):
        # Sparse matrices do not support half precision.
        X = arrays.to_csr(X.astype(np.float32) if X.dtype == np.float16 else X)
    missing = np.flatnonzero(np.isnan(X.data))
    if len(missing):
        X = X.copy()
        X.data[missing] = means[X.indices[missing]]
    return X


def _means(X: Any, weights: FloatArray) -> FloatArray | None:
    """Return the means of features; None unless rows are a sparse matrix, or mostly zeros."""
    if not _is_matrix(X) or not (sparse.issparse(X) or arrays.can_be_sparse(X)):
        return None
    present = weights > 0
    rows = X if present.all() else X[present]
    if sparse.issparse(X) or arrays.is_mostly_zeros(int(np.count_nonzero(rows)), rows.size):
        return ColumnSums.of(rows, weights[present]).means()
    return None


@dataclass(frozen=True)
class ColumnSums:
    """Sums over the rows of a matrix.

    Attributes
    ----------
    is_sparse : bool
        Whether any rows are a sparse matrix.
    n_cells, n_nonzero : int
        Number of cells, and of those that are not 0. NaN is not 0.
    sums, masses : ndarray of shape (n_features,)
        Weighted sum of the values, and weight of the rows that have one.
    """

    is_sparse: bool
    n_cells: int
    n_nonzero: int
    sums: FloatArray
    masses: FloatArray

    @classmethod
    def of(cls, X: Any, weights: FloatArray) -> "ColumnSums":
        """Sum over rows."""
        is_sparse = sparse.issparse(X)
        cells = X.data if is_sparse else X
        missing: Any = np.isnan(cells)
        values: Any = np.where(missing, 0, cells)
        if is_sparse:
            missing, values = (
                sparse.csr_array((part, X.indices, X.indptr), X.shape) for part in (missing, values)
            )
        n_cells, n_nonzero = X.shape[0] * X.shape[1], int(np.count_nonzero(cells))
        masses = weights.sum() - weights @ missing
        return cls(is_sparse, n_cells, n_nonzero, weights @ values, masses)

    def plus(self, other: "ColumnSums") -> "ColumnSums":
        """Return the sums over the rows of both."""
        # The sum of two truth values is their "or".
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return ColumnSums(*(ours + theirs for ours, theirs in pairs))

    def means(self) -> FloatArray | None:
        """Return the means, 0 without values; None unless rows are sparse, or mostly zeros."""
        if not self.is_sparse and not arrays.is_mostly_zeros(self.n_nonzero, self.n_cells):
            return None
        means = np.zeros(len(self.sums))
        return np.divide(self.sums, self.masses, out=means, where=self.masses > 0)


def _is_matrix(X: MatrixLike) -> bool:
    """Return whether X is an array or a CSR matrix of numbers."""
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return False
    return X.ndim == 2 and X.dtype.kind in "biuf"


def draw_rows(
    order: IntArray, weights: FloatArray, n_rows: int, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Draw rows without replacement from `order`, with probabilities proportional to weights.

    A probability is at most 1. The weight of a drawn row is divided by its probability, so that
    weighted sums over the drawn rows are unbiased. Returns the rows in their order, and the weights
    of all rows.
    """
    if n_rows >= len(order) or all_equal(weights):
        return order[:n_rows], weights
    probabilities = _probabilities(weights, n_rows)
    # Systematic sampling: one row for each integer that the cumulative probability passes.
    passed = np.floor(np.cumsum(probabilities[order]) + rng.random_sample())
    return order[np.diff(passed, prepend=0) > 0], weights / probabilities


def _probabilities(weights: FloatArray, n_rows: int) -> FloatArray:
    """Return probabilities proportional to weights, at most 1, whose sum is a number of rows."""
    certain = np.zeros(len(weights), dtype=bool)
    while True:
        left = np.where(certain, 0.0, weights)
        probabilities = np.where(certain, 1.0, (n_rows - certain.sum()) * left / left.sum())
        heavier = ~certain & (probabilities >= 1)
        if not heavier.any():
            return probabilities
        certain |= heavier


def log_odds(proba: FloatArray, margin: float = PROBA_MARGIN, xp: Any = np) -> FloatArray:
    """Return the log-odds of probabilities that are clipped to a distance from 0 and 1."""
    clipped = xp.clip(proba, margin, 1 - margin)
    logarithms: FloatArray = xp.log(clipped / (1 - clipped))
    return logarithms


def median_squared_distance(
    points: Matrix, rng: np.random.RandomState, row_weights: FloatArray | None = None
) -> float:
    """Return the median squared distance of unequal points, 0 if all are equal.

    A distance is weighted by the product of its rows' weights.
    """
    order = rng.permutation(points.shape[0])
    row_weights = np.ones(len(order)) if row_weights is None else row_weights
    rows, weights = draw_rows(order, row_weights, MAX_ROWS, rng)
    weights = weights[rows]
    chosen = points[rows]
    squared = offsets_to(chosen, chosen) + squared_norms(chosen)
    upper = np.triu_indices(len(rows), k=1)
    distances, masses = squared[upper], np.multiply.outer(weights, weights)[upper]
    # Between equal rows, rounding leaves a distance slightly above 0.
    lengths = squared_norms(chosen)
    unequal = distances > 64 * np.finfo(lengths.dtype).eps * lengths.max()
    return _weighted_median(distances[unequal], masses[unequal]) if unequal.any() else 0.0


def _weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """Return the weighted median, the mean of two values where they halve the weight."""
    if all_equal(weights):
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weights[order])
    half = up_to[-1] / 2
    low, high = np.searchsorted(up_to, [half * (1 - SLACK), half * (1 + SLACK)])
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2)


class Scaling:
    """A Gaussian neighbourhood of the landmarks in one scaling.

    `name` is one of :data:`SCALINGS`, `transformer` turns rows into numbers ("log_odds" needs
    none). The beta of `neighbourhood` may be changed after fit.
    """

    def __init__(self, name: str, transformer: Any = None):
        self.name = name
        if name == "log_odds":
            self.neighbourhood = GaussianNeighbourhood(scale=None)
        elif name == "unit":
            steps = [clone(transformer)] if transformer is not None else []
            self.neighbourhood = GaussianNeighbourhood(
                scale=None, transform=make_pipeline(*steps, Normalizer())
            )
        else:
            self.neighbourhood = GaussianNeighbourhood(scale=name, transform=transformer)

    def fit(
        self, X: MatrixLike, proba: FloatArray, y: Any, row_weights: FloatArray | None = None
    ) -> "Scaling":
        """Fit the neighbourhood on landmarks with these probabilities."""
        self.neighbourhood.fit(self._coordinates(X, proba), y, sample_weight=row_weights)
        return self

    @property
    def landmarks(self) -> Matrix:
        """The landmarks as points, (n_landmarks, n_coordinates)."""
        return self.neighbourhood.points_

    def points(self, X: MatrixLike, proba: FloatArray) -> Matrix:
        """Return rows as points, (n_rows, n_coordinates)."""
        return self.neighbourhood.to_points(self._coordinates(X, proba))

    def _coordinates(self, X: MatrixLike, proba: FloatArray) -> Any:
        """Return the rows from which points are computed: log-odds in place of features."""
        if self.name == "log_odds":
            return log_odds(proba)
        if self.name == "unit" and isinstance(X, arrays.EncodedFrame):
            return np.hstack([X.numbers, X.coordinates()])
        return X


def fit_scalings(
    owner: Any, X: MatrixLike, proba: FloatArray, y: Any, row_weights: FloatArray
) -> list[Scaling]:
    """Fit the scaling of a `MendedClassifier`, or with "auto" all that suit the landmarks.

    "auto" gives "log_odds" alone where rows are not numeric, texts for instance.
    """
    name, given = owner.scaling, (X, proba, y, row_weights)
    transformer = None if isinstance(X, arrays.EncodedFrame) else owner.transformer
    if name == "log_odds" and transformer is not None:
        warnings.warn(
            "transformer has no effect with scaling='log_odds', which measures distances by "
            "predicted probabilities. Leave it out, or choose another scaling.",
            stacklevel=6,
        )
    if name != "auto":
        try:
            return [Scaling(name, transformer).fit(*given)]
        except ValueError as error:
            error.add_note("With a MendedClassifier: pass transformer=..., or scaling='log_odds'.")
            raise
    log_odds = Scaling("log_odds").fit(*given)
    try:
        by_range = Scaling("range", transformer).fit(*given)
    except (TypeError, ValueError) as error:
        if transformer is not None:
            raise
        reason = str(error).partition(". ")[0]
        _warn_of_log_odds(
            f"the rows cannot be read as numbers: {reason}. Pass transformer=... that turns rows "
            "into numbers, or scaling='log_odds'."
        )
        return [log_odds]
    # Arrays that are mostly zeros were made sparse before, see RowEncoder; others count as dense.
    is_dense = transformer is None and isinstance(X, np.ndarray)
    if sparse.issparse(by_range.neighbourhood.points_) and not is_dense:
        return [Scaling("unit", transformer).fit(*given), log_odds]
    return [by_range, Scaling("standard", transformer).fit(*given), log_odds]

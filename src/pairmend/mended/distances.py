"""Scalings in which distances are measured; the median distance, the unit of the grid of beta."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from pairmend._utils.arrays import EncodedFrame
from pairmend._utils.training import SLACK, all_equal
from pairmend._utils.typing import FloatArray, Matrix, MatrixLike
from pairmend.kernels.neighbourhood import offsets_to, squared_norms
from pairmend.mended.rows import draw_rows
from pairmend.neighbourhoods import GaussianNeighbourhood

SCALINGS = ("range", "standard", "unit", "log_odds")
"""Features divided by their range or their standard deviation, rows of length 1, and the log-odds
of the base classifier's probabilities in place of features."""

PROBA_MARGIN = 1e-3
"""Probabilities are clipped to this distance from 0 and 1 before their log-odds are taken."""

MAX_ROWS = 250
"""Number of rows from whose distances the median is taken."""


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
        self.neighbourhood.fit(self.coordinates(X, proba), y, sample_weight=row_weights)
        return self

    @property
    def n_points(self) -> int:
        """Number of landmarks."""
        return int(self.neighbourhood.points_.shape[0])

    def points(self, X: MatrixLike, proba: FloatArray) -> Matrix:
        """Return rows as points, (n_rows, n_coordinates)."""
        return self.neighbourhood.to_points(self.coordinates(X, proba))

    def affine_map(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the mean and the factor of the points of dense coordinates, if affine."""
        return self.neighbourhood._affine_map()

    def median_squared_distance(
        self, rng: np.random.RandomState, row_weights: FloatArray | None = None
    ) -> float:
        """Return the median squared distance of unequal landmarks, 0 if all are equal."""
        return median_squared_distance(self.neighbourhood.points_, rng, row_weights)

    def coordinates(self, X: MatrixLike, proba: FloatArray) -> Any:
        """Return the rows from which points are computed: log-odds in place of features."""
        if self.name == "log_odds":
            return log_odds(proba)
        if self.name == "unit" and isinstance(X, EncodedFrame):
            return np.hstack([X.numbers, X.coordinates()])
        return X


def fit_scalings(
    name: str,
    transformer: Any,
    X: MatrixLike,
    proba: FloatArray,
    y: Any,
    row_weights: FloatArray | None = None,
) -> list[Scaling]:
    """Fit the scaling of this name, or with "auto" all that suit the landmarks.

    "auto" gives "log_odds" alone where rows are not numeric, texts for instance.
    """
    given = X, proba, y, row_weights
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
        warnings.warn(
            "Distances between rows are measured by predicted probabilities only, because the rows "
            f"cannot be read as numbers: {reason}. Pass transformer=... that turns rows into "
            "numbers, or scaling='log_odds'.",
            stacklevel=6,
        )
        return [log_odds]
    # Arrays that are mostly zeros were made sparse before, see RowEncoder; others count as dense.
    is_dense = transformer is None and isinstance(X, np.ndarray)
    if sparse.issparse(by_range.neighbourhood.points_) and not is_dense:
        return [Scaling("unit", transformer).fit(*given), log_odds]
    return [by_range, Scaling("standard", transformer).fit(*given), log_odds]

"""Ways to measure how near rows are."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from pairmend._utils.frames import EncodedFrame
from pairmend._utils.typing import FloatArray, MatrixLike
from pairmend._utils.weights import draw_rows, weighted_median
from pairmend.kernels.neighbourhood import offsets_to, squared_norms
from pairmend.neighbourhoods import GaussianNeighbourhood

SCALINGS = ("range", "standard", "unit", "supports")
"""Features by their range, by their standard deviation, rows brought to length 1, and the
log-odds of the supports in place of the features."""

CERTAIN = 1e-3
"""Supports are kept that far from 0 and 1 before their log-odds are taken."""

SAMPLED = 250
"""Rows among which the typical distance is taken."""


class Scaling:
    """A way to measure distances, fitted on validation rows.

    Parameters
    ----------
    name : str
        One of :data:`SCALINGS`.
    transform : transformer or None
        What makes numbers of rows; not for "supports".

    Attributes
    ----------
    neighbourhood : GaussianNeighbourhood
        Where the validation rows lie. Its beta may be changed at any time.
    """

    def __init__(self, name: str, transform: Any = None):
        self.name = name
        if name == "supports":
            self.neighbourhood = GaussianNeighbourhood(scale=None)
        elif name == "unit":
            steps = [clone(transform)] if transform is not None else []
            self.neighbourhood = GaussianNeighbourhood(
                scale=None, transform=make_pipeline(*steps, Normalizer())
            )
        else:
            self.neighbourhood = GaussianNeighbourhood(scale=name, transform=transform)

    def fit(
        self, X: MatrixLike, supports: FloatArray, y: Any, row_weights: FloatArray | None = None
    ) -> "Scaling":
        """Place the validation rows."""
        self.neighbourhood.fit(self._seen(X, supports), y, sample_weight=row_weights)
        return self

    def weights(self, X: MatrixLike, supports: FloatArray) -> FloatArray:
        """Weigh the validation rows around rows, which have these supports."""
        return np.asarray(self.neighbourhood.weights(self._seen(X, supports)))

    def typical(self, rng: np.random.RandomState, row_weights: FloatArray | None = None) -> float:
        """Return the median squared distance of validation rows, 0 if none differ.

        A distance counts by the product of its rows' weights.
        """
        points = self.neighbourhood.points_
        order = rng.permutation(points.shape[0])
        row_weights = np.ones(len(order)) if row_weights is None else row_weights
        some, weights = draw_rows(order, row_weights, SAMPLED, rng)
        weights = weights[some]
        chosen = points[some]
        squared = offsets_to(chosen, chosen) + squared_norms(chosen)
        upper = np.triu_indices(len(some), k=1)
        apart, counts = squared[upper], np.multiply.outer(weights, weights)[upper]
        # What is left of the distance between equal rows is rounding, not distance.
        lengths = squared_norms(chosen)
        near = apart > 64 * np.finfo(lengths.dtype).eps * lengths.max()
        return weighted_median(apart[near], counts[near]) if near.any() else 0.0

    def _seen(self, X: MatrixLike, supports: FloatArray) -> Any:
        if self.name == "supports":
            return logit(np.clip(supports, CERTAIN, 1 - CERTAIN))
        if self.name == "unit" and isinstance(X, EncodedFrame):
            return np.hstack([X.numbers, X.coordinates()])
        return X


def fit_scalings(
    asked: str,
    transform: Any,
    X: MatrixLike,
    supports: FloatArray,
    y: Any,
    row_weights: FloatArray | None = None,
) -> list[Scaling]:
    """Fit the scalings that compete.

    Parameters
    ----------
    asked : str
        One of :data:`SCALINGS`, or "auto" for all that suit the rows. Rows that are no numbers,
        texts for instance, have only their supports.
    transform : transformer or None
        What makes numbers of rows.
    X : array-like
        Validation rows.
    supports : ndarray of shape (M, L)
        Their supports.
    y : array-like
        Their labels, for the transformer.
    row_weights : ndarray of shape (M,), default=None
        Their weights; None means that each weighs 1.

    Returns
    -------
    list of Scaling
    """
    given = X, supports, y, row_weights
    if asked != "auto":
        try:
            return [Scaling(asked, transform).fit(*given)]
        except ValueError as error:
            error.add_note("With a MendedClassifier: pass transformer=..., or scaling='supports'.")
            raise
    of_supports = Scaling("supports").fit(*given)
    try:
        plain = Scaling("range", transform).fit(*given)
    except (TypeError, ValueError):
        if transform is not None:
            raise
        return [of_supports]
    if sparse.issparse(plain.neighbourhood.points_):
        return [Scaling("unit", transform).fit(*given), of_supports]
    return [plain, Scaling("standard", transform).fit(*given), of_supports]

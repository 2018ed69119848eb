"""SingleRowCorrector: the corrected probabilities of one dense row, with few calls of numpy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray, MatrixLike
from pairmend.kernels.landmarks import LandmarkSums
from pairmend.kernels.leave_one_out import corrected_by
from pairmend.kernels.rrc import BETA_SERIES, CONSTRAINED_SERIES, REFERENCES
from pairmend.kernels.single_query import PER_SPACE, AffinePoints, SingleQuerySums
from pairmend.mended.distances import Scaling
from pairmend.mended.search import Correction
from pairmend.mended.single_row_loops import FEATURES, LOG_ODDS, correct_one_row

POLYNOMIALS = {
    "beta": (BETA_SERIES, 2),
    "constrained": (CONSTRAINED_SERIES, 1),
    "identity": ((0.0,) * (len(BETA_SERIES) - 1) + (1.0,), 1),
}
"""References that are a polynomial times a power of the smaller support."""


class SingleRowCorrector:
    """Corrects the probabilities of one row: all local corrections at once, and their stacking.

    The result equals that of the corrections one by one, up to rounding. Reading the landmarks
    takes half the time in single precision. For one row, calls of
    numpy take most of the time, and this class needs a third of them. `corrected_by_loops` is one
    call of compiled code.

    Parameters
    ----------
    scalings : sequence of Scaling
        Scalings whose points are affine functions of the features or of the log-odds.
    sums : sequence of LandmarkSums
        Sums around rows in each scaling.
    corrections : sequence of Correction
        The correction in each scaling, and that over all rows.
    weights : sequence of ndarray of shape (n_labels,)
        Stacking weights of these corrections by label, then that of the uncorrected probability.
    p_true : mapping of pair of ndarray
        P(true | decision) over all validation rows, by reference.
    single : bool
        Whether sums are computed in single precision.
    """

    def __init__(
        self,
        scalings: Sequence[Scaling],
        sums: Sequence[LandmarkSums],
        corrections: Sequence[Correction],
        weights: Sequence[FloatArray],
        p_true: Mapping[str, tuple[FloatArray, FloatArray]],
        *,
        single: bool,
    ):
        maps = []
        self.sources: dict[int, tuple[Scaling, tuple[int, int]]] = {}
        for scaling in scalings:
            affine: Any = scaling.affine_map()
            points = AffinePoints(LOG_ODDS if scaling.name == "log_odds" else FEATURES, *affine)
            maps.append(points)
            self.sources[points.source] = scaling, (1, len(points.mean))
        self.sums = SingleQuerySums(sums, maps, single=single)
        self.references = [correction.reference for correction in corrections]
        given = zip(*(p_true[name] for name in self.references), strict=True)
        self.given_on, self.given_off = (np.concatenate(parts) for parts in given)
        self.mass = np.array([correction.shrinkage for correction in corrections], dtype=float)
        self.weights = np.stack(weights)
        self.arguments = self._arguments()

    def _arguments(self) -> tuple[Any, ...]:
        """Return the arrays for compiled code; none if a reference is not compiled.

        A model file may hold anything, and compiled code does not check indices: none if shapes do
        not match.
        """
        sums, n_labels = self.sums, self.weights.shape[1]
        n_parts, n_columns, n_landmarks = sums.tables.shape
        is_consistent = (
            n_columns == 3 * n_labels + 1
            and sums.landmarks.shape == (len(sums.mean), n_landmarks)
            and sums.offsets.shape[2] == n_landmarks
            and sums.factors.shape == sums.roots.shape == (PER_SPACE, len(sums.mean))
            and self.given_on.shape == self.given_off.shape == (n_parts + 1, n_labels)
            and self.weights.shape == (n_parts + 2, n_labels)
            and all(
                self.sources[source][1] == (1, length)
                for source, _, length, _ in sums.spaces.tolist()
            )
            and self.sources.get(LOG_ODDS, (None, (1, n_labels)))[1] == (1, n_labels)
        )
        if not is_consistent or not set(self.references) <= set(POLYNOMIALS):
            return ()
        polynomials = [POLYNOMIALS[name] for name in self.references]
        series, powers = (np.array(each) for each in zip(*polynomials, strict=True))
        return (
            sums.spaces, sums.places, sums.mean, sums.roots, sums.factors, sums.landmarks,
            sums.offsets, sums.tables, sums.capped_masses, series, powers,
            self.given_on, self.given_off, self.mass, self.weights,
        )  # fmt: skip

    @staticmethod
    def suits(scalings: Sequence[Scaling], sums: Sequence[LandmarkSums]) -> bool:
        """Return whether the corrections of these scalings can be computed at once."""
        return (
            len(scalings) > 0
            and all(scaling.affine_map() is not None for scaling in scalings)
            and all(part.is_moderate for part in sums)
        )

    def corrected(self, X: MatrixLike, proba: FloatArray) -> FloatArray | None:
        """Return the corrected probabilities of one row, (1, n_labels).

        None if the row is not a finite array of floats, or too far from the landmarks for single
        precision.
        """
        coordinates = {}
        for source, (scaling, shape) in self.sources.items():
            given = scaling.coordinates(X, proba)
            if type(given) is not np.ndarray or given.dtype != np.float64 or given.shape != shape:
                return None
            coordinates[source] = given[0]
        sums = self.sums.around(coordinates)
        if sums is None:
            return None
        p_decide = {name: REFERENCES[name](proba) for name in set(self.references)}
        decided = np.concatenate([p_decide[name] for name in self.references])
        terms = np.empty_like(self.weights)
        towards = self.given_on[:-1], self.given_off[:-1]
        terms[:-2] = corrected_by(decided[:-1], sums, towards, self.mass[:-1, np.newaxis])
        on, off = self.given_on[-1], self.given_off[-1]
        terms[-2] = off + decided[-1] * (on - off)
        terms[-1] = proba
        terms *= self.weights
        total = np.add.reduce(terms, axis=0, keepdims=True)
        return np.minimum(np.maximum(total, 0, out=total), 1, out=total)

    def corrected_by_loops(
        self, X: MatrixLike, proba: FloatArray, sets: tuple[Any, FloatArray, FloatArray]
    ) -> FloatArray | None:
        """Return the corrected probabilities without and with label sets, (2, n_labels).

        `sets` are the members of label sets, (n_labels, n_sets), their prior, and the stacking
        weights of labels and sets. None as in `corrected`, and for references that are not
        compiled.
        """
        members, prior, _ = sets
        n_labels = self.weights.shape[1]
        if not self.arguments or proba.shape != (1, n_labels):
            return None
        if len(prior) and members.shape != (n_labels, len(prior)):
            return None
        features = np.empty(0)
        if FEATURES in self.sources:
            _, shape = self.sources[FEATURES]
            if type(X) is not np.ndarray or X.dtype != np.float64 or X.shape != shape:
                return None
            features = X[0].copy()  # contiguous and writable, as compiled code expects
        out = np.empty((2, n_labels))
        given = np.ascontiguousarray(proba[0], dtype=np.float64)
        is_near = correct_one_row(features, given, *self.arguments, *sets, out)
        return out if is_near else None

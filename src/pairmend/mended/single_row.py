"""SingleRowCorrector: all corrections of one dense row, with few calls of numpy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray, MatrixLike
from pairmend.kernels.landmarks import LandmarkSums, SingleQuerySums
from pairmend.kernels.leave_one_out import corrected_by
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.distances import Scaling
from pairmend.mended.search import Correction


class SingleRowCorrector:
    """Computes all local corrections of one row at once, each as a row of the same arrays.

    The result equals that of the corrections one by one, up to rounding. For one row, calls of
    numpy take most of the time, and this class needs a third of them.

    Parameters
    ----------
    scalings : sequence of Scaling
        Scalings whose points are affine functions of the features or of the log-odds.
    sums : sequence of LandmarkSums
        Sums around rows in each scaling.
    corrections : sequence of Correction
        The correction in each scaling.
    p_true : mapping of pair of ndarray
        P(true | decision) over all validation rows, by reference.
    """

    def __init__(
        self,
        scalings: Sequence[Scaling],
        sums: Sequence[LandmarkSums],
        corrections: Sequence[Correction],
        p_true: Mapping[str, tuple[FloatArray, FloatArray]],
    ):
        self.scalings, self.sums = scalings, SingleQuerySums(sums)
        self.references = [correction.reference for correction in corrections]
        maps: Any = [scaling.affine_map() for scaling in scalings]
        self.mean, self.factor = (np.concatenate(parts) for parts in zip(*maps, strict=True))
        given_on, given_off = zip(*(p_true[name] for name in self.references), strict=True)
        self.towards = np.concatenate(given_on), np.concatenate(given_off)
        self.mass = np.array([[correction.shrinkage] for correction in corrections])

    @staticmethod
    def suits(scalings: Sequence[Scaling], sums: Sequence[LandmarkSums]) -> bool:
        """Return whether the corrections of these scalings can be computed at once."""
        return (
            len(scalings) > 0
            and all(scaling.affine_map() is not None for scaling in scalings)
            and all(part.is_moderate for part in sums)
        )

    def corrected(self, X: MatrixLike, proba: FloatArray) -> FloatArray | None:
        """Return the local corrections of one row, (n_scalings, n_labels).

        None if the row is not a finite array of floats, or too far from the landmarks for single
        precision.
        """
        coordinates = [scaling.coordinates(X, proba) for scaling in self.scalings]
        if not all(type(each) is np.ndarray and each.dtype == np.float64 for each in coordinates):
            return None
        query = np.concatenate(coordinates, axis=None)
        if len(query) != len(self.mean):
            return None
        query -= self.mean
        query *= self.factor
        sums = self.sums.around(query)
        if sums is None:
            return None
        p_decide = {name: REFERENCES[name](proba) for name in set(self.references)}
        return corrected_by(
            np.concatenate([p_decide[name] for name in self.references]),
            sums,
            self.towards,
            self.mass,
        )

"""SingleQuerySums: sums of tables of landmarks around one query, with few calls of numpy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._utils.products import multiply
from pairmend._utils.typing import FloatArray
from pairmend.kernels.landmarks import TOLERANCE, LandmarkSums
from pairmend.kernels.neighbourhood import squared_norms

PER_SPACE = 2
"""Number of parts that share landmarks."""
MIN_SINGLE = 500
"""Number of landmarks from which on single precision is faster."""
AT_ONCE = 4
"""The number of coordinates of landmarks is a multiple of this; compiled loops read as many."""


@dataclass(frozen=True)
class AffinePoints:
    """How coordinates become points: less the mean, times the factor.

    Attributes
    ----------
    source : int
        Number of the source of the coordinates.
    mean, factor : ndarray of shape (n_coordinates,)
        The map.
    """

    source: int
    mean: FloatArray
    factor: FloatArray

    def relative_to(self, other: "AffinePoints") -> FloatArray | None:
        """Return what the points of another map have to be multiplied by; None if impossible."""
        if self.source != other.source or not np.array_equal(self.mean, other.mean):
            return None
        used = other.factor != 0
        if self.factor[~used].any():
            return None
        return np.divide(self.factor, other.factor, out=np.zeros_like(self.factor), where=used)


class SingleQuerySums:
    """The sums of several :class:`LandmarkSums` around one query.

    For one query, calls of numpy and reading the landmarks take longer than the products. Two
    parts whose points differ only by the factors of the same coordinates share their landmarks:
    they are a space.

    Parameters
    ----------
    parts : sequence of LandmarkSums
        Sums over the same number of landmarks, all of them dense and moderate.
    maps : sequence of AffinePoints
        How the points of each part are computed.
    single : bool, default=False
        Whether sums are computed in single precision, in half the time if there are many landmarks.

    Attributes
    ----------
    spaces : ndarray of int, shape (n_spaces, 4)
        Source, first coordinate, number of coordinates, and end of the coordinates with zeros
        that were added.
    places : ndarray of int, shape (n_parts, 2)
        The space of each part, and its place there.
    mean : ndarray of shape (n_coordinates,)
        Means of the coordinates of all spaces.
    factors : ndarray of shape (PER_SPACE, n_coordinates)
        Centred coordinates times these, times the landmarks, are 2 beta times products of points.
    roots : ndarray of shape (PER_SPACE, n_coordinates)
        Centred coordinates times these are points times the square root of beta.
    landmarks : ndarray of shape (n_coordinates, M)
        The landmarks of all spaces.
    offsets : ndarray of shape (n_spaces, PER_SPACE, M)
        Beta times squared norms of landmarks.
    tables : ndarray of shape (n_parts, C, M)
        Summands of landmarks.
    capped_masses : ndarray of shape (n_parts, M) or (0, 0)
        Masses of landmarks, at most 1; empty if all are 1.
    """

    def __init__(
        self, parts: Sequence[LandmarkSums], maps: Sequence[AffinePoints], *, single: bool = False
    ):
        self.dtype: Any = np.dtype(np.float32 if single else np.float64)
        spaces: list[_Space] = []
        places = []
        for part, points in zip(parts, maps, strict=True):
            if not spaces or not spaces[-1].add(part, points):
                spaces.append(_Space(part, points))
            places.append((len(spaces) - 1, len(spaces[-1].parts) - 1))
        self.places = np.array(places)
        lengths = np.array([len(space.first.mean) for space in spaces])
        ends = np.cumsum(lengths + -lengths % AT_ONCE)
        starts = np.concatenate([[0], ends[:-1]])
        sources = [space.first.source for space in spaces]
        self.spaces = np.column_stack([sources, starts, lengths, ends])
        n_landmarks, n_columns = parts[0].table.shape
        self.mean = np.zeros(ends[-1])
        self.factors, self.roots = np.zeros((2, PER_SPACE, ends[-1]))
        self.landmarks = np.zeros((ends[-1], n_landmarks), self.dtype)
        self.offsets = np.zeros((len(spaces), PER_SPACE, n_landmarks), self.dtype)
        for k, space in enumerate(spaces):
            here, n_parts = slice(starts[k], starts[k] + lengths[k]), len(space.parts)
            self.mean[here] = space.first.mean
            self.factors[:n_parts, here] = space.factors
            self.roots[:n_parts, here] = space.roots
            self.landmarks[here] = space.parts[0].landmarks.T
            for place, part in enumerate(space.parts):
                self.offsets[k, place] = part.beta * squared_norms(part.landmarks)
        self.tables = np.empty((len(parts), n_columns, n_landmarks), self.dtype)
        for k, part in enumerate(parts):
            self.tables[k] = part.table.T
        masses = self.tables[:, -1]
        heavy = (masses >= 1).all()
        self.capped_masses = np.empty((0, 0), self.dtype) if heavy else np.minimum(masses, 1)
        self.lowest = np.log(np.finfo(self.dtype).tiny)
        self.longest = TOLERANCE / float(np.finfo(self.dtype).eps)

    def around(self, coordinates: Mapping[int, FloatArray]) -> FloatArray | None:
        """Return the sums of each part around one query, (n_parts, C).

        The coordinates of the query are given by their source. The result is None if the query is
        too far away for this precision, or not finite.
        """
        by_space = np.empty_like(self.offsets)
        for k, (source, start, length, _) in enumerate(self.spaces.tolist()):
            here = slice(start, start + length)
            centred = coordinates[source] - self.mean[here]
            scaled = centred * self.roots[:, here]
            if not (np.vecdot(scaled, scaled) <= self.longest).all():
                return None
            queries = (centred * self.factors[:, here]).astype(self.dtype, copy=False)
            multiply(queries, self.landmarks[here], out=by_space[k])
        by_space -= self.offsets
        weights = by_space[*self.places.T]
        weights -= np.maximum.reduce(weights, axis=1, keepdims=True)
        np.maximum(weights, self.lowest, out=weights)  # subnormal results would be slow
        np.exp(weights, out=weights)
        sums: FloatArray = np.matmul(self.tables, weights[..., np.newaxis])[..., 0]
        if self.capped_masses.size:
            weights *= self.capped_masses
            sums /= np.maximum.reduce(weights, axis=1, keepdims=True)
        return sums


class _Space:
    """Up to PER_SPACE parts whose points are multiples of the landmarks of the first."""

    def __init__(self, part: LandmarkSums, points: AffinePoints):
        self.first = points
        self.parts: list[LandmarkSums] = []
        self.factors: list[FloatArray] = []
        self.roots: list[FloatArray] = []
        self.add(part, points)

    def add(self, part: LandmarkSums, points: AffinePoints) -> bool:
        """Add a part; return False if it does not belong here."""
        multiple = points.relative_to(self.first)
        if multiple is None or len(self.parts) == PER_SPACE:
            return False
        self.parts.append(part)
        self.factors.append(2 * part.beta * multiple * points.factor)
        self.roots.append(np.sqrt(part.beta) * points.factor)
        return True

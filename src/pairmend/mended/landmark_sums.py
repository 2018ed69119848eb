"""Sums of a table over landmarks with Gaussian weights, and corrections by them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._utils.chunking import batches
from pairmend._utils.namespaces import Array, Namespace
from pairmend._utils.typing import BoolArray, FloatArray
from pairmend.kernels.local_sums import ROUNDING, SLACK, TIE, TOLERANCE
from pairmend.kernels.neighbourhood import offsets_to
from pairmend.kernels.rrc import REFERENCES

ARRAYS = 3
"""Number of arrays of weights of a chunk in memory at once."""


@dataclass(frozen=True)
class DenseLandmarks:
    """Landmarks and their confusion sums on a device, in double precision.

    Attributes
    ----------
    points : array of shape (M, n_features)
        Landmarks, centred and scaled.
    table : array of shape (M, C)
        Confusion sums; the last column is the mass.
    beta : float
        Inverse squared bandwidth.
    """

    points: Array
    table: Array
    beta: float

    def sums(self, queries: Array, dtype: Any, namespace: Namespace) -> Array:
        """Return the sums around queries, (t, C), with weights in a precision.

        Queries so far from the landmarks' mean that their distances lose their digits in single
        precision are computed in double precision, together with the others of their chunk.
        """
        xp = namespace.xp
        item = 4 if dtype == xp.float32 else 8
        n_points = self.points.shape[0]
        step = max(1, namespace.max_bytes // (item * ARRAYS * n_points))
        prepared = {dtype: self._prepared(dtype, xp)}
        error = self.beta * xp.sum(queries * queries, axis=1) * float(xp.finfo(dtype).eps)
        is_exact = namespace.numpy(error <= TOLERANCE)
        found = []
        for rows in batches(queries.shape[0], step):
            precision = dtype if is_exact[rows].all() else namespace.float64
            if precision not in prepared:
                prepared[precision] = self._prepared(precision, xp)
            found.append(self._chunk(queries[rows, :], *prepared[precision], namespace))
        return xp.concat(found, axis=0)

    def _prepared(self, dtype: Any, xp: Any) -> tuple[Array, Array, Array]:
        offsets = self.beta * xp.sum(self.points * self.points, axis=1)
        scaled = xp.astype(2 * self.beta * self.points, dtype)
        return scaled, xp.astype(offsets, dtype), xp.astype(self.table, dtype)

    def _chunk(
        self, queries: Array, points: Array, offsets: Array, table: Array, namespace: Namespace
    ) -> Array:
        xp = namespace.xp
        weights = xp.astype(queries, points.dtype) @ points.T
        weights -= offsets
        weights -= xp.max(weights, axis=1, keepdims=True)
        weights = xp.exp(weights)
        sums = xp.astype(weights @ table, namespace.float64)
        masses = self.table[:, -1]
        if bool(xp.all(masses >= 1)):
            return sums
        # See `kernels.local_sums.nearness_scale`.
        capped = xp.astype(xp.where(masses < 1, masses, xp.ones_like(masses)), weights.dtype)
        largest = xp.max(weights * capped, axis=1, keepdims=True)
        return sums / xp.astype(largest, namespace.float64)


def corrected_by(
    proba: Array, sums: Array, towards: tuple[Any, Any], mass: float, reference: str, dtype: Any
) -> Array:
    """Correct probabilities by local confusion sums, see `kernels.local_sums.corrected_by`.

    `dtype` is the precision in which sums were computed.
    """
    space = Namespace.of(proba)
    xp, n_labels = space.xp, proba.shape[1]
    hit, on, positive = (sums[:, k * n_labels : (k + 1) * n_labels] for k in range(3))
    total = sums[:, -1:]
    off = total - on
    off = xp.where(off > ROUNDING * float(xp.finfo(dtype).eps) * total, off, xp.zeros_like(off))
    missed = positive - hit
    missed = xp.where(missed > 0, missed, xp.zeros_like(missed))
    missed = xp.where(missed < off, missed, off)
    given_on = _share(hit + mass * towards[0], on + mass, 1.0, xp)
    given_off = _share(missed + mass * towards[1], off + mass, 0.0, xp)
    decided = REFERENCES[reference](proba, xp)
    return xp.clip(given_off + decided * (given_on - given_off), 0.0, 1.0)


def _share(part: Array, whole: Array, undefined: float, xp: Any) -> Array:
    """Divide; where the divisor is 0 the share is `undefined`."""
    defined = whole > 0
    share = part / xp.where(defined, whole, xp.ones_like(whole))
    return xp.where(defined, share, xp.full_like(share, undefined))


def log_odds(proba: Array, margin: float) -> Array:
    """Return the log-odds of probabilities clipped to a distance from 0 and 1."""
    xp = Namespace.of(proba).xp
    p = xp.clip(proba, margin, 1 - margin)
    return xp.log(p / (1 - p))


def sums_by_landmark(
    X: FloatArray,
    Y: BoolArray,
    proba: FloatArray,
    row_weights: FloatArray,
    scalings: Mapping[str, tuple[Any, ...]],
    references: Sequence[str],
    margin: float,
    namespace: Namespace,
) -> tuple[dict[str, FloatArray], dict[str, dict[str, FloatArray]]]:
    """Return confusion sums over all rows, and over the rows nearest to each landmark.

    `scalings` have mean, factor and landmarks; the coordinates of "log_odds" are those of
    probabilities clipped by `margin`. Sums are by reference, and by scaling and reference: what
    `kernels.local_sums.tabulate` returns, added up.
    """
    xp = namespace.xp
    n_columns = 3 * Y.shape[1] + 1
    total = {name: np.zeros((1, n_columns)) for name in references}
    device = {name: [namespace.asarray(part) for part in parts] for name, parts in scalings.items()}
    sums: dict[str, dict[str, Any]] = {name: dict.fromkeys(references, 0.0) for name in scalings}
    most = max(len(parts[2]) for parts in scalings.values())
    step = max(1, namespace.max_bytes // (8 * (ARRAYS * most + 2 * n_columns)))
    for rows in batches(len(Y), step):
        p, weights = namespace.asarray(proba[rows]), namespace.asarray(row_weights[rows])[:, None]
        has_label = xp.astype(namespace.asarray(Y[rows]), p.dtype)
        features = namespace.asarray(X[rows])
        summands = {}
        for name in references:
            decided = REFERENCES[name](p, xp)
            columns = [decided * has_label, decided, has_label, xp.ones_like(weights)]
            summands[name] = xp.concat(columns, axis=1) * weights
            total[name] += namespace.numpy(xp.sum(summands[name], axis=0, keepdims=True))
        for scaling, (mean, factor, points) in device.items():
            given = log_odds(p, margin) if scaling == "log_odds" else features
            near = nearest((given - mean) * factor, points, namespace)
            numbers = xp.arange(points.shape[0], device=namespace.device)[:, None]
            assigned = xp.astype(numbers == near, p.dtype)
            for name in references:
                sums[scaling][name] = sums[scaling][name] + assigned @ summands[name]
    return total, {
        scaling: {name: namespace.numpy(found) for name, found in by_name.items()}
        for scaling, by_name in sums.items()
    }


def nearest(queries: Array, points: Array, namespace: Namespace) -> Array:
    """Return the index of the nearest point of each query, as `kernels.local_sums` does."""
    xp = namespace.xp
    squares = xp.sum(points * points, axis=1)
    exponents = queries @ points.T - 0.5 * squares
    best = xp.sqrt(xp.take(squares, xp.argmax(exponents, axis=1)))
    slack = TIE * best * (xp.sqrt(xp.sum(queries * queries, axis=1)) + best / 2)
    least = xp.max(exponents, axis=1) - slack
    # The first of the ties: argmax of the array API takes numbers only.
    return xp.argmax(xp.astype(exponents >= least[:, None], xp.float32), axis=1)


class LeaveOneOutSums:
    """Sums of a table around rows, each row left out, on a device in the table's precision.

    Parameters
    ----------
    points : ndarray of shape (M, n_features)
        Landmarks.
    table : ndarray of shape (M, C)
        Sums over the rows that each landmark represents.
    namespace : Namespace
        The array library and the device.
    """

    def __init__(
        self,
        points: np.ndarray[Any, Any],
        table: np.ndarray[Any, Any],
        namespace: Namespace,
    ):
        self.namespace = namespace
        self.masses = table[:, -1]
        self.dtype = table.dtype
        self.points = namespace.asarray(points.astype(self.dtype, copy=False))
        self.table = namespace.asarray(table)
        capped = np.minimum(self.masses, 1).astype(self.dtype)
        self.capped = None if (self.masses >= 1).all() else namespace.asarray(capped)[:, None]
        self.places = namespace.asarray(np.arange(len(points)))[:, None]

    def __call__(
        self,
        queries: np.ndarray[Any, Any],
        own: np.ndarray[Any, Any],
        summands: np.ndarray[Any, Any],
        beta: float,
        n_doublings: int = 0,
    ) -> Iterator[np.ndarray[Any, Any]]:
        """Yield what `kernels.local_sums.sums_around` yields."""
        space, xp = self.namespace, self.namespace.xp
        others = self.masses[own] - summands[:, -1]
        is_alone = others <= SLACK * self.masses[own]
        is_own = self.places == space.asarray(own)
        left_out = self.places == space.asarray(np.where(is_alone, own, -1))
        shared = space.asarray(np.where(is_alone[:, np.newaxis], 0, summands).astype(self.dtype))
        offsets = offsets_to(space.asarray(queries.astype(self.dtype)), self.points, xp)
        offsets = xp.where(left_out, xp.full_like(offsets, xp.inf), offsets)
        offsets -= xp.min(offsets, axis=0)
        info = np.finfo(self.dtype)
        with np.errstate(over="ignore"):  # so far away that the weight is 0
            weights = xp.exp(-float(np.clip(beta, info.tiny, info.max)) * offsets)
        for doubling in range(n_doublings + 1):
            if doubling:
                weights *= weights
            sums = weights.T @ self.table
            of_own = xp.sum(xp.where(is_own, weights, xp.zeros_like(weights)), axis=0)
            sums = xp.clip(sums - of_own[:, None] * shared, 0.0, None)
            if self.capped is not None:
                sums = sums / xp.max(weights * self.capped, axis=0)[:, None]
            yield space.numpy(sums)

"""The validation set: rows with out-of-fold probabilities, and the landmarks among them.

Prediction compares a row with the landmarks only, so that its cost does not grow with the training
set. All other validation rows are added to the confusion sums of their nearest landmark: none is
lost, and only the place of a row's error is rounded to its landmark.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.arrays import LARGEST, take_rows
from pairmend._utils.computing import in_blocks, row_chunks
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from pairmend.kernels import local_sums
from pairmend.kernels.pairs import p_true_given_decision
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.rows import Scaling, draw_rows

MAX_LANDMARKS = 2500
"""Default number of landmarks. With more of them the loss decreases little, see docs/large.md."""
BLOCK = 128
"""Rows at once."""
NANOSECONDS = 0.03
"""Time of one product of a weight and a summand, from which the number of threads follows."""


@dataclass(frozen=True)
class ValidationRows:
    """Rows with out-of-fold probabilities, which estimate the base classifier's errors.

    Attributes
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows, in the form that distances take.
    Y : ndarray of bool, shape (n_rows, n_labels)
        True labels.
    proba : ndarray of shape (n_rows, n_labels)
        Out-of-fold probabilities of the base classifier.
    weights : ndarray of shape (n_rows,)
        Weights of rows, in units of the weight that counts as one row.
    folds : ndarray of int, shape (n_rows,)
        The fold of each row.
    shares : ndarray of shape (n_rows,) or None, default=None
        Weights of drawn rows in a mean over all validation rows.
    find_nearest : callable or None, default=None
        Returns the nearest of points for each query, as `nearest_landmark` does.
    """

    X: MatrixLike
    Y: BoolArray
    proba: FloatArray
    weights: FloatArray
    folds: IntArray
    shares: Any = field(default=None, kw_only=True)
    find_nearest: Callable[[Matrix, Matrix], IntArray] | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.Y)

    def take(self, rows: IntArray | slice) -> "ValidationRows":
        """Select rows."""
        parts = self.Y[rows], self.proba[rows], self.weights[rows], self.folds[rows]
        X, shares = take_rows(self.X, rows), None if self.shares is None else self.shares[rows]
        return ValidationRows(X, *parts, shares=shares, find_nearest=self.find_nearest)

    def of_labels(self, labels: IntArray | None) -> "ValidationRows":
        """Select labels; None means all."""
        if labels is None:
            return self
        return replace(self, Y=self.Y[:, labels], proba=self.proba[:, labels])

    def p_decide(self, reference: str) -> FloatArray:
        """Return the probability that a reference classifier decides for each label."""
        return REFERENCES[reference](self.proba)

    def summands(self, references: Sequence[str]) -> FloatArray:
        """Return what each row adds to confusion sums, see `columns_of`."""
        parts = []
        for p_decide in map(self.p_decide, references):
            parts += [p_decide * self.Y, p_decide]
        summands = np.hstack([*parts, self.Y, np.ones((len(self), 1))])
        summands *= self.weights[:, np.newaxis]
        return summands

    def squared_errors(self, proba: FloatArray) -> FloatArray:
        """Return the squared error of each row, the mean over labels."""
        return np.asarray(np.mean((proba - self.Y) ** 2, axis=-1))

    def brier_score(self, proba: FloatArray) -> float:
        """Return the mean squared error over all validation rows, estimated by drawn ones."""
        return float(np.average(self.squared_errors(proba), weights=self.shares))

    def sums(
        self, rows: IntArray, scalings: Sequence[Scaling], references: Sequence[str]
    ) -> dict[str, FloatArray]:
        """Return the confusion sums of some rows by their nearest landmark, by scaling."""
        n_columns = (2 * len(references) + 1) * self.Y.shape[1] + 1
        found = {
            scaling.name: np.zeros((scaling.landmarks.shape[0], n_columns)) for scaling in scalings
        }
        places = {scaling.name: np.empty(len(rows), dtype=np.intp) for scaling in scalings}
        for chunk in row_chunks(len(rows), 64 * self.Y.shape[1]):
            part = self.take(rows[chunk])
            for scaling in scalings:
                places[scaling.name][chunk] = part.nearest(scaling)
        for chunk in row_chunks(len(rows), 64 * n_columns):
            summands = self.take(rows[chunk]).summands(references)
            for name, place in places.items():
                np.add.at(found[name], place[chunk], summands)
        return found

    def nearest(self, scaling: Scaling) -> IntArray:
        """Return the nearest landmark of each row in a scaling."""
        find = self.find_nearest or local_sums.nearest_landmark
        return find(scaling.points(self.X, self.proba), scaling.landmarks)


def columns_of(reference: int, n_references: int, n_labels: int) -> IntArray:
    """Return the columns of confusion sums, (n, 3 * n_labels + 1), for one of several references.

    Each reference has two columns for each label, see `kernels.local_sums`. The others
    do not depend on the reference and come last, once.
    """
    own = np.arange(2 * n_labels * reference, 2 * n_labels * (reference + 1))
    return np.append(own, 2 * n_labels * n_references + np.arange(n_labels + 1))


def draw_landmarks(
    weights: FloatArray, max_landmarks: int | None, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Return the landmarks among validation rows, in ascending order; all rows if they are few.

    With sample weights, heavier rows are more likely to be drawn. Also returned are the weights
    with which means over the landmarks are unbiased estimates of those over all rows.
    """
    if max_landmarks is None or len(weights) <= max_landmarks:
        return np.arange(len(weights)), weights
    order = rng.permutation(len(weights))
    rows, weights = draw_rows(order, weights, max_landmarks, rng)
    rows = np.sort(rows)
    return rows, weights[rows]


def own_landmarks(
    drawn: ValidationRows, rows: IntArray, landmarks: IntArray, scaling: Scaling
) -> IntArray:
    """Return the landmark to which each drawn row was added in a scaling.

    `rows` and `landmarks` are positions in the validation set, in ascending order. A landmark is
    its own.
    """
    own = np.minimum(np.searchsorted(landmarks, rows), len(landmarks) - 1)
    others = np.flatnonzero(landmarks[own] != rows)
    if len(others):
        own[others] = drawn.take(others).nearest(scaling)
    return own


@dataclass(frozen=True)
class Neighbourhoods:
    """Corrections of validation rows, each left out of the confusion sums around it.

    Attributes
    ----------
    scaling : Scaling
        The scaling, fitted on the landmarks.
    references : sequence of str
        Names of reference classifiers.
    table : ndarray of shape (n_landmarks, n_columns)
        Confusion sums of the landmarks for these references.
    own : ndarray of int, shape (n_rows,)
        The landmark to which each of the rows was added.
    labels : ndarray of int or None, default=None
        Labels that are corrected, those of the table; None means all.
    """

    scaling: Scaling
    references: Sequence[str]
    table: FloatArray
    own: IntArray
    labels: IntArray | None = None

    def of_labels(self, labels: IntArray | None) -> "Neighbourhoods":
        """Select labels, of the table of all labels; None means all."""
        if labels is None:
            return self
        n_labels = self.table.shape[1] // (2 * len(self.references) + 1)
        first = n_labels * np.arange(2 * len(self.references) + 1)[:, np.newaxis]
        columns = np.append((first + labels).ravel(), self.table.shape[1] - 1)
        return replace(self, table=self.table[:, columns], labels=labels)

    def squared_errors(
        self, rows: ValidationRows, betas: Sequence[float], masses: Sequence[float]
    ) -> FloatArray:
        """Return those of each reference, beta (each twice the last), prior mass, and row.

        Sums are computed in single precision: it suffices for a choice, in half the time.
        """
        errors = np.empty((len(self.references), len(betas), len(masses), len(rows)))

        def keep(chunk: slice, reference: int, beta: int, corrected: FloatArray) -> None:
            here = rows.take(chunk).of_labels(self.labels)
            errors[reference, beta, :, chunk] = here.squared_errors(corrected)

        self._correct(rows, betas, masses, np.float32, keep)
        return errors

    def corrected(self, rows: ValidationRows, beta: float, mass: float) -> FloatArray:
        """Correct the probabilities of rows by all other rows, with the only reference."""
        found = np.empty(rows.Y.shape)

        def keep(chunk: slice, reference: int, beta: int, corrected: FloatArray) -> None:
            found[chunk] = corrected[0]

        self._correct(rows, [beta], [mass], np.float64, keep)
        return found

    def of_reference(self, reference: str) -> "Neighbourhoods":
        """Select the confusion sums of the landmarks for one reference."""
        n_labels = self.table.shape[1] // (2 * len(self.references) + 1)
        place = self.references.index(reference)
        columns = columns_of(place, len(self.references), n_labels)
        return replace(self, references=[reference], table=self.table[:, columns])

    def _correct(
        self,
        rows: ValidationRows,
        betas: Sequence[float],
        masses: Sequence[float],
        dtype: type,
        use: Callable[[slice, int, int, FloatArray], None],
    ) -> None:
        """Pass corrected probabilities, (n_masses, n_rows, n_labels), to a function.

        It gets those of each chunk of rows, with the numbers of the reference and of the beta.
        Chunks are computed in several threads if there is enough work.
        """
        n_references = len(self.references)
        n_labels = self.table.shape[1] // (2 * n_references + 1)
        columns = [columns_of(k, n_references, n_labels) for k in range(n_references)]
        table: FloatArray = self.table.astype(dtype, copy=False)
        total = self.table.sum(axis=0)
        landmarks = self.scaling.landmarks.astype(dtype, copy=False)
        prior = np.array(masses, dtype=np.float64)[:, np.newaxis, np.newaxis]

        def fill(chunk: slice) -> None:
            all_labels = rows.take(chunk)
            here = all_labels.of_labels(self.labels)
            summands = here.summands(self.references)
            others, given = total - summands, []
            for name, own in zip(self.references, columns, strict=True):
                p_true = p_true_given_decision(local_sums.global_confusion(others[:, own]))
                given.append((here.p_decide(name), own, p_true))
            sums_by_beta = local_sums.sums_around(
                self._queries(all_labels, dtype), self.own[chunk], summands.astype(dtype),
                landmarks, table, betas[0], n_doublings=len(betas) - 1,
            )  # fmt: skip
            for b, sums in enumerate(sums_by_beta):
                for k, (p_decide, own, p_true) in enumerate(given):
                    use(chunk, k, b, local_sums.corrected_by(p_decide, sums[:, own], p_true, prior))

        # The weights of a chunk stay in the processor's cache.
        work = NANOSECONDS * len(rows) * landmarks.shape[0] * len(betas) * table.shape[1]
        in_blocks(fill, len(rows), BLOCK, work)

    def _queries(self, rows: ValidationRows, dtype: type) -> Matrix:
        """Return rows as points in a precision."""
        points = self.scaling.points(rows.X, rows.proba)
        # At such a distance from the landmarks, only the direction matters.
        largest = LARGEST[np.dtype(dtype).name]
        if sparse.issparse(points):
            points.data = points.data.clip(-largest, largest)
            return points.astype(dtype, copy=False)
        return points.clip(-largest, largest).astype(dtype, copy=False)

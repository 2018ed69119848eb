"""The validation set: rows with out-of-fold probabilities, and the landmarks among them.

Prediction compares a row with the landmarks only, so that its cost does not grow with the training
set. All other validation rows are added to the confusion sums of their nearest landmark: none is
lost, and only the place of a row's error is rounded to its landmark.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from pairmend._utils.computing import row_chunks
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.kernels.confusion import p_true_given_decision
from pairmend.kernels.local_sums import global_confusion, tabulate
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.distances import Scaling
from pairmend.mended.label_sets import LabelSets
from pairmend.mended.rows import draw_rows

Nearest: TypeAlias = Callable[[Scaling, MatrixLike, FloatArray], IntArray]
"""Returns the nearest landmark of each row in a scaling, given rows and their probabilities."""


@dataclass(frozen=True)
class ValidationRows:
    """Some rows with out-of-fold probabilities, which estimate the base classifier's errors.

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
    """

    X: MatrixLike
    Y: BoolArray
    proba: FloatArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.Y)

    def take(self, rows: IntArray | slice) -> "ValidationRows":
        """Select rows."""
        X = take_rows(self.X, rows)
        return ValidationRows(X, self.Y[rows], self.proba[rows], self.weights[rows])

    def p_decide(self, reference: str) -> FloatArray:
        """Return the probability that a reference classifier decides for each label."""
        return REFERENCES[reference](self.proba)

    def summands(self, reference: str) -> FloatArray:
        """Return what each row adds to confusion sums, (n_rows, 3 * n_labels + 1)."""
        return tabulate(self.Y, self.p_decide(reference), self.weights)

    def brier_score(self, proba: FloatArray, weights: FloatArray) -> float:
        """Return the weighted mean squared error of probabilities."""
        return float(np.average(self.squared_errors(proba), weights=weights))

    def squared_errors(self, proba: FloatArray) -> FloatArray:
        """Return the squared error of each row, the mean over labels."""
        return np.asarray(np.mean((proba - self.Y) ** 2, axis=-1))


@dataclass(frozen=True)
class GlobalSums:
    """Confusion sums over all validation rows.

    Attributes
    ----------
    sums : mapping of ndarray of shape (1, 3 * n_labels + 1)
        By the name of the reference classifier.
    """

    sums: Mapping[str, FloatArray]

    def confusion(self, reference: str) -> FloatArray:
        """Return the confusion matrices of labels, (1, n_labels, 2, 2), [truth, decision]."""
        return global_confusion(self.sums[reference])

    def p_true_without(self, reference: str, summands: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p_true_given_decision over all rows but one, for each row of summands."""
        return p_true_given_decision(global_confusion(self.sums[reference] - summands))

    def rows_per_part(self, n_parts: int) -> float:
        """Return the weight of all rows divided by a number of parts, in rows, at least 1."""
        return max(1.0, round(self.n_rows / n_parts, 3))

    @property
    def n_rows(self) -> float:
        """Weight of all rows, in rows."""
        return float(next(iter(self.sums.values()))[0, -1])

    @property
    def n_examples(self) -> FloatArray:
        """Weight of the rarer class of each label, (n_labels,)."""
        sums = next(iter(self.sums.values()))[0]
        n_labels = len(sums) // 3
        positive = sums[2 * n_labels : 3 * n_labels]
        return np.minimum(positive, sums[-1] - positive)


MAX_LANDMARKS = 2500
"""Default number of landmarks. With more of them the loss decreases little, see docs/scale.md."""


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


@dataclass(frozen=True)
class LandmarkTables:
    """Confusion sums of the validation rows nearest to each landmark.

    Attributes
    ----------
    scalings : sequence of Scaling
        Spaces in which the nearest landmark is found.
    total : GlobalSums
        Sums over all validation rows.
    tables : mapping of mapping of ndarray of shape (n_landmarks, 3 * n_labels + 1)
        By scaling and reference classifier.
    """

    scalings: Sequence[Scaling]
    total: GlobalSums
    tables: Mapping[str, Mapping[str, FloatArray]]

    @classmethod
    def from_landmarks(
        cls, landmarks: ValidationRows, scalings: Sequence[Scaling], references: Sequence[str]
    ) -> "LandmarkTables":
        """Return the sums of the landmarks themselves."""
        own = {name: landmarks.summands(name) for name in references}
        total = GlobalSums({name: table.sum(axis=0, keepdims=True) for name, table in own.items()})
        return cls(scalings, total, {scaling.name: own for scaling in scalings})

    def with_others(
        self, validation: ValidationRows, landmarks: IntArray, nearest: Nearest = Scaling.nearest
    ) -> "LandmarkTables":
        """Return the sums with all rows that are no landmarks, each added to its nearest ones."""
        others = np.setdiff1d(np.arange(len(validation)), landmarks)
        return self.plus(self.sums_of(validation, others, nearest)) if len(others) else self

    def plus(self, sums: "LandmarkTables") -> "LandmarkTables":
        """Return the sums over the rows of both, which have the same landmarks."""
        total = {name: own + sums.total.sums[name] for name, own in self.total.sums.items()}
        tables = {
            scaling: {name: own + sums.tables[scaling][name] for name, own in by_name.items()}
            for scaling, by_name in self.tables.items()
        }
        return LandmarkTables(self.scalings, GlobalSums(total), tables)

    def sums_of(
        self, validation: ValidationRows, rows: IntArray, nearest: Nearest = Scaling.nearest
    ) -> "LandmarkTables":
        """Return the sums over these rows alone, with the same landmarks."""
        total = {name: np.zeros_like(own) for name, own in self.total.sums.items()}
        tables = {
            scaling: {name: np.zeros_like(own) for name, own in by_name.items()}
            for scaling, by_name in self.tables.items()
        }
        n_columns = sum(own.shape[1] for own in total.values())
        for chunk in row_chunks(len(rows), 4 * n_columns):
            part = validation.take(rows[chunk])
            summands = {name: part.summands(name) for name in total}
            for name, own in summands.items():
                total[name] += own.sum(axis=0)
            for scaling in self.scalings:
                assigned = _indicators(nearest(scaling, part.X, part.proba), scaling.n_points)
                for name, own in summands.items():
                    tables[scaling.name][name] += assigned @ own
        return LandmarkTables(self.scalings, GlobalSums(total), tables)


def own_landmarks(
    drawn: ValidationRows, rows: IntArray, landmarks: IntArray, scalings: Sequence[Scaling]
) -> dict[str, IntArray]:
    """Return the landmark to which each drawn row was added, by scaling.

    `rows` and `landmarks` are positions in the validation set, in ascending order. A landmark is
    its own.
    """
    own = np.minimum(np.searchsorted(landmarks, rows), len(landmarks) - 1)
    others = np.flatnonzero(landmarks[own] != rows)
    found = {scaling.name: own.copy() for scaling in scalings}
    if len(others):
        part = drawn.take(others)
        for scaling in scalings:
            found[scaling.name][others] = scaling.nearest(part.X, part.proba)
    return found


def _indicators(landmarks: IntArray, n_landmarks: int) -> sparse.csr_array:
    """Return a matrix whose product with summands adds them up by landmark."""
    n_rows = len(landmarks)
    cells = np.ones(n_rows), (landmarks, np.arange(n_rows))
    return sparse.csr_array(cells, shape=(n_landmarks, n_rows))


@dataclass(frozen=True)
class OutOfFoldRows:
    """The validation set of a fit; on Dask collections, its features and probabilities are remote.

    Attributes
    ----------
    validation : ValidationRows
        All rows.
    folds : ndarray of int, shape (n_rows,)
        The fold of each row.
    """

    validation: ValidationRows
    folds: IntArray

    def __post_init__(self) -> None:
        check_number(len(self.validation))

    @property
    def weights(self) -> FloatArray:
        """Weights of the rows."""
        return self.validation.weights

    def gather(
        self, landmarks: IntArray, compared: IntArray
    ) -> tuple[ValidationRows, ValidationRows, IntArray]:
        """Return the landmarks, the rows to compare, and the folds of the latter."""
        take = self.validation.take
        return take(landmarks), take(compared), self.folds[compared]

    def add_others(self, tables: LandmarkTables, landmarks: IntArray) -> LandmarkTables:
        """Return the sums with those of all rows that are no landmarks."""
        return tables.with_others(self.validation, landmarks)

    def label_sets(self, compared: IntArray, rows: ValidationRows) -> tuple[LabelSets, IntArray]:
        """Return the label sets of all rows, and the indices of the sets of the compared rows."""
        label_sets, sets = LabelSets.from_indicators(self.validation.Y, self.validation.weights)
        return label_sets, sets[compared]


def check_number(n_rows: int) -> None:
    """Raise an error for a validation set of fewer than two rows."""
    if n_rows < 2:
        raise ValueError(
            f"n_samples = {n_rows} in the test parts of the splits; the correction needs "
            "out-of-fold predictions of at least 2 rows. Pass a cv with larger test parts."
        )

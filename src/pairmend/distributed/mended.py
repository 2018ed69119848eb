"""MendedClassifier on Dask collections."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import dask
import numpy as np
from dask import delayed
from scipy import sparse
from sklearn.utils import check_random_state

from pairmend._utils.cells import can_be_sparse
from pairmend._utils.frames import is_frame
from pairmend._utils.parameters import is_auto
from pairmend._utils.per_label import for_all_labels
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import (
    check_base_classifier,
    new_seed,
    seed_estimator,
    take_rows,
)
from pairmend._utils.weights import relative_weights
from pairmend.distributed.base_training import scores_of_block, train_on_splits
from pairmend.distributed.blocks import in_a_tree, stack_rows
from pairmend.distributed.column_sums import fit_sparse_rows
from pairmend.distributed.splits import cut_rows
from pairmend.distributed.subspace_nb import check_frame
from pairmend.distributed.training_rows import SplitBlock, TrainingRows, splits_of
from pairmend.frames.encoder import takes_encoded_frames
from pairmend.mended.base import GivenBase, base_attributes
from pairmend.mended.base_choice import LINEAR
from pairmend.mended.estimator import MendedClassifier
from pairmend.mended.label_sets import MAX_SETS, LabelSets, distinct_rows, most_frequent
from pairmend.mended.landmarks import LandmarkTables
from pairmend.mended.out_of_fold_rows import check_number
from pairmend.mended.rows import RowEncoder, takes_sparse_rows
from pairmend.mended.scoring import find_metric
from pairmend.mended.validation_set import ValidationRows
from pairmend.model_selection.out_of_fold import first_predictions

MAX_COUNTED_SETS = 100 * MAX_SETS
"""Largest number of label sets that are counted; of more, the most frequent are kept. The counts
are exact up to this number."""


def fit_mended(
    classifier: MendedClassifier, X: Any, y: Any, sample_weight: Any
) -> MendedClassifier:
    """Fit on Dask collections, as the classifier's own `fit` does on arrays."""
    base = classifier._base_classifier()
    check_base_classifier(base)
    find_metric(classifier)
    rows = TrainingRows.read(classifier, base, X, y, sample_weight)
    encoder = _fit_encoder(classifier, base, rows)
    rng = check_random_state(classifier.random_state)
    model = for_all_labels(seed_estimator(base, new_seed(rng)), len(rows.target.classes))
    rows = rows.split(classifier.cv, new_seed(rng))
    check_number(len(rows.indices))
    *models, final = train_on_splits(
        model, rows, encoder, rows.indicators, purpose="the probabilities of labels"
    )
    validation = RemoteRows.of(rows, models, encoder)
    fitted = classifier._fit_correction(validation, rows.indices, rows.target, rng)
    name = LINEAR if is_auto(classifier.estimator) else type(base).__name__
    classifier._set_fitted(
        rows.X.like, rows.target, estimator_=final,
        **base_attributes(GivenBase(final, name)),
        frame_encoder_=encoder.encoder, _row_encoder=encoder, **fitted,
    )  # fmt: skip
    return classifier


def _fit_encoder(classifier: MendedClassifier, base: Any, rows: TrainingRows) -> RowEncoder:
    """Fit the encoder of rows: of a frame by its columns, of an array by sums over all blocks."""
    like = rows.X.like
    for_base = takes_encoded_frames(base)
    for_distances = classifier.transformer is None and classifier.scaling != "log_odds"
    if is_frame(like):
        encoder = RowEncoder.fit(
            like, np.empty(0), for_base=for_base, for_distances=for_distances,
            is_optional=classifier.scaling == "auto",
        )  # fmt: skip
        check_frame(like, encoder.encoder)
        return encoder
    sparse_for_base = takes_sparse_rows(base)
    is_needed = (sparse_for_base or for_distances) and can_be_sparse(like)
    sparse_rows = fit_sparse_rows(rows) if is_needed else None
    return RowEncoder(None, for_base, for_distances, sparse_rows, sparse_for_base)


@dataclass(frozen=True)
class RemoteRows:
    """Validation rows in blocks; see `pairmend.mended.out_of_fold_rows`.

    Out-of-fold probabilities are computed where they are needed, and not kept.

    Attributes
    ----------
    rows : TrainingRows
        All rows.
    predictor : delayed
        The `_Predictor` of out-of-fold probabilities.
    unit_weights : ndarray of shape (n_rows,) or None
        Weights of all rows, in units of the weight that counts as one row; None means ones.
    """

    rows: TrainingRows
    predictor: Any
    unit_weights: FloatArray | None

    @classmethod
    def of(cls, rows: TrainingRows, models: list[Any], encoder: RowEncoder) -> "RemoteRows":
        """Return the rows with an out-of-fold probability by the models of the splits."""
        given = rows.sample_weight
        unit_weights = None if given is None else relative_weights(given)
        predictor = delayed(_Predictor(models, encoder), pure=False, traverse=False)
        return cls(rows, predictor, unit_weights)

    @property
    def weights(self) -> FloatArray:
        """Weights of the validation rows."""
        if self.unit_weights is None:
            return np.ones(len(self.rows.indices))
        return self.unit_weights[self.rows.indices]

    def gather(
        self, landmarks: IntArray, compared: IntArray
    ) -> tuple[ValidationRows, ValidationRows, IntArray]:
        """Return the landmarks, the rows to compare, and the folds of the latter."""
        both = np.union1d(landmarks, compared)
        chosen = cut_rows(self.rows.indices[both], self.rows.sizes)
        parts = dask.compute(
            *(
                delayed(_gather_validation_rows)(self.predictor, block, weights, part)
                for block, weights, part in zip(
                    self.rows.blocks(), self._weights_by_block(), chosen, strict=True
                )
                if len(part)
            )
        )
        found = _stack([rows for rows, _ in parts])
        folds = np.concatenate([folds for _, folds in parts])
        places = np.searchsorted(both, compared)
        return found.take(np.searchsorted(both, landmarks)), found.take(places), folds[places]

    def add_others(self, tables: LandmarkTables, landmarks: IntArray) -> LandmarkTables:
        """Return the sums with those of all rows that are no landmarks."""
        if len(landmarks) == len(self.rows.indices):
            return tables
        task = delayed(tables, pure=False, traverse=False)
        left_out = cut_rows(self.rows.indices[landmarks], self.rows.sizes)
        parts = [
            delayed(_sum_others)(self.predictor, block, weights, task, part)
            for block, weights, part in zip(
                self.rows.blocks(), self._weights_by_block(), left_out, strict=True
            )
        ]
        return tables.plus(in_a_tree(_add_tables, parts).compute())

    def label_sets(self, compared: IntArray, rows: ValidationRows) -> tuple[LabelSets, IntArray]:
        """Return the label sets of all rows, and the indices of the sets of the compared rows."""
        parts = [
            delayed(_count_sets)(Y, plan, weights)
            for Y, plan, weights in zip(
                self.rows.label_blocks(),
                self.rows.delayed_plans(),
                self._weights_by_block(),
                strict=True,
            )
        ]
        found: _SetCounts = in_a_tree(_add_counts, parts).compute()
        label_sets = found.label_sets()
        return label_sets, label_sets.indices_of(rows.Y)

    def _weights_by_block(self) -> Sequence[FloatArray | None]:
        return replace(self.rows, sample_weight=self.unit_weights).weights_by_block()


@dataclass(frozen=True)
class _Predictor:
    """Predicts out-of-fold probabilities of the rows of a block."""

    models: list[Any]
    encoder: RowEncoder

    def rows(
        self, block: SplitBlock, weights: FloatArray | None, chosen: BoolArray
    ) -> tuple[ValidationRows, IntArray]:
        """Return the chosen rows that are in a test part, and their folds."""
        tests, parts, X = scores_of_block(block, self.models, self.encoder, "predict_proba", chosen)
        rows, proba, folds = first_predictions(tests, parts, block.Y.shape[1])
        weights = np.ones(len(block.Y)) if weights is None else weights
        proba = np.clip(proba, 0, 1, out=proba)
        return ValidationRows(take_rows(X, rows), block.Y[rows], proba, weights[rows]), folds


def _gather_validation_rows(
    predictor: _Predictor, block: SplitBlock, weights: FloatArray | None, rows: IntArray
) -> tuple[ValidationRows, IntArray]:
    chosen = np.zeros(len(block.Y), dtype=bool)
    chosen[rows] = True
    return predictor.rows(block, weights, chosen)


def _stack(parts: Sequence[ValidationRows]) -> ValidationRows:
    X: MatrixLike = stack_rows([part.X for part in parts])
    columns = ([getattr(part, name) for part in parts] for name in ("Y", "proba", "weights"))
    return ValidationRows(X, *(np.concatenate(column) for column in columns))


def _sum_others(
    predictor: _Predictor,
    block: SplitBlock,
    weights: FloatArray | None,
    tables: LandmarkTables,
    landmarks: IntArray,
) -> LandmarkTables:
    chosen = np.ones(len(block.Y), dtype=bool)
    chosen[landmarks] = False
    rows, _ = predictor.rows(block, weights, chosen)
    # Scalings contain the landmarks, and need not be sent back.
    return replace(tables.sums_of(rows, np.arange(len(rows))), scalings=())


def _add_tables(parts: Sequence[LandmarkTables]) -> LandmarkTables:
    return reduce(LandmarkTables.plus, parts)


@dataclass(frozen=True)
class _SetCounts:
    """Weights of label sets, of labels, and of all rows."""

    sets: BoolArray  # (n_sets, n_labels), distinct
    counts: FloatArray
    label_counts: FloatArray
    total: float

    def label_sets(self) -> LabelSets:
        kept = most_frequent(self.counts, MAX_SETS)
        members = sparse.csr_array(self.sets[kept].astype(np.float64))
        return LabelSets.from_counts(members, self.counts[kept], self.label_counts, self.total)


def _count_sets(Y: BoolArray, plan: Any, weights: FloatArray | None) -> _SetCounts:
    rows = splits_of(Y, plan, weights).tested()
    weights = np.ones(len(Y)) if weights is None else weights
    Y, weights = Y[rows], weights[rows]
    return _counted(Y, weights, weights @ Y, float(weights.sum()))


def _counted(
    Y: BoolArray, weights: FloatArray, label_counts: FloatArray, total: float
) -> _SetCounts:
    sets, indices = distinct_rows(Y)
    counts = np.bincount(indices, weights, len(sets)).astype(np.float64)
    kept = most_frequent(counts, MAX_COUNTED_SETS)
    return _SetCounts(sets[kept], counts[kept], label_counts, total)


def _add_counts(parts: Sequence[_SetCounts]) -> _SetCounts:
    return _counted(
        np.concatenate([part.sets for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.sum([part.label_counts for part in parts], axis=0),
        sum(part.total for part in parts),
    )

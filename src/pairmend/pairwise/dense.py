"""Pairwise classifiers on arrays of any library and device, with RandomSubspaceNB."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairmend._utils.namespaces import (
    Array,
    Convert,
    Namespace,
    as_numpy,
    check_device_rows,
    warn_of_n_jobs,
)
from pairmend._utils.targets import numpy_target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.validation import seed_estimator
from pairmend._utils.weights import unit_weight, without_negligible
from pairmend.array_api.label_groups import in_order, label_order
from pairmend.array_api.pair_confusion import DecidedRows, decide_rows
from pairmend.array_api.pair_naive_bayes import PairNaiveBayes, column_means, distinct_values
from pairmend.array_api.pair_voting import (
    PairCorrection,
    Variant,
    confusion_blocks,
    in_pair_order,
    sum_votes,
    support_blocks,
    vote_blocks,
)
from pairmend.naive_bayes.design_matrix import Design
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.naive_bayes.feature_statistics import FeatureStatistics


@dataclass(frozen=True)
class DensePairLearner:
    """The trained pairs of labels, and the order of labels in their arrays.

    Attributes
    ----------
    model : PairNaiveBayes
        Training rows of all pairs.
    order : ndarray of int, shape (n_labels,)
        Labels by falling number of rows.
    """

    model: PairNaiveBayes
    order: IntArray

    @property
    def feature_statistics_(self) -> FeatureStatistics:
        """Kinds, values, floors and subspaces of the features."""
        return self.model.design.feature_statistics

    @property
    def namespace(self) -> Namespace:
        """Namespace and device of the arrays."""
        return self.model.namespace

    def __sklearn_array_api_convert__(self, convert: Convert) -> "DensePairLearner":
        return replace(self, model=self.model.__sklearn_array_api_convert__(convert))

    def renewed(self) -> "DensePairLearner":
        """Return the same with chunks by the memory that is free now."""
        return replace(self, model=replace(self.model))

    def scores(
        self, X: Array, correction: PairCorrection | None, variants: Sequence[Variant]
    ) -> list[Array]:
        """Return the mean votes for labels, (n, n_labels), in each variant."""
        space, n_labels = self.namespace, len(self.order)
        blocks = vote_blocks(self.model, X, correction, variants)
        totals = sum_votes(blocks, len(variants), X.shape[0], self.model)
        place = space.asarray(np.argsort(self.order))
        return [space.xp.take(total, place, axis=0).T / (n_labels - 1) for total in totals]

    def supports(self, X: Array) -> Array:
        """Return the supports of all pairs, (n, n_pairs)."""
        return self._oriented(support_blocks(self.model, X))

    def corrected(self, X: Array, correction: PairCorrection, variant: Variant) -> Array:
        """Return the corrected supports of all pairs, (n, n_pairs)."""
        blocks = vote_blocks(self.model, X, correction, [variant])
        return self._oriented((block, votes) for block, (votes,) in blocks)

    def confusion(self, correction: PairCorrection, variant: Variant) -> Array:
        """Return the confusion sums of all pairs, (n, n_pairs, 2, 2)."""
        xp = self.namespace.xp
        found = list(confusion_blocks(self.model, correction, variant))
        sums, flipped = [], None
        for k in range(4):
            cell, flipped = in_pair_order(
                ((block, cells[k]) for block, cells in found), self.order, self.namespace
            )
            sums.append(cell)
        oriented = [xp.where(flipped, sums[3 - k], sums[k]) for k in range(4)]
        stacked = xp.stack(oriented, axis=-1)
        shape = (stacked.shape[1], stacked.shape[0], 2, 2)
        return xp.reshape(xp.permute_dims(stacked, (1, 0, 2)), shape)

    def _oriented(self, blocks: Any) -> Array:
        values, flipped = in_pair_order(blocks, self.order, self.namespace)
        xp = self.namespace.xp
        return xp.astype(xp.where(flipped, 1 - values, values), self.namespace.float64).T


def check_fit_input(
    estimator: Any, X: Array, y: Any, fit_params: dict[str, Any], namespace: Namespace
) -> tuple[Array, Any, dict[str, Any]]:
    """Return checked rows, and targets and parameters of fit as numpy's arrays."""
    base = estimator._base_classifier()
    if not estimator.takes_arrays or type(base) is not RandomSubspaceNB:
        raise ValueError(
            f"{type(estimator).__name__} with the base classifier {type(base).__name__} takes no "
            f"arrays of {namespace.library}. Pass arrays of numpy. "
            "PairwiseClassifier, CorrectedPairwiseClassifier and CalibratedLabelRanking take "
            "arrays of any library with RandomSubspaceNB."
        )
    warn_of_n_jobs(estimator, namespace)
    X = check_device_rows(X, namespace, estimator)
    return X, numpy_target(y), {name: as_numpy(value) for name, value in fit_params.items()}


def train_pairs(
    estimator: RandomSubspaceNB,
    X: Array,
    Y: BoolArray,
    order: IntArray,
    fit_params: dict[str, Any],
    seed: int,
    namespace: Namespace,
) -> DensePairLearner:
    """Train all pairs of labels, each on the rows that have exactly one of its labels."""
    xp = namespace.xp
    estimator = seed_estimator(estimator, seed)
    given, weights = fit_params.get("feature_statistics"), fit_params.get("sample_weight")
    weights = np.ones(len(Y)) if weights is None else np.asarray(weights, dtype=np.float64)
    unit = unit_weight(weights) if given is None or given.unit is None else given.unit
    weights = without_negligible(weights, unit) / unit
    if not (present := weights > 0).all():
        X = xp.take(X, namespace.asarray(np.flatnonzero(present)), axis=0)
        Y, weights = Y[present], weights[present]
    statistics = given or estimator.statistics_of_values(distinct_values(X, namespace), None, None)
    statistics = replace(statistics, unit=unit)
    numeric = namespace.asarray(np.flatnonzero(~statistics.categorical))
    design = Design(statistics, column_means(xp.take(X, numeric, axis=1), namespace))
    dtype = "float32" if X.dtype == xp.float32 else "float64"
    members, indicators = in_order(Y, order)
    model = PairNaiveBayes.fit(X, members, indicators, weights, design, namespace, dtype)
    return DensePairLearner(model, order)


def decide_validation_rows(
    X: Array,
    Y: BoolArray,
    parts: Any,
    reference: str,
    order: IntArray,
    namespace: Namespace,
) -> DecidedRows:
    """Return the decisions of pairs; each part has rows of X and the learner of their supports."""
    members, indicators = in_order(Y, order)
    decided = [decide_rows(learner.model, X, members, rows, reference) for rows, learner in parts]
    has_virtual = len(order) > Y.shape[1]
    has_label = namespace.xp.astype(namespace.asarray(indicators), namespace.float64)
    return DecidedRows(has_label, decided, has_virtual)


def order_of(Y: BoolArray, *, has_virtual: bool) -> IntArray:
    """Return the order of labels in the arrays of a learner."""
    return label_order(Y, has_virtual=has_virtual)


def balance_matrix(
    kind: str, decided: DecidedRows, row_weights: FloatArray, namespace: Namespace
) -> Array:
    """Return the weight of each label's rows in its pair with each other label (FCM-W, 3.4.2).

    Labels are in the order of a learner. See `kernels.confusion.balance_weights`.
    """
    xp = namespace.xp
    weights = xp.astype(namespace.asarray(row_weights), namespace.float64)[:, None]
    has_label = decided.indicators
    own = has_label
    if decided.has_virtual:
        own = xp.concat([xp.ones_like(own[:, :1]), own[:, 1:]], axis=1)
    alone = (own * weights).T @ (1 - has_label)
    if kind == "labels":
        sizes = xp.sum(own * weights, axis=0)[:, None] + xp.zeros_like(alone)
        if decided.has_virtual:  # rows of the virtual label are those without the other
            sizes = xp.concat([alone[:1, :], sizes[1:, :]], axis=0)
        alone = sizes
    ratio = alone.T / xp.where(alone > 0, alone, xp.ones_like(alone))
    return xp.where((alone > 0) & (ratio < 1), ratio, xp.ones_like(ratio))

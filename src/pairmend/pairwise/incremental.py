"""``partial_fit`` of the corrected classifier, and what it keeps between calls."""

from copy import copy, deepcopy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from pairmend._utils.arrays import stack_rows, take_rows
from pairmend._utils.sklearn_private import Interval, fit_context
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.voting import (
    LocallyCorrected,
    PairwiseVoting,
    Split,
    TrainingInput,
    TrainingRows,
)

NEGLIGIBLE = 1e-6
"""Rows whose decayed weight is below this share of the largest weight are dropped."""


@dataclass(frozen=True)
class IncrementalState:
    """What ``partial_fit`` keeps between calls: which rows were given, and the validation set."""

    numbers: IntArray  # positions of the rows among those of all calls
    weights: FloatArray  # their decayed weights
    is_validation: BoolArray
    X: MatrixLike  # the validation rows, in the order of their numbers; frames are encoded
    Y: BoolArray  # and their labels
    n_rows: int
    rng: np.random.RandomState
    seed: int

    def updated(
        self, data: TrainingInput, share: float, decay: float
    ) -> tuple["IncrementalState", IntArray, IntArray]:
        """Return the state with further rows, but for `X`; also training and validation rows.

        Each is a training row with probability `share`. Of `X`, rows are left out only.
        """
        rng, present = deepcopy(self.rng), np.flatnonzero(data.row_weights > 0)
        is_validation = rng.random_sample(len(present)) >= share
        weights, chosen = self.weights * decay, present[is_validation]
        kept = weights >= NEGLIGIBLE * max(data.row_weights.max(), weights.max(initial=0))
        kept |= decay == 1
        kept_set = kept[self.is_validation]
        state = replace(
            self,
            numbers=np.concatenate([self.numbers[kept], self.n_rows + present]),
            weights=np.concatenate([weights[kept], data.row_weights[present]]),
            is_validation=np.concatenate([self.is_validation[kept], is_validation]),
            X=take_rows(self.X, np.flatnonzero(kept_set)) if self.n_rows else None,
            Y=np.concatenate([self.Y[kept_set], data.target.Y[chosen]]),
            n_rows=self.n_rows + len(data.row_weights),
            rng=rng,
        )
        for name, part in (("training", ~state.is_validation), ("validation", state.is_validation)):
            if not part.any():
                raise ValueError(
                    f"validation={share} leaves the {name} part of {state.n_rows} sample(s) empty. "
                    "Give the first call more samples, or another share."
                )
        return state, present[~is_validation], chosen


def _has_partial_fit(classifier: PairwiseVoting) -> bool:
    """Return True if the base classifier can learn incrementally, else raise AttributeError."""
    base = classifier._base_classifier()
    if type(base) is not RandomSubspaceNB:  # a subclass may override its fit
        raise AttributeError(
            f"partial_fit needs the base classifier RandomSubspaceNB, got {type(base).__name__}. "
            "Use estimator=None."
        )
    return True


class IncrementalVoting(LocallyCorrected, PairwiseVoting):
    """A corrected classifier of pairs that can learn from further rows."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LocallyCorrected._parameter_constraints,
        "validation": [*LocallyCorrected._parameter_constraints["validation"], tuple],
        "decay": [Interval(Real, 0, 1, closed="right")],
    }
    _state: IncrementalState | None
    _update_state: ClassVar[tuple[str, ...]] = ("_state",)
    decay: float

    @available_if(_has_partial_fit)
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: MatrixLike, y: TargetLike, classes: Any = None, **fit_params: Any
    ) -> Self:
        """Learn incrementally from further rows.

        Each row is a training row with probability `validation`, drawn row by row, and a
        validation row otherwise; how rows are cut into calls makes no difference. With
        ``decay=1`` the result is that of a ``fit`` on all rows with the same split and the
        feature statistics of the first call's training rows::

            CorrectedPairwiseClassifier(
                validation=(clf.train_indices_, clf.validation_indices_)
            ).fit(X_all, Y_all, feature_statistics=clf.learner_.feature_statistics_)

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows, at least one. Validation rows are kept, training rows are not.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1; the tags of each row, as lists or sets of strings; or a
            1-D array of classes.
        classes : array-like of shape (n_labels,), default=None
            All classes of a 1-D target, or the names of the labels. Read in the first call. None
            means those of the first call's `y`.
        **fit_params : dict
            ``sample_weight``; in the first call also ``feature_statistics``, for example
            ``RandomSubspaceNB().feature_statistics(X)`` of a larger sample.

        Returns
        -------
        self

        Notes
        -----
        Only :class:`RandomSubspaceNB` as base classifier and a float as `validation` support
        incremental learning. After a ``fit`` without cross-fitting, ``partial_fit`` continues
        from it. Distances are scaled by all validation rows, as in ``fit``.

        With sample weights, the weight that counts as one row (see :class:`RandomSubspaceNB`) is
        that of the training rows of the first call, or 1 if it has no weights. Rows that weigh
        less than a millionth of what counts as one row in their own call are left out.

        The updated pairs decide on all validation rows, so the cost of a call grows with the
        number of validation rows: one call with a hundred rows is cheaper than a hundred calls.
        With a `decay` below 1, rows that weigh less than a millionth of the heaviest are dropped,
        which bounds memory and time.
        """
        data = self._check_partial_fit(X, y, classes, fit_params)
        state = getattr(self, "_state", None)
        if state is None:
            none: Any = np.empty(0, dtype=np.intp)
            given = none, none, none == 1, None, data.target.Y[:0], 0
            state = IncrementalState(*given, data.rng, data.seed)
        learner: Any = copy(self.learner_) if state.n_rows else self._new_learner(data)
        state, train, chosen = state.updated(data, float(self.validation), float(self.decay))
        rows = TrainingRows(data.X, data.target.Y, data.fit_params).take(train)
        min_mass = NEGLIGIBLE * float(state.weights.max())
        learner.partial_fit(rows, data.pairs, decay=float(self.decay), min_mass=min_mass)
        further = learner.encoded(take_rows(data.X, chosen))
        X = further if state.X is None else stack_rows([state.X, further])
        state = replace(state, X=X)
        validation = TrainingRows(X, state.Y, {})
        split: Split = np.arange(0), np.arange(len(state.Y)), []
        data = replace(data, row_weights=state.weights[state.is_validation], seed=state.seed)
        self._fit_rows(data, validation, split, learner)
        self.train_indices_ = state.numbers[~state.is_validation]
        self.validation_indices_ = state.numbers[state.is_validation]
        self._state = state
        return self

    def _check_partial_fit(
        self, X: MatrixLike, y: TargetLike, classes: Any, fit_params: dict[str, Any]
    ) -> TrainingInput:
        if isinstance(self.validation, Integral | tuple):
            raise ValueError(
                f"partial_fit splits rows by a share: validation={self.validation!r} must be a "
                "float between 0 and 1."
            )
        data = super()._check_partial_fit(X, y, classes, fit_params)
        if hasattr(self, "classes_") and getattr(self, "_state", None) is None:
            raise ValueError(
                "partial_fit cannot continue a fit with cross-fitting, with another base "
                "classifier or on arrays of another library than numpy, nor a classifier that "
                "was not saved by save_model(..., updates=True). Fit a new classifier."
            )
        if len(data.pairs) != len(getattr(self, "pairs_", data.pairs)):
            raise ValueError("calibration_label must not change between calls of partial_fit.")
        return data

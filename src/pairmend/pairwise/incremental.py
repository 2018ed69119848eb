"""Incremental learning of corrected pairwise classifiers: ``partial_fit``."""

from copy import copy, deepcopy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from pairmend._utils.arrays import refuse_arrays
from pairmend._utils.frames import has_categories, is_frame, is_pandas, pack_frame, unpack_frame
from pairmend._utils.sklearn_private import fit_context
from pairmend._utils.targets import check_further_target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend._utils.validation import check_features, check_training_rows, take_rows
from pairmend._utils.weights import route_fit_params
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.base import LocallyCorrected, PairwiseVoting, Split, TrainingInput
from pairmend.pairwise.learners import TrainingRows

NEGLIGIBLE = 1e-6
"""Rows whose decayed weight is below this share of the largest weight are dropped."""


@dataclass(frozen=True)
class IncrementalState:
    """What ``partial_fit`` keeps between calls: which rows were given, and the validation set."""

    numbers: IntArray  # positions of the rows among those of all calls
    weights: FloatArray  # their decayed weights
    is_validation: BoolArray
    X: MatrixLike  # the validation rows, in the order of their numbers
    Y: BoolArray  # and their labels
    n_rows: int
    max_weight: float
    rng: np.random.RandomState
    seed: int

    def __getstate__(self) -> dict[str, Any]:
        # Model files hold arrays, not frames.
        return {**self.__dict__, "X": pack_frame(self.X) if is_pandas(self.X) else self.X}

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed = isinstance(state["X"], dict)
        self.__dict__.update({**state, "X": unpack_frame(state["X"]) if packed else state["X"]})

    @classmethod
    def of(
        cls,
        data: TrainingInput,
        train: IntArray,
        validation: IntArray,
        X: MatrixLike,
        Y: BoolArray,
    ) -> Self:
        """Return the state after a fit with the validation set (X, Y)."""
        numbers, weights = np.concatenate([train, validation]), data.row_weights
        return cls(
            numbers=numbers,
            weights=weights[numbers],
            is_validation=np.arange(len(numbers)) >= len(train),
            X=X,
            Y=Y,
            n_rows=len(weights),
            max_weight=float(weights.max(initial=0)),
            rng=deepcopy(data.rng),
            seed=data.seed,
        )

    def updated(
        self, data: TrainingInput, share: float, decay: float
    ) -> tuple["IncrementalState", IntArray]:
        """Return the state after further rows, and which of them are training rows.

        Each is a training row with probability `share`.
        """
        rng = deepcopy(self.rng)
        present = np.flatnonzero(data.row_weights > 0)
        is_validation = rng.random_sample(len(present)) >= share
        max_weight = max(self.max_weight, float(data.row_weights.max()))
        weights, chosen = self.weights * decay, present[is_validation]
        kept = (weights >= NEGLIGIBLE * max_weight) | (decay == 1)
        kept_set, X = kept[self.is_validation], take_rows(data.X, chosen)
        if self.n_rows:
            X = append_rows(take_rows(self.X, np.flatnonzero(kept_set)), X)
        state = replace(
            self,
            numbers=np.concatenate([self.numbers[kept], self.n_rows + present]),
            weights=np.concatenate([weights[kept], data.row_weights[present]]),
            is_validation=np.concatenate([self.is_validation[kept], is_validation]),
            X=X,
            Y=np.concatenate([self.Y[kept_set], data.target.Y[chosen]]),
            n_rows=self.n_rows + len(data.row_weights),
            max_weight=max_weight,
            rng=rng,
        )
        for name, part in (("training", ~state.is_validation), ("validation", state.is_validation)):
            if not part.any():
                raise ValueError(
                    f"validation={share} leaves the {name} part of {state.n_rows} sample(s) empty. "
                    "Give the first call more samples, or another share."
                )
        return state, present[~is_validation]


def append_rows(X: MatrixLike, more: MatrixLike) -> MatrixLike:
    """Return rows followed by further rows, in the form of the former."""
    if is_pandas(X) != is_pandas(more):
        kinds = ["no DataFrame", "a DataFrame"]
        raise ValueError(
            f"X is {kinds[is_pandas(more)]}, but was {kinds[is_pandas(X)]} in the first call."
        )
    if is_pandas(X):
        for name in X.columns:
            if has_categories(X[name]) and X[name].dtype != more[name].dtype:
                raise ValueError(
                    f"Column {name!r} is of the dtype {more[name].dtype!r}, but was "
                    f"{X[name].dtype!r} in the first call. Give it the same categories."
                )
        from pandas import concat

        return concat([X, more], ignore_index=True)
    if sparse.issparse(X):
        return sparse.vstack([X, sparse.csr_array(more)], format="csr")
    return np.concatenate([X, more.toarray() if sparse.issparse(more) else more])


_NONE = np.empty(0, dtype=np.intp)


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
    """A corrected pairwise classifier with ``partial_fit``."""

    decay: float
    _state: IncrementalState | None
    _update_state: ClassVar[tuple[str, ...]] = ("_state",)

    def _further_attributes(
        self, data: TrainingInput, learner: Any, split: Split, validation: Any
    ) -> dict[str, Any]:
        train, numbers, folds = split
        state, X = None, validation.X if hasattr(learner, "partial_fit") and not folds else None
        if X is not None and (not is_frame(X) or is_pandas(X)):
            state = IncrementalState.of(data, train, numbers, X, validation.Y)
        return {"pairs_": learner.namespace.asarray(data.pairs), "_state": state}

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
            no_rows = replace(data, row_weights=np.empty(0))
            state = IncrementalState.of(no_rows, _NONE, _NONE, None, data.target.Y[:0])
        learner: Any = copy(self.learner_) if hasattr(self, "learner_") else self._new_learner(data)
        state, train = state.updated(data, float(self.validation), float(self.decay))
        rows = TrainingRows(data.X, data.target.Y, data.fit_params).take(train)
        learner.partial_fit(
            rows.X,
            rows.Y,
            data.pairs,
            rows.fit_params,
            decay=float(self.decay),
            min_mass=NEGLIGIBLE * state.max_weight,
        )
        validation = TrainingRows(state.X, state.Y, {})
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
        """Check the input of partial_fit; the classifier is not changed."""
        if isinstance(self.validation, Integral | tuple):
            raise ValueError(
                f"partial_fit splits rows by a share: validation={self.validation!r} must be a "
                "float between 0 and 1."
            )
        refuse_arrays(X, "partial_fit", "Pass arrays of numpy, or all rows to fit.")
        X = check_training_rows(X)
        if is_frame(X) and not is_pandas(X):
            raise ValueError(
                f"partial_fit takes arrays and pandas frames, and X is a {type(X).__module__} "
                "frame. Pass X.to_pandas()."
            )
        if hasattr(self, "classes_"):
            if not hasattr(self, "_state"):
                raise ValueError(
                    "The classifier was loaded from a model file without the validation rows that "
                    "partial_fit needs. Save it by save_model(..., updates=True), or fit a new "
                    "classifier."
                )
            if self._state is None:
                raise ValueError(
                    "partial_fit cannot continue a fit with cross-fitting, with another base "
                    "classifier or on arrays of another library than numpy. Fit a new classifier."
                )
            X = check_features(self, X)
        target = check_further_target(self, X, y, classes, min_labels=self._min_labels)
        params, weights = route_fit_params(self, self._base_classifier(), X, fit_params)
        data = self._training_input(X, target, params, weights)
        if len(data.pairs) != len(getattr(self, "pairs_", data.pairs)):
            raise ValueError("calibration_label must not change between calls of partial_fit.")
        return data

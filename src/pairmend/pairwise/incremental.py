"""Incremental learning of corrected pairwise classifiers: ``partial_fit``."""

from abc import abstractmethod
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from pairmend._utils.fit_params import route_fit_params, take_params
from pairmend._utils.frames import has_categories, is_frame, is_pandas, pack_frame, unpack_frame
from pairmend._utils.namespaces import refuse_arrays
from pairmend._utils.sklearn_private import fit_context
from pairmend._utils.targets import check_further_target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend._utils.validation import check_features, check_training_rows, take_rows
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.base import PairwiseVoting, TrainingInput
from pairmend.pairwise.learners import PairLearner, TrainingRows

Split: TypeAlias = tuple[IntArray, IntArray, list[tuple[IntArray, IntArray]]]
"""Training rows, validation rows, and folds of the validation rows (none without cross-fitting)."""

NEGLIGIBLE = 1e-6
"""Rows whose decayed weight is below this share of the largest weight are dropped."""


@dataclass(frozen=True)
class RowSubset:
    """Positions, ascending, and decayed weights of some of the rows of all calls."""

    indices: IntArray
    weights: FloatArray

    @classmethod
    def empty(cls) -> "RowSubset":
        """Return a subset without rows."""
        return cls(np.empty(0, dtype=np.intp), np.empty(0))

    def decayed(self, decay: float, smallest: float) -> tuple["RowSubset", BoolArray]:
        """Return the subset with decayed weights, and the mask of the rows that are kept."""
        weights = self.weights * decay
        kept = weights >= smallest if decay < 1 else np.ones(len(weights), dtype=bool)
        return RowSubset(self.indices[kept], weights[kept]), kept

    def appended(self, indices: IntArray, weights: FloatArray) -> "RowSubset":
        """Return the subset with later rows appended."""
        return RowSubset(
            np.concatenate([self.indices, indices]), np.concatenate([self.weights, weights])
        )


@dataclass(frozen=True)
class IncrementalState:
    """What ``partial_fit`` keeps between calls: the pairs and the validation set (X, Y)."""

    learner: Any
    train: RowSubset
    validation: RowSubset
    X: MatrixLike
    Y: BoolArray
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
    def empty(cls, learner: Any, data: TrainingInput) -> Self:
        """Return the state before the first call."""
        return cls(
            learner=learner,
            train=RowSubset.empty(),
            validation=RowSubset.empty(),
            X=None,
            Y=data.target.Y[:0],
            n_rows=0,
            max_weight=0.0,
            rng=deepcopy(data.rng),
            seed=data.seed,
        )

    @classmethod
    def after_fit(
        cls,
        learner: Any,
        data: TrainingInput,
        split: tuple[IntArray, IntArray],
        X: MatrixLike,
        Y: BoolArray,
    ) -> Self | None:
        """Return the state after a fit with the validation set (X, Y), if it can be continued."""
        if not hasattr(learner, "partial_fit") or (is_frame(X) and not is_pandas(X)):
            return None
        train, validation = (RowSubset(indices, data.row_weights[indices]) for indices in split)
        return cls(
            learner=learner,
            train=train,
            validation=validation,
            X=X,
            Y=Y,
            n_rows=len(data.row_weights),
            max_weight=float(data.row_weights.max()),
            rng=deepcopy(data.rng) if data.shares_rng else data.rng,
            seed=data.seed,
        )

    def updated(self, data: TrainingInput, share: float, decay: float) -> Self:
        """Return the state after further rows; each is a training row with probability `share`."""
        rng = deepcopy(self.rng)
        present = np.flatnonzero(data.row_weights > 0)
        drawn = rng.random_sample(len(present)) < share
        train, validation = present[drawn], present[~drawn]
        max_weight = max(self.max_weight, float(data.row_weights.max()))
        smallest = NEGLIGIBLE * max_weight
        validation_set, kept = self.validation.decayed(decay, smallest)
        weights, Y = data.row_weights, data.target.Y
        state = replace(
            self,
            learner=copy(self.learner),
            train=self.train.decayed(decay, smallest)[0].appended(
                self.n_rows + train, weights[train]
            ),
            validation=validation_set.appended(self.n_rows + validation, weights[validation]),
            X=append_rows(
                None if self.X is None else take_rows(self.X, np.flatnonzero(kept)),
                take_rows(data.X, validation),
            ),
            Y=np.concatenate([self.Y[kept], Y[validation]]),
            n_rows=self.n_rows + len(Y),
            max_weight=max_weight,
            rng=rng,
        )
        state._check_parts(share)
        state.learner.partial_fit(
            take_rows(data.X, train),
            Y[train],
            data.pairs,
            take_params(data.X, data.fit_params, train),
            decay=decay,
            min_mass=smallest,
        )
        return state

    def training_input(self, data: TrainingInput) -> TrainingInput:
        """Return the training input with the validation set in place of the rows."""
        target = replace(data.target, Y=self.Y)
        return replace(
            data, X=self.X, target=target, row_weights=self.validation.weights, seed=self.seed
        )

    def _check_parts(self, share: float) -> None:
        for name, part in (("training", self.train), ("validation", self.validation)):
            if not len(part.indices):
                raise ValueError(
                    f"validation={share} leaves the {name} part of {self.n_rows} sample(s) empty. "
                    "Give the first call more samples, or another share."
                )


def append_rows(X: MatrixLike, more: MatrixLike) -> MatrixLike:
    """Return the rows of X, which may be None, followed by further rows, in the form of X."""
    if X is None:
        return more
    if is_pandas(X) != is_pandas(more):
        kinds = ["no DataFrame", "a DataFrame"]
        raise ValueError(
            f"X is {kinds[is_pandas(more)]}, but was {kinds[is_pandas(X)]} in the first call."
        )
    if is_pandas(X):
        return _append_frame(X, more)
    if sparse.issparse(X):
        return sparse.vstack([X, sparse.csr_array(more)], format="csr")
    return np.concatenate([X, more.toarray() if sparse.issparse(more) else more])


def _append_frame(X: Any, more: Any) -> Any:
    from pandas import concat

    for name in X.columns:
        if has_categories(X[name]) and X[name].dtype != more[name].dtype:
            raise ValueError(
                f"Column {name!r} is of the dtype {more[name].dtype!r}, but was "
                f"{X[name].dtype!r} in the first call. Give it the same categories."
            )
    return concat([X, more], ignore_index=True)


def _has_partial_fit(classifier: PairwiseVoting) -> bool:
    """Return True if the base classifier can learn incrementally, else raise AttributeError."""
    base = classifier._base_classifier()
    if type(base) is not RandomSubspaceNB:  # a subclass may override its fit
        raise AttributeError(
            f"partial_fit needs the base classifier RandomSubspaceNB, got {type(base).__name__}. "
            "Use estimator=None."
        )
    return True


class IncrementalVoting(PairwiseVoting):
    """A pairwise classifier with a validation set and ``partial_fit``."""

    validation: Any
    decay: float
    train_indices_: IntArray
    validation_indices_: IntArray
    _state: IncrementalState | None
    _row_numbers: ClassVar[tuple[str, ...]] = ("train_indices_", "validation_indices_")
    _update_state: ClassVar[tuple[str, ...]] = ("_state",)

    @abstractmethod
    def _fit_rows(
        self,
        data: TrainingInput,
        rows: Any,
        split: Split | None = None,
        learner: PairLearner | None = None,
    ) -> Self:
        """Fit on `TrainingRows`, or rows in blocks; a given learner is trained already."""

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
            state = IncrementalState.empty(self._new_learner(data), data)
        state = state.updated(data, float(self.validation), float(self.decay))
        self._fit_rows(
            state.training_input(data),
            TrainingRows(state.X, state.Y, {}),
            (np.arange(0), np.arange(len(state.Y)), []),
            state.learner,
        )
        self.train_indices_ = state.train.indices
        self.validation_indices_ = state.validation.indices
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

"""Rows that keep coming: what a corrected classifier keeps of them between calls."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from pairmend._utils.fit_params import route_fit_params, take_params
from pairmend._utils.frames import has_categories, is_frame, is_pandas, pack_frame, unpack_frame
from pairmend._utils.sklearn_private import fit_context
from pairmend._utils.targets import check_further_target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend._utils.validation import check_features, check_training_rows, take_rows
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.base import PairwiseVoting, Problem
from pairmend.pairwise.learners import PairLearner, ValidationLearner, make_pair_learner

Split: TypeAlias = tuple[IntArray, IntArray, list[tuple[IntArray, IntArray]]]
"""Training rows, validation rows, and the latter's folds if there are any."""

FORGOTTEN = 1e-6
"""Share of the weight of the heaviest row below which a row, grown old, is left out."""


@dataclass(frozen=True)
class Part:
    """Rows of a stream that still count.

    Attributes
    ----------
    numbers : ndarray of int
        Their positions among all rows that ever came, ascending.
    weights : ndarray
        What they weigh by now.
    """

    numbers: IntArray
    weights: FloatArray

    @classmethod
    def none(cls) -> "Part":
        """Return a part without rows."""
        return cls(np.empty(0, dtype=np.intp), np.empty(0))

    def faded(self, decay: float, forgotten: float) -> tuple["Part", BoolArray]:
        """Return what is left of older rows, and which are."""
        weights = self.weights * decay
        kept = weights >= forgotten if decay < 1 else np.ones(len(weights), dtype=bool)
        return Part(self.numbers[kept], weights[kept]), kept

    def plus(self, numbers: IntArray, weights: FloatArray) -> "Part":
        """Add newer rows."""
        return Part(
            np.concatenate([self.numbers, numbers]), np.concatenate([self.weights, weights])
        )


@dataclass(frozen=True)
class Stream:
    """What is kept of the rows that came so far.

    Of those trained on, the pairs keep all they need. Validation rows are kept as they are:
    pairs that have learnt more decide on them anew.

    Attributes
    ----------
    learner : PairLearner
        The pairs.
    train, validation : Part
        Rows trained on, and validation rows.
    X : array-like of M rows or None
        The validation rows.
    Y : ndarray of bool, shape (M, L)
        Their labels.
    n_rows : int
        How many rows came.
    heaviest : float
        The largest weight that came.
    rng : RandomState
        Draws what becomes of the next row.
    seed : int
        Seed of the base classifiers.
    """

    learner: Any
    train: Part
    validation: Part
    X: MatrixLike
    Y: BoolArray
    n_rows: int
    heaviest: float
    rng: np.random.RandomState
    seed: int

    def __getstate__(self) -> dict[str, Any]:
        # As arrays, which safe model files can hold; a frame they cannot.
        return {**self.__dict__, "X": pack_frame(self.X) if is_pandas(self.X) else self.X}

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed = isinstance(state["X"], dict)
        self.__dict__.update({**state, "X": unpack_frame(state["X"]) if packed else state["X"]})

    @classmethod
    def start(cls, learner: Any, problem: Problem) -> Self:
        """Return a stream of which nothing has come yet."""
        return cls(
            learner=learner,
            train=Part.none(),
            validation=Part.none(),
            X=None,
            Y=problem.target.Y[:0],
            n_rows=0,
            heaviest=0.0,
            rng=deepcopy(problem.rng),
            seed=problem.seed,
        )

    @classmethod
    def begun(
        cls,
        learner: Any,
        problem: Problem,
        split: tuple[IntArray, IntArray],
        X: MatrixLike,
        Y: BoolArray,
    ) -> Self | None:
        """Return the stream whose first rows were those of a fit, if the learner can go on.

        Parameters
        ----------
        learner : PairLearner
            The pairs, trained.
        problem : Problem
            What fit was given.
        split : tuple of two ndarrays of int
            Rows trained on and validation rows.
        X, Y
            The validation rows and their labels.
        """
        if not hasattr(learner, "partial_fit") or (is_frame(X) and not is_pandas(X)):
            return None
        train, validation = (Part(numbers, problem.row_weights[numbers]) for numbers in split)
        return cls(
            learner=learner,
            train=train,
            validation=validation,
            X=X,
            Y=Y,
            n_rows=len(problem.row_weights),
            heaviest=float(problem.row_weights.max()),
            rng=deepcopy(problem.rng) if problem.shares_rng else problem.rng,
            seed=problem.seed,
        )

    def grown(self, problem: Problem, share: float, decay: float) -> Self:
        """Return the stream after further rows; this one stays as it is.

        Each row is drawn for itself, so that it makes no difference how the rows were cut into
        calls.

        Parameters
        ----------
        problem : Problem
            The further rows.
        share : float
            The chance of a row to be trained on, in (0, 1).
        decay : float
            What is left of the weight of earlier rows.
        """
        rng = deepcopy(self.rng)
        present = np.flatnonzero(problem.row_weights > 0)  # weight 0 is as good as not there
        drawn = rng.random_sample(len(present)) < share
        train, validation = present[drawn], present[~drawn]
        heaviest = max(self.heaviest, float(problem.row_weights.max()))
        forgotten = FORGOTTEN * heaviest
        decisions, kept = self.validation.faded(decay, forgotten)
        weights, Y = problem.row_weights, problem.target.Y
        after = replace(
            self,
            learner=copy(self.learner),
            train=self.train.faded(decay, forgotten)[0].plus(self.n_rows + train, weights[train]),
            validation=decisions.plus(self.n_rows + validation, weights[validation]),
            X=append_rows(
                None if self.X is None else take_rows(self.X, np.flatnonzero(kept)),
                take_rows(problem.X, validation),
            ),
            Y=np.concatenate([self.Y[kept], Y[validation]]),
            n_rows=self.n_rows + len(Y),
            heaviest=heaviest,
            rng=rng,
        )
        after._check_parts(share)
        after.learner.partial_fit(
            take_rows(problem.X, train),
            Y[train],
            problem.pairs,
            take_params(problem.X, problem.fit_params, train),
            decay=decay,
            min_mass=forgotten,
        )
        return after

    def as_problem(self, problem: Problem) -> Problem:
        """Return the problem whose rows are the validation rows there are by now."""
        target = replace(problem.target, Y=self.Y)
        return replace(
            problem, X=self.X, target=target, row_weights=self.validation.weights, seed=self.seed
        )

    def _check_parts(self, share: float) -> None:
        for name, part in (("training", self.train), ("validation", self.validation)):
            if not len(part.numbers):
                raise ValueError(
                    f"validation={share} leaves the {name} part of {self.n_rows} sample(s) empty. "
                    "Give the first call more samples, or another share."
                )


def append_rows(X: MatrixLike, more: MatrixLike) -> MatrixLike:
    """Return rows and those after them, in the form of the first; None stands for no rows.

    Examples
    --------
    >>> append_rows(np.array([[1.0]]), sparse.csr_array([[2.0], [0.0]])).tolist()
    [[1.0], [2.0], [0.0]]
    """
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
    from pandas import concat  # whoever has a frame has it

    for name in X.columns:
        if has_categories(X[name]) and X[name].dtype != more[name].dtype:
            raise ValueError(
                f"Column {name!r} is of the dtype {more[name].dtype!r}, but was "
                f"{X[name].dtype!r} in the first call. Give it the same categories."
            )
    return concat([X, more], ignore_index=True)


def _grows(classifier: PairwiseVoting) -> bool:
    """Say that a classifier has ``partial_fit``, or why it has not."""
    base = classifier._base_classifier()
    if type(base) is not RandomSubspaceNB:  # a subclass may do something else
        raise AttributeError(
            f"Pairs of {type(base).__name__} cannot be taught further rows; those of "
            "RandomSubspaceNB can: estimator=None."
        )
    return True


class IncrementalVoting(PairwiseVoting):
    """A classifier with validation rows that can be taught further rows."""

    validation: Any
    decay: float
    n_jobs: int | None
    train_indices_: IntArray
    validation_indices_: IntArray
    _stream: Stream | None

    @abstractmethod
    def _fit_on(
        self,
        problem: Problem,
        take: Callable[[IntArray], tuple[MatrixLike, BoolArray]],
        train: Callable[[IntArray], PairLearner],
        ask: Callable[[PairLearner, IntArray], ValidationLearner],
        parts: Split | None = None,
    ) -> Self:
        """Fit on rows that may lie elsewhere, and end what stream there was."""

    @available_if(_grows)
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: MatrixLike, y: TargetLike, classes: Any = None, **fit_params: Any
    ) -> Self:
        """Train on further rows and watch on further validation rows.

        Each row is drawn for itself to be trained on, with the chance `validation`, or else to
        be a validation row; how rows are cut into calls makes no difference to that. Without
        `decay` the result is that of a ``fit`` on all rows with the same split and the same
        knowledge of the features, which is that of the first call's training rows::

            CorrectedPairwiseClassifier(
                validation=(clf.train_indices_, clf.validation_indices_)
            ).fit(X_all, Y_all, feature_statistics=clf.learner_.feature_statistics_)

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows, at least one. Those to be trained on are not kept, validation rows are.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1, or a 1-D array of classes.
        classes : array-like of shape (n_labels,), default=None
            For 1-D classes, all there will ever be; for indicators, names of the labels. Looked
            at in the first call. None means what the first call's `y` shows.
        **fit_params : dict
            ``sample_weight``; in the first call also ``feature_statistics``, for example
            ``RandomSubspaceNB().feature_statistics(X)`` of a larger sample.

        Returns
        -------
        self

        Notes
        -----
        Only :class:`RandomSubspaceNB`, whose pairs are made of sums, can be taught this way,
        and only with a share as `validation`. After a ``fit`` that did no cross-fitting it goes
        on from there, the fit being the first call. Scales of distances are those of all
        validation rows there are, as in ``fit``.

        Smoothing counts in rows. With sample weights, the weight that counts as one row (see
        :class:`RandomSubspaceNB`) is found in the training rows of the first call, 1 if it has no
        weights, and kept: weights of later calls are relative to those of the first. Rows that
        weigh less than a millionth of what counts as one row in their own call are left out.

        The pairs that have learnt more decide anew on all validation rows, so a call costs as
        much as these are many: better one call with a hundred rows than a hundred calls. With
        a `decay` below 1, rows that weigh less than a millionth of the heaviest are forgotten,
        which keeps memory and time within bounds.
        """
        problem = self._read_further(X, y, classes, fit_params)
        stream = getattr(self, "_stream", None)
        if stream is None:
            learner = make_pair_learner(problem.base, n_jobs=self.n_jobs, seed=problem.seed)
            stream = Stream.start(learner, problem)
        stream = stream.grown(problem, float(self.validation), float(self.decay))
        self._fit_on(
            stream.as_problem(problem),
            lambda rows: (take_rows(stream.X, rows), stream.Y[rows]),
            lambda rows: stream.learner,
            lambda learner, rows: learner,
            parts=(np.arange(0), np.arange(len(stream.Y)), []),
        )
        self.train_indices_ = stream.train.numbers
        self.validation_indices_ = stream.validation.numbers
        self._stream = stream
        return self

    def _read_further(
        self, X: MatrixLike, y: TargetLike, classes: Any, fit_params: dict[str, Any]
    ) -> Problem:
        """Check what partial_fit is given, without touching the classifier."""
        if isinstance(self.validation, Integral | tuple):
            raise ValueError(
                f"partial_fit splits rows by a share: validation={self.validation!r} must be a "
                "float between 0 and 1."
            )
        X = check_training_rows(X)
        if is_frame(X) and not is_pandas(X):
            raise ValueError(
                f"partial_fit takes arrays and pandas frames, and X is a {type(X).__module__} "
                "frame. Pass X.to_pandas()."
            )
        if hasattr(self, "classes_"):
            if getattr(self, "_stream", None) is None:
                raise ValueError(
                    "This classifier was fitted by cross-fitting, or with another base classifier, "
                    "and cannot go on. Fit a new one."
                )
            X = check_features(self, X)
        target = check_further_target(self, X, y, classes, min_labels=self._min_labels)
        params, weights = route_fit_params(self, self._base_classifier(), X, fit_params)
        problem = self._pose_problem(X, target, params, weights)
        if len(problem.pairs) != len(getattr(self, "pairs_", problem.pairs)):
            raise ValueError("A virtual label cannot come or go between calls of partial_fit.")
        return problem

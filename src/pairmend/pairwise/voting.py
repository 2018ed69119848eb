"""What classifiers of pairs have in common: training, votes, and local corrections.

`LearnerClassifier` checks the input of fit, `PairwiseVoting` is the vote of all pairs, and
`LocallyCorrected` is the fit with a validation set, of pairs and of classifiers without pairs.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_array, check_random_state

from pairmend._base import MultiLabelClassifier
from pairmend._utils import arrays, training
from pairmend._utils.arrays import (
    Namespace,
    check_device_rows,
    check_features,
    check_magnitude,
    check_training_rows,
    foreign_namespace,
    take_rows,
)
from pairmend._utils.classifiers import check_base_classifier, new_seed, seed_estimator
from pairmend._utils.computing import BLOCK_ARRAYS, pair_blocks, row_chunks
from pairmend._utils.progress import report
from pairmend._utils.sklearn_private import (
    HAS_ARRAY_API,
    HasMethods,
    Interval,
    StrOptions,
    count_rows,
    fit_context,
)
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix, MatrixLike, TargetLike
from pairmend.frames.columns import require_numbers
from pairmend.kernels.pairs import label_pairs, round_scores, sum_supports
from pairmend.kernels.rrc import REFERENCES, vote
from pairmend.model_selection import given_split, validation_split
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.neighbourhoods import GaussianNeighbourhood, checked_weights
from pairmend.pairwise.learners import PairLearner
from pairmend.pairwise.learners.device import DevicePairLearner
from pairmend.pairwise.learners.generic import GenericPairLearner
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner

Blocks = Iterator[tuple[slice, FloatArray]]
"""Blocks of pairs by their first labels, each with an array (rows, pairs of the block, ...)."""
Split = tuple[IntArray, IntArray, list[tuple[IntArray, IntArray]]]
"""Training rows, validation rows, and folds of the validation rows (none without cross-fitting)."""


@dataclass(frozen=True)
class TrainingRows:
    """Rows of a fit in memory; rows in blocks have the same interface."""

    X: MatrixLike
    Y: BoolArray  # label indicators
    fit_params: dict[str, Any]  # of the base classifier

    def take(self, rows: IntArray) -> "TrainingRows":
        """Return some of the rows."""
        params = training.take_params(self.Y, self.fit_params, rows)
        return TrainingRows(take_rows(self.X, rows), self.Y[rows], params)

    def train(self, learner: PairLearner, pairs: IntArray, owner: Any) -> PairLearner:
        """Train all pairs on the rows."""
        return learner.fit(self, pairs, owner)


@dataclass(frozen=True)
class TrainingInput:
    """The checked input of fit, with the pairs of labels and the source of randomness."""

    base: Any
    X: MatrixLike
    target: training.Target
    pairs: IntArray
    fit_params: dict[str, Any]
    row_weights: FloatArray
    rng: np.random.RandomState
    seed: int


def space_of(learner: Any) -> Namespace:
    """Return the array library and the device of a learner."""
    return getattr(learner, "namespace", Namespace(np, "cpu"))


class LearnerClassifier(MultiLabelClassifier):
    """A classifier whose supports come from models that are trained on (parts of) the rows."""

    estimator: Any
    n_jobs: int | None
    random_state: Any

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {"estimator": RandomSubspaceNB}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "voting": [StrOptions({"soft", "votes"})],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "calibration_label": ["boolean"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    """Constraints of the parameters that several classifiers have."""

    needs_probabilities: bool = True
    """Whether the base classifier must have predict_proba; else its predictions are votes."""
    takes_arrays: bool = False
    """Whether arrays of other libraries than numpy are taken, with RandomSubspaceNB."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def has_virtual_label(self) -> bool:
        """Whether the next fit adds a virtual label, after all others, to the vote."""
        return bool(getattr(self, "calibration_label", False))

    @property
    def _threshold(self) -> float:
        return float(getattr(self, "threshold", super()._threshold))

    @property
    def _min_labels(self) -> int:
        """Smallest number of labels."""
        return 1

    @property
    def _space(self) -> Namespace:
        """Array library and device of the supports."""
        return space_of(getattr(self, "learner_", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        is_closed_form = type(self._base_classifier()) is RandomSubspaceNB
        tags.array_api_support = HAS_ARRAY_API and self.takes_arrays and is_closed_form
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike, **fit_params: Any) -> Self:
        """Train the base classifiers, and estimate their errors on the validation set, if any.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: whatever the base classifier, and the neighbourhood, take.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels) or (n_samples,)
            Label indicators, 0 or 1, or the tags of each row, as lists or sets of strings, where
            the classifier takes them, or a 1-D array of classes, which pairwise classifiers learn
            as one-vs-one classification.
        **fit_params : dict
            Parameters of the base classifier's ``fit``; those with one value a row, such as
            ``sample_weight``, are cut to the rows trained on. With metadata routing enabled,
            those the base classifier requests. Sample weights also weigh validation rows.

        Returns
        -------
        self
        """
        data = self._check_fit(X, y, fit_params)
        return self._fit_rows(data, TrainingRows(data.X, data.target.Y, data.fit_params))

    @abstractmethod
    def _fit_rows(self, data: TrainingInput, rows: Any) -> Self:
        """Fit on `TrainingRows`, or rows in blocks."""

    def _check_fit(self, X: MatrixLike, y: TargetLike, fit_params: dict[str, Any]) -> TrainingInput:
        """Check the input of fit; the classifier is not changed."""
        base = self._base_classifier()
        if self.needs_probabilities:
            check_base_classifier(base)
        if not (self.takes_arrays and type(base) is RandomSubspaceNB):
            arrays.refuse_arrays(X, f"{type(self).__name__}.fit")
        if (namespace := foreign_namespace(X)) is not None:
            arrays.warn_of_n_jobs(self, namespace)
            X, y = check_device_rows(X, namespace, self), arrays.as_numpy(y)
            fit_params = {name: arrays.as_numpy(value) for name, value in fit_params.items()}
        X = check_training_rows(X)
        return self._training_input(X, self._read_target(X, y), fit_params)

    def _check_partial_fit(
        self, X: MatrixLike, y: TargetLike, classes: Any, fit_params: dict[str, Any]
    ) -> TrainingInput:
        """Check the input of partial_fit; the classifier is not changed."""
        arrays.refuse_arrays(X, f"{type(self).__name__}.partial_fit")
        X = check_training_rows(X)
        target = training.check_further_target(self, X, y, classes, min_labels=self._min_labels)
        X = check_features(self, X) if hasattr(self, "classes_") else X
        return self._training_input(X, target, fit_params)

    def _read_target(self, X: MatrixLike, y: TargetLike) -> training.Target:
        return training.check_target(self, X, y, min_labels=self._min_labels)

    def _training_input(
        self, X: MatrixLike, target: training.Target, fit_params: dict[str, Any]
    ) -> TrainingInput:
        base = self._base_classifier()
        if base is None:
            params = {"sample_weight": training.check_row_weights(fit_params["sample_weight"], X)}
            row_weights: FloatArray = params["sample_weight"]
        else:
            params, row_weights = training.route_fit_params(self, base, X, fit_params)
        n_labels = len(target.classes) + self.has_virtual_label  # a virtual label is the last one
        pairs, rng = label_pairs(n_labels), check_random_state(getattr(self, "random_state", 0))
        return TrainingInput(base, X, target, pairs, params, row_weights, rng, new_seed(rng))

    def _row_size(self) -> int:
        """Return the number of floats that prediction needs for each row."""
        return 2 * getattr(self, "n_features_in_", 0)

    def _check_predict(self, X: MatrixLike) -> MatrixLike:
        X = super()._check_predict(X)
        namespace = foreign_namespace(X)
        return X if namespace is None else check_device_rows(X, namespace, self)

    def _chunks(self, X: MatrixLike) -> Iterator[slice]:
        return row_chunks(count_rows(X), self._row_size())

    def _collect(self, X: MatrixLike, blocks: Callable[[MatrixLike], Blocks]) -> FloatArray:
        """Concatenate the blocks of all chunks of checked rows to an array (n_samples, ...)."""
        xp = self._space.xp
        parts = [
            xp.concat([part for _, part in blocks(take_rows(X, rows))], axis=1)
            for rows in self._chunks(X)
        ]
        return xp.concat(parts, axis=0)


class PairwiseVoting(LearnerClassifier):
    """A classifier that scores labels by the supports, or votes, of all pairs of labels.

    This class fits one classifier per pair and sums their uncorrected supports. Subclasses override
    :meth:`_votes` to correct the supports.
    """

    voting: str
    learner_: Any
    pairs_: IntArray
    _array_attribute = "pairs_"

    @property
    def _is_movable(self) -> bool:
        return isinstance(self.learner_, DevicePairLearner)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the scores of the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The mean support of a label's pairs for it, in [0, 1]. Scores rank labels; they are
            not calibrated probabilities, and their mean over all labels is 1/2. With a virtual
            label, (1 + mean - mean of the virtual label) / 2. After a fit on 1-D classes they
            are scaled to sum to 1 in each row.
        """
        self._check_namespace(X, "predict_proba")
        return self._scores(self._check_predict(X))

    def pair_support(self, X: MatrixLike) -> FloatArray:
        """Return the uncorrected supports of all pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_pairs)
            Support of each pair for its first label; the second has the complement.
        """
        self._check_namespace(X, "pair_support")
        return self._collect(self._check_predict(X), self._supports)

    def _votes(self, X: MatrixLike) -> Blocks:
        """Yield the votes of pairs for their first labels, block by block."""
        for labels, supports in self._supports(X):
            yield labels, self._pair_votes(supports)

    def _fit_rows(self, data: TrainingInput, rows: Any) -> Self:
        learner = rows.train(self._new_learner(data), data.pairs, self)
        pairs = space_of(learner).asarray(data.pairs)
        return self._set_fitted(data.X, data.target, pairs_=pairs, learner_=learner)

    def _new_learner(self, data: TrainingInput) -> PairLearner:
        """Return the learner for the base classifier and the kind of rows."""
        kind: type[PairLearner] = GenericPairLearner
        if type(data.base) is RandomSubspaceNB:  # a subclass may behave differently
            on_device = foreign_namespace(data.X) is not None
            kind = DevicePairLearner if on_device else SubspaceNBPairLearner
        return kind(data.base, n_jobs=self.n_jobs, seed=data.seed)

    def _scores(self, X: MatrixLike) -> FloatArray:
        n_labels, parts = self._n_voting_labels, []
        for rows in self._chunks(X):
            total: Any = 0.0
            for labels, votes in self._votes(take_rows(X, rows)):
                total = total + sum_supports(votes, labels, n_labels, self._space)
            parts.append(total)
        scores = self._scale(self._space.xp.concat(parts, axis=0) / (n_labels - 1))
        return self._round(scores) if self.multilabel_ else scores

    def _pair_votes(self, supports: FloatArray) -> FloatArray:
        """Return the votes of pairs for their first labels."""
        return vote(supports, self._space.xp) if self.voting == "votes" else supports

    @property
    def _min_labels(self) -> int:
        """Smallest number of labels that makes a pair."""
        return 2 - self.has_virtual_label

    @property
    def _n_voting_labels(self) -> int:
        """Number of labels in the vote, the virtual label included."""
        return int(self.pairs_[-1, 1]) + 1

    def _scale(self, means: FloatArray) -> FloatArray:
        """Return the scores of labels for the mean supports of all labels in the vote."""
        factor, summand = self._scaling(means)
        return means[:, : len(self.classes_)] * factor + summand

    def _scaling(self, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return factor and summand, for each row, that turn mean supports into scores."""
        xp = self._space.xp
        zeros = xp.zeros_like(means[:, :1])
        ones = zeros + 1
        if self._n_voting_labels == len(self.classes_):
            # Means sum to L / 2. Division by it makes a distribution over classes.
            return ones if self.multilabel_ else ones * (2 / self._n_voting_labels), zeros
        if self.multilabel_:
            return ones / 2, (1 - means[:, -1:]) / 2
        return 1 / xp.sum(means[:, :-1], axis=1, keepdims=True), zeros

    def _decide(self, scores: FloatArray) -> np.ndarray[Any, Any]:
        return super()._decide(scores if self.multilabel_ else self._round(scores))

    def _row_size(self) -> int:
        size = super()._row_size() + BLOCK_ARRAYS * self._n_voting_labels
        return int(size + self.learner_.sizes[0])

    def _blocks(self, X: MatrixLike) -> list[slice]:
        return list(pair_blocks(self._n_voting_labels, count_rows(X), self.learner_.sizes[1]))

    def _supports(self, X: MatrixLike) -> Blocks:
        blocks = self._blocks(X)
        return zip(blocks, self.learner_.supports(X, blocks), strict=True)

    def _round(self, scores: FloatArray) -> FloatArray:
        """Round scores, so that ties do not depend on the order of labels or the size of blocks."""
        return round_scores(scores, xp=self._space.xp)


def numeric_rows(X: MatrixLike, user: str) -> Matrix:
    """Return rows as numbers, dense or CSR; errors contain the name of the user."""
    require_numbers(X, user)
    numbers = check_array(X, accept_sparse="csr", dtype=np.float64, estimator=user, input_name="X")
    check_magnitude(numbers)
    return numbers


class NumericVoting(LearnerClassifier):
    """A classifier of rows of numbers, dense or sparse, without a base classifier."""

    needs_probabilities = False
    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LocallyCorrected(LearnerClassifier):
    """A classifier whose decisions on a validation set correct its supports around each row.

    A fit trains models, lets them decide on validation rows that they were not trained on, and
    keeps the decisions. A prediction weighs the validation rows around a row, sums their decisions
    to confusion matrices, and corrects the supports by these.
    """

    validation: Any
    reference: str
    learner_: Any
    neighbourhood_: Any
    train_indices_: IntArray
    validation_indices_: IntArray
    _decisions: Any
    _reference: str
    _row_weights: FloatArray

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerClassifier._parameter_constraints,
        "validation": [
            Interval(Real, 0, 1, closed="neither"),
            Interval(Integral, 2, None, closed="left"),
        ],
        "neighbourhood": [HasMethods(["fit", "weights"]), None],
        "reference": [StrOptions(set(REFERENCES))],
    }
    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {
        **LearnerClassifier._default_parts,
        "neighbourhood": GaussianNeighbourhood,
    }
    _row_numbers: ClassVar[tuple[str, ...]] = ("train_indices_",)

    @abstractmethod
    def _train(self, data: TrainingInput, rows: Any, parts: list[IntArray]) -> Iterator[Any]:
        """Yield a model trained on each part of the rows."""

    @abstractmethod
    def _decide_at(self, validation: Any, folds: list[IntArray], models: Iterator[Any]) -> Any:
        """Return the decisions at validation rows, those at each of the folds by another model.

        Without folds there is one model for all validation rows.
        """

    @abstractmethod
    def _confusion_shares(self, X: MatrixLike) -> Blocks:
        """Yield the local confusion matrices of blocks as shares of the neighbourhoods."""

    def _fit_rows(
        self, data: TrainingInput, rows: Any, split: Split | None = None, learner: Any = None
    ) -> Self:
        """Fit on `TrainingRows`, or rows in blocks; a given learner is trained already."""
        split = split or self._split(data)
        train, validation_indices, folds = split
        # Distances are fitted first, so that an error occurs before the costly training.
        validation = rows.take(validation_indices)
        neighbourhood = seed_estimator(self._part("neighbourhood"), data.seed)
        row_weights = data.row_weights[validation_indices]
        labels = replace(data.target, Y=validation.Y).as_given(np.arange(len(validation.Y)))
        weights = None if training.all_equal(row_weights) else row_weights
        training.fit_with_weights(neighbourhood, (validation.X, labels), weights)

        parts = [train, *(validation_indices[rest] for rest, _ in folds)]
        models = self._train(data, rows, parts)
        learner = next(models) if learner is None else learner
        decisions = self._decide_at(
            validation, [fold for _, fold in folds], models if folds else iter([learner])
        )
        report(self, f"validation set of {len(validation_indices)} rows predicted")
        space = space_of(learner)
        return self._set_fitted(
            data.X,
            data.target,
            learner_=learner,
            neighbourhood_=neighbourhood,
            train_indices_=space.asarray(train),
            validation_indices_=space.asarray(validation_indices),
            _decisions=decisions,
            _reference=self.reference,
            _row_weights=space.asarray(row_weights),
            **self._further_attributes(data, learner, split, validation),
        )

    def _further_attributes(
        self, data: TrainingInput, learner: Any, split: Split, validation: Any
    ) -> dict[str, Any]:
        """Return the fitted attributes of subclasses."""
        return {}

    def _split(self, data: TrainingInput) -> Split:
        """Return training rows, validation rows, and folds of the validation rows."""
        present = np.flatnonzero(data.row_weights > 0)
        if isinstance(self.validation, tuple):
            train, validation = given_split(self.validation, len(data.row_weights))
            return np.intersect1d(train, present), np.intersect1d(validation, present), []
        return validation_split(present, self.validation, data.rng)

    def confusion(self, X: MatrixLike) -> FloatArray:
        """Return the local fuzzy confusion matrices, of all pairs if pairs are corrected.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, ..., n_decisions, n_decisions)
            ``[..., truth, decision]``: the share of the neighbourhood of the row that each cell
            holds. For pairs the shape is (n_samples, n_pairs, 2, 2), index 0 standing for the
            pair's first label.
        """
        self._check_namespace(X, "confusion")
        return self._collect(self._check_predict(X), self._confusion_shares)

    def _row_size(self) -> int:
        # Weights, squared distances and their exponents.
        return super()._row_size() + 4 * self._row_weights.shape[0]

    def _weights(self, X: MatrixLike) -> FloatArray:
        """Return the weights of the validation rows around rows, (n, n_validation_rows)."""
        xp, of_rows = self._space.xp, self._row_weights
        weights = checked_weights(self.neighbourhood_, X, of_rows.shape[0], xp)
        return weights if bool(xp.all(of_rows == 1)) else weights * of_rows

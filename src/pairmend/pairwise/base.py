"""PairwiseVoting: training input with virtual label, blocks of pairs, scores, their rounding."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import repeat
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from pairmend._base import MultiLabelClassifier
from pairmend._utils.chunking import BLOCK_ARRAYS, batches, pair_blocks, row_chunks
from pairmend._utils.fit_params import route_fit_params
from pairmend._utils.namespaces import Namespace, check_device_rows, foreign_namespace
from pairmend._utils.sklearn_private import (
    HAS_ARRAY_API,
    check_params,
    count_rows,
    fit_context,
    namespace_of,
)
from pairmend._utils.targets import Target, check_target
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike, TargetLike
from pairmend._utils.validation import (
    check_base_classifier,
    check_training_rows,
    new_seed,
    take_rows,
)
from pairmend.array_api.pair_voting import PairCorrection, Variant
from pairmend.array_api.supports import round_to
from pairmend.kernels.pairs import label_pairs, pairs_of
from pairmend.kernels.votes import DIGITS, round_scores, sum_supports, vote
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.dense import (
    DensePairLearner,
    check_fit_input,
    order_of,
    train_pairs,
)
from pairmend.pairwise.learners import make_pair_learner

Blocks = Iterator[tuple[slice, FloatArray]]
"""Blocks of pairs by their first labels, each with an array (rows, pairs of the block, ...)."""


@dataclass(frozen=True)
class TrainingInput:
    """The checked input of fit, with the pairs of labels and the source of randomness."""

    base: Any
    X: MatrixLike
    target: Target
    pairs: IntArray
    fit_params: dict[str, Any]
    row_weights: FloatArray
    rng: np.random.RandomState
    shares_rng: bool
    seed: int


class PairwiseVoting(MultiLabelClassifier):
    """A classifier that scores labels by the supports, or votes, of all pairs of labels.

    This class fits one classifier per pair and sums their uncorrected supports. Subclasses override
    :meth:`_votes` to correct the supports.
    """

    estimator: Any
    voting: str
    n_jobs: int | None
    random_state: Any
    learner_: Any
    pairs_: IntArray

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {"estimator": RandomSubspaceNB}
    needs_probabilities: bool = True
    """Whether the base classifier must have predict_proba; else its predictions are votes."""
    takes_arrays: bool = False
    """Whether arrays of other libraries than numpy are taken, with RandomSubspaceNB."""
    _array_attribute = "pairs_"

    @property
    def _is_movable(self) -> bool:
        return isinstance(self.learner_, DensePairLearner)

    @property
    def has_virtual_label(self) -> bool:
        """Whether the next fit adds a virtual label, after all others, to the vote."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = self._base_classifier()
        takes_arrays = self.takes_arrays and type(base) is RandomSubspaceNB
        tags.array_api_support = HAS_ARRAY_API and takes_arrays
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike, **fit_params: Any) -> Self:
        """Train a base classifier for each pair of labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: whatever the base classifier takes.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1, or the tags of each row, as lists or sets of strings.
            A 1-D array of classes is learnt as one-vs-one
            classification.
        **fit_params : dict
            Parameters of the base classifier's ``fit``; those with one value a row, such as
            ``sample_weight``, are cut to each pair's rows. With metadata routing enabled,
            those the base classifier requests.

        Returns
        -------
        self
        """
        data = self._check_fit(X, y, fit_params)
        if (namespace := foreign_namespace(data.X)) is not None:
            return self._fit_arrays(data, namespace)
        learner = make_pair_learner(data.base, n_jobs=self.n_jobs, seed=data.seed)
        learner.fit(data.X, data.target.Y, data.pairs, data.fit_params, owner=self)
        return self._set_fitted(data.X, data.target, pairs_=data.pairs, learner_=learner)

    def _fit_arrays(self, data: TrainingInput, namespace: Namespace) -> Self:
        """Train on rows of another array library than numpy."""
        Y = data.target.Y
        order = order_of(Y, has_virtual=self.has_virtual_label)
        params = data.base, data.X, Y, order, data.fit_params, data.seed, namespace
        pairs = namespace.asarray(data.pairs)
        return self._set_fitted(data.X, data.target, pairs_=pairs, learner_=train_pairs(*params))

    def predict_each(
        self, X: MatrixLike, settings: Iterable[Mapping[str, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        """Predict with several settings of the parameters that take effect at prediction.

        The same as ``set_params`` and :meth:`predict` for each, but what the settings have in
        common is computed once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        settings : iterable of mappings
            Values of some of the ``prediction_parameters``; the others are as they are.

        Returns
        -------
        list of ndarray
            The predictions with each setting.

        Examples
        --------
        >>> from pairmend import CorrectedPairwiseClassifier
        >>> from sklearn.datasets import make_multilabel_classification
        >>> X, Y = make_multilabel_classification(random_state=0)
        >>> clf = CorrectedPairwiseClassifier(random_state=0).fit(X, Y)
        >>> fcm, fcm_w, fcm_o = clf.predict_each(X, [{}, {"balance": "labels"}, {"overlap": 0.5}])
        >>> bool((fcm_o == clf.set_params(overlap=0.5).predict(X)).all())
        True
        """
        self._check_namespace(X, "predict_each")
        variants = [self._with_params(setting) for setting in settings]
        scores = self._scores_each(X, variants)
        return [variant._decide(part) for variant, part in zip(variants, scores, strict=True)]

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
        return self._scores(X)

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
        if isinstance(self.learner_, DensePairLearner):
            return self._collect_arrays(X, self.learner_.supports)
        return self._collect(X, self._supports)

    def _votes(
        self, X: MatrixLike, variants: Sequence[Any]
    ) -> Iterator[tuple[slice, Iterator[FloatArray]]]:
        """Yield the supports that vote in each variant, for a chunk of rows, block by block."""
        for labels, supports in self._supports(X):
            yield labels, repeat(supports, len(variants))

    def _check_fit(self, X: MatrixLike, y: TargetLike, fit_params: dict[str, Any]) -> TrainingInput:
        """Check the input of fit; the classifier is not changed."""
        base = self._base_classifier()
        if self.needs_probabilities:
            check_base_classifier(base)
        if (namespace := foreign_namespace(X)) is not None:
            X, y, fit_params = check_fit_input(self, X, y, fit_params, namespace)
        X = check_training_rows(X)
        target = check_target(self, X, y, min_labels=self._min_labels)
        params, row_weights = route_fit_params(self, base, X, fit_params)
        return self._training_input(X, target, params, row_weights)

    def _training_input(
        self, X: MatrixLike, target: Target, fit_params: dict[str, Any], row_weights: FloatArray
    ) -> TrainingInput:
        base = self._base_classifier()
        n_labels = len(target.classes) + self.has_virtual_label  # a virtual label is the last one
        pairs = label_pairs(n_labels)
        rng = check_random_state(self.random_state)
        shares_rng = not isinstance(self.random_state, Integral)
        seed = new_seed(rng)
        return TrainingInput(base, X, target, pairs, fit_params, row_weights, rng, shares_rng, seed)

    def _with_params(self, setting: Mapping[str, Any]) -> Self:
        """Return a copy with other values of parameters that take effect at prediction."""
        if unknown := set(setting) - set(self.prediction_parameters):
            raise ValueError(
                f"{sorted(unknown)} are no parameters of {type(self).__name__} that take effect at "
                f"prediction; these are {', '.join(self.prediction_parameters)}."
            )
        check_params(self, dict(setting))
        variant = copy(self)
        for name, value in setting.items():
            setattr(variant, name, value)
        return variant

    def _scores(self, X: MatrixLike) -> FloatArray:
        return self._scores_each(X, [self])[0]

    def _scores_each(self, X: MatrixLike, variants: Sequence[Any]) -> list[FloatArray]:
        """Return the scores of the labels in each variant."""
        X = self._check_predict(X)
        if isinstance(self.learner_, DensePairLearner):
            return self._array_scores(X, variants)
        n_labels = self._n_voting_labels
        scores = [np.zeros((count_rows(X), n_labels)) for _ in variants]
        for rows in self._chunks(X):
            for labels, votes in self._votes(take_rows(X, rows), variants):
                for variant, supports, total in zip(variants, votes, scores, strict=True):
                    total[rows] += sum_supports(variant._pair_votes(supports), labels, n_labels)
        parts = (self._scale(total / (n_labels - 1)) for total in scores)
        return [self._round(part) if self.multilabel_ else part for part in parts]

    def _array_scores(self, X: Any, variants: Sequence[Any]) -> list[Any]:
        """Return the scores of the labels in each variant, on the device of X."""
        learner: DensePairLearner = self.learner_.renewed()
        X, space = check_device_rows(X, learner.namespace, self), learner.namespace
        kinds = [variant._array_variant() for variant in variants]
        parts = [
            learner.scores(chunk, self._array_correction(chunk), kinds)
            for chunk in self._array_chunks(X, space)
        ]
        joined = [space.xp.concat(list(found), axis=0) for found in zip(*parts, strict=True)]
        scores = [self._scale(means) for means in joined]
        return [self._round(part) if self.multilabel_ else part for part in scores]

    def _array_variant(self) -> Variant:
        """Return how supports on a device become votes."""
        return Variant(crisp=self.voting == "votes")

    def _array_correction(self, X: Any) -> PairCorrection | None:
        """Return what corrects supports around rows on a device."""
        return None

    def _array_chunks(self, X: Any, namespace: Namespace) -> Iterator[Any]:
        """Cut rows so that what a row needs besides its pairs fits into the device's memory."""
        step = max(1, 2 * namespace.max_bytes // (8 * self._array_row_size()))
        return (X[rows, :] for rows in batches(X.shape[0], step))

    def _array_row_size(self) -> int:
        """Return the number of floats that prediction needs for a row besides its pairs."""
        return int(self.learner_.model.row_size) + BLOCK_ARRAYS * self._n_voting_labels

    def _collect_arrays(self, X: Any, compute: Callable[[Any], Any]) -> Any:
        """Concatenate what is computed for chunks of rows on a device."""
        space = Namespace.of(X)
        X = check_device_rows(self._check_predict(X), space, self)
        return space.xp.concat([compute(chunk) for chunk in self._array_chunks(X, space)], axis=0)

    def _pair_votes(self, supports: FloatArray) -> FloatArray:
        """Return the votes of pairs for their first labels."""
        return vote(supports) if self.voting == "votes" else supports

    @property
    def _digits(self) -> int:
        """Number of decimals to which scores are rounded."""
        return DIGITS

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
        xp = namespace_of(means)
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

    def _chunks(self, X: MatrixLike) -> Iterator[slice]:
        return row_chunks(count_rows(X), self._row_size())

    def _row_size(self) -> int:
        """Return the number of floats that prediction needs for each row."""
        pairs = BLOCK_ARRAYS * self._n_voting_labels
        return pairs + 2 * getattr(self, "n_features_in_", 0) + self.learner_.row_size

    def _blocks(self, X: MatrixLike) -> list[slice]:
        return list(pair_blocks(self._n_voting_labels, count_rows(X)))

    def _supports(self, X: MatrixLike) -> Blocks:
        blocks = self._blocks(X)
        pairs = [pairs_of(labels, self._n_voting_labels) for labels in blocks]
        return zip(blocks, self.learner_.supports(X, pairs), strict=True)

    def _collect(self, X: MatrixLike, blocks: Any) -> FloatArray:
        """Concatenate the blocks of all chunks to an array (n_samples, n_pairs, ...)."""
        X = self._check_predict(X)
        return np.concatenate(
            [
                np.concatenate([part for _, part in blocks(take_rows(X, rows))], axis=1)
                for rows in self._chunks(X)
            ]
        )

    def _round(self, scores: FloatArray) -> FloatArray:
        """Round scores, so that ties do not depend on the order of labels or the size of blocks."""
        if (namespace := foreign_namespace(scores)) is not None:
            return round_to(scores, self._digits, namespace)
        return round_scores(scores, self._digits)

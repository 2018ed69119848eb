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
from pairmend._utils.chunking import BLOCK_ARRAYS, pair_blocks, row_chunks
from pairmend._utils.fit_params import route_fit_params
from pairmend._utils.namespaces import (
    as_numpy,
    check_device_rows,
    foreign_namespace,
    warn_of_n_jobs,
)
from pairmend._utils.sklearn_private import (
    HAS_ARRAY_API,
    check_params,
    count_rows,
    fit_context,
)
from pairmend._utils.targets import Target, check_target, numpy_target
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike, TargetLike
from pairmend._utils.validation import (
    check_base_classifier,
    check_training_rows,
    new_seed,
    take_rows,
)
from pairmend.kernels.pairs import DIGITS, label_pairs, round_scores, sum_supports, vote
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.learners import (
    DevicePairLearner,
    PairLearner,
    TrainingRows,
    make_pair_learner,
)

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
        return isinstance(self.learner_, DevicePairLearner)

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
        return self._fit_rows(data, TrainingRows(data.X, data.target.Y, data.fit_params))

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
            if not self.takes_arrays or type(base) is not RandomSubspaceNB:
                raise ValueError(
                    f"{type(self).__name__} with the base classifier {type(base).__name__} takes "
                    f"no arrays of {namespace.library}. Pass "
                    "arrays of numpy. PairwiseClassifier, CorrectedPairwiseClassifier and "
                    "CalibratedLabelRanking take arrays of any library with RandomSubspaceNB."
                )
            warn_of_n_jobs(self, namespace)
            X, y = check_device_rows(X, namespace, self), numpy_target(y)
            fit_params = {name: as_numpy(value) for name, value in fit_params.items()}
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

    def _fit_rows(self, data: TrainingInput, rows: Any) -> Self:
        """Fit on `TrainingRows`, or rows in blocks."""
        learner = rows.train(self._new_learner(data), data.pairs, self)
        pairs = learner.namespace.asarray(data.pairs)
        return self._set_fitted(data.X, data.target, pairs_=pairs, learner_=learner)

    def _new_learner(self, data: TrainingInput) -> PairLearner:
        return make_pair_learner(data.base, data.X, n_jobs=self.n_jobs, seed=data.seed)

    def _check_predict(self, X: MatrixLike) -> MatrixLike:
        X = super()._check_predict(X)
        namespace = foreign_namespace(X)
        return X if namespace is None else check_device_rows(X, namespace, self)

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
        X, space = self._check_predict(X), self.learner_.namespace
        n_labels = self._n_voting_labels
        chunks: list[list[Any]] = [[] for _ in variants]
        for rows in self._chunks(X):
            totals: list[Any] = [0.0] * len(variants)
            for labels, votes in self._votes(take_rows(X, rows), variants):
                for k, supports in enumerate(votes):
                    found = variants[k]._pair_votes(supports)
                    totals[k] = totals[k] + sum_supports(found, labels, n_labels, space)
            for total, parts in zip(totals, chunks, strict=True):
                parts.append(total)
        joined = (space.xp.concat(parts, axis=0) for parts in chunks)
        scores = [self._scale(total / (n_labels - 1)) for total in joined]
        return [self._round(part) if self.multilabel_ else part for part in scores]

    def _pair_votes(self, supports: FloatArray) -> FloatArray:
        """Return the votes of pairs for their first labels."""
        return vote(supports, self.learner_.namespace.xp) if self.voting == "votes" else supports

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
        xp = self.learner_.namespace.xp
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
        return row_chunks(count_rows(X), self._row_size(), self.learner_.namespace.max_bytes)

    def _row_size(self) -> int:
        """Return the number of floats that prediction needs for each row."""
        pairs = BLOCK_ARRAYS * self._n_voting_labels
        return pairs + 2 * getattr(self, "n_features_in_", 0) + self.learner_.row_size

    def _blocks(self, X: MatrixLike) -> list[slice]:
        learner, n_labels = self.learner_, self._n_voting_labels
        max_bytes = learner.namespace.max_bytes
        return list(pair_blocks(n_labels, count_rows(X), learner.pair_size, max_bytes))

    def _supports(self, X: MatrixLike) -> Blocks:
        blocks = self._blocks(X)
        return zip(blocks, self.learner_.supports(X, blocks), strict=True)

    def _collect(self, X: MatrixLike, blocks: Any) -> FloatArray:
        """Concatenate the blocks of all chunks to an array (n_samples, n_pairs, ...)."""
        X, xp = self._check_predict(X), self.learner_.namespace.xp
        parts = [
            xp.concat([part for _, part in blocks(take_rows(X, rows))], axis=1)
            for rows in self._chunks(X)
        ]
        return xp.concat(parts, axis=0)

    def _round(self, scores: FloatArray) -> FloatArray:
        """Round scores, so that ties do not depend on the order of labels or the size of blocks."""
        return round_scores(scores, self._digits, self.learner_.namespace.xp)

"""What the pairwise classifiers share: targets, votes, scores and decisions."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.chunking import BLOCK_ARRAYS, pair_blocks, row_chunks
from pairmend._utils.fit_params import route_fit_params
from pairmend._utils.parameters import DefaultParts
from pairmend._utils.sklearn_private import (
    CachedParameterNames,
    check_params,
    check_prediction_parameters,
    count_rows,
)
from pairmend._utils.targets import Target, check_target
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike, TargetLike
from pairmend._utils.validation import (
    check_base_classifier,
    check_features,
    check_training_rows,
    new_seed,
    remember_features,
    take_rows,
)
from pairmend.kernels.pairs import label_pairs, pairs_of
from pairmend.kernels.ranking import sum_supports, vote
from pairmend.kernels.threshold import accept
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.learners import PairLearner

Blocks = Iterator[tuple[slice, FloatArray]]
"""Blocks of pairs by their first labels, each with an array (rows, pairs of the block, ...)."""


@dataclass(frozen=True)
class Problem:
    """What a fit is given, read and checked.

    Attributes
    ----------
    base : classifier
        The unfitted base classifier.
    X : array-like
        Rows that can be selected.
    target : Target
        What is to be learnt.
    pairs : ndarray of shape (n_pairs, 2)
        The pairs of labels.
    fit_params : dict
        Parameters of the base classifier's fit.
    row_weights : ndarray of shape (n_samples,)
        Sample weights; ones if there are none.
    rng : RandomState
        Source of randomness.
    shares_rng : bool
        Whether others draw from that source, too.
    seed : int
        Seed of the base classifiers.
    """

    base: Any
    X: MatrixLike
    target: Target
    pairs: IntArray
    fit_params: dict[str, Any]
    row_weights: FloatArray
    rng: np.random.RandomState
    shares_rng: bool
    seed: int


class PairwiseVoting(CachedParameterNames, DefaultParts, ClassifierMixin, BaseEstimator, ABC):
    """A classifier in which pairs of labels vote.

    Subclasses fit ``learner_`` and say in :meth:`_votes` what the pairs' supports are.
    """

    estimator: Any
    voting: str
    threshold: float
    random_state: Any
    learner_: PairLearner
    classes_: np.ndarray[Any, Any]
    pairs_: IntArray
    multilabel_: bool

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {"estimator": RandomSubspaceNB}
    prediction_parameters: ClassVar[tuple[str, ...]]
    needs_probabilities: bool = True
    """Whether the base classifier must have predict_proba; else its predictions are votes."""

    @property
    def has_virtual_label(self) -> bool:
        """Whether the next fit adds a virtual label, behind all others, to the vote."""
        return False

    @abstractmethod
    def _votes(
        self, X: MatrixLike, variants: Sequence[Any]
    ) -> Iterator[tuple[slice, Iterator[FloatArray]]]:
        """Yield the supports that vote in each variant, for a chunk of rows, block by block."""

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            1 where a label's score exceeds the threshold, 0 elsewhere. After a fit on 1-D
            classes: shape (n_samples,), the class with the largest score.
        """
        return self._decide(self.predict_proba(X))

    def predict_each(
        self, X: MatrixLike, settings: Iterable[Mapping[str, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        """Predict with several settings of the parameters that take effect at prediction.

        The same as ``set_params`` and :meth:`predict` for each, but what the settings have in
        common, nearly all of the work, is done once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        settings : iterable of mappings
            Values of some of the ``prediction_parameters``; the others are as they are.

        Returns
        -------
        list of ndarray
            What :meth:`predict` gives with each setting.

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
        variants = [self._variant(setting) for setting in settings]
        scores = self._scores(X, variants)
        return [variant._decide(part) for variant, part in zip(variants, scores, strict=True)]

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the labels' scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The mean of what a label's pairs say for it, in [0, 1]. Scores rank labels; they
            are no calibrated probabilities, and their mean over all labels is 1/2. With a
            virtual label, half of one plus that mean less the virtual label's. After a fit on
            1-D classes they are scaled to sum to 1 in each row.
        """
        return self._scores(X, [self])[0]

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
        return self._collect(X, self._supports)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self._base_classifier())
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = base.input_tags.sparse
        tags.input_tags.allow_nan = base.input_tags.allow_nan
        tags.input_tags.string = base.input_tags.string
        tags.input_tags.positive_only = base.input_tags.positive_only
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Say where extra parameters of fit go: to the base classifier's fit.

        Returns
        -------
        MetadataRouter
        """
        return MetadataRouter(owner=self).add(
            estimator=self._base_classifier(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def _base_classifier(self) -> Any:
        return self._part("estimator")

    def _read_problem(self, X: MatrixLike, y: TargetLike, fit_params: dict[str, Any]) -> Problem:
        """Check what fit is given, without touching the classifier."""
        base = self._base_classifier()
        if self.needs_probabilities:
            check_base_classifier(base)
        X = check_training_rows(X)
        target = check_target(self, X, y, min_labels=self._min_labels)
        params, row_weights = route_fit_params(self, base, X, fit_params)
        return self._pose_problem(X, target, params, row_weights)

    def _pose_problem(
        self, X: MatrixLike, target: Target, fit_params: dict[str, Any], row_weights: FloatArray
    ) -> Problem:
        base = self._base_classifier()
        pairs = label_pairs(len(target.classes) + self.has_virtual_label)
        rng = check_random_state(self.random_state)
        shares_rng = not isinstance(self.random_state, Integral)
        seed = new_seed(rng)
        return Problem(base, X, target, pairs, fit_params, row_weights, rng, shares_rng, seed)

    def _remember_problem(self, problem: Problem) -> None:
        remember_features(self, problem.X)
        self.classes_ = problem.target.classes
        self.multilabel_ = problem.target.multilabel
        self.pairs_ = problem.pairs

    def _variant(self, setting: Mapping[str, Any]) -> Self:
        """Return a classifier of the same fit with other parameters of prediction."""
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

    def _scores(self, X: MatrixLike, variants: Sequence[Any]) -> list[FloatArray]:
        """Return the labels' scores in each variant."""
        X = self._check_predict(X)
        n_labels = self._n_ranked
        scores = [np.zeros((count_rows(X), n_labels)) for _ in variants]
        for rows in self._chunks(X):
            for labels, votes in self._votes(take_rows(X, rows), variants):
                for variant, supports, total in zip(variants, votes, scores, strict=True):
                    total[rows] += sum_supports(variant._ballots(supports), labels, n_labels)
        parts = (self._scale(total / (n_labels - 1)) for total in scores)
        return [self._without_rounding(part) if self.multilabel_ else part for part in parts]

    def _ballots(self, supports: FloatArray) -> FloatArray:
        """Return what pairs put into the vote."""
        return vote(supports) if self.voting == "votes" else supports

    @property
    def _digits(self) -> int:
        """Number of decimals to which scores are rounded."""
        return 12

    @property
    def _min_labels(self) -> int:
        """Number of labels that makes a pair, the virtual one being there or not."""
        return 2 - self.has_virtual_label

    @property
    def _n_ranked(self) -> int:
        """Number of the labels that take part in the vote, as fit left it."""
        return int(self.pairs_[-1, 1]) + 1

    def _scale(self, means: FloatArray) -> FloatArray:
        """Bring mean supports of all labels that took part to what people see."""
        factor, summand = self._scaling(means)
        return means[:, : len(self.classes_)] * factor + summand

    def _scaling(self, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what mean supports are multiplied with, and what is added, in each row."""
        one, nothing = np.ones((len(means), 1)), np.zeros((len(means), 1))
        if self._n_ranked == len(self.classes_):
            # Means sum to L / 2. Division by it makes a distribution over classes.
            return one if self.multilabel_ else one * (2 / self._n_ranked), nothing
        if self.multilabel_:
            return one / 2, (1 - means[:, -1:]) / 2
        return 1 / means[:, :-1].sum(axis=1, keepdims=True), nothing

    def _decide(self, scores: FloatArray) -> np.ndarray[Any, Any]:
        if self.multilabel_:
            return accept(scores, self.threshold)
        winners: np.ndarray[Any, Any] = self.classes_[
            np.argmax(self._without_rounding(scores), axis=1)
        ]
        return winners

    def _check_predict(self, X: MatrixLike) -> MatrixLike:
        check_is_fitted(self)
        check_prediction_parameters(self)
        return check_features(self, X)

    def _chunks(self, X: MatrixLike) -> Iterator[slice]:
        return row_chunks(count_rows(X), self._row_size())

    def _row_size(self) -> int:
        """Return how many floats a row takes while it is worked on: itself, a label's pairs."""
        pairs = BLOCK_ARRAYS * self._n_ranked
        return pairs + 2 * getattr(self, "n_features_in_", 0) + self.learner_.row_size

    def _blocks(self, X: MatrixLike) -> list[slice]:
        return list(pair_blocks(self._n_ranked, count_rows(X)))

    def _supports(self, X: MatrixLike) -> Blocks:
        blocks = self._blocks(X)
        pairs = [pairs_of(labels, self._n_ranked) for labels in blocks]
        return zip(blocks, self.learner_.supports(X, pairs), strict=True)

    def _collect(self, X: MatrixLike, blocks: Any) -> FloatArray:
        """Put the blocks of all chunks together into one array (n_samples, n_pairs, ...)."""
        X = self._check_predict(X)
        return np.concatenate(
            [
                np.concatenate([part for _, part in blocks(take_rows(X, rows))], axis=1)
                for rows in self._chunks(X)
            ]
        )

    def _without_rounding(self, scores: FloatArray) -> FloatArray:
        """Cut scores to the digits that do not depend on the order of their summands.

        A tie is then a tie, whatever the order of labels and the sizes of blocks and chunks.
        """
        return np.round(scores, self._digits)

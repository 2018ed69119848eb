"""What the pairwise classifiers share: targets, votes, scores and decisions."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from pairmend._pairs import label_pairs
from pairmend._streaming import pair_blocks, row_chunks
from pairmend._typing import FloatArray, IntArray, MatrixLike, TargetLike
from pairmend._validation import (
    Target,
    check_base_classifier,
    check_features,
    check_rows,
    check_target,
    count_rows,
    new_seed,
    remember_features,
    route_fit_params,
    take_rows,
)
from pairmend.kernels.ranking import sum_supports, vote
from pairmend.kernels.threshold import accept
from pairmend.learners import PairLearner
from pairmend.naive_bayes import RandomSubspaceNB

Blocks = Iterator[tuple[slice, FloatArray]]
"""Blocks of pairs, each with an array of shape (rows, pairs of the block, ...)."""


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
    seed: int


class PairwiseVoting(ClassifierMixin, BaseEstimator, ABC):
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

    @abstractmethod
    def _votes(self, X: MatrixLike) -> Blocks:
        """Yield the supports that vote, for a chunk of rows, block by block."""

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
        scores = self.predict_proba(X)
        if self.multilabel_:
            return accept(scores, self.threshold)
        winners: np.ndarray[Any, Any] = self.classes_[np.argmax(_without_rounding(scores), axis=1)]
        return winners

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
            are no calibrated probabilities, and their mean over all labels is 1/2. After a
            fit on 1-D classes they are scaled to sum to 1 in each row.
        """
        X = self._check_predict(X)
        n_labels = len(self.classes_)
        parts = []
        for rows in self._chunks(X):
            total: Any = 0.0
            for block, supports in self._votes(take_rows(X, rows)):
                ballots = vote(supports) if self.voting == "votes" else supports
                total = total + sum_supports(ballots, self.pairs_[block], n_labels)
            parts.append(total)
        scores = np.concatenate(parts) / (n_labels - 1)
        # Scores sum to L / 2. Division by it makes a distribution over classes.
        return _without_rounding(scores) if self.multilabel_ else scores * (2 / n_labels)

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
        return RandomSubspaceNB() if self.estimator is None else self.estimator

    def _read_problem(self, X: MatrixLike, y: TargetLike, fit_params: dict[str, Any]) -> Problem:
        """Check what fit is given, without touching the classifier."""
        base = self._base_classifier()
        check_base_classifier(base)
        X = check_rows(X)
        target = check_target(self, X, y)
        params, row_weights = route_fit_params(self, base, X, fit_params)
        pairs = label_pairs(len(target.classes))
        rng = check_random_state(self.random_state)
        return Problem(base, X, target, pairs, params, row_weights, rng, new_seed(rng))

    def _remember_problem(self, problem: Problem) -> None:
        remember_features(self, problem.X)
        self.classes_ = problem.target.classes
        self.multilabel_ = problem.target.multilabel
        self.pairs_ = problem.pairs

    def _check_predict(self, X: MatrixLike) -> MatrixLike:
        check_is_fitted(self)
        self._validate_params()  # some may have been set after fit
        return check_features(self, X)

    def _chunks(self, X: MatrixLike) -> Iterator[slice]:
        return row_chunks(count_rows(X), self._row_size())

    def _row_size(self) -> int:
        """Return how many floats a row takes while it is worked on, blocks left aside."""
        return len(self.classes_) + 2 * getattr(self, "n_features_in_", 0)

    def _blocks(self, X: MatrixLike) -> Iterator[slice]:
        return pair_blocks(len(self.pairs_), count_rows(X))

    def _supports(self, X: MatrixLike) -> Blocks:
        for block in self._blocks(X):
            yield block, self.learner_.support(X, block)

    def _collect(self, X: MatrixLike, blocks: Any) -> FloatArray:
        """Put the blocks of all chunks together into one array (n_samples, n_pairs, ...)."""
        X = self._check_predict(X)
        return np.concatenate(
            [
                np.concatenate([part for _, part in blocks(take_rows(X, rows))], axis=1)
                for rows in self._chunks(X)
            ]
        )


def _without_rounding(scores: FloatArray) -> FloatArray:
    """Cut scores to the digits that do not depend on the order of their summands.

    A tie is then a tie, whatever the order of labels and the sizes of blocks and chunks.
    """
    return np.round(scores, 12)

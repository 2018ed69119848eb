"""What the pairwise classifiers share: targets, votes, scores and decisions."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from pairmend._streaming import pair_blocks, row_chunks
from pairmend._typing import FloatArray, IntArray, MatrixLike
from pairmend._validation import (
    Target,
    check_base_classifier,
    check_features,
    count_rows,
    take_rows,
)
from pairmend.kernels.ranking import sum_supports, vote
from pairmend.kernels.threshold import accept
from pairmend.learners import PairLearner
from pairmend.naive_bayes import RandomSubspaceNB

Blocks = Iterator[tuple[slice, FloatArray]]
"""Blocks of pairs, each with an array of shape (rows, pairs of the block, ...)."""


class PairwiseVoting(ClassifierMixin, BaseEstimator):
    """A classifier in which pairs of labels vote.

    Subclasses fit ``learner_`` and say in :meth:`_votes` what the pairs' supports are.
    """

    estimator: Any
    voting: str
    threshold: float
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
        winners: np.ndarray[Any, Any] = self.classes_[np.argmax(scores, axis=1)]
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
        return np.clip(scores if self.multilabel_ else scores * (2 / n_labels), 0, 1)

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

    def _checked_base_classifier(self) -> Any:
        base = self._base_classifier()
        check_base_classifier(base)
        return base

    def _remember_target(self, target: Target) -> None:
        self.classes_ = target.classes
        self.multilabel_ = target.multilabel

    def _check_predict(self, X: MatrixLike) -> MatrixLike:
        check_is_fitted(self)
        return check_features(self, X)

    def _chunks(self, X: MatrixLike) -> Iterator[slice]:
        return row_chunks(count_rows(X), self._row_size())

    def _row_size(self) -> int:
        """Return how many floats a row takes while it is worked on, blocks left aside."""
        return len(self.classes_)

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

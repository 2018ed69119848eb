"""Base class of calibrated voting that evaluates only the pairs a row needs."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from pairmend._utils.chunking import batches, row_chunks
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.kernels.pairs import vote
from pairmend.pairwise.base import PairwiseVoting
from pairmend.pairwise.learners import GenericPairLearner, PairLearner


@dataclass(frozen=True)
class CountedPrediction:
    """Predictions with the number of pairs that were evaluated for them.

    Attributes
    ----------
    labels : ndarray
        The result of ``predict``.
    n_evaluated : ndarray of int, shape (n_samples,)
        Number of pairs evaluated for each row, pairs of the virtual label included. Pairs
        without a trained model, for lack of rows of both labels, are counted, too.
    """

    labels: np.ndarray[Any, Any]
    n_evaluated: IntArray


class PairEvaluator:
    """Supports of single pairs at rows, with a count of evaluated pairs for each row.

    A learner with one model per pair evaluates that model only. A learner that computes all pairs
    with matrix products evaluates them once, at the start.
    """

    _support: Callable[[int, IntArray], FloatArray]

    def __init__(
        self,
        learner: PairLearner,
        X: MatrixLike,
        all_supports: Callable[[MatrixLike], FloatArray],
    ):
        self.n_evaluated: IntArray = np.zeros(count_rows(X), dtype=np.int64)
        if isinstance(learner, GenericPairLearner):
            self._support = lambda pair, rows: learner.support_of(take_rows(X, rows), pair)
        else:
            supports = all_supports(X)
            self._support = lambda pair, rows: supports[rows, pair]

    def support(self, pair: int, rows: IntArray) -> FloatArray:
        """Return a pair's support for its first label at distinct rows."""
        self.n_evaluated[rows] += 1
        return self._support(pair, rows)

    def supports(self, pairs: IntArray) -> FloatArray:
        """Return the supports of some pairs at all rows, of shape (n, n_pairs)."""
        rows = np.arange(len(self.n_evaluated))
        return np.column_stack([self.support(pair, rows) for pair in pairs])


class SelectiveVoting(PairwiseVoting):
    """Calibrated label ranking by votes that evaluates pairs row by row, as they are needed."""

    needs_probabilities = False

    @abstractmethod
    def _predict_counted(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], IntArray]:
        """Return the labels of a chunk of rows and the number of pairs evaluated for each."""

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Many rows at once are cheaper than one by one: each model predicts all rows
            that need it together.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            1 where a label has more votes than the virtual label, 0 elsewhere. After a fit on
            1-D classes: shape (n_samples,), the class with the most votes.
        """
        return self.predict_counted(X).labels

    def predict_counted(self, X: MatrixLike) -> CountedPrediction:
        """Predict the labels of rows and count the evaluated pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        CountedPrediction
            The predicted labels and the number of pairs evaluated for each row.
        """
        X = self._check_predict(X)
        labels, n_evaluated = self._by_parts(X, self._predict_counted)
        return CountedPrediction(labels, n_evaluated)

    def _by_parts(self, X: MatrixLike, work: Any) -> list[np.ndarray[Any, Any]]:
        """Call `work` for parts of the rows in threads and concatenate the results."""
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(work)(take_rows(X, rows)) for rows in self._parts(X)
        )
        return [np.concatenate(results) for results in zip(*parts, strict=True)]

    def _parts(self, X: MatrixLike) -> Iterator[slice]:
        """Cut rows into as many parts as there are threads, or more if memory is short."""
        n_rows, n_threads = count_rows(X), effective_n_jobs(self.n_jobs)
        # Supports or comparisons of all pairs, and what the base class needs.
        row_size = n_threads * (2 * len(self.pairs_) + self._row_size())
        largest = next(row_chunks(n_rows, row_size)).stop
        return batches(n_rows, min(largest, -(-n_rows // n_threads)))

    def _evaluator(self, X: MatrixLike) -> PairEvaluator:
        return PairEvaluator(self.learner_, X, self._all_supports)

    def _all_supports(self, X: MatrixLike) -> FloatArray:
        return np.concatenate([part for _, part in self._supports(X)], axis=1)

    @property
    def _virtual_pairs(self) -> IntArray:
        """Indices of the pairs of each label with the virtual label."""
        return np.flatnonzero(self.pairs_[:, 1] == len(self.classes_))

    @property
    def has_virtual_label(self) -> bool:
        """Whether the next fit adds a virtual label to the vote: always."""
        return True

    def _pair_votes(self, supports: FloatArray) -> FloatArray:
        return vote(supports)

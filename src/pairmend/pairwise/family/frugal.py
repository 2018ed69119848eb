"""What the calibrated votes share that do not ask every pair about every row."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from pairmend._utils.chunking import batches, row_chunks
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.pairwise.calibrated import CalibratedLabelRanking
from pairmend.pairwise.family.panel import Panel


@dataclass(frozen=True)
class Poll:
    """What a vote predicts, and how many models it took.

    Attributes
    ----------
    labels : ndarray
        What ``predict`` returns.
    n_asked : ndarray of int, shape (n_samples,)
        How many of the pairs' models were asked about each row, those of the virtual label
        among them. A pair that had rows of one label only, or none, counts like any other.
    """

    labels: np.ndarray[Any, Any]
    n_asked: IntArray


class FrugalVoting(CalibratedLabelRanking):
    """A calibrated label ranking by whole votes that asks each row's pairs as they are needed.

    Subclasses say in :meth:`_poll` what they ask.
    """

    voting = "votes"  # no parameter: what is asked next depends on who won
    needs_probabilities = False

    @abstractmethod
    def _poll(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], IntArray]:
        """Return the labels of a chunk of rows, and how many pairs were asked about each."""

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Many at a time are cheaper than one by one: those that need the same model
            are given to it together.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            1 where a label has more votes than the virtual label, 0 elsewhere. After a fit on
            1-D classes: shape (n_samples,), the class with the most votes.
        """
        return self.poll(X).labels

    def poll(self, X: MatrixLike) -> Poll:
        """Predict the labels of rows and tell how many models were asked.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Poll
            The predicted labels and the number of models asked about each row.
        """
        X = self._check_predict(X)
        labels, n_asked = self._by_parts(X, self._poll)
        return Poll(labels, n_asked)

    def _by_parts(self, X: MatrixLike, work: Any) -> list[np.ndarray[Any, Any]]:
        """Let threads work on parts of the rows, and put each of their results together."""
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(work)(take_rows(X, rows)) for rows in self._parts(X)
        )
        return [np.concatenate(results) for results in zip(*parts, strict=True)]

    def _parts(self, X: MatrixLike) -> Iterator[slice]:
        """Cut rows into as many parts as there are threads, or more if memory is short."""
        n_rows, n_threads = count_rows(X), effective_n_jobs(self.n_jobs)
        # All pairs' supports, or as much for the state of the vote, and the base class's needs.
        row_size = n_threads * (2 * len(self.pairs_) + self._row_size())
        largest = next(row_chunks(n_rows, row_size)).stop
        return batches(n_rows, min(largest, -(-n_rows // n_threads)))

    def _panel(self, X: MatrixLike) -> Panel:
        return Panel(self.learner_, X, self._all_supports)

    def _all_supports(self, X: MatrixLike) -> FloatArray:
        return np.concatenate([part for _, part in self._supports(X)], axis=1)

    @property
    def _virtual_pairs(self) -> IntArray:
        """Numbers of the pairs of each label with the virtual one."""
        return np.flatnonzero(self.pairs_[:, 1] == len(self.classes_))

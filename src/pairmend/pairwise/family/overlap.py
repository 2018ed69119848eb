"""What the members share whose pairs know rows with both labels."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pairmend._base import MultiLabelClassifier
from pairmend._utils.chunking import row_chunks
from pairmend._utils.sklearn_private import check_prediction_parameters, count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import (
    check_base_classifier,
    check_features,
    new_seed,
    seed_estimator,
    take_rows,
)
from pairmend.pairwise.family.problems import SmallProblem, train_problems

ROW_ARRAYS = 8
"""Arrays of the size (rows x labels x labels) that are alive at once, at the most."""


class OverlapAware(MultiLabelClassifier):
    """A classifier whose pairs give a support to each of their labels, perhaps to both.

    Subclasses say in :meth:`_supports` what the pairs say and in :meth:`_merge` what follows.
    """

    has_virtual_label: ClassVar[bool] = True
    pairs_: IntArray

    def pair_supports(self, X: MatrixLike) -> FloatArray:
        """Return the supports of all pairs, for either of their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_pairs, 2)
            Support of each pair for its first and for its second label, in [0, 1]. They sum to
            more than 1 where the pair holds that a row carries both.
        """
        check_is_fitted(self)
        check_prediction_parameters(self)
        X = check_features(self, X)
        return np.concatenate([self._supports(take_rows(X, rows)) for rows in self._chunks(X)])

    @abstractmethod
    def _supports(self, X: MatrixLike) -> FloatArray:
        """Return the supports of all pairs, (n, n_pairs, 2)."""

    def _merge(self, games: FloatArray) -> FloatArray:
        """Turn what labels get from each other, (n, L + 1, L + 1), into scores.

        This is the vote: a label's mean less that of the virtual label, 1/2 being its place.
        """
        means = games.sum(axis=2) / (games.shape[1] - 1)
        # A tie is then a tie, whatever the order of labels.
        return np.round((1 + means[:, :-1] - means[:, -1:]) / 2, 12)

    def _scores(self, X: MatrixLike) -> FloatArray:
        n_ranked, (first, second) = len(self.classes_) + 1, self.pairs_.T
        scores = np.empty((count_rows(X), n_ranked - 1))
        for rows in self._chunks(X):
            supports = self._supports(take_rows(X, rows))
            games = np.zeros((len(supports), n_ranked, n_ranked))
            games[:, first, second] = supports[..., 0]
            games[:, second, first] = supports[..., 1]
            scores[rows] = self._merge(games)
        return scores

    def _chunks(self, X: MatrixLike) -> Any:
        row_size = ROW_ARRAYS * (len(self.classes_) + 1) ** 2
        return row_chunks(count_rows(X), row_size + 2 * getattr(self, "n_features_in_", 0))


def train_clones(
    classifier: Any, X: MatrixLike, problems: list[SmallProblem], fit_params: dict[str, Any]
) -> list[Any]:
    """Train clones of a classifier's base, all with the same seed."""
    base = classifier._base_classifier()
    check_base_classifier(base)
    base = seed_estimator(base, new_seed(check_random_state(classifier.random_state)))
    return train_problems(base, X, problems, fit_params, n_jobs=classifier.n_jobs)


def relevance_problem(Y: BoolArray, label: int) -> SmallProblem:
    """Return the problem of a label against its absence, its pair with the virtual label."""
    name = f"label number {label} against its absence"
    return SmallProblem(name, np.arange(len(Y)), Y[:, label].astype(np.int64))


def rows_of_pair(Y: BoolArray, pair: IntArray) -> tuple[IntArray, BoolArray, BoolArray]:
    """Return the rows with a label of a pair, and which of them carry the first, the second.

    Examples
    --------
    >>> Y = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=bool)
    >>> [part.tolist() for part in rows_of_pair(Y, np.array([0, 1]))]
    [[0, 1], [True, False], [True, True]]
    """
    first, second = Y[:, pair[0]], Y[:, pair[1]]
    rows = np.flatnonzero(first | second)
    return rows, first[rows], second[rows]

"""Base class of pairwise classifiers with a support for each of the two labels of a pair."""

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
from pairmend.kernels.pairs import round_scores
from pairmend.pairwise.learners.generic import SmallProblem, train_problems

ROW_ARRAYS = 8
"""Arrays of the size (rows x labels x labels) that are alive at once, at the most."""


class TwoSupportVoting(MultiLabelClassifier):
    """A classifier whose pairs give a support to each of their labels, perhaps to both.

    Subclasses implement :meth:`_supports`; :meth:`_merge` turns supports into scores.
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
            more than 1 if the pair predicts both labels.
        """
        check_is_fitted(self)
        check_prediction_parameters(self)
        X = check_features(self, X)
        return np.concatenate([self._supports(take_rows(X, rows)) for rows in self._chunks(X)])

    @abstractmethod
    def _supports(self, X: MatrixLike) -> FloatArray:
        """Return the supports of all pairs, (n, n_pairs, 2)."""

    def _merge(self, supports_against: FloatArray) -> FloatArray:
        """Return scores for supports of labels against labels, of shape (n, L + 1, L + 1)."""
        means = supports_against.sum(axis=2) / (supports_against.shape[1] - 1)
        # Rounded, so that ties do not depend on the order of labels.
        return round_scores((1 + means[:, :-1] - means[:, -1:]) / 2)

    def _scores(self, X: MatrixLike) -> FloatArray:
        n_ranked, (first, second) = len(self.classes_) + 1, self.pairs_.T
        scores = np.empty((count_rows(X), n_ranked - 1))
        for rows in self._chunks(X):
            supports = self._supports(take_rows(X, rows))
            supports_against = np.zeros((len(supports), n_ranked, n_ranked))
            supports_against[:, first, second] = supports[..., 0]
            supports_against[:, second, first] = supports[..., 1]
            scores[rows] = self._merge(supports_against)
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


def rows_of_pair(Y: BoolArray, pair: IntArray) -> tuple[IntArray, BoolArray, BoolArray]:
    """Return the rows with a label of a pair, and which of them have the first and the second.

    Examples
    --------
    >>> Y = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=bool)
    >>> [part.tolist() for part in rows_of_pair(Y, np.array([0, 1]))]
    [[0, 1], [True, False], [True, True]]
    """
    first, second = Y[:, pair[0]], Y[:, pair[1]]
    rows = np.flatnonzero(first | second)
    return rows, first[rows], second[rows]

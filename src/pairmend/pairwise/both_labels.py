"""The base of classifiers whose pairs are trained on rows with both labels, too."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from pairmend._utils.arrays import is_frame, take_rows
from pairmend._utils.classifiers import seed_estimator
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.frames.encoder import FrameEncoder, takes_encoded_frames
from pairmend.kernels.pairs import round_scores
from pairmend.pairwise.learners.generic import (
    SmallProblem,
    predict_models,
    relevance_problem,
    train_problems,
)
from pairmend.pairwise.voting import LearnerClassifier, TrainingInput

ROW_ARRAYS = 8
"""Arrays of the size (rows x labels x labels) that are alive at once, at the most."""


class BothLabelsVoting(LearnerClassifier):
    """A classifier whose pairs give a support to each of their labels, perhaps to both."""

    has_virtual_label = True
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
        X = self._check_predict(X)
        return np.concatenate([self._supports(take_rows(X, rows)) for rows in self._chunks(X)])

    @abstractmethod
    def _supports(self, X: MatrixLike) -> FloatArray:
        """Return the supports of all pairs, (n, n_pairs, 2)."""

    def _merge(self, supports_against: FloatArray) -> FloatArray:
        """Return scores for supports of labels, a virtual one included, against each other."""
        means = supports_against.sum(axis=2) / (supports_against.shape[1] - 1)
        # Rounded, so that ties do not depend on the order of labels.
        return round_scores((1 + means[:, :-1] - means[:, -1:]) / 2)

    def _scores(self, X: MatrixLike) -> FloatArray:
        n_ranked, (first, second) = len(self.classes_) + 1, self.pairs_.T
        scores = np.empty((count_rows(X), len(self.classes_)))
        for rows in self._chunks(X):
            supports = self._supports(take_rows(X, rows))
            supports_against = np.zeros((len(supports), n_ranked, n_ranked))
            supports_against[:, first, second] = supports[..., 0]
            supports_against[:, second, first] = supports[..., 1]
            scores[rows] = self._merge(supports_against)
        return scores

    def _row_size(self) -> int:
        return super()._row_size() + ROW_ARRAYS * (len(self.classes_) + 1) ** 2


class BothLabelsProblems(BothLabelsVoting):
    """Such a classifier whose pairs are trained as one or more problems of a base classifier.

    The pair with the virtual label is a label against its absence.
    """

    n_classes: int = 2
    """Number of classes of the problems of a pair of labels."""
    models_: list[list[Any]]

    @abstractmethod
    def _problems(self, first: BoolArray, second: BoolArray) -> list[tuple[str, Any, Any]]:
        """Return name, rows and classes of the problems of a pair, given the columns of Y."""

    @abstractmethod
    def _combine(self, *probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the supports for both labels, given the probabilities by each model of a pair."""

    def _fit_rows(self, data: TrainingInput, rows: Any) -> Self:
        rows, encoder = rows.take(np.flatnonzero(data.row_weights > 0)), None
        X, Y, base = rows.X, rows.Y, seed_estimator(data.base, data.seed)
        if is_frame(X) and takes_encoded_frames(base):
            encoder = FrameEncoder().fit(X)
            X = encoder.encode(X)  # once for all problems
        problems, n_models = [], []
        for i, j in data.pairs:
            own = [relevance_problem(Y, i)]
            if j < Y.shape[1]:
                own = [
                    SmallProblem(f"{name} of labels number {i} and {j}", rows, y, self.n_classes)
                    for name, rows, y in self._problems(Y[:, i], Y[:, j])
                ]
            problems += own
            n_models.append(len(own))
        trained = iter(train_problems(base, X, problems, rows.fit_params, n_jobs=self.n_jobs))
        models = [[next(trained) for _ in range(n)] for n in n_models]
        fitted = {"pairs_": data.pairs, "models_": models, "frame_encoder_": encoder}
        return self._set_fitted(data.X, data.target, **fitted)

    def _supports(self, X: MatrixLike) -> FloatArray:
        every = [model for models in self.models_ for model in models]
        found = predict_models(every, X, n_classes=self.n_classes, n_jobs=self.n_jobs)
        out, start = np.empty((len(found), len(self.pairs_), 2)), 0
        for number, models in enumerate(self.models_):
            own = np.moveaxis(found[:, start : start + len(models)], 1, 0)
            out[:, number, 0], out[:, number, 1] = self._combine(*own)
            start += len(models)
        is_virtual = self.pairs_[:, 1] == len(self.classes_)
        out[:, is_virtual, 1] = 1 - out[:, is_virtual, 0]
        return out

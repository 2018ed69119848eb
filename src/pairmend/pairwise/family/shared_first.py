"""SharedFirstClassifier, and the base of classifiers whose pairs may support both labels."""

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pairmend._base import MultiLabelClassifier, MultiLabelMetaClassifier
from pairmend._utils.arrays import check_features, take_rows
from pairmend._utils.classifiers import check_base_classifier, new_seed, seed_estimator
from pairmend._utils.computing import row_chunks
from pairmend._utils.sklearn_private import HasMethods, StrOptions, count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.kernels.pairs import label_pairs, round_scores, vote
from pairmend.pairwise.learners.generic import (
    SmallProblem,
    predict_models,
    relevance_problem,
    train_problems,
)

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
        self._check_prediction_parameters()
        X = check_features(self, X)
        return np.concatenate([self._supports(take_rows(X, rows)) for rows in self._chunks(X)])

    @abstractmethod
    def _supports(self, X: MatrixLike) -> FloatArray:
        """Return the supports of all pairs, (n, n_pairs, 2)."""

    def _merge(self, X: MatrixLike, supports_against: FloatArray) -> FloatArray:
        """Return scores for supports of labels, a virtual one included, against each other."""
        means = supports_against.sum(axis=2) / (supports_against.shape[1] - 1)
        # Rounded, so that ties do not depend on the order of labels.
        return round_scores((1 + means[:, :-1] - means[:, -1:]) / 2)

    def _scores(self, X: MatrixLike) -> FloatArray:
        n_ranked, (first, second) = len(self.classes_) + self.has_virtual_label, self.pairs_.T
        scores = np.empty((count_rows(X), len(self.classes_)))
        for rows in self._chunks(X):
            part = take_rows(X, rows)
            supports = self._supports(part)
            supports_against = np.zeros((len(supports), n_ranked, n_ranked))
            supports_against[:, first, second] = supports[..., 0]
            supports_against[:, second, first] = supports[..., 1]
            scores[rows] = self._merge(part, supports_against)
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


class SharedFirstClassifier(TwoSupportVoting, MultiLabelMetaClassifier):
    """Multi-label classification by pairs that first separate rows with both labels.

    For each pair of labels, one classifier separates rows with both labels from rows with one. A
    second one, the ordinary pair, is used for rows with one label (Wan and Xu, 2007). All pairs
    vote, for both labels or for one, and labels that rank above a virtual label are predicted. Use
    it instead of :class:`~pairmend.CalibratedLabelRanking` if many rows have both labels of a pair
    and differ from those with one.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each problem. None means
        :class:`~pairmend.RandomSubspaceNB`.
    voting : {"soft", "votes"}, default="soft"
        Whether to use the probabilities of both classifiers, or votes: 1 for each label if the
        first classifier predicts both, else 1 for the label that the second predicts, 1/2 for each
        in a tie. "votes" is the published sequence; the second classifier then predicts only the
        rows that need it.
    n_jobs : int, default=None
        Number of processes that train, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    shared_models_ : list of classifiers
        Separate rows with both labels from rows with one, for each pair without the virtual
        label.
    pair_models_ : list of classifiers
        Separate the first label from the second, for each pair.
    pairs_ : ndarray of shape (n_pairs, 2)
        Indices of the labels of each pair; the virtual label has the index ``n_labels``.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels; after a fit on 1-D classes, the classes.
    multilabel_ : bool
        True after a fit on label indicators, False after a fit on 1-D classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a frame with string names.

    See Also
    --------
    BradleyTerryClassifier : Two classifiers for each pair, both used for all rows.

    Notes
    -----
    With L labels there are L² binary problems: two for each pair, and one for each label against
    its absence, which is its pair with the virtual label. With the probabilities q of the first
    classifier of a pair and p of the second, the supports are q + (1 - q) p for the first label and
    q + (1 - q) (1 - p) for the second. The score of a label is (1 + mean over its L pairs - mean of
    the virtual label) / 2; if all pairs are right, exactly the labels of a row have scores above
    1/2. The virtual label is our choice; `voting` takes effect at prediction.

    The probability is 1/2 for a problem without rows, and the smoothed share (n + 1) / (n + 2) for
    one with rows of one class.

    References
    ----------
    Wan, S.-P., Xu, J.-H. (2007). A multi-label classification algorithm based on triple class
    support vector machine. International Conference on Wavelet Analysis and Pattern
    Recognition.

    Examples
    --------
    >>> from pairmend.pairwise import SharedFirstClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = SharedFirstClassifier(LogisticRegression(max_iter=1000)).fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 1, 1, 1], [0, 0, 1, 0, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "voting": [StrOptions({"soft", "votes"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = ("voting",)
    """Parameters that take effect at prediction: changing them needs no new fit."""

    shared_models_: list[Any]
    pair_models_: list[Any]

    def __init__(
        self,
        estimator: Any = None,
        *,
        voting: str = "soft",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_rows(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        pairs = label_pairs(Y.shape[1] + 1)
        shared, ordinary = [], []
        for pair in pairs:
            if pair[1] == Y.shape[1]:
                ordinary.append(relevance_problem(Y, pair[0]))
                continue
            name = f"the pair of labels number {pair[0]} and {pair[1]}"
            rows, first, second = rows_of_pair(Y, pair)
            both = first & second
            shared.append(SmallProblem(f"both or one of {name}", rows, both.astype(int)))
            ordinary.append(SmallProblem(name, rows[~both], first[~both].astype(int)))
        models = train_clones(self, X, shared + ordinary, fit_params)
        return {
            "shared_models_": models[: len(shared)],
            "pair_models_": models[len(shared) :],
            "pairs_": pairs,
        }

    def _supports(self, X: MatrixLike) -> FloatArray:
        real = self.pairs_[:, 1] < len(self.classes_)
        both = np.zeros((count_rows(X), len(self.pairs_)))
        both[:, real] = predict_models(self.shared_models_, X, n_jobs=self.n_jobs)[..., 1]
        if self.voting == "votes":
            both = (both > 0.5).astype(np.float64)
            first = vote(self._predict_where_one(X, both == 0))
        else:
            first = predict_models(self.pair_models_, X, n_jobs=self.n_jobs)[..., 1]
        one = 1 - both
        return np.stack([both + one * first, both + one * (1 - first)], axis=2)

    def _predict_where_one(self, X: MatrixLike, one: BoolArray) -> FloatArray:
        """Return the probabilities of the ordinary pairs at rows with one label, 1/2 elsewhere."""
        first = np.full(one.shape, 0.5)
        for number, model in enumerate(self.pair_models_):
            rows = np.flatnonzero(one[:, number])
            if len(rows):
                proba = predict_models([model], take_rows(X, rows), n_jobs=None)
                first[rows, number] = proba[:, 0, 1]
        return first

"""FourClassPairsClassifier: four classes a pair, combined with binary relevance."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pairmend._base import MultiLabelMetaClassifier
from pairmend._utils.arrays import check_features
from pairmend._utils.sklearn_private import HasMethods, Interval
from pairmend._utils.typing import BoolArray, FloatArray, MatrixLike
from pairmend.kernels.pairs import label_pairs, round_scores
from pairmend.pairwise.family.shared_first import TwoSupportVoting, train_clones
from pairmend.pairwise.learners.generic import SmallProblem, predict_models, relevance_problem


class FourClassPairsClassifier(TwoSupportVoting, MultiLabelMetaClassifier):
    """Multi-label classification by four classes a pair, combined with binary relevance.

    For each pair of labels, a classifier separates four classes of rows: with neither label, with
    the first, with the second, with both (Chen et al., 2010). The probability of a label is
    averaged over its pairs and its own binary classifier, and labels above 1/2 are predicted. Use
    it if the base classifier gives good probabilities of several classes and rows are many: every
    problem is trained on all rows.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier for any number of classes with ``predict_proba``, cloned for each
        problem. None means :class:`~pairmend.RandomSubspaceNB`.
    pair_weight : float, default=0.5
        Weight of the pairs; the rest is that of binary relevance. 0 is binary relevance alone,
        1 the pairs alone.
    n_jobs : int, default=None
        Number of processes that train, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    relevance_models_ : list of classifiers
        Binary classifiers of the labels.
    pair_models_ : list of classifiers
        Classifiers of the four classes, for each pair.
    pairs_ : ndarray of shape (n_pairs, 2)
        Indices of the labels of each pair.
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
    BinaryRelevance : The binary classifiers alone.

    Notes
    -----
    With L labels there are L binary problems and L (L - 1) / 2 of four classes, all of them on
    all rows. A pair's probability of a label is that of the label alone plus that of both; a
    label's score is (1 - w) times its binary probability plus w times the mean over its L - 1
    pairs, w being `pair_weight`. Neither label being one of the classes, no virtual label is
    needed, and scores are probabilities if the base classifier's are. The original combines
    support vector machines whose boundaries are adjusted between two labels; here any
    classifier will do, and the weighted mean is our choice. `pair_weight` takes effect at
    prediction.

    A class that does not occur has the probability 0; if only one class occurs, probabilities are
    smoothed shares, (n + 1) / (n + 4). A single label has no pair, and its score is its
    binary probability.

    References
    ----------
    Chen, B., Ma, L., Hu, J. (2010). An improved multi-label classification method based on SVM
    with delicate decision boundary. International Journal of Innovative Computing, Information
    and Control 6(4), 1605-1614.

    Examples
    --------
    >>> from pairmend.pairwise import FourClassPairsClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = FourClassPairsClassifier(LogisticRegression(max_iter=1000)).fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 1, 1, 1], [0, 0, 1, 0, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "pair_weight": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = ("pair_weight",)
    """Parameters that take effect at prediction: changing them needs no new fit."""

    has_virtual_label: ClassVar[bool] = False
    relevance_models_: list[Any]
    pair_models_: list[Any]

    def __init__(
        self,
        estimator: Any = None,
        *,
        pair_weight: float = 0.5,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.pair_weight = pair_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def pair_classes(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of each pair's four kinds of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_pairs, 4)
            Neither label, the first alone, the second alone, both.
        """
        check_is_fitted(self)
        return self._predict_pairs(check_features(self, X))

    def _fit_rows(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        n_labels, pairs = Y.shape[1], label_pairs(Y.shape[1])
        problems = [relevance_problem(Y, label) for label in range(n_labels)]
        for i, j in pairs:
            kinds = Y[:, i] + 2 * Y[:, j]
            name = f"the four classes of labels number {i} and {j}"
            problems.append(SmallProblem(name, np.arange(len(Y)), kinds, n_classes=4))
        models = train_clones(self, X, problems, fit_params)
        return {
            "relevance_models_": models[:n_labels],
            "pair_models_": models[n_labels:],
            "pairs_": pairs,
        }

    def _supports(self, X: MatrixLike) -> FloatArray:
        classes = self._predict_pairs(X)
        both = classes[..., 3]
        # Sums of probabilities may exceed 1 by rounding.
        return np.minimum(np.stack([classes[..., 1] + both, classes[..., 2] + both], axis=-1), 1.0)

    def _merge(self, X: MatrixLike, supports_against: FloatArray) -> FloatArray:
        relevance = predict_models(self.relevance_models_, X, n_jobs=self.n_jobs)[..., 1]
        if len(self.classes_) == 1:
            return relevance
        means = supports_against.sum(axis=2) / (len(self.classes_) - 1)
        scores = (1 - self.pair_weight) * relevance + self.pair_weight * means
        # Rounding keeps ties, and sums of probabilities at most 1.
        return np.minimum(round_scores(scores), 1.0)

    def _predict_pairs(self, X: MatrixLike) -> FloatArray:
        return predict_models(self.pair_models_, X, n_classes=4, n_jobs=self.n_jobs)

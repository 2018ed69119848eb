"""FourClassPairsClassifier: four classes a pair, combined with binary relevance."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from pairmend._utils.sklearn_private import Interval
from pairmend._utils.typing import BoolArray, FloatArray
from pairmend.kernels.pairs import round_scores
from pairmend.pairwise.both_labels import BothLabelsProblems


class FourClassPairsClassifier(BothLabelsProblems):
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
    models_ : list of lists of classifiers
        The trained classifier of each pair: of four classes, or of a label against its absence.
    pairs_ : ndarray of shape (n_pairs, 2)
        Indices of the labels of each pair; the absence of a label has the index ``n_labels``.
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
        **BothLabelsProblems._parameter_constraints,
        "pair_weight": [Interval(Real, 0, 1, closed="both")],
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = ("pair_weight",)
    """Parameters that take effect at prediction: changing them needs no new fit."""

    n_classes = 4

    def __init__(
        self,
        estimator: Any = None,
        *,
        pair_weight: float = 0.5,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state)
        self.pair_weight = pair_weight

    def _problems(self, first: BoolArray, second: BoolArray) -> list[tuple[str, Any, Any]]:
        return [("the four classes", np.arange(len(first)), first + 2 * second)]

    def _combine(self, *probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        _, first, second, both = probabilities[0].T
        # Sums of probabilities may exceed 1 by rounding.
        return np.minimum(first + both, 1), np.minimum(second + both, 1)

    def _merge(self, supports_against: FloatArray) -> FloatArray:
        relevance, of_pairs = supports_against[:, :-1, -1], supports_against[:, :-1, :-1]
        n_others = of_pairs.shape[1] - 1
        if n_others == 0:
            return relevance
        means = of_pairs.sum(axis=2) / n_others
        scores = (1 - self.pair_weight) * relevance + self.pair_weight * means
        # Rounding keeps ties, and sums of probabilities at most 1.
        return np.minimum(round_scores(scores), 1.0)

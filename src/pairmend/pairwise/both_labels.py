"""Classifiers whose pairs are trained on rows with both labels, too: their base, and three."""

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from pairmend._utils.arrays import take_rows
from pairmend._utils.classifiers import seed_estimator
from pairmend._utils.sklearn_private import Interval
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.frames.encoder import encoded_once
from pairmend.kernels.bradley_terry import bradley_terry
from pairmend.kernels.pairs import round_scores
from pairmend.kernels.rrc import vote
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
        n_ranked, (first, second), scores = len(self.classes_) + 1, self.pairs_.T, []
        for rows in self._chunks(X):
            supports = self._supports(take_rows(X, rows))
            supports_against = np.zeros((len(supports), n_ranked, n_ranked))
            supports_against[:, first, second] = supports[..., 0]
            supports_against[:, second, first] = supports[..., 1]
            scores.append(self._merge(supports_against))
        return np.concatenate(scores)

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
        rows = rows.take(np.flatnonzero(data.row_weights > 0))
        Y, base = rows.Y, seed_estimator(data.base, data.seed)
        X, encoder = encoded_once(base, rows.X)
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


class BradleyTerryClassifier(BothLabelsProblems):
    """Multi-label classification by two classifiers a pair and a Bradley-Terry model.

    For each pair of labels, one classifier separates rows with the first label, with or without the
    second, from rows with the second alone; another does the same for the second label
    (Petrovskiy, 2006). Their probabilities are wins and ties of labels in each row, to which the
    strengths of a Bradley-Terry model are fitted. Labels stronger than a virtual label are
    predicted. Use it if labels often occur together and probabilities of labels are needed that
    are consistent with all pairs.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each problem. None means
        :class:`~pairmend.RandomSubspaceNB`.
    prior : float, default=0.1
        Number of wins, and of losses, against the virtual label that is added to each label in each
        row. It keeps the strengths of labels that always or never win finite. Small values need
        more iterations.
    n_jobs : int, default=None
        Number of processes that train, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    models_ : list of lists of classifiers
        The trained classifiers of each pair: two, or one if no row has both labels and for
        the pairs with the virtual label.
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
    CalibratedLabelRanking : The same virtual label in a vote of ordinary pairs.

    Notes
    -----
    With L labels there are up to L² binary problems: two for each pair, and one for each label
    against its absence, which is its pair with the virtual label. The two of a pair are trained on
    the rows with either label. The excess over 1 of the sum of their probabilities is a tie; a sum
    below 1 is scaled to 1. If no row has both labels, the two problems are one.

    The model with ties is that of Rao and Kupper (1967): a label of strength a beats one of
    strength b with the probability a / (a + T b), where T is fitted for each row as well. The
    virtual label has the strength 1 and no ties. Strengths are fitted by the
    minorise-maximise algorithm (Hunter, 2004), sped up by extrapolation. The score of a label
    is a / (1 + a), and those above 1/2 are predicted. The virtual label is our choice:
    the paper does not state how strengths become label sets.

    Supports of a pair without rows are 1/2; those of a pair with rows of one class are smoothed
    shares, (n + 1) / (n + 2). `prior` takes effect at prediction.

    References
    ----------
    Petrovskiy, M. (2006). Paired comparisons method for solving multi-label learning problem.
    Sixth International Conference on Hybrid Intelligent Systems (HIS 2006).

    Rao, P. V., Kupper, L. L. (1967). Ties in paired-comparison experiments: a generalization of
    the Bradley-Terry model. Journal of the American Statistical Association 62, 194-204.

    Hunter, D. R. (2004). MM algorithms for generalized Bradley-Terry models. The Annals of
    Statistics 32(1), 384-406.

    Examples
    --------
    >>> from pairmend.pairwise import BradleyTerryClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = BradleyTerryClassifier(LogisticRegression(max_iter=1000)).fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 1, 1, 1], [0, 0, 1, 0, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BothLabelsProblems._parameter_constraints,
        "prior": [Interval(Real, 0, None, closed="neither")],
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = ("prior",)
    """Parameters that take effect at prediction: changing them needs no new fit."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        prior: float = 0.1,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state)
        self.prior = prior

    def _problems(self, first: BoolArray, second: BoolArray) -> list[tuple[str, Any, Any]]:
        targets = [first, second] if (first & second).any() else [first]
        rows = np.flatnonzero(first | second)
        return [("one of the pair", rows, target[rows].astype(int)) for target in targets]

    def _combine(self, *probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Without common rows, the probability of the second label is that of not the first.
        first, last = probabilities[0], probabilities[-1]
        return first[:, 1], last[:, 0] if len(probabilities) == 1 else last[:, 1]

    def _merge(self, supports_against: FloatArray) -> FloatArray:
        wins_or_ties, against_virtual = supports_against[:, :-1, :-1], supports_against[:, :-1, -1]
        strengths, _ = bradley_terry(wins_or_ties, against_virtual, prior=self.prior)
        return strengths / (1 + strengths)


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


class SharedFirstClassifier(BothLabelsProblems):
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
        in a tie. "votes" is the published sequence.
    n_jobs : int, default=None
        Number of processes that train, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    models_ : list of lists of classifiers
        The trained classifiers of each pair: one that separates rows with both labels from rows
        with one, but for pairs with the virtual label, and one that separates the two labels.
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

    prediction_parameters: ClassVar[tuple[str, ...]] = ("voting",)
    """Parameters that take effect at prediction: changing them needs no new fit."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        voting: str = "soft",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state)
        self.voting = voting

    def _problems(self, first: BoolArray, second: BoolArray) -> list[tuple[str, Any, Any]]:
        both = first & second
        either, one = np.flatnonzero(first | second), np.flatnonzero(first != second)
        return [
            ("both or one of the pair", either, both[either].astype(int)),
            ("the pair", one, first[one].astype(int)),
        ]

    def _combine(self, *probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        first = probabilities[-1][:, 1]
        both = probabilities[0][:, 1] if len(probabilities) > 1 else np.zeros_like(first)
        if self.voting == "votes":
            both, first = (both > 0.5).astype(np.float64), vote(first)
        return both + (1 - both) * first, both + (1 - both) * (1 - first)

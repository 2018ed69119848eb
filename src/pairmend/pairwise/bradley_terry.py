"""BradleyTerryClassifier: two classifiers a pair, merged by a Bradley-Terry model with ties."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from pairmend._utils.sklearn_private import Interval
from pairmend._utils.typing import BoolArray, FloatArray
from pairmend.kernels.bradley_terry import bradley_terry
from pairmend.pairwise.both_labels import BothLabelsProblems


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

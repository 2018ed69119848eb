"""SharedFirstClassifier: a pair first separates rows with both labels from those with one."""

from typing import Any, ClassVar

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray
from pairmend.kernels.rrc import vote
from pairmend.pairwise.both_labels import BothLabelsProblems


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

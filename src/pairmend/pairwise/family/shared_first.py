"""Whether a row has both labels of a pair first, which of them then."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from pairmend._base import MultiLabelMetaClassifier
from pairmend._utils.sklearn_private import HasMethods, StrOptions, count_rows
from pairmend._utils.typing import BoolArray, FloatArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.kernels.pairs import label_pairs
from pairmend.kernels.ranking import vote
from pairmend.pairwise.family.overlap import (
    OverlapAware,
    relevance_problem,
    rows_of_pair,
    train_clones,
)
from pairmend.pairwise.family.problems import SmallProblem, ask_models


class SharedFirstClassifier(OverlapAware, MultiLabelMetaClassifier):
    """Multi-label classification by pairs that first ask whether a row has both labels.

    For each pair of labels one classifier tells rows with both from rows with one, and a second,
    the ordinary pair, is asked only where the first finds one (Wan and Xu, 2007). All pairs vote,
    for both labels or for one, and labels ahead of a virtual one are predicted. Choose it over
    :class:`~pairmend.CalibratedLabelRanking` where rows with both labels of a pair are many and
    look different from those with one.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each problem. None means
        :class:`~pairmend.RandomSubspaceNB`.
    voting : {"soft", "votes"}, default="soft"
        Whether both classifiers' probabilities count, or each pair gives whole votes: one to
        each label where the first classifier finds both, else one to the winner, half a vote to
        each in a tie. "votes" is the published sequence, and asks the second classifier only
        of the rows it is needed for.
    n_jobs : int, default=None
        Number of processes that train, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    shared_models_ : list of classifiers
        Tell rows with both labels from those with one, for each pair without the virtual label.
    pair_models_ : list of classifiers
        Tell the first label from the second, for each pair.
    pairs_ : ndarray of shape (n_pairs, 2)
        Numbers of the labels of each pair; the virtual label has the number ``n_labels``.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels; after a fit on 1-D classes, the classes.
    multilabel_ : bool
        Whether fit saw label indicators, not 1-D classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if fit saw a frame with string names.

    See Also
    --------
    BradleyTerryClassifier : Two classifiers a pair that are asked side by side.

    Notes
    -----
    With L labels there are L² binary problems: two for each pair, and one for each label against
    its absence, which is its pair with the virtual label. If the first classifier of a pair says
    q and the second p, the first label gets q + (1 - q) p and the second q + (1 - q) (1 - p). A
    label's mean over its L pairs less that of the virtual label gives its score, and 1/2 is the
    virtual label's place: if all pairs are right, just the labels of a row lie above it. The
    virtual label is our choice; `voting` takes effect at prediction.

    A problem without rows says 1/2; one whose rows are of one kind says the smoothed share,
    (n + 1) / (n + 2), so a pair that shares no row hardly ever finds both.

    References
    ----------
    Wan, S.-P., Xu, J.-H. (2007). A multi-label classification algorithm based on triple class
    support vector machine. International Conference on Wavelet Analysis and Pattern
    Recognition.

    Examples
    --------
    >>> from pairmend import SharedFirstClassifier
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
        both[:, real] = ask_models(self.shared_models_, X, n_jobs=self.n_jobs)[..., 1]
        if self.voting == "votes":
            both = (both > 0.5).astype(np.float64)
            first = vote(self._ask_where_one(X, both == 0))
        else:
            first = ask_models(self.pair_models_, X, n_jobs=self.n_jobs)[..., 1]
        one = 1 - both
        return np.stack([both + one * first, both + one * (1 - first)], axis=2)

    def _ask_where_one(self, X: MatrixLike, one: BoolArray) -> FloatArray:
        """Ask the ordinary pairs of the rows that have one label only; elsewhere they say 1/2."""
        first = np.full(one.shape, 0.5)
        for number, model in enumerate(self.pair_models_):
            rows = np.flatnonzero(one[:, number])
            if len(rows):
                said = ask_models([model], take_rows(X, rows), n_jobs=None)
                first[rows, number] = said[:, 0, 1]
        return first

"""The label-pairwise ensemble."""

from collections.abc import Iterator, Sequence
from itertools import repeat
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from pairmend._utils.sklearn_private import HasMethods, Interval, StrOptions, fit_context
from pairmend._utils.typing import FloatArray, MatrixLike, TargetLike
from pairmend.pairwise.base import PairwiseVoting
from pairmend.pairwise.learners import make_pair_learner


class PairwiseClassifier(PairwiseVoting):
    """Multi-label classification by a vote of all pairs of labels (LPW).

    For each pair of labels a binary classifier is trained on the rows that carry exactly one
    of the two (Hüllermeier et al., 2008). A label's score is the mean support its pairs give
    it, and labels that score above the threshold are predicted. Choose it as the plain
    reference for :class:`CorrectedPairwiseClassifier`, or to rank labels.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each pair. None means
        :class:`RandomSubspaceNB`, whose parameters can be set and searched like those of any
        other, as ``estimator__n_subspaces``.
    voting : {"soft", "votes"}, default="soft"
        Whether supports are averaged, or each pair gives its vote to the winner, half a vote
        to each in a tie.
    threshold : float, default=0.5
        Labels with a score above it are predicted. Not used after a fit on 1-D classes.
    n_jobs : int, default=None
        Number of processes that train pairs, and of threads that predict. None means one, but
        for :class:`RandomSubspaceNB` as many threads as matrix products may take.
    random_state : int, RandomState or None, default=None
        Seeds the base classifiers whose own ``random_state`` is None. All pairs get the same
        seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of a frame, else their numbers; after a fit on 1-D
        classes, the classes.
    pairs_ : ndarray of shape (n_pairs, 2)
        Numbers of the labels of each pair.
    multilabel_ : bool
        Whether fit saw label indicators, not 1-D classes.
    learner_ : PairLearner
        The trained pairs.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if fit saw a frame with string names.

    See Also
    --------
    CorrectedPairwiseClassifier : Mends the pairs' votes by how they err nearby.

    Notes
    -----
    A pair without any training row says 1/2; one with rows of one label only says that
    label's Laplace-smoothed share, which counts rows as :class:`RandomSubspaceNB` does: all
    sample weights times a constant change nothing there. Rows that weigh less than a millionth of
    what counts as one row are left out, as rows of weight 0 are.

    `voting` and `threshold` take effect at prediction, so ``set_params`` changes them on a fitted
    classifier. All other parameters need a new ``fit``.

    References
    ----------
    Hüllermeier, E., Fürnkranz, J., Cheng, W., Brinker, K. (2008). Label ranking by learning
    pairwise preferences. Artificial Intelligence 172(16-17), 1897-1916.

    Examples
    --------
    >>> from pairmend import PairwiseClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = PairwiseClassifier(LogisticRegression()).fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]]
    >>> clf.predict_proba(X[:1]).round(2).tolist()
    [[0.01, 0.26, 0.48, 0.8, 0.95]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "voting": [StrOptions({"soft", "votes"})],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = ("voting", "threshold")
    """Parameters that take effect at prediction: changing them needs no new fit."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        voting: str = "soft",
        threshold: float = 0.5,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.voting = voting
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike, **fit_params: Any) -> Self:
        """Train a base classifier for each pair of labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: whatever the base classifier takes.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1. A 1-D array of classes is learnt as one-vs-one
            classification.
        **fit_params : dict
            Parameters of the base classifier's ``fit``; those with one value a row, such as
            ``sample_weight``, are cut to each pair's rows. With metadata routing enabled,
            those the base classifier requests.

        Returns
        -------
        self
        """
        problem = self._read_problem(X, y, fit_params)
        learner = make_pair_learner(problem.base, n_jobs=self.n_jobs, seed=problem.seed)
        learner.fit(problem.X, problem.target.Y, problem.pairs, problem.fit_params)
        # Nothing of an earlier fit is touched before all went well.
        self._remember_problem(problem)
        self.learner_ = learner
        return self

    def _votes(
        self, X: MatrixLike, variants: Sequence[Any]
    ) -> Iterator[tuple[slice, Iterator[FloatArray]]]:
        for labels, supports in self._supports(X):
            yield labels, repeat(supports, len(variants))

"""PairwiseClassifier and CalibratedLabelRanking: votes of pairs without correction."""

from typing import Any, ClassVar

import numpy as np

from pairmend.pairwise.voting import PairwiseVoting


class PairwiseClassifier(PairwiseVoting):
    """Multi-label classification by a vote of all pairs of labels (LPW).

    For each pair of labels a binary classifier is trained on the rows with exactly one of the two
    (Hüllermeier et al., 2008). A label's score is the mean support its pairs give it, and labels
    that score above the threshold are predicted. Use it to rank labels, and as the uncorrected
    baseline of :class:`CorrectedPairwiseClassifier`.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each pair. None means
        :class:`RandomSubspaceNB`, whose parameters can be set and searched like those of any
        other, as ``estimator__n_subspaces``.
    voting : {"soft", "votes"}, default="soft"
        Whether to average supports, or votes: 1 for the label with the larger support, 1/2 for
        each in a tie.
    threshold : float, default=0.5
        Labels with a score above it are predicted. Not used after a fit on 1-D classes.
    verbose : bool or int, default=False
        Whether to print the progress of ``fit``.
    n_jobs : int, default=None
        Number of processes that train pairs, and of threads that predict. None means one, but
        for :class:`RandomSubspaceNB` as many threads as matrix products may take.
    random_state : int, RandomState or None, default=None
        Seeds the base classifiers whose own ``random_state`` is None. All pairs get the same
        seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of a frame, else their indices; after a fit on 1-D
        classes, the classes.
    pairs_ : ndarray of shape (n_pairs, 2)
        Indices of the labels of each pair.
    multilabel_ : bool
        True after a fit on label indicators, False after a fit on 1-D classes.
    learner_ : PairLearner
        The trained pairs.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a frame with string names.

    See Also
    --------
    CorrectedPairwiseClassifier : Corrects the supports of pairs by local confusion matrices.

    Notes
    -----
    The support of a pair without training rows is 1/2. A pair with training rows of one label only
    has that label's Laplace-smoothed share of rows as support, with rows counted as in
    :class:`RandomSubspaceNB`: all sample weights times a constant change nothing. Rows that weigh
    less than a millionth of what counts as one row are left out, as rows of weight 0 are.

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

    prediction_parameters: ClassVar[tuple[str, ...]] = ("voting", "threshold")
    """Parameters that take effect at prediction: changing them needs no new fit."""
    takes_arrays = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        voting: str = "soft",
        threshold: float = 0.5,
        verbose: bool | int = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state)
        self.voting = voting
        self.threshold = threshold
        self.verbose = verbose


class CalibratedLabelRanking(PairwiseVoting):
    """Multi-label classification by a vote of all pairs of labels and a virtual label (CLR).

    A virtual label separates the labels that are predicted from the others. Its pair with label i
    is the binary problem "i or not i", trained on all rows, and labels that rank above it are
    predicted (Fürnkranz et al., 2008). Use it instead of :class:`PairwiseClassifier` if label sets
    are to be predicted, not only rankings.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each pair. None means
        :class:`RandomSubspaceNB`, whose parameters can be set and searched like those of any
        other, as ``estimator__n_subspaces``.
    voting : {"soft", "votes"}, default="soft"
        Whether to average supports, or votes: 1 for the label with the larger support, 1/2 for
        each in a tie. "votes" is the published method.
    verbose : bool or int, default=False
        Whether to print the progress of ``fit``.
    n_jobs : int, default=None
        Number of processes that train pairs, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Seeds the base classifiers whose own ``random_state`` is None. All pairs get the same
        seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of a frame, else their indices; after a fit on 1-D
        classes, the classes.
    pairs_ : ndarray of shape (n_pairs, 2)
        Indices of the labels of each pair; the virtual label has the index ``n_labels``.
    multilabel_ : bool
        True after a fit on label indicators, False after a fit on 1-D classes.
    learner_ : PairLearner
        The trained pairs.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a frame with string names.

    See Also
    --------
    PairwiseClassifier : The same vote without a virtual label, cut at a threshold.
    pairmend.thresholds : Other decision rules.

    Notes
    -----
    With L labels there are L (L + 1) / 2 binary problems. Each label's support is averaged over its
    L pairs, the virtual label's likewise, and ``predict_proba`` is (1 + mean of the label - mean of
    the virtual label) / 2. Labels with scores above 1/2 are predicted: with votes, those with more
    votes than the virtual label. A single label (``y`` of shape (n, 1)) is one binary problem; its
    score is the base classifier's probability.

    After a fit on 1-D classes the best class is predicted, whatever the rank of the virtual label.
    `voting` takes effect at prediction, so ``set_params`` changes it on a fitted classifier. All
    other parameters need a new ``fit``.

    References
    ----------
    Fürnkranz, J., Hüllermeier, E., Loza Mencía, E., Brinker, K. (2008). Multilabel
    classification via calibrated label ranking. Machine Learning 73(2), 133-153.

    Examples
    --------
    >>> from pairmend import CalibratedLabelRanking
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = CalibratedLabelRanking(LogisticRegression()).fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 1, 1, 1], [0, 0, 1, 0, 0]]
    >>> clf.predict_proba(X[:1]).round(2).tolist()
    [[0.27, 0.39, 0.5, 0.67, 0.74]]
    """

    prediction_parameters: ClassVar[tuple[str, ...]] = ("voting",)
    """Parameters that take effect at prediction: changing them needs no new fit."""
    takes_arrays = True
    has_virtual_label = True
    """Fit adds a virtual label (in ``_training_input``; scored in ``_scaling``)."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        voting: str = "soft",
        verbose: bool | int = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state)
        self.voting = voting
        self.verbose = verbose

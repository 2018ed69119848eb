"""Pairwise voting, and the classifiers by votes without correction.

`LearnerClassifier` checks the input of fit, `PairwiseVoting` is the vote of all pairs.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from pairmend._base import MultiLabelClassifier
from pairmend._utils.arrays import (
    Namespace,
    as_numpy,
    check_device_rows,
    check_training_rows,
    foreign_namespace,
    take_rows,
    warn_of_n_jobs,
)
from pairmend._utils.classifiers import check_base_classifier, new_seed
from pairmend._utils.computing import BLOCK_ARRAYS, pair_blocks, row_chunks
from pairmend._utils.sklearn_private import (
    HAS_ARRAY_API,
    HasMethods,
    Interval,
    StrOptions,
    count_rows,
    fit_context,
)
from pairmend._utils.training import (
    Target,
    check_target,
    route_fit_params,
    take_params,
)
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend.kernels.pairs import DIGITS, label_pairs, round_scores, sum_supports, vote
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.learners import PairLearner
from pairmend.pairwise.learners.device import DevicePairLearner
from pairmend.pairwise.learners.generic import GenericPairLearner
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner

Blocks = Iterator[tuple[slice, FloatArray]]
"""Blocks of pairs by their first labels, each with an array (rows, pairs of the block, ...)."""


@dataclass(frozen=True)
class TrainingRows:
    """Rows of a fit in memory; rows in blocks have the same interface."""

    X: MatrixLike
    Y: BoolArray  # label indicators
    fit_params: dict[str, Any]  # of the base classifier

    def take(self, rows: IntArray) -> "TrainingRows":
        """Return some of the rows."""
        params = take_params(self.Y, self.fit_params, rows)
        return TrainingRows(take_rows(self.X, rows), self.Y[rows], params)

    def train(self, learner: PairLearner, pairs: IntArray, owner: Any) -> PairLearner:
        """Train all pairs on the rows."""
        return learner.fit(self, pairs, owner)


@dataclass(frozen=True)
class TrainingInput:
    """The checked input of fit, with the pairs of labels and the source of randomness."""

    base: Any
    X: MatrixLike
    target: Target
    pairs: IntArray
    fit_params: dict[str, Any]
    row_weights: FloatArray
    rng: np.random.RandomState
    seed: int


def space_of(learner: Any) -> Namespace:
    """Return the array library and the device of a learner."""
    return getattr(learner, "namespace", Namespace(np, "cpu"))


class LearnerClassifier(MultiLabelClassifier):
    """A classifier whose supports come from models that are trained on (parts of) the rows."""

    estimator: Any
    n_jobs: int | None
    random_state: Any

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {"estimator": RandomSubspaceNB}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "voting": [StrOptions({"soft", "votes"})],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "calibration_label": ["boolean"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    """Constraints of the parameters that several classifiers have."""

    needs_probabilities: bool = True
    """Whether the base classifier must have predict_proba; else its predictions are votes."""
    takes_arrays: bool = False
    """Whether arrays of other libraries than numpy are taken, with RandomSubspaceNB."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def has_virtual_label(self) -> bool:
        """Whether the next fit adds a virtual label, after all others, to the vote."""
        return bool(getattr(self, "calibration_label", False))

    @property
    def _threshold(self) -> float:
        return float(getattr(self, "threshold", super()._threshold))

    @property
    def _min_labels(self) -> int:
        """Smallest number of labels."""
        return 1

    @property
    def _space(self) -> Namespace:
        """Array library and device of the supports."""
        return space_of(self.learner_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes_arrays = self.takes_arrays and type(self._base_classifier()) is RandomSubspaceNB
        tags.array_api_support = HAS_ARRAY_API and takes_arrays
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike, **fit_params: Any) -> Self:
        """Train the base classifiers, and estimate their errors on the validation set, if any.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: whatever the base classifier, and the neighbourhood, take.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels) or (n_samples,)
            Label indicators, 0 or 1, or the tags of each row, as lists or sets of strings, where
            the classifier takes them, or a 1-D array of classes, which pairwise classifiers learn
            as one-vs-one classification.
        **fit_params : dict
            Parameters of the base classifier's ``fit``; those with one value a row, such as
            ``sample_weight``, are cut to the rows trained on. With metadata routing enabled,
            those the base classifier requests. Sample weights also weigh validation rows.

        Returns
        -------
        self
        """
        data = self._check_fit(X, y, fit_params)
        return self._fit_rows(data, TrainingRows(data.X, data.target.Y, data.fit_params))

    @abstractmethod
    def _fit_rows(self, data: TrainingInput, rows: Any) -> Self:
        """Fit on `TrainingRows`, or rows in blocks."""

    def _check_fit(self, X: MatrixLike, y: TargetLike, fit_params: dict[str, Any]) -> TrainingInput:
        """Check the input of fit; the classifier is not changed."""
        base = self._base_classifier()
        if self.needs_probabilities:
            check_base_classifier(base)
        if (namespace := foreign_namespace(X)) is not None:
            if not self.takes_arrays or type(base) is not RandomSubspaceNB:
                raise ValueError(
                    f"{type(self).__name__} with the base classifier {type(base).__name__} takes "
                    f"no arrays of {namespace.library}. Pass "
                    "arrays of numpy. PairwiseClassifier, CorrectedPairwiseClassifier and "
                    "CalibratedLabelRanking take arrays of any library with RandomSubspaceNB."
                )
            warn_of_n_jobs(self, namespace)
            X, y = check_device_rows(X, namespace, self), as_numpy(y)
            fit_params = {name: as_numpy(value) for name, value in fit_params.items()}
        X = check_training_rows(X)
        target = self._read_target(X, y)
        params, row_weights = route_fit_params(self, base, X, fit_params)
        return self._training_input(X, target, params, row_weights)

    def _read_target(self, X: MatrixLike, y: TargetLike) -> Target:
        return check_target(self, X, y, min_labels=self._min_labels)

    def _training_input(
        self, X: MatrixLike, target: Target, fit_params: dict[str, Any], row_weights: FloatArray
    ) -> TrainingInput:
        n_labels = len(target.classes) + self.has_virtual_label  # a virtual label is the last one
        pairs, rng = label_pairs(n_labels), check_random_state(self.random_state)
        base, seed = self._base_classifier(), new_seed(rng)
        return TrainingInput(base, X, target, pairs, fit_params, row_weights, rng, seed)

    def _row_size(self) -> int:
        """Return the number of floats that prediction needs for each row."""
        return 2 * getattr(self, "n_features_in_", 0)

    def _chunks(self, X: MatrixLike) -> Iterator[slice]:
        return row_chunks(count_rows(X), self._row_size(), self._space.max_bytes)

    def _collect(self, X: MatrixLike, blocks: Callable[[MatrixLike], Blocks]) -> FloatArray:
        """Concatenate the blocks of all chunks of checked rows to an array (n_samples, ...)."""
        xp = self._space.xp
        parts = [
            xp.concat([part for _, part in blocks(take_rows(X, rows))], axis=1)
            for rows in self._chunks(X)
        ]
        return xp.concat(parts, axis=0)


class PairwiseVoting(LearnerClassifier):
    """A classifier that scores labels by the supports, or votes, of all pairs of labels.

    This class fits one classifier per pair and sums their uncorrected supports. Subclasses override
    :meth:`_votes` to correct the supports.
    """

    voting: str
    learner_: Any
    pairs_: IntArray
    _array_attribute = "pairs_"

    @property
    def _is_movable(self) -> bool:
        return isinstance(self.learner_, DevicePairLearner)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the scores of the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            The mean support of a label's pairs for it, in [0, 1]. Scores rank labels; they are
            not calibrated probabilities, and their mean over all labels is 1/2. With a virtual
            label, (1 + mean - mean of the virtual label) / 2. After a fit on 1-D classes they
            are scaled to sum to 1 in each row.
        """
        self._check_namespace(X, "predict_proba")
        return self._scores(self._check_predict(X))

    def pair_support(self, X: MatrixLike) -> FloatArray:
        """Return the uncorrected supports of all pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_pairs)
            Support of each pair for its first label; the second has the complement.
        """
        self._check_namespace(X, "pair_support")
        return self._collect(self._check_predict(X), self._supports)

    def _votes(self, X: MatrixLike) -> Blocks:
        """Yield the votes of pairs for their first labels, block by block."""
        for labels, supports in self._supports(X):
            yield labels, self._pair_votes(supports)

    def _fit_rows(self, data: TrainingInput, rows: Any) -> Self:
        learner = rows.train(self._new_learner(data), data.pairs, self)
        pairs = space_of(learner).asarray(data.pairs)
        return self._set_fitted(data.X, data.target, pairs_=pairs, learner_=learner)

    def _new_learner(self, data: TrainingInput) -> PairLearner:
        """Return the learner for the base classifier and the kind of rows."""
        if type(data.base) is not RandomSubspaceNB:  # a subclass may behave differently
            return GenericPairLearner(data.base, n_jobs=self.n_jobs, seed=data.seed)
        if foreign_namespace(data.X) is not None:
            return DevicePairLearner(data.base, seed=data.seed)
        return SubspaceNBPairLearner(data.base, n_jobs=self.n_jobs, seed=data.seed)

    def _check_predict(self, X: MatrixLike) -> MatrixLike:
        X = super()._check_predict(X)
        namespace = foreign_namespace(X)
        return X if namespace is None else check_device_rows(X, namespace, self)

    def _scores(self, X: MatrixLike) -> FloatArray:
        n_labels, parts = self._n_voting_labels, []
        for rows in self._chunks(X):
            total: Any = 0.0
            for labels, votes in self._votes(take_rows(X, rows)):
                total = total + sum_supports(votes, labels, n_labels, self._space)
            parts.append(total)
        scores = self._scale(self._space.xp.concat(parts, axis=0) / (n_labels - 1))
        return self._round(scores) if self.multilabel_ else scores

    def _pair_votes(self, supports: FloatArray) -> FloatArray:
        """Return the votes of pairs for their first labels."""
        return vote(supports, self._space.xp) if self.voting == "votes" else supports

    @property
    def _digits(self) -> int:
        """Number of decimals to which scores are rounded."""
        return DIGITS

    @property
    def _min_labels(self) -> int:
        """Smallest number of labels that makes a pair."""
        return 2 - self.has_virtual_label

    @property
    def _n_voting_labels(self) -> int:
        """Number of labels in the vote, the virtual label included."""
        return int(self.pairs_[-1, 1]) + 1

    def _scale(self, means: FloatArray) -> FloatArray:
        """Return the scores of labels for the mean supports of all labels in the vote."""
        factor, summand = self._scaling(means)
        return means[:, : len(self.classes_)] * factor + summand

    def _scaling(self, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return factor and summand, for each row, that turn mean supports into scores."""
        xp = self._space.xp
        zeros = xp.zeros_like(means[:, :1])
        ones = zeros + 1
        if self._n_voting_labels == len(self.classes_):
            # Means sum to L / 2. Division by it makes a distribution over classes.
            return ones if self.multilabel_ else ones * (2 / self._n_voting_labels), zeros
        if self.multilabel_:
            return ones / 2, (1 - means[:, -1:]) / 2
        return 1 / xp.sum(means[:, :-1], axis=1, keepdims=True), zeros

    def _decide(self, scores: FloatArray) -> np.ndarray[Any, Any]:
        return super()._decide(scores if self.multilabel_ else self._round(scores))

    def _row_size(self) -> int:
        size = super()._row_size() + BLOCK_ARRAYS * self._n_voting_labels
        return int(size + self.learner_.sizes[0])

    def _blocks(self, X: MatrixLike) -> list[slice]:
        sizes = count_rows(X), self.learner_.sizes[1], self._space.max_bytes
        return list(pair_blocks(self._n_voting_labels, *sizes))

    def _supports(self, X: MatrixLike) -> Blocks:
        blocks = self._blocks(X)
        return zip(blocks, self.learner_.supports(X, blocks), strict=True)

    def _round(self, scores: FloatArray) -> FloatArray:
        """Round scores, so that ties do not depend on the order of labels or the size of blocks."""
        return round_scores(scores, self._digits, self._space.xp)


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

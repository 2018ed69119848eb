"""CorrectedPairwiseClassifier: pairwise voting corrected by local confusion matrices."""

from collections.abc import Iterator
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from pairmend._utils.arrays import stack_rows, take_rows
from pairmend._utils.computing import row_chunks
from pairmend._utils.progress import report
from pairmend._utils.sklearn_private import Interval, StrOptions, count_rows, fit_context
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend.explanation import explaining
from pairmend.explanation.data import Explanation
from pairmend.kernels import pairs
from pairmend.kernels.rrc import REFERENCES
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.learners import PairLearner
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner
from pairmend.pairwise.voting import (
    Blocks,
    LocallyCorrected,
    PairwiseVoting,
    Split,
    TrainingInput,
    TrainingRows,
    space_of,
)
from pairmend.thresholds.rules import fitted_cuts

NEGLIGIBLE = 1e-6
"""Rows whose decayed weight is below this share of the largest weight are dropped."""


@dataclass(frozen=True)
class IncrementalState:
    """What ``partial_fit`` keeps between calls: which rows were given, and the validation set."""

    numbers: IntArray  # positions of the rows among those of all calls
    weights: FloatArray  # their decayed weights
    is_validation: BoolArray
    X: MatrixLike  # the validation rows, in the order of their numbers; frames are encoded
    Y: BoolArray  # and their labels
    n_rows: int
    rng: np.random.RandomState
    seed: int

    def updated(
        self, data: TrainingInput, share: float, decay: float
    ) -> tuple["IncrementalState", IntArray, IntArray]:
        """Return the state with further rows, but for `X`; also training and validation rows.

        Each is a training row with probability `share`. Of `X`, rows are left out only.
        """
        rng, present = deepcopy(self.rng), np.flatnonzero(data.row_weights > 0)
        is_validation = rng.random_sample(len(present)) >= share
        weights, chosen = self.weights * decay, present[is_validation]
        kept = weights >= NEGLIGIBLE * max(data.row_weights.max(), weights.max(initial=0))
        kept |= decay == 1
        kept_set = kept[self.is_validation]
        state = replace(
            self,
            numbers=np.concatenate([self.numbers[kept], self.n_rows + present]),
            weights=np.concatenate([weights[kept], data.row_weights[present]]),
            is_validation=np.concatenate([self.is_validation[kept], is_validation]),
            X=take_rows(self.X, np.flatnonzero(kept_set)) if self.n_rows else None,
            Y=np.concatenate([self.Y[kept_set], data.target.Y[chosen]]),
            n_rows=self.n_rows + len(data.row_weights),
            rng=rng,
        )
        for name, part in (("training", ~state.is_validation), ("validation", state.is_validation)):
            if not part.any():
                raise ValueError(
                    f"validation={share} leaves the {name} part of {state.n_rows} sample(s) empty. "
                    "Give the first call more samples, or another share."
                )
        return state, present[~is_validation], chosen


def _has_partial_fit(classifier: PairwiseVoting) -> bool:
    """Return True if the base classifier can learn incrementally, else raise AttributeError."""
    base = classifier._base_classifier()
    if type(base) is not RandomSubspaceNB:  # a subclass may override its fit
        raise AttributeError(
            f"partial_fit needs the base classifier RandomSubspaceNB, got {type(base).__name__}. "
            "Use estimator=None."
        )
    return True


class CorrectedPairwiseClassifier(explaining.ExplainMixin, LocallyCorrected, PairwiseVoting):
    """Pairwise multi-label classifier corrected by local fuzzy confusion matrices.

    The decisions of each pair's classifier on a validation set are compared with the true
    labels. Validation rows near the row to predict weigh more. The resulting local fuzzy
    confusion matrix corrects the support of the pair (Trajdos and Kurzynski, 2018). The default
    is the paper's FCM; `balance` gives FCM-W, `overlap` FCM-O.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each pair. None means
        :class:`RandomSubspaceNB`, whose parameters can be set and searched like those of any
        other, as ``estimator__n_subspaces``.
    balance : {"pairs", "labels"} or None, default=None
        Weights of the two labels of a pair against imbalance (FCM-W). "labels" uses the number
        of validation rows with each label, which reproduces the paper's losses far better;
        "pairs" the number with the label and without the other, as printed in the paper.
    overlap : float, default=0.0
        Weight of validation rows with both labels of a pair for each of the two, in [0, 1].
        FCM-O is 0.5.
    validation : float, int or tuple, default=0.6
        A float in (0, 1): the share of **training** rows; the others are the validation set. An int
        K of at least 2: K-fold cross-fitting. The validation set is then all rows, with out-of-fold
        predictions, and the final classifiers are trained on all rows. That takes K + 1 trainings.
        A tuple: the indices of the training rows and of the validation rows.
    decay : float, default=1.0
        Factor of the weights of earlier rows at each call of ``partial_fit``, in (0, 1]. Not
        used by ``fit``.
    neighbourhood : neighbourhood, default=None
        Weights of the validation rows around a row: :class:`GaussianNeighbourhood`,
        :class:`AdaptiveNeighbourhood`, :class:`GlobalNeighbourhood`. None means
        ``GaussianNeighbourhood(beta=1.0)``, the paper's, with the parameter
        ``neighbourhood__beta``.
    reference : {"beta", "identity", "crisp"}, default="beta"
        The probability of deciding for the label as a function of its support s. "beta" is the
        paper's randomized reference classifier; "identity" is s itself; "crisp" is 1 if s > 1/2,
        0 if less, 1/2 in a tie.
    voting : {"soft", "votes"}, default="soft"
        Whether to average corrected supports, or votes: 1 for the label with the larger
        corrected support.
    weighting : {"information"} or None, default=None
        "information": weights of pairs, 1 less the conditional entropy in bits of the true label
        given the decision, from the local confusion matrix. None: equal weights.
    threshold : float, default=0.5
        Labels with a score above it are predicted. Not used after a fit on 1-D classes.
    calibration_label : bool, default=False
        Whether to add a virtual label, as in :class:`CalibratedLabelRanking`: its pair with
        label i is the binary problem "i or not i", corrected like any other pair. Labels that
        rank above it have scores above 1/2, so leave `threshold` there.
    verbose : bool or int, default=False
        Whether to print the progress of ``fit``.
    n_jobs : int, default=None
        Number of processes that train pairs, and of threads that predict. None means one, but
        for :class:`RandomSubspaceNB` as many threads as matrix products may take.
    random_state : int, RandomState or None, default=None
        Splits the rows, and seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of a frame, else their indices; after a fit on 1-D
        classes, the classes.
    pairs_ : ndarray of shape (n_pairs, 2)
        Indices of the labels of each pair; a virtual label has the index ``n_labels``.
    train_indices_, validation_indices_ : ndarray of int
        Training rows and validation rows; all rows in both after cross-fitting. After
        ``partial_fit``, positions among the rows of all calls, without rows now forgotten.
    multilabel_ : bool
        True after a fit on label indicators, False after a fit on 1-D classes.
    learner_ : PairLearner
        The trained pairs.
    neighbourhood_ : neighbourhood
        The fitted neighbourhood.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a frame with string names.

    See Also
    --------
    PairwiseClassifier : The same vote, uncorrected.
    CalibratedLabelRanking : The same vote with a virtual label, uncorrected.

    Notes
    -----
    `balance`, `overlap`, `voting`, `weighting` and `threshold` take effect at prediction, so
    ``set_params`` changes them on a fitted classifier: FCM, FCM-W and FCM-O share one fit. All
    other parameters need a new ``fit``. If all validation rows of a pair have weight 0, its
    support is not corrected.

    Weights of pairs by information theory were proposed by Trajdos and Kurzynski (2017). The weight
    here is our own variant: one less the conditional entropy in bits of the true label given the
    decision. Decisions that are always wrong weigh as much as those that are always right, since
    both can be corrected; a pair without validation rows weighs 0. (The mutual information instead
    raised the Hamming loss on emotions and flags by 0.03 to 0.22, since it is 0 for pairs of which
    only one label occurs nearby.) A vote v of weight w is added as 1/2 + w (v - 1/2): at the
    threshold 1/2 the predictions are those of the weighted mean of votes.

    In the pair of label i and the virtual label, a validation row belongs to i if it has i and
    to the virtual label if not, never to both: `overlap` has no effect on it, and both kinds of
    `balance` use the numbers of rows with and without i. ``predict_proba`` is (1 + mean support of
    the label - mean support of the virtual label) / 2. A single label (``y`` of shape (n, 1)) is
    allowed then; its score is the corrected support of its binary problem.

    References
    ----------
    Trajdos, P., Kurzynski, M. (2018). A correction method of a binary classifier applied to
    multi-label pairwise models. International Journal of Neural Systems 28(9), 1750062.

    Trajdos, P., Kurzynski, M. (2017). Weighting scheme for a pairwise multi-label classifier based
    on the fuzzy confusion matrix. arXiv:1710.09710.

    Examples
    --------
    >>> from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = CorrectedPairwiseClassifier(
    ...     LogisticRegression(), validation=5, neighbourhood=GaussianNeighbourhood(beta=4.0),
    ...     random_state=0)
    >>> clf = clf.fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]]
    >>> clf.pair_support(X[:1])[0, :3].round(2).tolist()
    [0.05, 0.01, 0.0]
    >>> clf.pair_corrected(X[:1])[0, :3].round(2).tolist()
    [0.11, 0.01, 0.05]

    With a virtual label, the number of labels is decided on as well:

    >>> clf = clf.set_params(calibration_label=True).fit(X, Y)
    >>> clf.pairs_[:5].tolist()
    [[0, 1], [0, 2], [0, 3], [0, 4], [0, 5]]
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 1, 1, 1], [0, 0, 1, 0, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LocallyCorrected._parameter_constraints,
        "validation": [*LocallyCorrected._parameter_constraints["validation"], tuple],
        "decay": [Interval(Real, 0, 1, closed="right")],
        "balance": [StrOptions({"pairs", "labels"}), None],
        "overlap": [Interval(Real, 0, 1, closed="both")],
        "weighting": [StrOptions({"information"}), None],
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = (
        "balance",
        "overlap",
        "voting",
        "weighting",
        "threshold",
    )
    """Parameters that take effect at prediction: changing them needs no new fit."""
    takes_arrays = True
    _state: IncrementalState | None
    _update_state: ClassVar[tuple[str, ...]] = ("_state",)

    def __init__(
        self,
        estimator: Any = None,
        *,
        balance: str | None = None,
        overlap: float = 0.0,
        validation: float | int | tuple[Any, Any] = 0.6,
        decay: float = 1.0,
        neighbourhood: Any = None,
        reference: str = "beta",
        voting: str = "soft",
        weighting: str | None = None,
        threshold: float = 0.5,
        calibration_label: bool = False,
        verbose: bool | int = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state)
        self.balance = balance
        self.overlap = overlap
        self.validation = validation
        self.decay = decay
        self.neighbourhood = neighbourhood
        self.reference = reference
        self.voting = voting
        self.weighting = weighting
        self.threshold = threshold
        self.calibration_label = calibration_label
        self.verbose = verbose

    @available_if(_has_partial_fit)
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: MatrixLike, y: TargetLike, classes: Any = None, **fit_params: Any
    ) -> Self:
        """Learn incrementally from further rows.

        Each row is a training row with probability `validation`, drawn row by row, and a
        validation row otherwise; how rows are cut into calls makes no difference. With
        ``decay=1`` the result is that of a ``fit`` on all rows with the same split and the
        feature statistics of the first call's training rows::

            CorrectedPairwiseClassifier(
                validation=(clf.train_indices_, clf.validation_indices_)
            ).fit(X_all, Y_all, feature_statistics=clf.learner_.feature_statistics_)

        Parameters
        ----------
        X : {array-like, CSR, DataFrame} of shape (n_samples, n_features)
            Rows, at least one. Validation rows are kept, training rows are not.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1; the tags of each row, as lists or sets of strings; or a
            1-D array of classes.
        classes : array-like of shape (n_labels,), default=None
            All classes of a 1-D target, or the names of the labels. Read in the first call. None
            means those of the first call's `y`.
        **fit_params : dict
            ``sample_weight``; in the first call also ``feature_statistics``, for example
            ``RandomSubspaceNB().feature_statistics(X)`` of a larger sample.

        Returns
        -------
        self

        Notes
        -----
        Only :class:`RandomSubspaceNB` as base classifier and a float as `validation` support
        incremental learning. After a ``fit`` without cross-fitting, ``partial_fit`` continues
        from it. Distances are scaled by all validation rows, as in ``fit``.

        With sample weights, the weight that counts as one row (see :class:`RandomSubspaceNB`) is
        that of the training rows of the first call, or 1 if it has no weights. Rows that weigh
        less than a millionth of what counts as one row in their own call are left out.

        The updated pairs decide on all validation rows, so the cost of a call grows with the
        number of validation rows: one call with a hundred rows is cheaper than a hundred calls.
        With a `decay` below 1, rows that weigh less than a millionth of the heaviest are dropped,
        which bounds memory and time.
        """
        data = self._check_partial_fit(X, y, classes, fit_params)
        state = getattr(self, "_state", None)
        if state is None:
            none: Any = np.empty(0, dtype=np.intp)
            given = none, none, none == 1, None, data.target.Y[:0], 0
            state = IncrementalState(*given, data.rng, data.seed)
        learner: Any = copy(self.learner_) if state.n_rows else self._new_learner(data)
        state, train, chosen = state.updated(data, float(self.validation), float(self.decay))
        rows = TrainingRows(data.X, data.target.Y, data.fit_params).take(train)
        min_mass = NEGLIGIBLE * float(state.weights.max())
        learner.partial_fit(rows, data.pairs, decay=float(self.decay), min_mass=min_mass)
        further = learner.encoded(take_rows(data.X, chosen))
        X = further if state.X is None else stack_rows([state.X, further])
        state = replace(state, X=X)
        validation = TrainingRows(X, state.Y, {})
        split: Split = np.arange(0), np.arange(len(state.Y)), []
        data = replace(data, row_weights=state.weights[state.is_validation], seed=state.seed)
        self._fit_rows(data, validation, split, learner)
        self.train_indices_ = state.numbers[~state.is_validation]
        self.validation_indices_ = state.numbers[state.is_validation]
        self._state = state
        return self

    def _check_partial_fit(
        self, X: MatrixLike, y: TargetLike, classes: Any, fit_params: dict[str, Any]
    ) -> TrainingInput:
        if isinstance(self.validation, Integral | tuple):
            raise ValueError(
                f"partial_fit splits rows by a share: validation={self.validation!r} must be a "
                "float between 0 and 1."
            )
        data = super()._check_partial_fit(X, y, classes, fit_params)
        if hasattr(self, "classes_") and getattr(self, "_state", None) is None:
            raise ValueError(
                "partial_fit cannot continue a fit with cross-fitting, with another base "
                "classifier or on arrays of another library than numpy, nor a classifier that "
                "was not saved by save_model(..., updates=True). Fit a new classifier."
            )
        if len(data.pairs) != len(getattr(self, "pairs_", data.pairs)):
            raise ValueError("calibration_label must not change between calls of partial_fit.")
        return data

    def _train(
        self, data: TrainingInput, rows: Any, parts: list[IntArray]
    ) -> Iterator[PairLearner]:
        for number, part in enumerate(parts, 1):
            training = f"(training {number} of {len(parts)})"
            report(self, f"{training} {len(data.pairs)} pairs on {len(part)} rows")
            yield rows.take(part).train(self._new_learner(data), data.pairs, self)

    def _decide_at(
        self, validation: TrainingRows, folds: list[IntArray], models: Iterator[PairLearner]
    ) -> Any:
        Y, reference = validation.Y, REFERENCES[self.reference]
        label_rows = pairs.LabelRows.of(Y, has_virtual=self.has_virtual_label)
        if not folds:
            learner = next(models)
            found = learner.decide(validation.X, label_rows, reference)
        else:
            parts, entries = [], []
            for fold, learner in zip(folds, models, strict=True):
                here, chosen = label_rows.among(fold, len(Y))
                parts.append(learner.decide(validation.take(fold).X, here, reference))
                entries.append(np.flatnonzero(chosen))
            space = space_of(learner)
            place = space.asarray(np.argsort(np.concatenate(entries)))
            found = space.xp.take(space.xp.concat(parts, axis=0), place, axis=0)
        if self.has_virtual_label:
            Y = np.column_stack([Y, np.zeros(len(Y), dtype=bool)])
        return learner.decisions(label_rows, Y, found)

    def _further_attributes(
        self, data: TrainingInput, learner: Any, split: Split, validation: Any
    ) -> dict[str, Any]:
        train, numbers, folds = split
        state, weights = None, data.row_weights
        if isinstance(learner, SubspaceNBPairLearner) and not folds:
            X, rows = learner.encoded(validation.X), np.concatenate([train, numbers])
            is_validation = np.arange(len(rows)) >= len(train)
            given = rows, weights[rows], is_validation, X, validation.Y, len(weights)
            state = IncrementalState(*given, data.rng, data.seed)
        return {"pairs_": space_of(learner).asarray(data.pairs), "_state": state}

    def pair_corrected(self, X: MatrixLike) -> FloatArray:
        """Return the corrected supports of all pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_pairs)
            Support of each pair for its first label; the second has the complement.
        """
        self._check_namespace(X, "pair_corrected")
        return self._collect(self._check_predict(X), self._corrected)

    def _votes(self, X: MatrixLike) -> Blocks:
        for labels, corrected, confusion in self._correct(X):
            votes = self._pair_votes(corrected)
            if self.weighting is not None:
                votes = pairs.weigh(votes, pairs.information(confusion, self._space.xp))
            yield labels, votes

    def _corrected(self, X: MatrixLike) -> Blocks:
        for labels, corrected, _ in self._correct(X):
            yield labels, corrected

    def _correct(self, X: MatrixLike) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield the corrected supports of blocks of pairs, and the local confusion matrices."""
        xp, by_row = self._space.xp, self._weights(X).T
        for labels, supports in self._supports(X):
            p_decide = REFERENCES[self._reference](supports, xp)
            confusion = self._confusion(by_row, labels)
            yield labels, pairs.correct(p_decide, confusion, xp), confusion

    def _confusion_shares(self, X: MatrixLike) -> Blocks:
        xp, weights = self._space.xp, self._weights(X)
        size = xp.sum(weights, axis=1)
        size = xp.where(size > 0, size, 1.0)[:, None, None, None]
        for labels in self._blocks(X):
            yield labels, self._confusion(weights.T, labels) / size

    def _confusion(self, by_row: FloatArray, labels: slice) -> FloatArray:
        """Return the confusion matrices of a block for weights (n_validation_rows, n_samples)."""
        variant = {"overlap": float(self.overlap), "balance": self._balance(labels)}
        return self._decisions.confusion(by_row, labels, **variant)

    def _balance(self, labels: slice) -> tuple[FloatArray, FloatArray] | None:
        """Return the class weights of the pairs of a block; None without `balance`."""
        if self.balance is None:
            return None
        first, second = pairs.pairs_between(labels, self._n_voting_labels)
        row_weights = self._space.numpy(self._row_weights)
        if self.balance == "labels":
            Y = self._decisions.Y
            sizes, without = (row_weights @ rows for rows in (Y, ~Y))
            is_real = second < len(self.classes_)
            return pairs.balance_weights(
                sizes[first], np.where(is_real, sizes[second], without[first])
            )
        alone = self._decisions.label_rows.weights(self._decisions.Y, row_weights)
        return pairs.balance_weights(alone[first, second], alone[second, first])

    def _explain(self, X: MatrixLike, request: explaining.Request) -> list[Explanation]:
        self._check_namespace(X, "explain")
        if request.background is not None:
            raise ValueError("pairwise classifiers list no contributions: leave background out")
        X = self._check_predict(X)
        size = 8 * len(self.classes_) ** 2 + 4 * len(self._row_weights)
        explained: list[Explanation] = []
        for chunk in row_chunks(count_rows(X), size):
            explained += _explain_chunk(self, take_rows(X, chunk), request, chunk.start)
        return explained


def _explain_chunk(
    classifier: Any, X: MatrixLike, request: explaining.Request, start: int
) -> list[Explanation]:
    names = [str(name) for name in request.label_names or classifier.classes_.tolist()]
    votes = [
        each.astype(np.float64)
        for each in (
            classifier._pair_votes(classifier.pair_support(X)),
            classifier._collect(X, classifier._votes),
        )
    ]
    n_ranked = classifier._n_voting_labels
    block = slice(0, n_ranked - 1)
    means = [pairs.sum_supports(v, block, n_ranked) / (n_ranked - 1) for v in votes]
    before, after = classifier._scale(means[0]), classifier._scores(X)
    cuts = fitted_cuts(request.threshold) if request.threshold else classifier._threshold
    if classifier.multilabel_:
        before = classifier._round(before)
    limits = explaining.finite(cuts if classifier.multilabel_ else None, len(names))
    terms = list(_terms(classifier, X, names, votes, [classifier._scaling(m) for m in means]))
    predicted = [_predicted(classifier, each, request) for each in (before, after)]
    scores = explaining.Scores(
        names, before, after, predicted[0], predicted[1], limits, terms, classifier._weights(X),
        classifier.validation_indices_, classifier._decisions.Y[:, : len(names)],
    )  # fmt: skip
    return [scores.explanation(row, start, request) for row in range(len(after))]


def _terms(
    classifier: Any, X: MatrixLike, names: list[str], votes: list[FloatArray], scalings: Any
) -> Iterator[explaining.Term]:
    """Yield what the pairs of all labels with each label change of their scores."""
    n_labels, n_ranked = len(names), classifier._n_voting_labels

    def shares_of(rows: MatrixLike) -> Any:
        for block, _, confusion in classifier._correct(rows):
            yield block, np.stack(pairs.p_true_given_decision(confusion), axis=-1)

    # P(first label is true | decision) of pairs, for both decisions.
    shares, labels = classifier._collect(X, shares_of), np.arange(n_labels)
    pair_of = np.zeros((n_ranked, n_ranked), dtype=np.intp)
    first, second = classifier.pairs_.T
    pair_of[first, second] = pair_of[second, first] = np.arange(len(first))
    factors = [factor / (n_ranked - 1) for factor, _ in scalings]
    for other in range(n_ranked):
        own_pairs, is_first = pair_of[:n_labels, other], labels < other
        own = [np.where(is_first, vote[:, own_pairs], 1 - vote[:, own_pairs]) for vote in votes]
        given = [
            np.where(is_first, shares[:, own_pairs, k], 1 - shares[:, own_pairs, 1 - k])
            for k in (0, 1)
        ]
        amount = own[1] * factors[1] - own[0] * factors[0]
        if other < n_labels:
            amount[:, other] = np.nan
        name = f"against {names[other]}" if other < n_labels else "against its absence"
        yield "votes", name, own[0], own[1], amount, given
    if n_ranked > n_labels and classifier.multilabel_:
        # The mean support of the virtual label is part of every score.
        own = [np.repeat(summand, n_labels, axis=1) for _, summand in scalings]
        yield "votes", "the virtual label", own[0], own[1], own[1] - own[0], ()


def _predicted(classifier: Any, scores: FloatArray, request: explaining.Request) -> BoolArray:
    if request.threshold is not None:
        return np.asarray(request.threshold.decide(scores)) == 1
    decisions = classifier._decide(scores)
    if classifier.multilabel_:
        return np.asarray(decisions == 1)
    return np.asarray(decisions[:, np.newaxis] == classifier.classes_)

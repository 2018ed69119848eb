"""CorrectedPairwiseClassifier: pairwise voting corrected by local confusion matrices.

`LocallyCorrected` is the fit with a validation set, of this classifier and of those without pairs;
`IncrementalState` is what ``partial_fit`` keeps between calls.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from pairmend._utils.arrays import (
    check_features,
    check_training_rows,
    has_categories,
    is_frame,
    is_pandas,
    pack_frame,
    refuse_arrays,
    take_rows,
    unpack_frame,
)
from pairmend._utils.classifiers import seed_estimator
from pairmend._utils.progress import report
from pairmend._utils.sklearn_private import HasMethods, Interval, StrOptions, fit_context
from pairmend._utils.training import (
    all_equal,
    check_further_target,
    fit_with_weights,
    route_fit_params,
)
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend.explanation import Explanations
from pairmend.explanation.problem import N_NEIGHBORS
from pairmend.kernels.confusion import WEIGHTINGS, balance_weights, correct, weigh
from pairmend.kernels.pairs import LabelRows, pairs_between
from pairmend.kernels.rrc import REFERENCES
from pairmend.model_selection import given_split, validation_split
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.neighbourhoods import GaussianNeighbourhood, checked_weights
from pairmend.pairwise.explain import explain_rows
from pairmend.pairwise.learners import PairLearner
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner
from pairmend.pairwise.voting import (
    Blocks,
    LearnerClassifier,
    PairwiseVoting,
    TrainingInput,
    TrainingRows,
    space_of,
)

Split = tuple[IntArray, IntArray, list[tuple[IntArray, IntArray]]]
"""Training rows, validation rows, and folds of the validation rows (none without cross-fitting)."""
NEGLIGIBLE = 1e-6
"""Rows whose decayed weight is below this share of the largest weight are dropped."""


class LocallyCorrected(LearnerClassifier):
    """A classifier whose decisions on a validation set correct its supports around each row.

    A fit trains models, lets them decide on validation rows that they were not trained on, and
    keeps the decisions. A prediction weighs the validation rows around a row, sums their decisions
    to confusion matrices, and corrects the supports by these.
    """

    validation: Any
    reference: str
    learner_: Any
    neighbourhood_: Any
    train_indices_: IntArray
    validation_indices_: IntArray
    _decisions: Any
    _reference: str
    _row_weights: FloatArray

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerClassifier._parameter_constraints,
        "validation": [
            Interval(Real, 0, 1, closed="neither"),
            Interval(Integral, 2, None, closed="left"),
        ],
        "neighbourhood": [HasMethods(["fit", "weights"]), None],
        "reference": [StrOptions(set(REFERENCES))],
    }
    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {
        **LearnerClassifier._default_parts,
        "neighbourhood": GaussianNeighbourhood,
    }
    _row_numbers: ClassVar[tuple[str, ...]] = ("train_indices_", "validation_indices_")

    @abstractmethod
    def _train(self, data: TrainingInput, rows: Any, parts: list[IntArray]) -> Iterator[Any]:
        """Yield a model trained on each part of the rows."""

    @abstractmethod
    def _decide_at(self, validation: Any, folds: list[IntArray], models: Iterator[Any]) -> Any:
        """Return the decisions at validation rows, those at each of the folds by another model.

        Without folds there is one model for all validation rows.
        """

    @abstractmethod
    def _confusion_shares(self, X: MatrixLike) -> Blocks:
        """Yield the local confusion matrices of blocks as shares of the neighbourhoods."""

    def _fit_rows(
        self, data: TrainingInput, rows: Any, split: Split | None = None, learner: Any = None
    ) -> Self:
        """Fit on `TrainingRows`, or rows in blocks; a given learner is trained already."""
        split = split or self._split(data)
        train, validation_indices, folds = split
        # Distances are fitted first, so that an error occurs before the costly training.
        validation = rows.take(validation_indices)
        neighbourhood = seed_estimator(self._part("neighbourhood"), data.seed)
        row_weights = data.row_weights[validation_indices]
        labels = replace(data.target, Y=validation.Y).as_given(np.arange(len(validation.Y)))
        weights = None if all_equal(row_weights) else row_weights
        fit_with_weights(neighbourhood, (validation.X, labels), weights)

        parts = [train, *(validation_indices[rest] for rest, _ in folds)]
        models = self._train(data, rows, parts)
        learner = next(models) if learner is None else learner
        decisions = self._decide_at(
            validation, [fold for _, fold in folds], models if folds else iter([learner])
        )
        report(self, f"validation set of {len(validation_indices)} rows predicted")
        space = space_of(learner)
        return self._set_fitted(
            data.X,
            data.target,
            learner_=learner,
            neighbourhood_=neighbourhood,
            train_indices_=space.asarray(train),
            validation_indices_=space.asarray(validation_indices),
            _decisions=decisions,
            _reference=self.reference,
            _row_weights=space.asarray(row_weights),
            **self._further_attributes(data, learner, split, validation),
        )

    def _further_attributes(
        self, data: TrainingInput, learner: Any, split: Split, validation: Any
    ) -> dict[str, Any]:
        """Return the fitted attributes of subclasses."""
        return {}

    def _split(self, data: TrainingInput) -> Split:
        """Return training rows, validation rows, and folds of the validation rows."""
        present = np.flatnonzero(data.row_weights > 0)
        if isinstance(self.validation, tuple):
            train, validation = given_split(self.validation, len(data.row_weights))
            return np.intersect1d(train, present), np.intersect1d(validation, present), []
        return validation_split(present, self.validation, data.rng)

    def confusion(self, X: MatrixLike) -> FloatArray:
        """Return the local fuzzy confusion matrices, of all pairs if pairs are corrected.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, ..., n_decisions, n_decisions)
            ``[..., truth, decision]``: the share of the neighbourhood of the row that each cell
            holds. For pairs the shape is (n_samples, n_pairs, 2, 2), index 0 standing for the
            pair's first label.
        """
        self._check_namespace(X, "confusion")
        return self._collect(self._check_predict(X), self._confusion_shares)

    def _row_size(self) -> int:
        # Weights, squared distances and their exponents.
        return super()._row_size() + 4 * self._row_weights.shape[0]

    def _weights(self, X: MatrixLike) -> FloatArray:
        """Return the weights of the validation rows around rows, (n, n_validation_rows)."""
        xp, of_rows = self._space.xp, self._row_weights
        weights = checked_weights(self.neighbourhood_, X, of_rows.shape[0], xp)
        return weights if bool(xp.all(of_rows == 1)) else weights * of_rows


@dataclass(frozen=True)
class IncrementalState:
    """What ``partial_fit`` keeps between calls: which rows were given, and the validation set."""

    numbers: IntArray  # positions of the rows among those of all calls
    weights: FloatArray  # their decayed weights
    is_validation: BoolArray
    X: MatrixLike  # the validation rows, in the order of their numbers
    Y: BoolArray  # and their labels
    n_rows: int
    max_weight: float
    rng: np.random.RandomState
    seed: int

    def __getstate__(self) -> dict[str, Any]:
        # Model files hold arrays, not frames.
        return {**self.__dict__, "X": pack_frame(self.X) if is_pandas(self.X) else self.X}

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed = isinstance(state["X"], dict)
        self.__dict__.update({**state, "X": unpack_frame(state["X"]) if packed else state["X"]})

    @classmethod
    def of(
        cls,
        data: TrainingInput,
        train: IntArray,
        validation: IntArray,
        X: MatrixLike,
        Y: BoolArray,
    ) -> Self:
        """Return the state after a fit with the validation set (X, Y)."""
        numbers, weights = np.concatenate([train, validation]), data.row_weights
        return cls(
            numbers=numbers,
            weights=weights[numbers],
            is_validation=np.arange(len(numbers)) >= len(train),
            X=X,
            Y=Y,
            n_rows=len(weights),
            max_weight=float(weights.max(initial=0)),
            rng=deepcopy(data.rng),
            seed=data.seed,
        )

    def updated(
        self, data: TrainingInput, share: float, decay: float
    ) -> tuple["IncrementalState", IntArray]:
        """Return the state after further rows, and which of them are training rows.

        Each is a training row with probability `share`.
        """
        rng = deepcopy(self.rng)
        present = np.flatnonzero(data.row_weights > 0)
        is_validation = rng.random_sample(len(present)) >= share
        max_weight = max(self.max_weight, float(data.row_weights.max()))
        weights, chosen = self.weights * decay, present[is_validation]
        kept = (weights >= NEGLIGIBLE * max_weight) | (decay == 1)
        kept_set, X = kept[self.is_validation], take_rows(data.X, chosen)
        if self.n_rows:
            X = append_rows(take_rows(self.X, np.flatnonzero(kept_set)), X)
        state = replace(
            self,
            numbers=np.concatenate([self.numbers[kept], self.n_rows + present]),
            weights=np.concatenate([weights[kept], data.row_weights[present]]),
            is_validation=np.concatenate([self.is_validation[kept], is_validation]),
            X=X,
            Y=np.concatenate([self.Y[kept_set], data.target.Y[chosen]]),
            n_rows=self.n_rows + len(data.row_weights),
            max_weight=max_weight,
            rng=rng,
        )
        for name, part in (("training", ~state.is_validation), ("validation", state.is_validation)):
            if not part.any():
                raise ValueError(
                    f"validation={share} leaves the {name} part of {state.n_rows} sample(s) empty. "
                    "Give the first call more samples, or another share."
                )
        return state, present[~is_validation]


def append_rows(X: MatrixLike, more: MatrixLike) -> MatrixLike:
    """Return rows followed by further rows, in the form of the former."""
    if is_pandas(X) != is_pandas(more):
        kinds = ["no DataFrame", "a DataFrame"]
        raise ValueError(
            f"X is {kinds[is_pandas(more)]}, but was {kinds[is_pandas(X)]} in the first call."
        )
    if is_pandas(X):
        for name in X.columns:
            if has_categories(X[name]) and X[name].dtype != more[name].dtype:
                raise ValueError(
                    f"Column {name!r} is of the dtype {more[name].dtype!r}, but was "
                    f"{X[name].dtype!r} in the first call. Give it the same categories."
                )
        from pandas import concat

        return concat([X, more], ignore_index=True)
    if sparse.issparse(X):
        return sparse.vstack([X, sparse.csr_array(more)], format="csr")
    return np.concatenate([X, more.toarray() if sparse.issparse(more) else more])


def _has_partial_fit(classifier: PairwiseVoting) -> bool:
    """Return True if the base classifier can learn incrementally, else raise AttributeError."""
    base = classifier._base_classifier()
    if type(base) is not RandomSubspaceNB:  # a subclass may override its fit
        raise AttributeError(
            f"partial_fit needs the base classifier RandomSubspaceNB, got {type(base).__name__}. "
            "Use estimator=None."
        )
    return True


class CorrectedPairwiseClassifier(LocallyCorrected, PairwiseVoting):
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
    reference : {"beta", "constrained", "identity", "crisp"}, default="beta"
        The probability of deciding for the label as a function of its support s. "beta" is the
        paper's randomized reference classifier; "constrained" another reading of it;
        "identity" is s itself; "crisp" is 1 if s > 1/2, 0 if less, 1/2 in a tie.
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
        "balance": [StrOptions({"pairs", "labels"}), None],
        "overlap": [Interval(Real, 0, 1, closed="both")],
        "validation": [*LocallyCorrected._parameter_constraints["validation"], tuple],
        "decay": [Interval(Real, 0, 1, closed="right")],
        "weighting": [StrOptions(set(WEIGHTINGS)), None],
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
        label_rows = LabelRows.of(Y, has_virtual=self.has_virtual_label)
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
        state = None
        if isinstance(learner, SubspaceNBPairLearner) and not folds:
            X = validation.X
            if not is_frame(X) or is_pandas(X):
                state = IncrementalState.of(data, train, numbers, X, validation.Y)
        return {"pairs_": space_of(learner).asarray(data.pairs), "_state": state}

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
            none, no_rows = np.empty(0, dtype=np.intp), replace(data, row_weights=np.empty(0))
            state = IncrementalState.of(no_rows, none, none, None, data.target.Y[:0])
        learner: Any = copy(self.learner_) if hasattr(self, "learner_") else self._new_learner(data)
        state, train = state.updated(data, float(self.validation), float(self.decay))
        rows = TrainingRows(data.X, data.target.Y, data.fit_params).take(train)
        min_mass = NEGLIGIBLE * state.max_weight
        learner.partial_fit(rows, data.pairs, decay=float(self.decay), min_mass=min_mass)
        validation = TrainingRows(state.X, state.Y, {})
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
        """Check the input of partial_fit; the classifier is not changed."""
        if isinstance(self.validation, Integral | tuple):
            raise ValueError(
                f"partial_fit splits rows by a share: validation={self.validation!r} must be a "
                "float between 0 and 1."
            )
        refuse_arrays(X, "partial_fit", "Pass arrays of numpy, or all rows to fit.")
        X = check_training_rows(X)
        if is_frame(X) and not is_pandas(X):
            raise ValueError(
                f"partial_fit takes arrays and pandas frames, and X is a {type(X).__module__} "
                "frame. Pass X.to_pandas()."
            )
        if hasattr(self, "classes_"):
            if not hasattr(self, "_state"):
                raise ValueError(
                    "The classifier was loaded from a model file without the validation rows that "
                    "partial_fit needs. Save it by save_model(..., updates=True), or fit a new "
                    "classifier."
                )
            if self._state is None:
                raise ValueError(
                    "partial_fit cannot continue a fit with cross-fitting, with another base "
                    "classifier or on arrays of another library than numpy. Fit a new classifier."
                )
            X = check_features(self, X)
        target = check_further_target(self, X, y, classes, min_labels=self._min_labels)
        params, weights = route_fit_params(self, self._base_classifier(), X, fit_params)
        data = self._training_input(X, target, params, weights)
        if len(data.pairs) != len(getattr(self, "pairs_", data.pairs)):
            raise ValueError("calibration_label must not change between calls of partial_fit.")
        return data

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

    def explain(
        self,
        X: MatrixLike,
        *,
        training: MatrixLike | None = None,
        n_neighbors: int = N_NEIGHBORS,
        n_problems: int | None = None,
    ) -> Explanations:
        """Explain predictions: changed votes of pairs, confusion matrices, sums of scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Explain few at a time: all pairs of all rows are computed.
        training : array-like of shape (n_training, n_features), default=None
            The rows given to fit, in the same order. With them the explanation has the index and
            the feature values of the neighbours, which a classifier does not keep.
        n_neighbors : int, default=5
            Number of validation rows listed for a pair: those of largest weight, by their positions
            among the rows given to fit.
        n_problems : int, default=None
            Number of pairs explained for a row: those that changed most; None means all.

        Returns
        -------
        list of Explanation
            One for each row. ``print`` shows it as text, notebooks as tables, ``to_html`` returns a
            page, also of the list, ``to_frame`` returns frames, and
            :func:`pairmend.plots.plot_explanation` draws it.
        """
        refuse_arrays(X, "explain", "Fit the classifier on arrays of numpy.")
        if hasattr(self, "learner_") and self._is_movable:
            raise ValueError(
                "explain needs a classifier that was fitted on arrays of numpy; this one was "
                "fitted on those of another library. Fit it again."
            )
        return explain_rows(self, X, training, n_neighbors=n_neighbors, n_problems=n_problems)

    def _votes(self, X: MatrixLike) -> Blocks:
        for labels, corrected, confusion in self._correct(X):
            votes = self._pair_votes(corrected)
            if self.weighting is not None:
                votes = weigh(votes, WEIGHTINGS[self.weighting](confusion, self._space.xp))
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
            yield labels, correct(p_decide, confusion, xp), confusion

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
        first, second = pairs_between(labels, self._n_voting_labels)
        row_weights = self._space.numpy(self._row_weights)
        if self.balance == "labels":
            Y = self._decisions.Y
            sizes, without = (row_weights @ rows for rows in (Y, ~Y))
            is_real = second < len(self.classes_)
            return balance_weights(sizes[first], np.where(is_real, sizes[second], without[first]))
        alone = self._decisions.sizes(row_weights)
        return balance_weights(alone[first, second], alone[second, first])

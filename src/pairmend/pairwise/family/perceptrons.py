"""PairwisePerceptrons: multi-label pairwise perceptrons, trained row by row."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_array

from pairmend._utils.arrays import (
    check_features,
    check_magnitude,
    check_training_rows,
    refuse_arrays,
)
from pairmend._utils.sklearn_private import Interval, StrOptions, fit_context
from pairmend._utils.training import (
    Target,
    check_further_target,
    check_row_weights,
    check_target,
    unit_weight,
)
from pairmend._utils.typing import (
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    MatrixLike,
    TargetLike,
)
from pairmend.frames.columns import require_numbers
from pairmend.kernels.pairs import label_pairs, pairs_of
from pairmend.pairwise.voting import PairwiseVoting, TrainingInput


class PerceptronPairLearner:
    """A perceptron for each pair of labels, all trained together.

    A row trains the pairs of each of its labels with each label that it lacks, and, with a virtual
    label, the pairs of the virtual label with all others. Their margins are one product, and
    perceptrons that misclassify the row are updated. The result equals that of a separate
    perceptron for each pair trained on the same rows in the same order.

    The last of `n_labels` is the virtual label if `has_virtual`. With `average`, weights are
    averaged over all rows that a pair was trained on. `unit` is the weight that counts as one row
    in smoothed shares. Weights are stored `by_feature`, which suits sparse rows, or by pair, which
    suits dense ones.
    """

    def __init__(
        self,
        n_labels: int,
        n_features: int,
        *,
        has_virtual: bool = False,
        fit_intercept: bool = True,
        average: bool = False,
        dtype: str = "float64",
        unit: float = 1.0,
        by_feature: bool = False,
    ):
        self.has_virtual, self.by_feature = has_virtual, by_feature
        self.fit_intercept = fit_intercept
        self.dtype, self.n_labels, self.n_features = dtype, n_labels, n_features
        self.unit = unit
        self._pairs = label_pairs(n_labels)
        shape = (len(self._pairs), n_features + fit_intercept)
        order: Any = "F" if by_feature else "C"
        # Weights; for averages, also each update times the number of rows before it.
        self._stores = [np.zeros(shape, dtype=dtype, order=order) for _ in range(1 + average)]
        self._seen = np.zeros(len(self._pairs), dtype=np.int64)
        self._mass = np.zeros(n_labels * n_labels)

        first, second = self._pairs.T
        number = np.zeros((n_labels, n_labels), dtype=np.intp)
        number[first, second] = number[second, first] = np.arange(len(first))
        self._number = number.ravel()
        self._side = np.sign(np.subtract.outer(-np.arange(n_labels), -np.arange(n_labels)))
        self._side = self._side.astype(dtype).ravel()

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of floats that a row, and a pair, need in prediction, without supports."""
        return self._stores[0].shape[1], 0

    def partial_fit(self, X: Matrix, Y: BoolArray, weights: FloatArray) -> int:
        """Update all pairs with one row after another; return the number of misclassifications.

        Y is without the virtual label; the update by each row is multiplied by its weight, above 0.
        """
        rows = self._extend(X)
        if self.by_feature != sparse.issparse(rows):
            rows = sparse.csr_array(rows) if self.by_feature else rows.toarray()
        # By feature, weights are one long array with the pairs of one feature after another.
        stores = [each.ravel("F") if self.by_feature else each for each in self._stores]
        n_wrong = 0
        for row, (row_labels, weight) in enumerate(zip(Y, weights.tolist(), strict=True)):
            cells = self._trained_cells(row_labels)
            if not len(cells):
                continue
            self._mass[cells] += weight / self.unit
            pair, side = self._number.take(cells), self._side.take(cells)
            self._seen[pair] += 1
            if self.by_feature:
                here = slice(rows.indptr[row], rows.indptr[row + 1])
                values = rows.data[here]
                place = pair[:, np.newaxis] + len(self._pairs) * rows.indices[here].astype(np.intp)
            else:
                place, values = pair, rows[row]
            wrong = np.flatnonzero(stores[0].take(place, axis=0) @ values * side <= 0)
            step = np.multiply.outer(side[wrong] * weight, values)
            stores[0][place[wrong]] += step
            for drift in stores[1:]:
                step *= (self._seen[pair[wrong]] - 1).astype(self.dtype)[:, np.newaxis]
                drift[place[wrong]] += step
            n_wrong += len(wrong)
        return n_wrong

    def supports(self, X: Matrix, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports for the first labels of blocks of pairs, (n, block) each.

        The support is (1 + cosine) / 2 with the angle between a pair's weights and the row: 1/2 on
        the hyperplane, and in [0, 1] for any scale of the features.
        """
        rows = self._extend(X)
        length = np.sqrt((rows * rows).sum(axis=1))
        mass = self._mass.reshape(self.n_labels, self.n_labels)
        for labels in blocks:
            block = pairs_of(labels, self.n_labels)
            weights = self.averaged(block)
            product = length[:, np.newaxis] * np.sqrt((weights * weights).sum(axis=1))
            cosine = np.divide(
                rows @ weights.T, product, out=np.zeros_like(product), where=product > 0
            )
            supports = np.clip((1 + cosine) / 2, 0, 1)
            # A pair without rows of one class has a constant support, the smoothed share.
            first, second = self._pairs[block].T
            ours, theirs = mass[first, second], mass[second, first]
            constant = (ours == 0) | (theirs == 0)
            supports[:, constant] = ((ours + 1) / (ours + theirs + 2))[constant]
            yield supports

    def averaged(self, block: slice = slice(None)) -> FloatArray:
        """Return the weights used in prediction, the intercept last, (n_pairs, ...)."""
        weights, *drift = (store[block] for store in self._stores)
        seen = np.maximum(self._seen[block], 1).astype(self.dtype)[:, np.newaxis]
        return weights - drift[0] / seen if drift else weights

    def _trained_cells(self, row_labels: BoolArray) -> IntArray:
        """Return the pairs that a row trains, each as correct label * L + wrong label."""
        winners, losers = np.flatnonzero(row_labels), np.flatnonzero(~row_labels)
        against = np.append(losers, self.n_labels - 1) if self.has_virtual else losers
        cells = ((winners * self.n_labels)[:, np.newaxis] + against).ravel()
        if not self.has_virtual:
            return cells
        return np.concatenate([cells, (self.n_labels - 1) * self.n_labels + losers])

    def _extend(self, X: Matrix) -> Any:
        """Return rows in the weights' precision, with a column of ones for the intercept."""
        if sparse.issparse(X):
            X = sparse.csr_array(X, dtype=self.dtype)
            one = sparse.csr_array(np.ones((X.shape[0], int(self.fit_intercept)), dtype=self.dtype))
            return sparse.hstack([X, one], format="csr")
        one = np.ones((len(X), int(self.fit_intercept)))
        return np.hstack([X, one]).astype(self.dtype, copy=False)


class PairwisePerceptrons(PairwiseVoting):
    """Multi-label classification by a vote of perceptrons, one for each pair of labels.

    A row updates the perceptrons of all pairs of a label it has and a label it has not, and is not
    needed again (MLPP; Loza Mencía and Fürnkranz, 2008). With `calibration_label`, perceptrons
    "label or not" determine the number of predicted labels (CMLPP). Use it for many rows,
    especially sparse ones, or for incremental learning; scale features first.

    Parameters
    ----------
    calibration_label : bool, default=True
        Whether to add a virtual label, as in :class:`CalibratedLabelRanking`: its pair with label i
        is the binary problem "i or not i", and labels that rank above it are predicted.
    max_iter : int, default=5
        Number of passes of `fit` over the rows; fewer if a pass makes no mistake.
    shuffle : bool, default=True
        Whether `fit` shuffles the rows before each pass. ``partial_fit`` never changes the order.
    average : bool, default=False
        Whether each pair's weights are averaged over all rows it has seen (Freund and Schapire,
        1999): twice the memory, and less dependence on the last rows.
    fit_intercept : bool, default=True
        Whether to fit an intercept for each pair.
    voting : {"votes", "soft"}, default="votes"
        Whether to average votes, 1 for the label on whose side a row lies, 1/2 for each in a tie,
        or supports: 1/2 plus half the cosine of the angle between weights and row. "votes" is the
        published method.
    threshold : float, default=0.5
        Labels with a score above it are predicted; 0.5 is the score of the virtual label. Not used
        after a fit on 1-D classes.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the weights and of supports.
    random_state : int, RandomState or None, default=None
        Shuffles the rows.

    Attributes
    ----------
    coef_ : ndarray of shape (n_pairs, n_features)
        Weights of each pair, positive for its first label.
    intercept_ : ndarray of shape (n_pairs,)
        Intercepts.
    n_iter_ : int
        Number of passes of `fit` over the rows.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of a frame, else their indices; after a fit on 1-D
        classes, the classes.
    pairs_ : ndarray of shape (n_pairs, 2)
        Indices of the labels of each pair; a virtual label has the index ``n_labels``.
    multilabel_ : bool
        True after a fit on label indicators, False after a fit on 1-D classes.
    learner_ : PerceptronPairLearner
        The trained pairs.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a frame with string names.

    See Also
    --------
    CalibratedLabelRanking : The same vote with any base classifier.

    Notes
    -----
    Each pair's perceptron is scikit-learn's with steps of 1, no penalty and the same rows in the
    same order, one that starts at 0 and steps where its margin is 0 or of the wrong sign. A row
    with c of L labels costs c (L - c) margins, and L more with a virtual label. Weights take L (L -
    1) / 2 numbers a feature, those of sparse rows included. As for all pairwise classifiers, the
    support of a pair with rows of one label only is that label's smoothed share.

    The weight that counts as one row is that of the rows of `fit`, or of the first
    ``partial_fit``: see :class:`~pairmend.RandomSubspaceNB`. All weights times a constant change
    no prediction. Twice the weight is one step of twice the size, not two steps.

    `voting` and `threshold` take effect at prediction, so ``set_params`` changes them on a
    fitted classifier. All other parameters need a new ``fit``.

    References
    ----------
    Loza Mencía, E., Fürnkranz, J. (2008). Pairwise learning of multilabel classifications with
    perceptrons. IEEE International Joint Conference on Neural Networks, 2900-2907.

    Freund, Y., Schapire, R. E. (1999). Large margin classification using the perceptron
    algorithm. Machine Learning 37(3), 277-296.

    Examples
    --------
    >>> from pairmend.pairwise import PairwisePerceptrons
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = PairwisePerceptrons(average=True, random_state=0).fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]

    Rows that keep coming:

    >>> clf = PairwisePerceptrons()
    >>> for start in range(0, 100, 20):
    ...     clf = clf.partial_fit(X[start : start + 20], Y[start : start + 20])
    >>> clf.predict_proba(X[:1]).round(2).tolist()
    [[0.3, 0.6, 0.5, 0.7, 0.7]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairwiseVoting._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "average": ["boolean"],
        "fit_intercept": ["boolean"],
        "dtype": [StrOptions({"float64", "float32"})],
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = ("voting", "threshold")
    """Parameters that take effect at prediction: changing them needs no new fit."""

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {}  # there is no base classifier
    learner_: Any

    def __init__(
        self,
        *,
        calibration_label: bool = True,
        max_iter: int = 5,
        shuffle: bool = True,
        average: bool = False,
        fit_intercept: bool = True,
        voting: str = "votes",
        threshold: float = 0.5,
        dtype: str = "float64",
        random_state: int | np.random.RandomState | None = None,
    ):
        self.calibration_label = calibration_label
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.average = average
        self.fit_intercept = fit_intercept
        self.voting = voting
        self.threshold = threshold
        self.dtype = dtype
        self.random_state = random_state

    @property
    def coef_(self) -> FloatArray:
        """Weights of each pair, positive for its first label."""
        return self.learner_.averaged()[:, : self.n_features_in_]

    @property
    def intercept_(self) -> FloatArray:
        """Intercept of each pair."""
        if not self.learner_.fit_intercept:
            return np.zeros(len(self.pairs_))
        return self.learner_.averaged()[:, -1]

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: TargetLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit all pairs with `max_iter` passes over the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1, or the tags of each row, as lists or sets of strings.
            A 1-D array of classes is learnt as one-vs-one
            classification.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps of each row; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        refuse_arrays(X, f"{type(self).__name__}.fit")
        X = check_training_rows(X)
        target = check_target(self, X, y, min_labels=self._min_labels)
        problem, numbers = self._read(X, target, sample_weight)
        learner, weights = self._new_perceptrons(problem, numbers), problem.row_weights
        rows = np.flatnonzero(weights > 0)
        n_iter = 0
        while n_iter < self.max_iter:
            n_iter += 1
            order = problem.rng.permutation(rows) if self.shuffle else rows
            n_wrong = learner.partial_fit(numbers[order], target.Y[order], weights[order])
            if not n_wrong and not self.average:
                break
        return self._set_fitted(X, target, pairs_=problem.pairs, learner_=learner, n_iter_=n_iter)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: MatrixLike,
        y: TargetLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update all pairs with one pass over further rows, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows. Calls with the same format as the first, dense or sparse, are fastest.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1; the tags of each row, as lists or sets of strings; or a
            1-D array of classes.
        classes : array-like of shape (n_labels,), default=None
            All classes of a 1-D target, or the names of the labels. Read in the first call; later
            it must be the same, if given. None means those of the first call's `y`.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps of each row; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        refuse_arrays(X, f"{type(self).__name__}.partial_fit")
        X = check_training_rows(X)
        target = check_further_target(self, X, y, classes, min_labels=self._min_labels)
        if hasattr(self, "learner_"):
            X = check_features(self, X)
        problem, numbers = self._read(X, target, sample_weight)
        if not hasattr(self, "learner_"):
            learner = self._new_perceptrons(problem, numbers)
            self._set_fitted(X, target, pairs_=problem.pairs, learner_=learner, n_iter_=1)
        rows = np.flatnonzero(problem.row_weights > 0)
        self.learner_.partial_fit(numbers[rows], target.Y[rows], problem.row_weights[rows])
        return self

    def _read(
        self, X: MatrixLike, target: Target, sample_weight: ArrayLike | None
    ) -> tuple[TrainingInput, Matrix]:
        weights = check_row_weights(sample_weight, X)
        require_numbers(X, type(self).__name__)
        return self._training_input(X, target, {}, weights), self._numbers(X, self.dtype)

    def _numbers(self, X: MatrixLike, dtype: str) -> Any:
        numbers = check_array(X, accept_sparse="csr", dtype=dtype, estimator=self, input_name="X")
        check_magnitude(numbers, dtype)
        return numbers

    def _new_perceptrons(self, problem: TrainingInput, numbers: Matrix) -> PerceptronPairLearner:
        return PerceptronPairLearner(
            len(problem.target.classes) + self.has_virtual_label,
            numbers.shape[1],
            has_virtual=self.has_virtual_label,
            fit_intercept=self.fit_intercept,
            average=self.average,
            dtype=self.dtype,
            unit=unit_weight(problem.row_weights),
            by_feature=not isinstance(numbers, np.ndarray),
        )

    def _check_predict(self, X: MatrixLike) -> Any:
        return self._numbers(super()._check_predict(X), self.learner_.dtype)

    @property
    def _digits(self) -> int:
        return 12 if self.learner_.dtype == "float64" else 6

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

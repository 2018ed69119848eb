"""PairwisePerceptrons: multi-label pairwise perceptrons, trained row by row."""

from collections.abc import Iterable, Iterator
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from pairmend._utils.sklearn_private import Interval, fit_context
from pairmend._utils.training import unit_weight
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix, MatrixLike, TargetLike
from pairmend.kernels.pairs import pairs_of
from pairmend.pairwise.learners import PairLearner
from pairmend.pairwise.voting import (
    NumericVoting,
    PairwiseVoting,
    TrainingInput,
    TrainingRows,
    numeric_rows,
)


class PerceptronPairLearner(PairLearner):
    """A perceptron for each pair of labels, all trained together.

    A row trains the pairs of each of its labels with each label that it lacks, and, with a virtual
    label, the pairs of the virtual label with all others. Their margins are one product, and
    perceptrons that misclassify the row are updated. The result equals that of a separate
    perceptron for each pair trained on the same rows in the same order.

    With `average`, weights are averaged over all rows that a pair
    was trained on. Weights are stored by feature if the first rows are sparse, else by pair.
    """

    n_wrong = 0
    """Number of misclassifications in the last pass."""

    def __init__(self, *, average: bool):
        self.average = average

    def fit(self, rows: Any, pairs: IntArray, owner: Any = None) -> Self:
        """Update all pairs, which are 0 before, with one row after another."""
        self._pairs, self.n_labels = pairs, int(pairs[-1, 1]) + 1
        n_labels, (first, second) = self.n_labels, pairs.T
        X = self._extend(rows.X)
        self.has_virtual, self.by_feature = rows.Y.shape[1] < n_labels, sparse.issparse(X)
        self.unit = unit_weight(rows.fit_params["sample_weight"])
        shape, order = (len(pairs), X.shape[1]), "CF"[self.by_feature]
        # Weights; for averages, also each update times the number of rows before it.
        zeros: Any = np.zeros
        self._stores = [zeros(shape, order=order) for _ in range(1 + self.average)]
        self._seen, self._mass = np.zeros(len(pairs), dtype=np.int64), np.zeros(n_labels**2)
        number = np.zeros((n_labels, n_labels), dtype=np.intp)
        number[first, second] = number[second, first] = np.arange(len(first))
        self._number = number.ravel()
        labels = np.arange(n_labels)
        self._side = np.sign(labels - labels[:, np.newaxis]).astype(np.float64).ravel()
        return self.partial_fit(rows)

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of floats that a row, and a pair, need in prediction, without supports."""
        return self._stores[0].shape[1], 0

    def partial_fit(self, given: Any) -> Self:
        """Update all pairs by further `TrainingRows`; the weight of a row multiplies its steps."""
        rows = self._extend(given.X)
        if self.by_feature != sparse.issparse(rows):
            rows = sparse.csr_array(rows) if self.by_feature else rows.toarray()
        # By feature, weights are one long array with the pairs of one feature after another.
        stores = [each.ravel("F") if self.by_feature else each for each in self._stores]
        weights, self.n_wrong = given.fit_params["sample_weight"].tolist(), 0
        for row, (row_labels, weight) in enumerate(zip(given.Y, weights, strict=True)):
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
                step *= (self._seen[pair[wrong]] - 1.0)[:, np.newaxis]
                drift[place[wrong]] += step
            self.n_wrong += len(wrong)
        return self

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
        seen = np.maximum(self._seen[block], 1.0)[:, np.newaxis]
        return weights - drift[0] / seen if drift else weights

    def _trained_cells(self, row_labels: BoolArray) -> IntArray:
        """Return the pairs that a row trains, each as correct label * L + wrong label."""
        winners, losers = np.flatnonzero(row_labels), np.flatnonzero(~row_labels)
        against = np.append(losers, self.n_labels - 1) if self.has_virtual else losers
        cells = ((winners * self.n_labels)[:, np.newaxis] + against).ravel()
        if not self.has_virtual:
            return cells
        return np.concatenate([cells, (self.n_labels - 1) * self.n_labels + losers])

    def _extend(self, X: MatrixLike) -> Any:
        """Return rows of numbers with a column of ones for the intercept."""
        numbers = numeric_rows(X, "PairwisePerceptrons")
        one = np.ones((numbers.shape[0], 1))
        if sparse.issparse(numbers):
            return sparse.hstack([sparse.csr_array(numbers), sparse.csr_array(one)], format="csr")
        return np.hstack([numbers, one])


class PairwisePerceptrons(NumericVoting, PairwiseVoting):
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
    voting : {"votes", "soft"}, default="votes"
        Whether to average votes, 1 for the label on whose side a row lies, 1/2 for each in a tie,
        or supports: 1/2 plus half the cosine of the angle between weights and row. "votes" is the
        published method.
    threshold : float, default=0.5
        Labels with a score above it are predicted; 0.5 is the score of the virtual label. Not used
        after a fit on 1-D classes.
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
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = ("voting", "threshold")
    """Parameters that take effect at prediction: changing them needs no new fit."""

    learner_: Any

    def __init__(
        self,
        *,
        calibration_label: bool = True,
        max_iter: int = 5,
        shuffle: bool = True,
        average: bool = False,
        voting: str = "votes",
        threshold: float = 0.5,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.calibration_label = calibration_label
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.average = average
        self.voting = voting
        self.threshold = threshold
        self.random_state = random_state

    @property
    def coef_(self) -> FloatArray:
        """Weights of each pair, positive for its first label."""
        return self.learner_.averaged()[:, : self.n_features_in_]

    @property
    def intercept_(self) -> FloatArray:
        """Intercept of each pair."""
        return self.learner_.averaged()[:, -1]

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
        return super().fit(X, y, sample_weight=sample_weight)

    def _fit_rows(self, data: TrainingInput, rows: Any) -> Self:
        learner, present = self._new_learner(data), np.flatnonzero(data.row_weights > 0)
        for n_iter in range(1, self.max_iter + 1):
            chosen = rows.take(data.rng.permutation(present) if self.shuffle else present)
            update = learner.partial_fit if n_iter > 1 else partial(learner.fit, pairs=data.pairs)
            update(chosen)
            if not learner.n_wrong and not self.average:
                break
        fitted = {"pairs_": data.pairs, "learner_": learner, "n_iter_": n_iter}
        return self._set_fitted(data.X, data.target, **fitted)

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
        data = self._check_partial_fit(X, y, classes, {"sample_weight": sample_weight})
        rows = TrainingRows(data.X, data.target.Y, data.fit_params)
        rows = rows.take(np.flatnonzero(data.row_weights > 0))
        if hasattr(self, "learner_"):
            self.learner_.partial_fit(rows)
            return self
        learner = self._new_learner(data).fit(rows, data.pairs)
        return self._set_fitted(data.X, data.target, pairs_=data.pairs, learner_=learner, n_iter_=1)

    def _new_learner(self, data: TrainingInput) -> PerceptronPairLearner:
        return PerceptronPairLearner(average=self.average)

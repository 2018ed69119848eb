"""QWeightedVoting: calibrated label ranking from few pairs; which pair is evaluated next."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from pairmend._utils.sklearn_private import HasMethods
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.kernels.pairs import label_pairs, vote
from pairmend.pairwise.family.selective import PairEvaluator, SelectiveVoting


class QWeightedVoting(SelectiveVoting):
    """Calibrated label ranking that evaluates as few pairs as possible (QWeighted, QCLR).

    After the pairs with the virtual label, the label with the fewest losses is compared with the
    best label it was not compared with, until the labels with fewer losses than the virtual label
    are determined (Loza Mencía et al., 2010). The predictions equal those of
    ``CalibratedLabelRanking(voting="votes")``. Use it if prediction of the base classifiers is
    expensive, as for kernel machines, labels are many, and rows have few labels.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier, cloned for each pair. Without ``predict_proba``, its ``predict`` is
        the vote. None means :class:`RandomSubspaceNB`, which evaluates all pairs at once: no
        time is saved with it.
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
    CalibratedLabelRanking : Evaluates all pairs; averages supports or votes.
    TwoStageVoting : Evaluates fewer pairs; predictions may differ.

    Notes
    -----
    Every label is in L comparisons, one of them with the virtual label; a tie is half a loss for
    both. Fewer losses than the virtual label are more votes than it has, the rule of
    :class:`CalibratedLabelRanking`. A label is undecided as long as it has fewer losses than the
    virtual label and would not if it lost all of its open comparisons. Of labels with equally few
    losses, the first is compared.

    Pairs are evaluated in turn, each at all rows that need it next. The number of pairs evaluated
    for a row does not depend on the other rows.

    ``predict`` and ``predict_counted`` evaluate few pairs. ``predict_proba`` evaluates all of
    them, since a ranking needs all comparisons. After a fit on 1-D classes the search ends when
    the label with the fewest losses, the first of several, has no open comparisons.

    References
    ----------
    Loza Mencía, E., Park, S.-H., Fürnkranz, J. (2010). Efficient voting prediction for pairwise
    multilabel classification. Neurocomputing 73(7-9), 1164-1176.

    Examples
    --------
    >>> from pairmend import QWeightedVoting
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.svm import SVC
    >>> X, Y = make_multilabel_classification(n_classes=12, n_labels=2, random_state=0)
    >>> clf = QWeightedVoting(SVC()).fit(X, Y)
    >>> counted = clf.predict_counted(X)
    >>> bool((counted.labels == (clf.predict_proba(X) > 0.5)).all())
    True
    >>> len(clf.pairs_), float(counted.n_evaluated.mean())
    (78, 21.81)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that take effect at prediction: there are none."""

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

    def _predict_counted(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], IntArray]:
        evaluator = self._evaluator(X)
        virtual_votes = vote(evaluator.supports(self._virtual_pairs))
        comparisons = Comparisons(virtual_votes, winner_only=not self.multilabel_)
        _compare(comparisons, evaluator, len(self.pairs_))
        if self.multilabel_:
            return comparisons.relevant.astype(np.int64), evaluator.n_evaluated
        return self.classes_[comparisons.losses.argmin(axis=1)], evaluator.n_evaluated


class Comparisons:
    """Losses of labels in pairwise comparisons, for many rows at once.

    Every label is compared with every other and with the virtual label. A tie is half a loss for
    both; losses are counted in halves, so that they are integers. `virtual_votes`, of shape
    (n, L), are the votes for each label against the virtual label: 0, 1/2 or 1. With
    `winner_only`, only the first label with the fewest losses is searched for.
    """

    def __init__(self, virtual_votes: FloatArray, *, winner_only: bool = False):
        n_rows, n_labels = virtual_votes.shape
        won = np.round(2 * virtual_votes).astype(np.int32)
        self.losses: IntArray = 2 - won
        self._virtual_losses = won.sum(axis=1, keepdims=True)
        self._compared: BoolArray = np.tile(np.eye(n_labels, dtype=bool), (n_rows, 1, 1))
        self._n_open: IntArray = np.full((n_rows, n_labels), n_labels - 1, dtype=np.int32)
        self._winner_only = winner_only
        # Indices of pairs in the order of label_pairs, the virtual label last.
        self._pairs = label_pairs(n_labels + 1)
        self._number: IntArray = np.full((n_labels + 1, n_labels + 1), -1)
        first, second = self._pairs.T
        self._number[first, second] = self._number[second, first] = np.arange(len(self._pairs))

    @property
    def relevant(self) -> BoolArray:
        """Mask of the labels with fewer losses than the virtual label."""
        return np.asarray(self.losses < self._virtual_losses)

    def next_pairs(self, rows: IntArray) -> IntArray:
        """Return the index of the pair to compare next in each row; -1 if none.

        The undecided label with the fewest losses is compared with the label with the fewest
        losses among those it was not compared with, the first of several.
        """
        losses = self.losses[rows]
        undecided = self._undecided(rows, losses)
        open_rows = undecided.any(axis=1)
        never = np.iinfo(losses.dtype).max
        label = np.where(undecided, losses, never).argmin(axis=1)
        compared = self._compared[rows, label]
        other = np.where(compared, never, losses).argmin(axis=1)
        return np.where(open_rows, self._number[label, other], -1)

    def add(self, rows: IntArray, pair: int, votes: FloatArray) -> None:
        """Add the votes of a pair for its first label at rows: 1, 0, or 1/2 for a tie."""
        first, second = self._pairs[pair]
        won = np.round(2 * votes).astype(self.losses.dtype)
        self.losses[rows, first] += 2 - won
        self.losses[rows, second] += won
        for one, another in ((first, second), (second, first)):
            self._compared[rows, one, another] = True
            self._n_open[rows, one] -= 1

    def _undecided(self, rows: IntArray, losses: IntArray) -> BoolArray:
        """Return the mask of labels whose open comparisons may change the prediction."""
        n_open = self._n_open[rows]
        if self._winner_only:
            # Losses never decrease: the first label without open comparisons stays the first.
            leads = losses.argmin(axis=1)[:, np.newaxis] == np.arange(losses.shape[1])
            return np.asarray(leads & (n_open > 0))
        limit = self._virtual_losses[rows]
        return np.asarray((losses < limit) & (losses + 2 * n_open >= limit))


def _compare(comparisons: Comparisons, evaluator: PairEvaluator, n_pairs: int) -> None:
    """Evaluate pairs in turn, each at the rows for which `next_pairs` selects it."""

    def count(pairs: IntArray) -> IntArray:
        return np.bincount(pairs + 1, minlength=n_pairs + 1)[1:]  # -1: no pair is needed

    next_pair = comparisons.next_pairs(np.arange(len(evaluator.n_evaluated)))
    n_rows = count(next_pair)
    while n_rows.any():
        for pair in range(n_pairs):
            if n_rows[pair]:
                rows = np.flatnonzero(next_pair == pair)
                comparisons.add(rows, pair, vote(evaluator.support(pair, rows)))
                next_pair[rows] = comparisons.next_pairs(rows)
                n_rows[pair] = 0
                n_rows += count(next_pair[rows])

"""QWeightedVoting and TwoStageVoting: calibrated label ranking that evaluates few pairs."""

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import gen_even_slices
from sklearn.utils.parallel import Parallel, delayed

from pairmend._utils.arrays import take_rows
from pairmend._utils.sklearn_private import HasMethods, Interval, count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.kernels.rrc import vote
from pairmend.pairwise.learners.generic import GenericPairLearner
from pairmend.pairwise.voting import PairwiseVoting


@dataclass(frozen=True)
class CountedPrediction:
    """Predictions with the number of pairs that were evaluated for them.

    Attributes
    ----------
    labels : ndarray
        The result of ``predict``.
    n_evaluated : ndarray of int, shape (n_samples,)
        Number of pairs evaluated for each row, pairs of the virtual label included. Pairs
        without a trained model, for lack of rows of both labels, are counted, too.
    """

    labels: np.ndarray[Any, Any]
    n_evaluated: IntArray


class PairEvaluator:
    """Supports of single pairs at rows, with a count of evaluated pairs for each row.

    A learner with one model per pair evaluates that model only. A learner that computes all pairs
    with matrix products evaluates them once, at the start.
    """

    def __init__(self, classifier: "SelectiveVoting", X: MatrixLike):
        self.n_evaluated: IntArray = np.zeros(count_rows(X), dtype=np.int64)
        self._X, self._learner = X, classifier.learner_
        self._supports: FloatArray | None = None
        if not isinstance(self._learner, GenericPairLearner):
            self._supports = np.concatenate([part for _, part in classifier._supports(X)], axis=1)

    def support(self, pair: int, rows: IntArray) -> FloatArray:
        """Return a pair's support for its first label at distinct rows."""
        self.n_evaluated[rows] += 1
        if self._supports is not None:
            return self._supports[rows, pair]
        found: FloatArray = self._learner.support_of(take_rows(self._X, rows), pair)
        return found

    def supports(self, pairs: IntArray) -> FloatArray:
        """Return the supports of some pairs at all rows, of shape (n, n_pairs)."""
        rows = np.arange(len(self.n_evaluated))
        return np.column_stack([self.support(pair, rows) for pair in pairs])


class SelectiveVoting(PairwiseVoting):
    """Calibrated label ranking by votes that evaluates pairs row by row, as they are needed."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PairwiseVoting._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
    }
    needs_probabilities = False
    has_virtual_label = True
    voting = "votes"

    @abstractmethod
    def _predict_counted(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], IntArray]:
        """Return the labels of a chunk of rows and the number of pairs evaluated for each."""

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Many rows at once are cheaper than one by one: each model predicts all rows
            that need it together.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            1 where a label has more votes than the virtual label, 0 elsewhere. After a fit on
            1-D classes: shape (n_samples,), the class with the most votes.
        """
        return self.predict_counted(X).labels

    def predict_counted(self, X: MatrixLike) -> CountedPrediction:
        """Predict the labels of rows and count the evaluated pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        CountedPrediction
            The predicted labels and the number of pairs evaluated for each row.
        """
        X = self._check_predict(X)
        labels, n_evaluated = self._by_parts(X, self._predict_counted)
        return CountedPrediction(labels, n_evaluated)

    def _by_parts(self, X: MatrixLike, work: Any) -> list[np.ndarray[Any, Any]]:
        """Call `work` for parts of the rows in threads and concatenate the results."""
        n_chunks, n_threads = len(list(self._chunks(X))), effective_n_jobs(self.n_jobs)
        parts = gen_even_slices(count_rows(X), max(n_chunks, n_threads))
        done = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(work)(take_rows(X, rows)) for rows in parts
        )
        return [np.concatenate(results) for results in zip(*done, strict=True)]

    def _row_size(self) -> int:
        # Supports or comparisons of all pairs, and what the base class needs.
        return effective_n_jobs(self.n_jobs) * (2 * len(self.pairs_) + super()._row_size())

    @property
    def _virtual_pairs(self) -> IntArray:
        """Indices of the pairs of each label with the virtual label."""
        return np.flatnonzero(self.pairs_[:, 1] == len(self.classes_))


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
    >>> from pairmend.pairwise import QWeightedVoting
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

    def _predict_counted(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], IntArray]:
        evaluator = PairEvaluator(self, X)
        virtual_votes = vote(evaluator.supports(self._virtual_pairs))
        comparisons = Comparisons(virtual_votes, self.pairs_, winner_only=not self.multilabel_)
        next_pair = comparisons.next_pairs(np.arange(len(virtual_votes)))
        while (next_pair >= 0).any():
            for pair in np.unique(next_pair[next_pair >= 0]).tolist():
                rows = np.flatnonzero(next_pair == pair)
                comparisons.add(rows, pair, vote(evaluator.support(pair, rows)))
                next_pair[rows] = comparisons.next_pairs(rows)
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

    def __init__(self, virtual_votes: FloatArray, pairs: IntArray, *, winner_only: bool):
        n_rows, n_labels = virtual_votes.shape
        won = np.round(2 * virtual_votes).astype(np.int32)
        self.losses: IntArray = 2 - won
        self._virtual_losses = won.sum(axis=1, keepdims=True)
        self._compared: BoolArray = np.tile(np.eye(n_labels, dtype=bool), (n_rows, 1, 1))
        self._n_open: IntArray = np.full((n_rows, n_labels), n_labels - 1, dtype=np.int32)
        self._winner_only, self._pairs = winner_only, pairs
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
        losses, n_open, limit = self.losses[rows], self._n_open[rows], self._virtual_losses[rows]
        if self._winner_only:
            # Losses never decrease: the first label without open comparisons stays the first.
            leads = losses.argmin(axis=1)[:, np.newaxis] == np.arange(losses.shape[1])
            undecided = leads & (n_open > 0)
        else:
            undecided = (losses < limit) & (losses + 2 * n_open >= limit)
        never = np.iinfo(losses.dtype).max
        label = np.where(undecided, losses, never).argmin(axis=1)
        compared = self._compared[rows, label]
        other = np.where(compared, never, losses).argmin(axis=1)
        return np.where(undecided.any(axis=1), self._number[label, other], -1)

    def add(self, rows: IntArray, pair: int, votes: FloatArray) -> None:
        """Add the votes of a pair for its first label at rows: 1, 0, or 1/2 for a tie."""
        first, second = self._pairs[pair]
        won = np.round(2 * votes).astype(self.losses.dtype)
        self.losses[rows, first] += 2 - won
        self.losses[rows, second] += won
        for one, another in ((first, second), (second, first)):
            self._compared[rows, one, another] = True
            self._n_open[rows, one] -= 1


class TwoStageVoting(SelectiveVoting):
    """Calibrated label ranking whose binary classifiers choose the pairs to evaluate (TSVM).

    The first stage evaluates the binary classifier of each label, its pair with the virtual label.
    Labels with supports above a threshold are candidates. The second stage evaluates the pairs of
    two candidates; a candidate gets the vote against a label that is none, and two labels that are
    none get no vote (Madjarov et al., 2012). Use it if most labels are easily ruled out and
    prediction of the base classifiers is expensive. Unlike :class:`QWeightedVoting`, its
    predictions may differ from those of the full vote.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier, cloned for each pair. Without ``predict_proba``, its ``predict`` is
        the vote, and labels predicted in the first stage are the candidates. None means
        :class:`RandomSubspaceNB`, which evaluates all pairs at once: no time is saved with it.
    candidate_threshold : float, default=0.2
        Labels whose first-stage support is above it are candidates. With 0, the result is the
        full vote wherever no support is 0.
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
    QWeightedVoting : Evaluates more pairs; predictions equal those of the full vote.
    CalibratedLabelRanking : The full vote.

    Notes
    -----
    With c candidates of L labels, L + c (c - 1) / 2 pairs are evaluated for a row. The votes of
    the first stage are added: for the label if its support exceeds 1/2, else for the virtual
    label, one half for each in a tie. ``predict_proba`` is (1 + (votes - votes of the virtual
    label) / L) / 2; ``predict`` returns the labels with more votes than the virtual label, as
    :class:`CalibratedLabelRanking` does. The implementation in Mulan by the first author, from
    which the default threshold is taken, also predicts labels with as many votes as the virtual
    label, and has no vote for a pair without training rows; here such a pair is a tie.

    `candidate_threshold` takes effect at prediction. All other parameters need a new ``fit``.

    After a fit on 1-D classes the class with the most votes is predicted, and in a row without any
    vote for a class, the one with the largest first-stage support.

    References
    ----------
    Madjarov, G., Gjorgjevikj, D., Džeroski, S. (2012). Two stage architecture for multi-label
    learning. Pattern Recognition 45(3), 1019-1034.

    Examples
    --------
    >>> from pairmend.pairwise import TwoStageVoting
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(n_classes=12, n_labels=2, random_state=0)
    >>> clf = TwoStageVoting(LogisticRegression()).fit(X, Y)
    >>> len(clf.pairs_), float(clf.predict_counted(X).n_evaluated.mean())
    (78, 15.95)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SelectiveVoting._parameter_constraints,
        "candidate_threshold": [Interval(Real, 0, 1, closed="both")],
    }

    prediction_parameters: ClassVar[tuple[str, ...]] = ("candidate_threshold",)
    """Parameters that take effect at prediction: changing them needs no new fit."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        candidate_threshold: float = 0.2,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state)
        self.candidate_threshold = candidate_threshold

    def _predict_counted(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], IntArray]:
        scores, n_evaluated = self._vote(X)
        return self._decide(scores), n_evaluated

    def _scores(self, X: MatrixLike) -> FloatArray:
        scores, _ = self._by_parts(X, self._vote)
        return scores

    def _vote(self, X: MatrixLike) -> tuple[FloatArray, IntArray]:
        """Return the scores and the number of evaluated pairs of each row."""
        evaluator = PairEvaluator(self, X)
        first_stage = evaluator.supports(self._virtual_pairs)
        candidates = first_stage > self.candidate_threshold
        # Votes of candidates against all labels that are no candidates.
        n_others = candidates.shape[1] - candidates.sum(axis=1, keepdims=True)
        votes = vote(first_stage) + np.where(candidates, n_others, 0.0)
        for pair, (i, j) in enumerate(self.pairs_):
            if j == len(self.classes_):
                continue
            rows = np.flatnonzero(candidates[:, i] & candidates[:, j])
            if len(rows):
                for_first = vote(evaluator.support(pair, rows))
                votes[rows, i] += for_first
                votes[rows, j] += 1 - for_first
        return self._from_votes(votes, first_stage), evaluator.n_evaluated

    def _from_votes(self, votes: FloatArray, first_stage: FloatArray) -> FloatArray:
        """Return scores for votes; the score of the virtual label is 1/2."""
        if self.multilabel_:
            virtual = (1 - vote(first_stage)).sum(axis=1, keepdims=True)
            return self._round((1 + (votes - virtual) / votes.shape[1]) / 2)
        for substitute in (first_stage, np.ones_like(votes)):
            votes = np.where(votes.any(axis=1, keepdims=True), votes, substitute)
        return votes / votes.sum(axis=1, keepdims=True)

"""Two-stage voting: the binary classifiers choose the labels whose pairs are asked."""

from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from pairmend._utils.sklearn_private import HasMethods, Interval
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.kernels.ranking import vote
from pairmend.pairwise.family.frugal import FrugalVoting


class TwoStageVoting(FrugalVoting):
    """Calibrated label ranking whose binary classifiers choose which pairs are asked (TSVM).

    The first stage asks each label's binary classifier, its pair with the virtual label. The second
    asks a pair if both of its labels are candidates, with supports above a threshold; a candidate
    wins against one that is none, and two that are none give no vote (Madjarov et al., 2012).
    Choose it where most labels can be ruled out at a glance and asking is dear; unlike
    :class:`QWeightedVoting` it may decide otherwise than the full vote.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier, cloned for each pair. If it has no ``predict_proba``, its ``predict``
        says who wins, and labels that it predicts in the first stage are the candidates. None
        means :class:`RandomSubspaceNB`, whose pairs are all asked at once: no time is saved
        with it.
    candidate_threshold : float, default=0.2
        Labels whose first-stage support is above it are candidates. With 0 nearly every pair is
        asked, and the vote is the full one wherever no support is 0.
    n_jobs : int, default=None
        Number of processes that train pairs, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Seeds the base classifiers whose own ``random_state`` is None. All pairs get the same
        seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of a frame, else their numbers; after a fit on 1-D
        classes, the classes.
    pairs_ : ndarray of shape (n_pairs, 2)
        Numbers of the labels of each pair; the virtual label has the number ``n_labels``.
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
    QWeightedVoting : Asks more, and decides as the full vote.
    CalibratedLabelRanking : The full vote.

    Notes
    -----
    With c candidates of L labels, L + c (c - 1) / 2 models are asked about a row. The votes of
    the first stage count, too: for the label where its support exceeds 1/2, else for the virtual
    label, half for each in a tie. ``predict_proba`` gives half of one plus the label's votes less
    the virtual label's, over L; `predict` takes labels with more votes than the virtual label,
    strictly, as :class:`CalibratedLabelRanking` does. The first author's program in the library
    Mulan, from which the default threshold comes, also takes a label that is level with the
    virtual one, and counts no vote in a pair without any training row; here such a pair is like
    the others, and a tie if it is asked.

    `candidate_threshold` takes effect at prediction. All other parameters need a new ``fit``.

    After a fit on 1-D classes the class with the most votes is predicted, and in a row without any
    vote for a class, the one with the largest first-stage support.

    References
    ----------
    Madjarov, G., Gjorgjevikj, D., Džeroski, S. (2012). Two stage architecture for multi-label
    learning. Pattern Recognition 45(3), 1019-1034.

    Examples
    --------
    >>> from pairmend import TwoStageVoting
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(n_classes=12, n_labels=2, random_state=0)
    >>> clf = TwoStageVoting(LogisticRegression()).fit(X, Y)
    >>> len(clf.pairs_), float(clf.poll(X).n_asked.mean())
    (78, 15.95)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "candidate_threshold": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
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
        self.estimator = estimator
        self.candidate_threshold = candidate_threshold
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _poll(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], IntArray]:
        scores, n_asked = self._vote(X, [self.candidate_threshold])
        return self._decide(scores), n_asked

    def _scores(self, X: MatrixLike, variants: Sequence[Any]) -> list[FloatArray]:
        X = self._check_predict(X)
        thresholds = [variant.candidate_threshold for variant in variants]
        *scores, _ = self._by_parts(X, partial(self._vote, thresholds=thresholds))
        return scores

    def _vote(self, X: MatrixLike, thresholds: Sequence[float]) -> list[np.ndarray[Any, Any]]:
        """Return the labels' scores with each threshold, and how many pairs were asked in all."""
        panel = self._panel(X)
        first_stage = panel.ask_all(self._virtual_pairs)
        candidates = [first_stage > threshold for threshold in thresholds]
        votes = [vote(first_stage) + _wins_unasked(chosen) for chosen in candidates]
        widest = first_stage > min(thresholds, default=1.0)
        for pair, (i, j) in enumerate(self.pairs_):
            if j == len(self.classes_):
                continue
            rows = np.flatnonzero(widest[:, i] & widest[:, j])
            if len(rows) == 0:
                continue
            ballots = vote(panel.ask(pair, rows))
            for chosen, total in zip(candidates, votes, strict=True):
                both = chosen[rows, i] & chosen[rows, j]
                total[rows[both], i] += ballots[both]
                total[rows[both], j] += 1 - ballots[both]
        return [*(self._from_votes(total, first_stage) for total in votes), panel.n_asked]

    def _from_votes(self, votes: FloatArray, first_stage: FloatArray) -> FloatArray:
        """Bring the labels' votes to scores, of which the virtual label's place is 1/2."""
        if self.multilabel_:
            virtual = (1 - vote(first_stage)).sum(axis=1, keepdims=True)
            return self._without_rounding((1 + (votes - virtual) / votes.shape[1]) / 2)
        for way_out in (first_stage, np.ones_like(votes)):
            votes = np.where(votes.any(axis=1, keepdims=True), votes, way_out)
        return votes / votes.sum(axis=1, keepdims=True)


def _wins_unasked(candidates: np.ndarray[Any, Any]) -> FloatArray:
    """Return each label's wins without a question: a candidate's, over all that are none."""
    n_others = candidates.shape[1] - candidates.sum(axis=1, keepdims=True)
    wins: FloatArray = np.where(candidates, n_others, 0.0)
    return wins

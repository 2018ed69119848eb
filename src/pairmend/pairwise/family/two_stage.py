"""TwoStageVoting: binary classifiers choose the labels whose pairs are evaluated."""

from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from pairmend._utils.sklearn_private import HasMethods, Interval
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.kernels.pairs import vote
from pairmend.pairwise.family.selective import SelectiveVoting


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
    >>> from pairmend import TwoStageVoting
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(n_classes=12, n_labels=2, random_state=0)
    >>> clf = TwoStageVoting(LogisticRegression()).fit(X, Y)
    >>> len(clf.pairs_), float(clf.predict_counted(X).n_evaluated.mean())
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

    def _predict_counted(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], IntArray]:
        scores, n_evaluated = self._vote(X, [self.candidate_threshold])
        return self._decide(scores), n_evaluated

    def _scores_each(self, X: MatrixLike, variants: Sequence[Any]) -> list[FloatArray]:
        X = self._check_predict(X)
        thresholds = [variant.candidate_threshold for variant in variants]
        *scores, _ = self._by_parts(X, partial(self._vote, thresholds=thresholds))
        return scores

    def _vote(self, X: MatrixLike, thresholds: Sequence[float]) -> list[np.ndarray[Any, Any]]:
        """Return the scores for each threshold and the number of evaluated pairs of each row."""
        evaluator = self._evaluator(X)
        first_stage = evaluator.supports(self._virtual_pairs)
        candidates = [first_stage > threshold for threshold in thresholds]
        votes = [vote(first_stage) + _votes_without_model(chosen) for chosen in candidates]
        widest = first_stage > min(thresholds, default=1.0)
        for pair, (i, j) in enumerate(self.pairs_):
            if j == len(self.classes_):
                continue
            rows = np.flatnonzero(widest[:, i] & widest[:, j])
            if len(rows) == 0:
                continue
            for_first = vote(evaluator.support(pair, rows))
            for chosen, total in zip(candidates, votes, strict=True):
                both = chosen[rows, i] & chosen[rows, j]
                total[rows[both], i] += for_first[both]
                total[rows[both], j] += 1 - for_first[both]
        return [*(self._from_votes(total, first_stage) for total in votes), evaluator.n_evaluated]

    def _from_votes(self, votes: FloatArray, first_stage: FloatArray) -> FloatArray:
        """Return scores for votes; the score of the virtual label is 1/2."""
        if self.multilabel_:
            virtual = (1 - vote(first_stage)).sum(axis=1, keepdims=True)
            return self._round((1 + (votes - virtual) / votes.shape[1]) / 2)
        for substitute in (first_stage, np.ones_like(votes)):
            votes = np.where(votes.any(axis=1, keepdims=True), votes, substitute)
        return votes / votes.sum(axis=1, keepdims=True)


def _votes_without_model(candidates: np.ndarray[Any, Any]) -> FloatArray:
    """Return the votes of candidates against all labels that are no candidates."""
    n_others = candidates.shape[1] - candidates.sum(axis=1, keepdims=True)
    votes: FloatArray = np.where(candidates, n_others, 0.0)
    return votes

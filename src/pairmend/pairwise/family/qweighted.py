"""QWeighted voting: the decision of calibrated label ranking from as few pairs as possible."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from pairmend._utils.sklearn_private import HasMethods
from pairmend._utils.typing import IntArray, MatrixLike
from pairmend.kernels.ranking import vote
from pairmend.pairwise.family.frugal import FrugalVoting
from pairmend.pairwise.family.panel import Panel
from pairmend.pairwise.family.tournament import Tournament


class QWeightedVoting(FrugalVoting):
    """Calibrated label ranking that asks as few pairs as it can (QWeighted, QCLR).

    After the pairs with the virtual label, the label with the fewest losses always plays its best
    unplayed opponent, until none can still come to fewer losses than the virtual label (Loza
    Mencía et al., 2010). The predicted labels are those of
    ``CalibratedLabelRanking(voting="votes")``, always. Choose it where models are dear to ask,
    kernel machines for instance, labels many, and labels of a row few.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier, cloned for each pair. If it has no ``predict_proba``, its ``predict``
        says who wins. None means :class:`RandomSubspaceNB`, whose pairs are all asked at once:
        nothing is saved with it.
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
    CalibratedLabelRanking : Asks all pairs, and takes supports in place of votes, too.
    TwoStageVoting : Asks fewer still, but decides differently.

    Notes
    -----
    Every label plays L games, one of them against the virtual label, and a tie is half a loss
    for both; fewer losses than the virtual label are more votes, so the rule is that of
    :class:`CalibratedLabelRanking`. A label plays on while it is undecided: it has fewer losses
    than the virtual label, and would not if it lost all of its unplayed games. Of labels or
    opponents with equally few losses, the first plays.

    Rows wait for the model that they need next. Models are gone through in turn, round after
    round, and each is asked at once about all rows that wait for it. How many models a row needs
    does not depend on the other rows.

    `predict` and `poll` ask few models. `predict_proba` asks all of them, since unplayed games
    leave the ranking open. After a fit on 1-D classes the search ends when the label with the
    fewest losses, the first of several, has played all its games.

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
    >>> poll = clf.poll(X)
    >>> bool((poll.labels == (clf.predict_proba(X) > 0.5)).all())
    True
    >>> len(clf.pairs_), float(poll.n_asked.mean())
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

    def _poll(self, X: MatrixLike) -> tuple[np.ndarray[Any, Any], IntArray]:
        panel = self._panel(X)
        games = Tournament(
            vote(panel.ask_all(self._virtual_pairs)), winner_only=not self.multilabel_
        )
        _play(games, panel, len(self.pairs_))
        if self.multilabel_:
            return games.relevant.astype(np.int64), panel.n_asked
        return self.classes_[games.losses.argmin(axis=1)], panel.n_asked


def _play(games: Tournament, panel: Panel, n_pairs: int) -> None:
    """Go round all pairs and ask those that rows wait for, until no row waits for any.

    A label that wins plays the others in the order of pairs as long as their losses are equal: most
    of its games are played within one round, with all rows in which it plays.
    """

    def count(pairs: IntArray) -> IntArray:
        return np.bincount(pairs + 1, minlength=n_pairs + 1)[1:]  # -1 waits for nothing

    awaited = games.next_pairs(np.arange(len(panel.n_asked)))
    n_waiting = count(awaited)
    while n_waiting.any():
        for pair in range(n_pairs):
            if n_waiting[pair]:
                rows = np.flatnonzero(awaited == pair)
                games.enter(rows, pair, vote(panel.ask(pair, rows)))
                awaited[rows] = games.next_pairs(rows)
                n_waiting[pair] = 0
                n_waiting += count(awaited[rows])

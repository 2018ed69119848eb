"""QWeighted and two-stage voting against the full vote, and slow loops."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

from pairmend import CalibratedLabelRanking
from pairmend.kernels.pairs import label_pairs, pairs_of
from pairmend.pairwise import QWeightedVoting, TwoStageVoting
from pairmend.pairwise.learners import PairLearner


class Oracle(PairLearner):
    """A learner whose supports are the rows themselves."""

    def fit(self, rows, pairs, owner=None):
        return self

    def supports(self, X, blocks):
        n_labels = int((1 + (1 + 8 * X.shape[1]) ** 0.5) / 2)
        return (X[:, pairs_of(labels, n_labels)] for labels in blocks)


def played(outcomes, n_labels, *, classes=False):
    """Play with outcomes of all comparisons as features; assert labels equal the full vote's."""
    X, Y = np.eye(n_labels + 1, outcomes.shape[1]), np.eye(n_labels + 1, n_labels, dtype=int)
    full, counted = (
        kind.fit(X, Y.argmax(axis=1) if classes else Y)
        for kind in (CalibratedLabelRanking(voting="votes"), QWeightedVoting())
    )
    full.learner_ = counted.learner_ = Oracle(None, n_jobs=None, seed=0)
    counted = counted.predict_counted(outcomes)
    np.testing.assert_array_equal(counted.labels, full.predict(outcomes))
    return counted


def play_by_hand(outcome, n_labels):
    """Relevant labels and the number of comparisons by a loop of the published method."""
    support = {}
    for (i, j), value in zip(label_pairs(n_labels + 1).tolist(), outcome, strict=True):
        support[i, j], support[j, i] = value, 1 - value
    labels = range(n_labels)
    losses = {i: support[n_labels, i] for i in labels}  # what the virtual label won
    virtual = sum(support[i, n_labels] for i in labels)
    unplayed = {i: [j for j in labels if j != i] for i in labels}
    n_games = n_labels
    while True:
        undecided = [i for i in labels if losses[i] < virtual <= losses[i] + len(unplayed[i])]
        if not undecided:
            return [int(losses[i] < virtual) for i in labels], n_games
        player = min(undecided, key=lambda i: losses[i])
        opponent = min(unplayed[player], key=lambda j: losses[j])
        losses[player] += support[opponent, player]
        losses[opponent] += support[player, opponent]
        unplayed[player].remove(opponent)
        unplayed[opponent].remove(player)
        n_games += 1


@pytest.mark.parametrize(
    ("n_labels", "classes"), [(1, False), (2, False), (3, False), (2, True), (3, True)]
)
def test_all_outcomes_of_small_votes(n_labels, classes):
    n_pairs = n_labels * (n_labels + 1) // 2
    outcomes = np.array(list(product([0.0, 0.5, 1.0], repeat=n_pairs)))
    counted = played(outcomes, n_labels, classes=classes)
    if classes:
        assert n_labels == 2 or counted.n_evaluated.mean() < n_pairs
        return
    for found in zip(outcomes, counted.labels.tolist(), counted.n_evaluated, strict=True):
        assert found[1:] == play_by_hand(found[0], n_labels)
    assert counted.n_evaluated.min() == n_labels  # every label loses against the virtual one
    assert counted.n_evaluated.max() == n_pairs


class CountingSVC(SVC):
    """A support vector machine that records the number of rows of each call."""

    n_rows = []  # noqa: RUF012

    def predict(self, X):
        CountingSVC.n_rows.append(X.shape[0])
        return super().predict(X)


def test_models_are_evaluated_as_often_as_counted_and_in_batches():
    X, Y = make_multilabel_classification(120, 15, n_classes=15, n_labels=2, random_state=0)
    Y = np.maximum(Y, np.eye(120, 15, dtype=int))  # every pair has rows of both labels
    clf = QWeightedVoting(CountingSVC()).fit(X, Y)
    CountingSVC.n_rows = []
    counted = clf.predict_counted(X)
    batches = CountingSVC.n_rows
    assert sum(batches) == counted.n_evaluated.sum() < len(X) * len(clf.pairs_) / 2
    assert len(batches) < sum(batches) / 6
    np.testing.assert_array_equal(counted.labels, clf.predict_proba(X) > 0.5)
    np.testing.assert_array_equal(counted.labels, clf.predict(X))
    alone = [clf.predict_counted(X[row : row + 1]) for row in range(5)]
    np.testing.assert_array_equal([one.n_evaluated[0] for one in alone], counted.n_evaluated[:5])
    np.testing.assert_array_equal(np.vstack([one.labels for one in alone]), counted.labels[:5])


def test_predictions_vote_where_there_are_no_probabilities(small_set):
    X, Y = small_set
    weights = 1.0 + np.arange(len(X)) % 3
    clf = QWeightedVoting(LinearSVC(random_state=0)).fit(X, Y, sample_weight=weights)
    for (i, j), supports in zip(clf.pairs_, clf.pair_support(X).T, strict=True):
        rows = np.arange(len(X)) if j == 4 else np.flatnonzero(Y[:, i] != Y[:, j])
        model = LinearSVC(random_state=0).fit(X[rows], Y[rows, i], sample_weight=weights[rows])
        np.testing.assert_array_equal(supports, model.predict(X))
    np.testing.assert_array_equal(clf.predict(X), clf.predict_proba(X) > 0.5)
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        CalibratedLabelRanking(LinearSVC(), voting="votes").fit(X, Y)


def winner(support):
    return 0.5 if abs(support - 0.5) < 1e-12 else float(support > 0.5)


def two_stages(pairs, supports, n_labels, threshold):
    """Scores, and the number of models evaluated, of one row, as described in the paper."""
    by_pair = dict(zip(map(tuple, pairs.tolist()), supports, strict=True))
    first = [by_pair[i, n_labels] for i in range(n_labels)]
    votes = [winner(support) for support in first]
    virtual = sum(1 - vote for vote in votes)
    n_evaluated = n_labels
    for (i, j), support in by_pair.items():
        if j == n_labels:
            continue
        if first[i] > threshold and first[j] > threshold:
            votes[i] += winner(support)
            votes[j] += 1 - winner(support)
            n_evaluated += 1
        elif first[i] > threshold:
            votes[i] += 1
        elif first[j] > threshold:
            votes[j] += 1
    return [(1 + (vote - virtual) / n_labels) / 2 for vote in votes], n_evaluated


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("base", [GaussianNB(), None, SVC()])
def test_two_stages_against_a_loop(small_set, base, threshold):
    X, Y = small_set
    clf = TwoStageVoting(base, candidate_threshold=threshold, random_state=0).fit(X, Y)
    loops = [two_stages(clf.pairs_, row, 4, threshold) for row in clf.pair_support(X)]
    scores = np.array([scores for scores, _ in loops])
    counted = clf.predict_counted(X)
    np.testing.assert_allclose(clf.predict_proba(X), scores, atol=1e-12)
    np.testing.assert_array_equal(counted.labels, np.round(scores, 9) > 0.5)
    np.testing.assert_array_equal(counted.n_evaluated, [n_evaluated for _, n_evaluated in loops])
    np.testing.assert_array_equal(counted.labels, clf.predict(X))


def test_classes_without_a_vote_go_by_the_first_stage():
    # No class has a support above the threshold; class 2 has the largest.
    X, y = np.zeros((10, 1)), np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    clf = TwoStageVoting(DummyClassifier(strategy="prior"), candidate_threshold=0.5).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X[:1]), [[0.3, 0.3, 0.4]])
    assert clf.predict(X[:1]).tolist() == [2]
    # Without probabilities, predictions give no vote to any class either.
    clf = TwoStageVoting(SVC()).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X[:1]), [[1 / 3] * 3])

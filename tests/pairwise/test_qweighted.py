"""QWeighted voting against the full vote and against a slow loop of comparisons."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

from pairmend import CalibratedLabelRanking
from pairmend.kernels.pairs import label_pairs, pairs_of
from pairmend.pairwise import QWeightedVoting
from pairmend.pairwise.learners import PairLearner


class Oracle(PairLearner):
    """A learner whose supports are the rows themselves."""

    def fit(self, rows, pairs, owner=None):
        return self

    def supports(self, X, blocks):
        n_labels = int((1 + (1 + 8 * X.shape[1]) ** 0.5) / 2)
        return (X[:, pairs_of(labels, n_labels)] for labels in blocks)


def with_oracle(kind, n_labels, *, classes=False):
    """A classifier whose features are the outcomes of all comparisons."""
    n_pairs = n_labels * (n_labels + 1) // 2
    X, Y = np.eye(n_labels + 1, n_pairs), np.eye(n_labels + 1, n_labels, dtype=int)
    clf = kind.fit(X, Y.argmax(axis=1) if classes else Y)
    clf.learner_ = Oracle()
    return clf


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


@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_all_outcomes_of_small_votes(n_labels):
    n_pairs = n_labels * (n_labels + 1) // 2
    outcomes = np.array(list(product([0.0, 0.5, 1.0], repeat=n_pairs)))
    full = with_oracle(CalibratedLabelRanking(voting="votes"), n_labels)
    counted = with_oracle(QWeightedVoting(), n_labels).predict_counted(outcomes)
    np.testing.assert_array_equal(counted.labels, full.predict(outcomes))
    some = np.random.RandomState(0).permutation(len(outcomes))[:2000]
    for outcome, labels, n_asked in zip(
        outcomes[some], counted.labels[some], counted.n_evaluated[some], strict=True
    ):
        assert (labels.tolist(), n_asked) == play_by_hand(outcome, n_labels)
    if n_labels > 1:
        assert counted.n_evaluated.min() == n_labels  # every label loses against the virtual one
        assert counted.n_evaluated.max() == n_pairs


@pytest.mark.parametrize("n_labels", [2, 3])
def test_all_outcomes_of_small_votes_for_one_class(n_labels):
    n_pairs = n_labels * (n_labels + 1) // 2
    outcomes = np.array(list(product([0.0, 0.5, 1.0], repeat=n_pairs)))
    full = with_oracle(CalibratedLabelRanking(voting="votes"), n_labels, classes=True)
    counted = with_oracle(QWeightedVoting(), n_labels, classes=True).predict_counted(outcomes)
    np.testing.assert_array_equal(counted.labels, full.predict(outcomes))
    if n_labels > 2:
        assert counted.n_evaluated.mean() < n_pairs


@pytest.mark.parametrize(("n_labels", "n_rows", "ties"), [(7, 300, 0.0), (30, 80, 0.1)])
def test_random_large_votes(n_labels, n_rows, ties):
    # From votes that follow a ranking with the virtual label near the top to votes at random.
    rng = np.random.RandomState(n_labels)
    strength = rng.normal(size=(n_rows, n_labels + 1))
    strength[:, -1] += rng.uniform(0, 3, n_rows)
    pairs = label_pairs(n_labels + 1)
    lead = strength[:, pairs[:, 0]] - strength[:, pairs[:, 1]]
    lead += rng.uniform(0, 3, (n_rows, 1)) * rng.normal(size=lead.shape)
    outcomes = np.where(rng.uniform(size=lead.shape) < ties, 0.5, (lead > 0).astype(float))
    full = with_oracle(CalibratedLabelRanking(voting="votes"), n_labels)
    counted = with_oracle(QWeightedVoting(), n_labels).predict_counted(outcomes)
    np.testing.assert_array_equal(counted.labels, full.predict(outcomes))
    for row in range(0, n_rows, 8):
        by_hand = play_by_hand(outcomes[row], n_labels)
        assert (counted.labels[row].tolist(), counted.n_evaluated[row]) == by_hand
    assert (counted.n_evaluated >= n_labels).all()
    assert counted.n_evaluated.mean() < len(pairs)


class CountingSVC(SVC):
    """A support vector machine that records the number of rows of each call."""

    n_rows = []  # noqa: RUF012

    def predict(self, X):
        CountingSVC.n_rows.append(X.shape[0])
        return super().predict(X)


@pytest.fixture(scope="module")
def many_labels():
    return make_multilabel_classification(
        120, n_features=15, n_classes=15, n_labels=2, random_state=0
    )


def test_models_are_asked_as_often_as_told_and_in_batches(many_labels):
    X, Y = many_labels
    Y = np.maximum(Y, np.eye(120, 15, dtype=int))  # every pair has rows of both labels
    clf = QWeightedVoting(CountingSVC()).fit(X, Y)
    CountingSVC.n_rows = []
    counted = clf.predict_counted(X)
    batches = CountingSVC.n_rows
    assert sum(batches) == counted.n_evaluated.sum()
    assert len(batches) < sum(batches) / 6
    assert counted.n_evaluated.mean() < len(clf.pairs_) / 2
    np.testing.assert_array_equal(counted.labels, clf.predict_proba(X) > 0.5)
    np.testing.assert_array_equal(counted.labels, clf.predict(X))
    alone = [clf.predict_counted(X[row : row + 1]) for row in range(5)]
    np.testing.assert_array_equal([one.n_evaluated[0] for one in alone], counted.n_evaluated[:5])
    np.testing.assert_array_equal(np.vstack([one.labels for one in alone]), counted.labels[:5])


@pytest.mark.parametrize(
    "base", [GaussianNB(), LogisticRegression(C=0.1), None], ids=["nb", "logistic", "closed"]
)
def test_the_same_labels_as_the_full_vote(many_labels, base):
    X, Y = many_labels
    Y = Y.copy()
    Y[:, 2], Y[:, 5], Y[:, 7] = 0, 1, Y[:, 6]  # never, always, always with another
    clf = QWeightedVoting(base, random_state=0).fit(X[:80], Y[:80, :8])
    full = CalibratedLabelRanking(base, voting="votes", random_state=0).fit(X[:80], Y[:80, :8])
    counted = clf.predict_counted(X)
    np.testing.assert_array_equal(counted.labels, full.predict(X))
    np.testing.assert_allclose(clf.predict_proba(X), full.predict_proba(X), atol=1e-12)
    assert not counted.labels[:, 2].any()
    assert counted.labels[:, 5].all()
    assert counted.n_evaluated.mean() < 36


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


def test_one_label_is_its_binary_problem(small_set):
    X, Y = small_set
    counted = QWeightedVoting(SVC()).fit(X, Y[:, :1]).predict_counted(X)
    np.testing.assert_array_equal(counted.labels[:, 0], SVC().fit(X, Y[:, 0]).predict(X))
    assert (counted.n_evaluated == 1).all()

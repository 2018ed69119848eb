"""The local lift of label sets against its definition, and decisions with it."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit
from sklearn.metrics import zero_one_loss

from pairmend import MendedClassifier
from pairmend.mended import label_sets
from pairmend.mended.corrector import draw_rows_to_compare, numbers_to_draw, row_masses
from pairmend.mended.decisions import (
    LOCAL_EXPONENTS,
    CorrectedProba,
    DecisionScorer,
    choose_decision,
)
from pairmend.mended.label_sets import LabelSets, LocalSets, OwnSets
from slow_label_sets import local_lift


def problem(seed, n_rows=60, n_labels=3):
    """Label sets of rows whose probabilities are informative, with weights."""
    rng = np.random.RandomState(seed)
    Y = rng.rand(n_rows, n_labels) < [0.5, 0.4, 0.2][:n_labels]
    proba = np.clip(0.3 + 0.4 * Y + 0.2 * rng.randn(*Y.shape), 0, 1)
    weights = rng.choice([0.5, 1.0, 2.0], size=n_rows)
    sets, indices = LabelSets.from_indicators(Y, weights)
    local = LocalSets.from_rows(proba, indices, weights, sets.counts, weights.sum(), rng)
    return sets, local, proba, OwnSets(indices, weights, np.arange(n_rows))


def test_local_lift_equals_the_definition():
    _, local, _, _ = problem(0)
    new = np.random.RandomState(1).rand(9, 3)
    expected = [local_lift(local, p) for p in new]
    np.testing.assert_allclose(local.log_lift(new), np.log(expected), atol=1e-10)


def test_rows_are_left_out_of_their_own_local_lift():
    sets, local, proba, own = problem(0)
    found = local.log_lift(proba, own.places, own.weights)
    for row, p in enumerate(proba):
        expected = local_lift(local, p, left_out=row)
        others = sets.counts - (np.arange(len(sets.counts)) == local.sets[row]) * own.weights[row]
        np.testing.assert_allclose(found[row][others > 0], np.log(expected)[others > 0], atol=1e-10)


def test_sets_that_are_not_kept_have_no_lift_but_a_mass():
    _, local, _, _ = problem(2)
    kept = local.sets > 0
    fewer = replace(local, sets=np.where(kept, local.sets - 1, -1), counts=local.counts[1:])
    new = np.random.RandomState(1).rand(5, 3)
    np.testing.assert_allclose(fewer.log_lift(new), local.log_lift(new)[:, 1:], atol=1e-10)


def test_far_from_all_rows_sets_have_their_frequency():
    _, local, _, _ = problem(3)
    narrow = replace(local, beta=1e9)
    np.testing.assert_allclose(narrow.log_lift(np.full((1, 3), 0.123)), 0, atol=1e-12)


def test_the_bandwidth_is_relative_to_the_median_distance(rng):
    _, local, proba, _ = problem(4)
    points = logit(np.clip(proba, 1e-3, 1 - 1e-3))
    first, second = np.triu_indices(len(points), k=1)
    distances = ((points[first] - points[second]) ** 2).sum(axis=1)
    equal = replace(local, masses=np.ones(len(points)))
    found = LocalSets.from_rows(proba, equal.sets, equal.masses, equal.counts, equal.total, rng)
    assert found.beta == pytest.approx(8 / np.median(distances), rel=1e-9)
    same = np.full_like(proba, 0.3)
    found = LocalSets.from_rows(same, equal.sets, equal.masses, equal.counts, equal.total, rng)
    assert found.beta == label_sets.INVERSE_SQUARED_BANDWIDTH
    assert np.isfinite(found.log_lift(same)).all()


def test_local_exponent_enters_the_probabilities_of_sets():
    sets, local, proba, own = problem(5)
    new = np.random.RandomState(1).rand(70, 3)
    both = replace(sets, lift_exponent=0.5, local=local, local_exponent=0.7)
    plain = replace(sets, lift_exponent=0.5)
    scores = plain._log_scores(slice(None), new, None) + 0.7 * local.log_lift(new)
    np.testing.assert_array_equal(both.most_likely(new), sets.indicators(scores.argmax(axis=1)))
    scores = plain._log_scores(slice(None), proba, own)
    scores += 0.7 * local.log_lift(proba, own.places, own.weights)
    np.testing.assert_array_equal(
        both.most_likely(proba, own), sets.indicators(scores.argmax(axis=1))
    )


def test_damaged_rows_are_refused():
    sets, local, proba, _ = problem(7)
    for forged in (
        replace(local, sets=local.sets[:, np.newaxis]),
        replace(local, sets=local.sets + 100),
        replace(local, masses=local.masses[:-1]),
        replace(local, proba=local.proba[:-1]),
    ):
        with pytest.raises(ValueError, match="The model is damaged: fit the classifier again"):
            forged.log_lift(proba)
    for forged in (
        replace(local, counts=np.append(local.counts, 1.0)),
        replace(local, counts=local.counts[:, np.newaxis]),
        replace(local, proba=local.proba[:, :2]),
        replace(local, proba=local.proba[:, 0]),
    ):
        with pytest.raises(ValueError, match="The model is damaged: fit the classifier again"):
            replace(sets, local=forged, local_exponent=0.5).most_likely(proba)


def test_masses_of_drawn_rows_are_numbers_of_rows():
    """Nearly equal weights give the masses of equal weights."""
    n_rows = 6000
    equal, unequal = np.ones(n_rows), np.ones(n_rows)
    unequal[0] = 1 + 1e-9
    for n_landmarks in (2500, 6000):
        n_drawn, _ = numbers_to_draw(n_landmarks)
        for weights in (equal, unequal):
            drawn = draw_rows_to_compare(weights, n_landmarks, np.random.RandomState(0))[1]
            masses = row_masses(drawn, n_landmarks)
            assert abs(len(drawn) - n_drawn) <= 1
            np.testing.assert_allclose(masses, 1.0, rtol=2e-3)


def test_decisions_of_a_classifier_list_the_local_exponent():
    """Which of two labels a row has depends on its place, and no row has both."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    side = np.sin(6 * X[:, 0]) + 0.3 * rng.randn(300) > 0
    Y = np.column_stack([side, ~side, X[:, 1] > 0]).astype(int)
    clf = MendedClassifier(None, criterion="zero_one", random_state=0).fit(X, Y)
    found = clf.decisions_
    at = found["decision"] == "sets"
    assert found["local_exponent"][at].tolist()[-1] == 0.5
    assert np.isnan(found["local_exponent"][~at]).all()
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.predict(X), clf.predict(X))


def test_one_decision_with_the_local_lift_is_compared():
    """Which of two labels a row has depends on the probability of a third."""
    rng = np.random.RandomState(0)
    first, third = rng.rand(2, 400) < 0.5
    Y = np.column_stack([first, np.where(third, first, ~first), third])
    proba = np.column_stack([rng.normal(0.5, 0.05, (2, 400)).T, np.where(third, 0.9, 0.1)])
    sets, indices = LabelSets.from_indicators(Y)
    ones = np.ones(400)
    local = LocalSets.from_rows(proba, indices, ones, sets.counts, 400.0, rng)
    corrected = CorrectedProba(proba, proba, OwnSets(indices, ones, np.arange(400)))
    scorer = DecisionScorer("zero_one", Y, np.array_split(np.arange(400), 5))
    best, tried = choose_decision(["sets"], [], scorer, corrected, replace(sets, local=local))
    assert (best.lift_exponent, best.local_exponent) == LOCAL_EXPONENTS
    assert [each.local_exponent > 0 for each in tried] == [False] * (len(tried) - 1) + [True]
    expected = replace(sets, local=local, lift_exponent=0.25, local_exponent=0.5)
    np.testing.assert_array_equal(best.decide(proba, proba), expected.most_likely(proba))
    assert best.loss == zero_one_loss(Y, expected.most_likely(proba, corrected.own))

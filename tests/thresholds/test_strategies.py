"""Thresholds against an exhaustive search over all cuts."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.stats import poisson
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pairmend.kernels.threshold import mean_batch_f1
from pairmend.thresholds import (
    BatchF1Thresholds,
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
    NeverEmpty,
    RecallControl,
    TopLabels,
)

ALL = [
    FixedThreshold(0.3),
    CardinalityThreshold(),
    F1Thresholds(),
    TopLabels(2),
    TopLabels(),
    NeverEmpty(),
    NeverEmpty(F1Thresholds()),
    F1Thresholds("micro"),
    F1Thresholds("micro", expected=True),
    F1Thresholds(expected=True, shrinkage=5.0),
    BatchF1Thresholds(3),
    RecallControl(0.5),
    RecallControl(0.5, confidence=0.5),
]
all_thresholds = pytest.mark.parametrize("threshold", ALL, ids=str)

# Few distinct scores, so that ties are common.
tables = st.tuples(st.integers(1, 7), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])),
        arrays(np.int64, shape, elements=st.integers(0, 1)),
    )
)


def cuts(scores):
    """All thresholds that differ in their decisions, the highest first."""
    return [np.inf, *sorted(set(scores), reverse=True), -np.inf]


def f1(y, decided):
    hits = sum(a and b for a, b in zip(y, decided, strict=True))
    either = sum(y) + sum(decided)
    return 2 * hits / either if either else 0.0


@given(tables)
def test_the_cardinality_is_as_close_as_possible(table):
    scores, Y = table
    cut = CardinalityThreshold().fit(scores, Y)
    found = cut.decide(scores).sum()
    counts = [sum(s > t for s in scores.ravel()) for t in cuts(scores.ravel())]
    closest = min(abs(c - Y.sum()) for c in counts)
    assert found == min(c for c in counts if abs(c - Y.sum()) == closest)
    assert cut.threshold_ not in scores  # halfway between two scores


@given(tables)
def test_f1_of_each_label_is_maximal(table):
    scores, Y = table
    fitted = F1Thresholds().fit(scores, Y)
    for s, y, decided in zip(scores.T, Y.T, fitted.decide(scores).T, strict=True):
        options = [[int(v > t) for v in s] for t in cuts(s)]
        best = max(f1(y, option) for option in options)
        fewest = min(sum(o) for o in options if f1(y, o) == best)
        assert f1(y, decided) == best
        assert decided.sum() == fewest


@given(tables)
def test_micro_f1_is_maximal(table):
    scores, Y = table
    fitted = F1Thresholds("micro").fit(scores, Y)
    assert len(set(fitted.thresholds_)) == 1
    flat = scores.ravel()
    best = max(f1(Y.ravel(), [int(v > t) for v in flat]) for t in cuts(flat))
    assert f1(Y.ravel(), fitted.decide(scores).ravel()) == best


@given(tables)
def test_expected_f1_is_maximal(table):
    """Twice the expected true positives over expected and predicted positives."""
    scores, Y = table
    fitted = F1Thresholds(expected=True).fit(scores, Y)
    for s, threshold, decided in zip(
        scores.T, fitted.thresholds_, fitted.decide(scores).T, strict=True
    ):
        subsets = [[(mask >> k) & 1 for k in range(len(s))] for mask in range(1, 2 ** len(s))]
        expected = [2 * (s @ subset) / (sum(subset) + s.sum()) for subset in subsets]
        if s.sum() == 0:
            assert threshold == np.inf
            continue
        assert threshold == pytest.approx(max(expected) / 2)
        assert 2 * (s @ decided) / (decided.sum() + s.sum()) == pytest.approx(max(expected))


@given(tables, st.sampled_from([0.5, 10.0]), st.booleans())
def test_shrinkage_is_a_weighted_mean_with_the_common_threshold(table, shrinkage, expected):
    scores, Y = table
    own = F1Thresholds(expected=expected).fit(scores, Y).thresholds_
    common = F1Thresholds("micro", expected=expected).fit(scores, Y).thresholds_[0]
    shrunk = F1Thresholds(expected=expected, shrinkage=shrinkage).fit(scores, Y).thresholds_
    for s, count, mine, found in zip(scores.T, Y.sum(axis=0), own, shrunk, strict=True):
        if mine == np.inf:  # a label without rows
            assert found == np.inf
            continue
        # A threshold just below the lowest score accepts all rows, too.
        mine = s.min() if mine == -np.inf else mine
        both = scores.min() if common == -np.inf else common
        mixed = (count * mine + shrinkage * both) / (count + shrinkage)
        assert found == pytest.approx(mixed, abs=1e-9)


def test_shrinkage_of_a_label_that_all_rows_have():
    # The first label has its largest F1 if all rows get it; the largest micro F1 is at 0.25.
    scores = np.array([[0.6, 0.1], [0.7, 0.2], [0.8, 0.3], [0.9, 0.4]])
    Y = np.array([[1, 0], [1, 0], [1, 1], [1, 1]])
    assert F1Thresholds().fit(scores, Y).thresholds_[0] == -np.inf
    common = F1Thresholds("micro").fit(scores, Y).thresholds_[0]
    assert common == 0.25
    found = F1Thresholds(shrinkage=1000).fit(scores, Y).thresholds_
    np.testing.assert_allclose(found, [(4 * 0.6 + 1000 * 0.25) / 1004, 0.25])
    # With little shrinkage all rows get the label, also those with the lowest score.
    assert F1Thresholds(shrinkage=1e-12).fit(scores, Y).decide(scores)[:, 0].all()
    everywhere = F1Thresholds(shrinkage=5.0).fit(scores, np.ones((4, 2)))
    np.testing.assert_allclose(everywhere.thresholds_, [(4 * 0.6 + 5 * 0.1) / 9, 0.1])
    assert not np.isposinf(everywhere.thresholds_).any()


THRESHOLDS = [
    CardinalityThreshold(),
    F1Thresholds(),
    F1Thresholds("micro"),
    F1Thresholds(shrinkage=3.0),
    F1Thresholds("micro", expected=True),
    F1Thresholds(expected=True, shrinkage=3.0),
    BatchF1Thresholds(2.0, prior_mass=3.0),
    TopLabels(),
    NeverEmpty(F1Thresholds()),
]


def fitted_value(threshold):
    inner = threshold.threshold_ if isinstance(threshold, NeverEmpty) else threshold
    return next(np.array(v) for name, v in sorted(vars(inner).items()) if name.endswith("_"))


@given(tables, st.sampled_from(THRESHOLDS), st.integers(0, 999))
def test_weights_equal_repeated_rows(table, threshold, seed):
    scores, Y = table
    weights = np.random.RandomState(seed).randint(4, size=len(Y))
    weights[0] = 1  # one row of the weight that counts as one row
    expected = fitted_value(
        clone(threshold).fit(np.repeat(scores, weights, 0), np.repeat(Y, weights, 0))
    )
    for factor in (1, 1e-3, 1e3, 1 / weights.sum()):
        fitted = clone(threshold).fit(scores, Y, sample_weight=factor * weights)
        np.testing.assert_allclose(fitted_value(fitted), expected, rtol=1e-12)
    # A row of weight 1e-9 changes nothing, not even the lowest score.
    more = np.vstack([scores, np.zeros(scores.shape[1])]), np.vstack([Y, np.ones(Y.shape[1])])
    fitted = clone(threshold).fit(*more, sample_weight=np.append(weights, 1e-9))
    np.testing.assert_allclose(fitted_value(fitted), expected, rtol=1e-12)


def test_invalid_weights_are_refused():
    with pytest.raises(ValueError, match="non-zero"):
        F1Thresholds().fit([[0.1], [0.2]], [[0], [1]], sample_weight=[0, 0])
    with pytest.raises(ValueError, match="sample_weight"):
        F1Thresholds().fit([[0.1], [0.2]], [[0], [1]], sample_weight=[1, 1, 1])


def test_expected_f1_needs_probabilities():
    with pytest.raises(ValueError, match=r"scores lie in \[-1, 2\]"):
        F1Thresholds(expected=True).fit([[-1.0, 0.5], [2.0, 0.5]], [[0, 1], [1, 0]])


def f1_of_poisson_numbers(hits, errors, largest=60):
    """Mean of 2H / (2H + E), 1 for H = E = 0, summed over all numbers up to the largest."""
    numbers = np.arange(largest + 1)
    H, E = np.meshgrid(numbers, numbers, indexing="ij")
    f1 = np.where(H + E > 0, 2 * H / np.maximum(2 * H + E, 1), 1.0)
    return poisson.pmf(numbers, hits) @ f1 @ poisson.pmf(numbers, errors)


@pytest.mark.parametrize("hits", [0.0, 1e-9, 0.3, 2.0, 20.0])
@pytest.mark.parametrize("errors", [0.0, 1e-9, 0.5, 3.0, 20.0])
def test_mean_f1_over_batches(hits, errors):
    expected = f1_of_poisson_numbers(hits, errors)
    assert mean_batch_f1(hits, errors) == pytest.approx(expected, abs=1e-9)


def test_mean_f1_over_large_batches_is_f1():
    assert mean_batch_f1(3e6, 2e6) == pytest.approx(0.75, abs=1e-6)
    assert mean_batch_f1(0.0, 1e6) == pytest.approx(0, abs=1e-9)


@settings(max_examples=20)
@given(tables, st.sampled_from([0.5, 4.0]), st.sampled_from([0.0, 2.0, 1e9]))
def test_mean_f1_over_batches_is_maximal(table, batch_size, prior_mass):
    proba, Y = table
    fitted = BatchF1Thresholds(batch_size, prior_mass=prior_mass).fit(proba, Y)
    for p, y, decided in zip(proba.T, Y.T, fitted.decide(proba).T, strict=True):

        def mean_f1(accepted, p=p, y=y):
            count = y.sum()
            share = count / (count + prior_mass) if count + prior_mass else 1.0
            truth = share * y + (1 - share) * p
            hits = truth @ accepted
            errors = sum(accepted) + truth.sum() - 2 * hits
            scale = batch_size / len(y)
            return f1_of_poisson_numbers(scale * hits, scale * max(errors, 0), 20)

        best = max(mean_f1([int(v > t) for v in p]) for t in cuts(p))
        assert mean_f1(decided) == pytest.approx(best, abs=1e-6)


def test_a_rare_label_is_predicted_only_in_large_batches():
    proba = np.linspace(0, 0.02, 100)[:, np.newaxis]
    Y = np.arange(100)[:, np.newaxis] == 99
    # Of ten batches of 10 rows, nine do not have the label.
    assert BatchF1Thresholds(10).fit(proba, Y).thresholds_ == [np.inf]
    assert BatchF1Thresholds(10_000).fit(proba, Y).thresholds_ < 0.02


def test_batch_f1_needs_probabilities():
    with pytest.raises(ValueError, match=r"BatchF1Thresholds needs .* scores lie in \[-1, 2\]"):
        BatchF1Thresholds().fit([[-1.0, 0.5], [2.0, 0.5]], [[0, 1], [1, 0]])


@given(tables, st.integers(1, 5))
def test_top_labels_have_the_largest_scores(table, k):
    scores, Y = table
    for row, decided in zip(scores, TopLabels(k).fit(scores, Y).decide(scores), strict=True):
        ranked = sorted(range(len(row)), key=lambda label: (-row[label], label))
        assert np.flatnonzero(decided).tolist() == sorted(ranked[:k])


@given(tables)
def test_rows_without_a_label_get_the_best_one(table):
    scores, Y = table
    plain = CardinalityThreshold().fit(scores, Y).decide(scores)
    filled = NeverEmpty(CardinalityThreshold()).fit(scores, Y).decide(scores)
    for row, before, after in zip(scores, plain, filled, strict=True):
        expected = before.tolist()
        if not any(expected):
            expected[row.tolist().index(max(row))] = 1
        assert after.tolist() == expected


def test_examples_by_hand():
    scores = np.array([[0.1, 0.8], [0.4, 0.6], [0.3, 0.7]])
    Y = np.array([[0, 1], [1, 0], [0, 1]])
    # Three of six: 0.8, 0.7, 0.6, the next is 0.4.
    assert CardinalityThreshold().fit(scores, Y).threshold_ == pytest.approx(0.5)
    # Label 0 has its one row on top, label 1 its two.
    np.testing.assert_allclose(F1Thresholds().fit(scores, Y).thresholds_, [0.35, 0.65])
    assert TopLabels().fit(scores, Y).decide(scores).tolist() == [[0, 1]] * 3
    assert FixedThreshold(0.6).decide(scores).tolist() == [[0, 1], [0, 0], [0, 1]]
    assert NeverEmpty(FixedThreshold(0.6)).fit(scores, Y).decide(scores).tolist() == [[0, 1]] * 3


def test_labels_that_never_or_always_occur():
    scores = np.array([[0.1, 0.8], [0.4, 0.6], [0.3, 0.7]])
    fitted = F1Thresholds().fit(scores, np.array([[0, 1]] * 3))
    assert fitted.thresholds_.tolist() == [np.inf, -np.inf]
    assert fitted.decide([[1.0, 0.0]]).tolist() == [[0, 1]]
    assert CardinalityThreshold().fit(scores, np.zeros((3, 2))).threshold_ == np.inf
    assert CardinalityThreshold().fit(scores, np.ones((3, 2))).threshold_ == -np.inf
    assert TopLabels().fit(scores, np.zeros((3, 2))).k_ == 1


def test_adjacent_floats_are_separated():
    low = 0.3
    high = np.nextafter(low, 1)
    fitted = CardinalityThreshold().fit([[low, high]], [[0, 1]])
    assert fitted.decide([[low, high]]).tolist() == [[0, 1]]


@pytest.mark.parametrize(("mean", "k"), [(0.0, 1), (1.25, 1), (1.5, 2), (2.5, 3), (3.0, 3)])
def test_cardinality_is_rounded_half_up(mean, k):
    Y = mean * 4 > np.arange(12).reshape(3, 4).T
    assert TopLabels().fit(np.zeros((4, 3)), Y).k_ == k


@all_thresholds
def test_targets_in_all_forms(threshold, rng):
    scores, Y = rng.rand(30, 4), (rng.rand(30, 4) < 0.4).astype(int)
    scores.flags.writeable = Y.flags.writeable = False
    expected = clone(threshold).fit(scores, Y).decide(scores)
    assert expected.dtype == np.int64
    assert set(np.unique(expected)) == {0, 1}
    for target in (sparse.csr_array(Y), pd.DataFrame(Y), Y.astype(bool), Y.tolist()):
        np.testing.assert_array_equal(clone(threshold).fit(scores, target).decide(scores), expected)
    np.testing.assert_array_equal(threshold.fit(scores, Y).decide(scores.tolist()), expected)


@all_thresholds
def test_invalid_input_is_refused(threshold, rng):
    scores, Y = rng.rand(6, 3), np.ones((6, 3), dtype=int)
    threshold = clone(threshold)
    with pytest.raises(ValueError, match=r"shape \(6, 3\), Y \(6, 2\)"):
        threshold.fit(scores, Y[:, :2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        threshold.fit(scores, Y[:4])
    with pytest.raises(ValueError, match="scores contains NaN"):
        threshold.fit(np.full((6, 3), np.nan), Y)
    with pytest.raises(ValueError, match="must hold 0 and 1 only"):
        threshold.fit(scores, Y + 1)
    with pytest.raises(ValueError, match=r"shape \(6,\); expected label indicators"):
        threshold.fit(scores, Y[:, 0])
    if not isinstance(threshold, FixedThreshold):
        with pytest.raises(NotFittedError):
            threshold.decide(scores)


def test_invalid_labels_and_parameters_are_refused(rng):
    scores, Y = rng.rand(6, 3), np.ones((6, 3), dtype=int)
    with pytest.raises(ValueError, match="scores have 2 labels, .* fitted on 3"):
        F1Thresholds().fit(scores, Y).decide(scores[:, :2])
    for bad in (TopLabels(0), TopLabels("few"), FixedThreshold("high"), NeverEmpty(0.5)):
        with pytest.raises(ValueError, match="parameter of"):
            bad.fit(scores, Y)

"""Thresholds against slow searches over every cut."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pairmend.thresholds import (
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
    NeverEmpty,
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
]
every = pytest.mark.parametrize("threshold", ALL, ids=str)

# Few distinct scores, so that ties are common.
tables = st.tuples(st.integers(1, 7), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])),
        arrays(np.int64, shape, elements=st.integers(0, 1)),
    )
)


def cuts(scores):
    """Every way to cut scores, the highest threshold first."""
    return [np.inf, *sorted(set(scores), reverse=True), -np.inf]


def f1(y, decided):
    hits = sum(a and b for a, b in zip(y, decided, strict=True))
    either = sum(y) + sum(decided)
    return 2 * hits / either if either else 0.0


@given(tables)
def test_cardinality(table):
    scores, Y = table
    cut = CardinalityThreshold().fit(scores, Y)
    found = cut.decide(scores).sum()
    counts = [sum(s > t for s in scores.ravel()) for t in cuts(scores.ravel())]
    closest = min(abs(c - Y.sum()) for c in counts)
    assert found == min(c for c in counts if abs(c - Y.sum()) == closest)
    assert cut.threshold_ not in scores  # nearby scores of new rows go either way


@given(tables)
def test_f1(table):
    scores, Y = table
    fitted = F1Thresholds().fit(scores, Y)
    for s, y, decided in zip(scores.T, Y.T, fitted.decide(scores).T, strict=True):
        options = [[int(v > t) for v in s] for t in cuts(s)]
        best = max(f1(y, option) for option in options)
        fewest = min(sum(o) for o in options if f1(y, o) == best)
        assert f1(y, decided) == best
        assert decided.sum() == fewest


@given(tables)
def test_f1_of_all_labels_together(table):
    scores, Y = table
    fitted = F1Thresholds("micro").fit(scores, Y)
    assert len(set(fitted.thresholds_)) == 1
    flat = scores.ravel()
    best = max(f1(Y.ravel(), [int(v > t) for v in flat]) for t in cuts(flat))
    assert f1(Y.ravel(), fitted.decide(scores).ravel()) == best


@given(tables)
def test_expected_f1(table):
    """Twice the expected hits over what is expected to be carried and what is accepted."""
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
def test_shrinkage_of_thresholds(table, shrinkage, expected):
    scores, Y = table
    own = F1Thresholds(expected=expected).fit(scores, Y).thresholds_
    common = F1Thresholds("micro", expected=expected).fit(scores, Y).thresholds_[0]
    shrunk = F1Thresholds(expected=expected, shrinkage=shrinkage).fit(scores, Y).thresholds_
    for count, mine, found in zip(Y.sum(axis=0), own, shrunk, strict=True):
        if np.isinf(mine) or np.isinf(common):  # infinity is no number to mix
            assert found == mine
        else:
            mixed = (count * mine + shrinkage * common) / (count + shrinkage)
            assert found == pytest.approx(mixed)


def test_expected_f1_needs_probabilities():
    with pytest.raises(ValueError, match="scores go from -1 to 2"):
        F1Thresholds(expected=True).fit([[-1.0, 0.5], [2.0, 0.5]], [[0, 1], [1, 0]])


@given(tables, st.integers(1, 5))
def test_top_labels(table, k):
    scores, Y = table
    for row, decided in zip(scores, TopLabels(k).fit(scores, Y).decide(scores), strict=True):
        ranked = sorted(range(len(row)), key=lambda label: (-row[label], label))
        assert np.flatnonzero(decided).tolist() == sorted(ranked[:k])


@given(tables)
def test_never_empty(table):
    scores, Y = table
    plain = CardinalityThreshold().fit(scores, Y).decide(scores)
    filled = NeverEmpty(CardinalityThreshold()).fit(scores, Y).decide(scores)
    for row, before, after in zip(scores, plain, filled, strict=True):
        expected = before.tolist()
        if not any(expected):
            expected[row.tolist().index(max(row))] = 1
        assert after.tolist() == expected


def test_by_hand():
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


def test_neighbouring_floats_are_cut_between():
    low = 0.3
    high = np.nextafter(low, 1)
    fitted = CardinalityThreshold().fit([[low, high]], [[0, 1]])
    assert fitted.decide([[low, high]]).tolist() == [[0, 1]]


@pytest.mark.parametrize(("mean", "k"), [(0.0, 1), (1.25, 1), (1.5, 2), (2.5, 3), (3.0, 3)])
def test_cardinality_is_rounded_half_up(mean, k):
    Y = mean * 4 > np.arange(12).reshape(3, 4).T
    assert TopLabels().fit(np.zeros((4, 3)), Y).k_ == k


@every
def test_clones_targets_and_inputs(threshold, rng):
    scores, Y = rng.rand(30, 4), (rng.rand(30, 4) < 0.4).astype(int)
    scores.flags.writeable = Y.flags.writeable = False
    expected = clone(threshold).fit(scores, Y).decide(scores)
    assert expected.dtype == np.int64
    assert set(np.unique(expected)) == {0, 1}
    for target in (sparse.csr_array(Y), pd.DataFrame(Y), Y.astype(bool), Y.tolist()):
        np.testing.assert_array_equal(clone(threshold).fit(scores, target).decide(scores), expected)
    np.testing.assert_array_equal(threshold.fit(scores, Y).decide(scores.tolist()), expected)


@every
def test_bad_input(threshold, rng):
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


def test_other_labels_and_parameters_are_refused(rng):
    scores, Y = rng.rand(6, 3), np.ones((6, 3), dtype=int)
    with pytest.raises(ValueError, match="scores have 2 labels, .* fitted on 3"):
        F1Thresholds().fit(scores, Y).decide(scores[:, :2])
    for bad in (TopLabels(0), TopLabels("few"), FixedThreshold("high"), NeverEmpty(0.5)):
        with pytest.raises(ValueError, match="parameter of"):
            bad.fit(scores, Y)

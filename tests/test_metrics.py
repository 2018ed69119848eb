import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pairmend.metrics import LOSSES, reliability

tables = st.tuples(st.integers(1, 6), st.integers(2, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.integers(0, 1)),
        arrays(np.int64, shape, elements=st.integers(0, 1)),
    )
)


def f1(true, predicted):
    both = sum(t and p for t, p in zip(true, predicted, strict=True))
    either = sum(true) + sum(predicted)
    return 2 * both / either if either else 1.0


@given(tables)
def test_f1_losses_equal_loops(tables):
    true, predicted = tables
    labels = [f1(t, p) for t, p in zip(true.T, predicted.T, strict=True)]
    assert LOSSES["macro_f1"](true, predicted) == pytest.approx(1 - np.mean(labels))
    whole = f1(true.ravel(), predicted.ravel())
    assert LOSSES["micro_f1"](true, predicted) == pytest.approx(1 - whole)


@given(tables)
def test_hamming_and_zero_one_losses_equal_loops(tables):
    true, predicted = tables
    assert LOSSES["hamming"](true, predicted) == pytest.approx(np.mean(true != predicted))
    wrong = np.mean([(t != p).any() for t, p in zip(true, predicted, strict=True)])
    assert LOSSES["zero_one"](true, predicted) == pytest.approx(wrong)


def test_losses_of_a_perfect_prediction_are_zero():
    true = np.eye(3, dtype=int)
    assert [loss(true, true) for loss in LOSSES.values()] == [0] * len(LOSSES)


cases = st.tuples(st.integers(1, 6), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.integers(0, 1)),
        arrays(np.float64, shape, elements=st.floats(0, 1)),
    )
)


@given(cases, st.integers(1, 7))
def test_reliability_equals_a_loop(cases, n_bins):
    Y, p = cases
    for label in (None, 0):
        pairs = list(
            zip(p.ravel(), Y.ravel(), strict=True)
            if label is None
            else zip(p[:, 0], Y[:, 0], strict=True)
        )
        bins = {}
        for proba, true in pairs:
            bins.setdefault(min(int(proba * n_bins), n_bins - 1), []).append((proba, true))
        expected = [np.mean(bins[number], axis=0) for number in sorted(bins)]
        found = reliability(Y, p, label=label, n_bins=n_bins)
        np.testing.assert_allclose(np.column_stack([found.predicted, found.observed]), expected)
        assert found.counts.tolist() == [len(bins[number]) for number in sorted(bins)]
        error = sum(abs(a - b) * n for (a, b), n in zip(expected, found.counts, strict=True))
        assert found.error == pytest.approx(error / len(pairs))


def test_invalid_probabilities_and_options_raise():
    with pytest.raises(ValueError, match=r"lie in \[-1, 2\]; expected \[0, 1\]"):
        reliability([[1, 0]], [[-1.0, 2.0]])
    with pytest.raises(ValueError, match=r"have the shape \(1, 1\), Y_true has \(1, 2\)"):
        reliability([[1, 0]], [[0.5]])
    with pytest.raises(ValueError, match="label=2, but there are 2 labels"):
        reliability([[1, 0]], [[0.5, 0.5]], label=2)
    with pytest.raises(ValueError, match="n_bins must be a whole number of at least 1, got 0"):
        reliability([[1, 0]], [[0.5, 0.5]], n_bins=0)

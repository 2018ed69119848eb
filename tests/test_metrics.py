import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pairmend.metrics import LOSSES, macro_f1_loss, micro_f1_loss

tables = st.tuples(st.integers(1, 6), st.integers(2, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.integers(0, 1)),
        arrays(np.int64, shape, elements=st.integers(0, 1)),
    )
)


def f1(true, predicted, empty):
    both = sum(t and p for t, p in zip(true, predicted, strict=True))
    either = sum(true) + sum(predicted)
    return 2 * both / either if either else empty


@pytest.mark.parametrize("empty", [1.0, 0.0])
@given(tables=tables)
def test_f1_losses_equal_the_loops(tables, empty):
    true, predicted = tables
    labels = [f1(t, p, empty) for t, p in zip(true.T, predicted.T, strict=True)]
    assert macro_f1_loss(true, predicted, zero_division=empty) == pytest.approx(1 - np.mean(labels))
    whole = f1(true.ravel(), predicted.ravel(), empty)
    assert micro_f1_loss(true, predicted, zero_division=empty) == pytest.approx(1 - whole)


@given(tables)
def test_hamming_and_zero_one_equal_the_loops(tables):
    true, predicted = tables
    assert LOSSES["hamming"](true, predicted) == pytest.approx(np.mean(true != predicted))
    wrong = np.mean([(t != p).any() for t, p in zip(true, predicted, strict=True)])
    assert LOSSES["zero_one"](true, predicted) == pytest.approx(wrong)


def test_losses_of_a_perfect_prediction_are_zero():
    true = np.eye(3, dtype=int)
    assert [loss(true, true) for loss in LOSSES.values()] == [0, 0, 0, 0]

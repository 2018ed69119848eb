"""Two probabilities as one number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend.kernels.rrc import fold, fold_rounded, unfold


@given(st.floats(0, 1))
def test_both_probabilities_are_returned(probability):
    first, second = unfold(fold(np.array(probability)))
    assert first == probability
    assert second == 1 - probability


@pytest.mark.parametrize("smaller", [0.0, 1e-300, 0.25, 0.5])
def test_a_negative_number_has_the_probabilities_in_the_other_order(smaller):
    first, second = unfold(np.array([smaller, -smaller]))
    assert first.tolist() == [smaller, 1 - smaller]
    assert second.tolist() == [1 - smaller, smaller]


@given(st.floats(0, 1))
def test_rounded_probabilities_do_not_depend_on_the_order(probability):
    both = fold_rounded(np.array([probability, 1 - probability]))
    first, second = unfold(both)
    assert first[0] == second[1]
    assert second[0] == first[1]
    assert first[0] == pytest.approx(probability, abs=1e-16)

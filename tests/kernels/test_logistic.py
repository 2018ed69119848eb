import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

from pairmend.kernels.rrc import unfold
from pairmend.naive_bayes.likelihood import SMALLEST, folded_mean_logistic, mean_logistic

log_odds = arrays(float, (4, 3, 2), elements=st.floats(-1e4, 1e4))


@given(log_odds)
def test_equals_the_mean_of_the_logistic_function(against):
    expected = np.mean([expit(-part) for part in against], axis=0)
    np.testing.assert_allclose(mean_logistic(against.copy()), expected, atol=1e-15)
    turned = against.transpose(2, 0, 1).copy().transpose(1, 2, 0)  # of another memory layout
    np.testing.assert_allclose(mean_logistic(turned), expected, atol=1e-15)


@given(log_odds)
def test_both_means_keep_their_digits(against):
    first, second = (np.mean(expit(sign * against), axis=0) for sign in (-1, 1))
    for turned, pair in ((against, (first, second)), (-against, (second, first))):
        for found, expected in zip(unfold(folded_mean_logistic(turned.copy())), pair, strict=True):
            np.testing.assert_allclose(found, np.maximum(expected, SMALLEST), rtol=1e-14)


@pytest.mark.parametrize("log_odds", [80.0, 800.0, 1e300])
def test_smaller_means_have_a_lower_bound(log_odds):
    against = np.full((3, 2), log_odds) * [1, -1]
    assert folded_mean_logistic(against).tolist() == [SMALLEST, -SMALLEST]

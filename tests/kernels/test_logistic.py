import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

from pairmend.kernels.rrc import unfold
from pairmend.naive_bayes.likelihood import SMALLEST, folded_mean_logistic

log_odds = arrays(float, (4, 3, 2), elements=st.floats(-1e4, 1e4))


@given(log_odds)
def test_both_means_keep_their_digits(against):
    first, second = (np.mean(expit(sign * against), axis=0) for sign in (-1, 1))
    for turned, pair in ((against, (first, second)), (-against, (second, first))):
        for found, expected in zip(unfold(folded_mean_logistic(turned.copy())), pair, strict=True):
            np.testing.assert_allclose(found, np.maximum(expected, SMALLEST), rtol=1e-14)

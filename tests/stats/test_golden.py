"""Golden values of the published losses.

They come from the paper's printed three digits; the paper computed with full precision, so its own
numbers differ a little. Tests of reports check the p-values.
"""

import numpy as np
import pytest

from pairmend import stats
from pairmend.published import sets

RANKS = {
    "hamming": [2.966, 1.931, 2.707, 2.397],
    "macro_f1": [2.241, 2.759, 2.414, 2.586],
    "micro_f1": [2.500, 2.448, 2.724, 2.328],
    "zero_one": [3.086, 2.293, 2.328, 2.293],
}
PRINTED_SPEARMAN_HAMMING = {
    "N": [0.125, 0.065, 0.067, 0.067],
    "d": [-0.011, -0.161, -0.153, -0.187],
    "L": [-0.144, -0.372, -0.382, -0.385],
    "LC": [-0.252, -0.360, -0.330, -0.329],
    "LD": [-0.188, -0.049, -0.021, -0.025],
    "avIR": [0.235, 0.076, 0.092, 0.078],
    "AVsc": [0.213, 0.017, 0.038, 0.028],
}


@pytest.mark.parametrize("criterion", RANKS)
def test_average_ranks(published, criterion):
    ranks = stats.average_ranks(published[criterion])
    assert ranks.index.tolist() == ["LPW", "FCM", "FCM-W", "FCM-O"]
    np.testing.assert_allclose(ranks, RANKS[criterion], atol=5e-4)


def test_nemenyi_critical_difference(published):
    assert stats.critical_difference(4, 29, alpha=0.1) == pytest.approx(0.777, abs=5e-4)
    differ = stats.nemenyi(published["hamming"])["p_value"] <= 0.1
    assert differ[differ].index.tolist() == [("LPW", "FCM")]


def test_bergmann_hommel_of_zero_one(published):
    pairs = stats.wilcoxon(published["zero_one"], method="normal")
    assert pairs["adjusted_p_value"].round(3).tolist() == [0.063, 0.051, 0.063, 1, 1, 1]
    assert pairs.index[1] == ("LPW", "FCM-W")


def test_spearman_is_near_the_printed_table(published):
    characteristics = sets().drop(columns="name")
    result = stats.spearman(published["hamming"], characteristics)
    for name, row in PRINTED_SPEARMAN_HAMMING.items():
        np.testing.assert_allclose(result.loc[name, "rho"], row, atol=0.008)

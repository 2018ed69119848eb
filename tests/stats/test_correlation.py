"""Spearman correlations with characteristics of the sets."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from pairmend.stats import spearman


def rho_by_definition(a, b):
    return np.corrcoef(scipy_stats.rankdata(a), scipy_stats.rankdata(b))[0, 1]


@given(data=st.data())
def test_rho_is_pearsons_of_the_ranks(loss_tables, data):
    losses = data.draw(loss_tables)
    assume(len(losses) > 2)
    assume((np.ptp(losses, axis=0) > 0).all())
    n = len(losses)
    result = spearman(losses / 10, losses[:, :2] * 3.7)
    for i in range(losses.shape[1]):
        for j in range(2):
            rho = rho_by_definition(losses[:, i], losses[:, j])
            assert result.rho.iloc[i, j] == pytest.approx(rho, abs=1e-9)
            if abs(rho) < 1 - 1e-9:
                t = rho * np.sqrt((n - 2) / (1 - rho**2))
                expected = 2 * scipy_stats.t.sf(abs(t), n - 2)
                assert result.p_values.iloc[i, j] == pytest.approx(expected)


def test_frames_are_matched_by_their_sets(published):
    losses = published["hamming"]
    known = pd.DataFrame({"x": losses["LPW"], "y": -losses["FCM"]})
    shuffled = pd.concat([known, pd.DataFrame({"x": 1.0, "y": 2.0}, index=[99])])[::-1]
    result = spearman(losses, shuffled)
    assert result.rho.loc["LPW", "x"] == pytest.approx(1)
    assert result.rho.loc["FCM", "y"] == pytest.approx(-1)
    assert result.n_sets == 29
    pd.testing.assert_frame_equal(result.rho, spearman(losses, known).rho)


def test_one_characteristic_may_be_a_series(published):
    losses = published["hamming"]
    result = spearman(losses, losses["FCM"].rename("mine"))
    assert result.rho.columns.tolist() == ["mine"]
    assert result.rho.loc["FCM", "mine"] == pytest.approx(1)


def test_a_characteristic_that_never_varies_has_no_correlation():
    result = spearman([[1, 2], [2, 3], [4, 3]], [[7, 1], [7, 2], [7, 3]])
    assert result.rho[0].isna().all()
    assert result.p_values[0].isna().all()
    assert result.rho[1].notna().all()


def test_representation(published):
    text = str(spearman(published["hamming"], published["zero_one"]))
    assert text.startswith("Spearman correlations over 29 sets\n")
    assert "p-values" in text


@pytest.mark.parametrize(
    ("losses", "characteristics", "message"),
    [
        ([[1, 2], [2, 1]], [[1], [2]], "2 row.* needs at least 3 set"),
        ([[1, 2], [2, 1], [3, 1]], [[1], [2]], "losses has 3 sets and characteristics 2"),
        ([[1], [2], [3]], [["a"], ["b"], ["c"]], "characteristics has no numbers .* \\[0\\]"),
        ([[1], [2], [3]], [[1], [np.nan], [3]], "characteristics has 1 cell.* row 1, column 0"),
        (
            pd.DataFrame({"a": [1, 2, 3]}, index=list("xyz")),
            pd.DataFrame({"L": [1, 2, 3]}, index=list("xyw")),
            "no row for the set\\(s\\) \\['z'\\]",
        ),
        (
            pd.DataFrame({"a": [1, 2, 3]}, index=list("xyz")),
            pd.DataFrame({"L": [1, 2, 3, 4]}, index=list("xyzz")),
            "characteristics has two rows of one set: \\['z'\\]",
        ),
    ],
)
def test_invalid_characteristics_are_refused(losses, characteristics, message):
    with pytest.raises(ValueError, match=message):
        spearman(losses, characteristics)

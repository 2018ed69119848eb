"""Validation of tables, for every function; ranks, ties and rounding errors."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend import stats
from pairmend.stats import average_ranks

FUNCTIONS = {
    "average_ranks": stats.average_ranks,
    "friedman": stats.friedman,
    "nemenyi": stats.nemenyi,
    "wilcoxon": stats.wilcoxon,
    "spearman": lambda losses: stats.spearman(losses, [[1], [2], [3]]),
    "bootstrap_intervals": lambda losses: stats.bootstrap_intervals(losses, n_resamples=100),
}


GOOD = pd.DataFrame(
    {"a": [0.1, 0.2, 0.4], "b": [0.2, 0.1, 0.5], "c": [0.3, 0.7, 0.2]}, index=["x", "y", "z"]
)


every_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


@every_function
@pytest.mark.parametrize(
    ("losses", "message"),
    [
        (GOOD.mask(GOOD == 0.7), "1 cell.* row 'y', column 'c': nan.*dropna"),
        (GOOD.replace(0.7, np.inf), "row 'y', column 'c': inf"),
        (GOOD.convert_dtypes().mask(GOOD == 0.7), "row 'y', column 'c': nan"),
        (GOOD.assign(name="flags"), "no numbers in the column.* \\['name'\\].*set_index"),
        (GOOD.astype(complex), "no numbers in the column"),
        (GOOD.set_axis(["a", "b", "a"], axis=1), "same name twice: \\['a'\\]"),
        (GOOD.set_axis(["x", "x", "z"]), "same name twice: \\['x'\\].*index each set once"),
        (GOOD.iloc[:0], "0 row.* and 3 column.*needs at least"),
        (GOOD[[]], "3 row.* and 0 column.*needs at least"),
        (np.zeros((2, 3, 3)), "Must pass 2-d input"),
        ([[0.1, 0.2, 0.3], [0.2, 0.3, "?"], [0.5, 0.4, 0.1]], "no numbers in .* \\[2\\]"),
        (None, "0 row.* and 0 column"),
    ],
)
def test_invalid_tables_are_refused(function, losses, message):
    with pytest.raises(ValueError, match=message):
        function(losses)


@every_function
@pytest.mark.parametrize(
    "given",
    [
        GOOD.to_numpy(), GOOD.to_numpy().tolist(), GOOD.astype("Float64"),
        GOOD.reset_index(drop=True), GOOD.to_numpy(dtype=object),
    ],
)  # fmt: skip
def test_results_do_not_depend_on_the_container(function, given):
    before = pd.DataFrame(given).copy()
    names = getattr(given, "columns", range(3))
    expected = str(function(GOOD.set_axis(names, axis=1).reset_index(drop=True)))
    assert str(function(given)) == expected
    pd.testing.assert_frame_equal(pd.DataFrame(given), before)


def test_without_pandas_the_message_says_what_to_install():
    code = "import sys; sys.modules['pandas'] = None; import pairmend.stats"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install pandas" in outcome.stderr


def rank_by_counting(row):
    """1 + how many are less, plus half of the others that are equal."""
    return [1 + sum(b < a for b in row) + (sum(b == a for b in row) - 1) / 2 for a in row]


@given(data=st.data())
def test_ranks_equal_those_of_counting(loss_tables, data):
    losses = data.draw(loss_tables)
    expected = np.mean([rank_by_counting(row) for row in losses.tolist()], axis=0)
    np.testing.assert_allclose(average_ranks(losses), expected)


def test_rounding_error_decides_no_rank():
    losses = np.array([[0.1 + 0.2, 0.3, 0.2], [0.7, 0.6999999999999999, 0.9]])
    assert losses[0, 0] != losses[0, 1]
    assert average_ranks(losses).tolist() == [2.0, 2.0, 2.0]

"""Effect sizes."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend.stats import effect_sizes


def rank_biserial_by_definition(first, second):
    """Over the differences' sizes, the favourable less the unfavourable share of the ranks."""
    d = [a - b for a, b in zip(first, second, strict=True) if a != b]
    total = favourable = 0.0
    for x in d:
        rank = sum(abs(y) < abs(x) for y in d) + (sum(abs(y) == abs(x) for y in d) + 1) / 2
        total += rank
        favourable += rank if x < 0 else -rank
    return favourable / total if d else 0.0


@given(data=st.data())
def test_effects_are_the_definitions(loss_tables, data):
    losses = data.draw(loss_tables)
    found = effect_sizes(losses / 10).pairs
    for i, j in combinations(range(losses.shape[1]), 2):
        a, b, row = losses[:, i], losses[:, j], found.loc[(i, j)]
        assert row["rank_biserial"] == pytest.approx(rank_biserial_by_definition(a, b))
        assert row["median_difference"] == pytest.approx(np.median(a - b) / 10)
        counted = (a < b).sum(), (a == b).sum(), (a > b).sum()
        assert tuple(row[["wins", "ties", "losses"]]) == counted


def test_a_small_table_by_hand():
    # differences -1, -2, 3, 0: ranks 1 and 2 for the first, 3 against
    losses = pd.DataFrame({"a": [1, 1, 5, 4], "b": [2, 3, 2, 4]})
    row = effect_sizes(losses).pairs.loc[("a", "b")]
    assert row.tolist() == [0.0, -0.5, 2, 1, 1]
    better = effect_sizes(losses.assign(b=[2, 3, 5.5, 4])).pairs.loc[("a", "b")]
    assert better["rank_biserial"] == 1


def test_exchanging_algorithms_changes_the_sign(published):
    table = published["hamming"]
    there = effect_sizes(table[["LPW", "FCM"]]).pairs.iloc[0]
    back = effect_sizes(table[["FCM", "LPW"]]).pairs.iloc[0]
    assert there["rank_biserial"] == -back["rank_biserial"] != 0
    assert there["median_difference"] == -back["median_difference"]
    assert (there["wins"], there["losses"]) == (back["losses"], back["wins"])
    assert (there["wins"], there["ties"], there["losses"]) == (8, 1, 20)  # counted in the paper


def test_rounding_error_is_a_tie():
    row = effect_sizes([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]]).pairs.iloc[0]
    assert row.tolist() == [0, 0, 0, 2, 0]


def test_representation(published):
    assert str(effect_sizes(published["hamming"])).startswith("Effect sizes on 29 sets\n")

"""Plots of ranks: what is in them, and that they can be read."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from pairmend import plots

pytest.importorskip("matplotlib")

# Ranks of Hamming and zero-one loss as published, with one made up.
RANKS = pd.DataFrame(
    [[2.966, 1.931, 2.707, 2.397], [3.138, 2.276, 2.379, 2.207], [1.5, 1.5, 3.0, 4.0]],
    ["Hamming", "zero-one", "micro F1"],
    ["LPW", "FCM", "FCM-W", "FCM-O"],
)
BAR = 4.0  # width of bars of critical differences


def bars(ax):
    return [line.get_xydata() for line in ax.lines if line.get_linewidth() == BAR]


def test_radar_has_a_spoke_for_each_metric_and_better_ranks_outside():
    ax = plots.rank_radar(RANKS, 0.777)
    lines = [line.get_xydata() for line in ax.lines if line.get_marker() not in ("None", "")]
    for points, name in zip(lines, RANKS, strict=True):
        np.testing.assert_array_equal(points[0], points[-1])  # closed
        np.testing.assert_allclose(points[:-1, 0], 2 * np.pi * np.arange(3) / 3)
        np.testing.assert_array_equal(points[:-1, 1], RANKS[name])
    centre, rim = ax.get_ylim()
    assert centre > RANKS.max(axis=None) > rim
    assert [label.get_text() for label in ax.get_xticklabels()] == list(RANKS.index)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == [*RANKS, "critical difference 0.78"]
    for bar, first in zip(bars(ax), RANKS.min(axis=1), strict=True):
        np.testing.assert_allclose(bar[:, 1], [first, first + 0.777])
        assert bar[0, 0] == bar[1, 0]
    assert bars(plots.rank_radar(RANKS, None)) == []


@pytest.mark.parametrize("difference", [0.3, 8.0])
@pytest.mark.parametrize(("n_algorithms", "n_metrics"), [(2, 3), (12, 5)])
def test_ranks_can_be_read(n_algorithms, n_metrics, difference, check_readable):
    ranks = [np.roll(np.arange(1.0, n_algorithms + 1), number) for number in range(n_metrics)]
    ranks = pd.DataFrame(ranks).add_prefix("algorithm with a long name, ")
    ranks.index = [f"metric {number}" for number in range(n_metrics)]
    check_readable(plots.rank_radar(ranks, difference).figure)
    for of_one in (ranks.iloc[0], ranks.iloc[0] * 0 + (n_algorithms + 1) / 2):
        check_readable(plots.critical_difference(of_one, difference).figure)


def test_diagram_joins_groups_and_writes_ranks():
    ranks = RANKS.loc["Hamming"]
    ax = plots.critical_difference(ranks, 0.777)
    found = bars(ax)
    for bar, ends in zip(found, [(1.931, 2.707), (2.397, 2.966)], strict=True):
        np.testing.assert_allclose(bar[:, 0], ends, atol=0.05)
    assert found[0][0, 1] != found[1][0, 1]  # on lines of their own
    texts = [text.get_text() for text in ax.texts]
    assert texts[-4:] == ["FCM  1.93", "FCM-O  2.40", "FCM-W  2.71", "LPW  2.97"]
    assert "critical difference 0.78" in texts
    on_axis = [line for line in ax.lines if len(line.get_xdata()) == 1 and line.get_ydata()[0] == 0]
    assert sorted(line.get_xdata()[0] for line in on_axis) == sorted(ranks)
    assert any(np.ptp(line.get_xdata()) == pytest.approx(0.777) for line in ax.lines)


@pytest.mark.parametrize("difference", [0.3, 0.8, 1.0, 2.5])
def test_groups_are_the_largest_sets_that_do_not_differ(difference, rng):
    for _ in range(20):
        ranks = pd.Series(np.sort(np.clip(rng.randint(4, 20, 5) / 4, 1, 5)), list("abcde"))
        # Groups are sorted ranks from i to j.
        alike = [
            (i, j)
            for i, j in combinations(range(5), 2)
            if ranks.iloc[j] - ranks.iloc[i] < difference
        ]
        largest = [
            (i, j) for i, j in alike if not any(a <= i <= j <= b for a, b in {*alike} - {(i, j)})
        ]
        found = [bar[:, 0] for bar in bars(plots.critical_difference(ranks, difference))]
        np.testing.assert_allclose(found, ranks.to_numpy()[largest], atol=0.06)


@pytest.mark.parametrize(
    ("ranks", "difference", "message"),
    [
        (RANKS[:2], 1, "at least three metrics; got 2"),
        (RANKS[["LPW"]], 1, "at least two algorithms; got 1"),
        (RANKS + 2, 1, "between 1 and 4; got"),
        (RANKS * np.nan, 1, "between 1 and 4"),
        (RANKS, 0, "positive number; got 0"),
    ],
)
def test_invalid_ranks_and_differences_are_refused(ranks, difference, message):
    with pytest.raises(ValueError, match=message):
        plots.rank_radar(ranks, difference)
    if len(ranks) > 2:
        with pytest.raises(ValueError, match=message):
            plots.critical_difference(ranks.iloc[0], difference)

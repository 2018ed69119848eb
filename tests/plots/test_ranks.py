"""Plots of ranks: what is in them, and that they can be read."""

import itertools

import numpy as np
import pandas as pd
import pytest

from pairmend import plots

pytest.importorskip("matplotlib")

# Ranks of Hamming and zero-one loss as published, with one made up.
RANKS = pd.DataFrame(
    {
        "Hamming": {"LPW": 2.966, "FCM": 1.931, "FCM-W": 2.707, "FCM-O": 2.397},
        "zero-one": {"LPW": 3.138, "FCM": 2.276, "FCM-W": 2.379, "FCM-O": 2.207},
        "micro F1": {"LPW": 1.5, "FCM": 1.5, "FCM-W": 3.0, "FCM-O": 4.0},
    }
).T
BAR = 4.0  # width of bars of critical differences


def spread_ranks(n_algorithms, n_metrics):
    ranks = [np.roll(np.arange(1.0, n_algorithms + 1), number) for number in range(n_metrics)]
    names = [f"algorithm with a long name, {number}" for number in range(n_algorithms)]
    return pd.DataFrame(ranks, [f"metric {number}" for number in range(n_metrics)], names)


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
    ranks = spread_ranks(n_algorithms, n_metrics)
    check_readable(plots.rank_radar(ranks, difference).figure)
    for of_one in (ranks.iloc[0], ranks.iloc[0] * 0 + (n_algorithms + 1) / 2):
        check_readable(plots.critical_difference(of_one, difference).figure)


def test_diagram_joins_groups_and_writes_ranks():
    ranks = RANKS.loc["Hamming"]
    ax = plots.critical_difference(ranks, 0.777)
    found = bars(ax)
    for bar, (low, high) in zip(found, [(1.931, 2.707), (2.397, 2.966)], strict=True):
        np.testing.assert_allclose(bar[:, 0], [low, high], atol=0.05)
        assert bar[0, 0] < low < high < bar[1, 0]
    assert found[0][0, 1] != found[1][0, 1]  # on lines of their own
    texts = [text.get_text() for text in ax.texts]
    assert texts[-4:] == ["FCM  1.93", "FCM-O  2.40", "FCM-W  2.71", "LPW  2.97"]
    assert "critical difference 0.78" in texts
    on_axis = [line for line in ax.lines if len(line.get_xdata()) == 1 and line.get_ydata()[0] == 0]
    assert sorted(line.get_xdata()[0] for line in on_axis) == sorted(ranks)
    assert any(np.ptp(line.get_xdata()) == pytest.approx(0.777) for line in ax.lines)


@pytest.mark.parametrize("difference", [0.3, 0.8, 1.0, 2.5])
def test_groups_are_the_largest_sets_that_do_not_differ(difference):
    rng = np.random.default_rng(3)
    for _ in range(20):
        ranks = dict(zip("abcde", np.clip(rng.integers(4, 20, 5) / 4, 1, 5), strict=True))
        alike = [
            frozenset(group)
            for size in range(2, 6)
            for group in itertools.combinations(ranks, size)
            if np.ptp([ranks[name] for name in group]) < difference
        ]
        largest = [group for group in alike if not any(group < other for other in alike)]
        found = bars(plots.critical_difference(ranks, difference))
        ends = sorted([min(ranks[n] for n in g), max(ranks[n] for n in g)] for g in largest)
        np.testing.assert_allclose(
            np.reshape([bar[:, 0] for bar in found], (-1, 2)), np.reshape(ends, (-1, 2)), atol=0.06
        )


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

"""Drawings of ranks: what is in them, and that they can be read."""

import itertools

import numpy as np
import pytest

from pairmend import plots
from pairmend.plots.ranks import BAR

pytest.importorskip("matplotlib")

# Ranks of Hamming and zero-one loss as published, with two made up.
RANKS = {
    "Hamming": {"LPW": 2.966, "FCM": 1.931, "FCM-W": 2.707, "FCM-O": 2.397},
    "zero-one": {"LPW": 3.138, "FCM": 2.276, "FCM-W": 2.379, "FCM-O": 2.207},
    "macro F1": {"LPW": 2.5, "FCM": 2.5, "FCM-W": 2.5, "FCM-O": 2.5},
    "micro F1": {"LPW": 1.5, "FCM": 1.5, "FCM-W": 3.0, "FCM-O": 4.0},
}
NAMES = [f"algorithm with a long name, {number}" for number in range(12)]


def spread_ranks(n_algorithms, n_metrics):
    return {
        f"metric {number}": dict(
            zip(NAMES, np.roll(np.arange(1.0, n_algorithms + 1), number), strict=False)
        )
        for number in range(n_metrics)
    }


def explained(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def bars(ax):
    return [line.get_xydata() for line in ax.lines if line.get_linewidth() == BAR]


def markers(ax):
    return [line for line in ax.lines if line.get_marker() not in ("None", "", None)]


def test_radar_puts_better_ranks_further_out():
    ax = plots.rank_radar(RANKS, 0.777)
    algorithms = list(RANKS["Hamming"])
    lines = dict(zip(algorithms, markers(ax), strict=True))
    radius = {name: np.hypot(*line.get_xydata().T) for name, line in lines.items()}
    for spoke, ranks in enumerate(RANKS.values()):
        for one, other in itertools.combinations(algorithms, 2):
            better = ranks[one] - ranks[other]
            assert np.sign(radius[other][spoke] - radius[one][spoke]).round(9) == np.sign(better)
    # A straight scale: on each spoke the same step for the same difference.
    steps = [
        (radius["FCM"][spoke] - radius["LPW"][spoke]) / (ranks["LPW"] - ranks["FCM"])
        for spoke, ranks in enumerate(RANKS.values())
        if ranks["LPW"] != ranks["FCM"]
    ]
    np.testing.assert_allclose(steps, steps[0])
    for points in (line.get_xydata() for line in lines.values()):
        np.testing.assert_allclose(points[0], points[-1])  # closed
        assert points[0, 0] == pytest.approx(0)  # the first metric is on top
        assert points[1, 0] > 0  # the next follows clockwise
    assert "better outside" in ax.get_legend().get_title().get_text()
    assert explained(ax) == [*algorithms, "critical difference 0.78"]
    assert [text.get_text() for text in ax.texts if text.get_text() in RANKS] == list(RANKS)


@pytest.mark.parametrize("n_metrics", [2, 4])
def test_without_a_critical_difference_there_are_no_bars(n_metrics):
    ranks = dict(list(RANKS.items())[:n_metrics])
    ax = plots.rank_radar(ranks, None)
    assert bars(ax) == []
    assert explained(ax) == list(RANKS["Hamming"])


def test_bars_of_the_radar_are_critical_differences_from_the_best():
    ax = plots.rank_radar(RANKS, 0.777)
    lpw, fcm = (line.get_xydata() for line in markers(ax)[:2])
    length_of_a_rank = np.linalg.norm(fcm[0] - lpw[0]) / (2.966 - 1.931)
    found = bars(ax)
    assert len(found) == 4
    for spoke, bar in enumerate(found):
        direction = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])[spoke]
        across = np.array([direction[1], -direction[0]])
        assert np.linalg.norm(bar[1] - bar[0]) == pytest.approx(0.777 * length_of_a_rank)
        np.testing.assert_allclose((bar[1] - bar[0]) @ across, 0, atol=1e-9)  # parallel
        outermost = max(line.get_xydata()[spoke] @ direction for line in markers(ax))
        assert bar[0] @ direction == pytest.approx(outermost)
        assert 0 < bar[0] @ across < 0.2  # beside the spoke, not on it


@pytest.mark.parametrize("n_metrics", [1, 2])
def test_few_metrics_become_rows(n_metrics):
    ranks = dict(itertools.islice(RANKS.items(), n_metrics))
    ax = plots.rank_radar(ranks, 0.777)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(ranks)
    for name, line in zip(ranks["Hamming"], markers(ax), strict=True):
        assert list(line.get_xdata()) == [of_metric[name] for of_metric in ranks.values()]
        np.testing.assert_array_equal(np.round(line.get_ydata()), range(n_metrics))
    for bar, of_metric in zip(bars(ax), ranks.values(), strict=True):
        best = min(of_metric.values())
        np.testing.assert_allclose(bar[:, 0], [best, best + 0.777])
    assert "better on the left" in ax.get_xlabel()
    heights = [y for line in markers(ax) for y in line.get_ydata()]
    assert len(set(heights)) == len(heights)  # so equal ranks do not hide each other


@pytest.mark.parametrize("difference", [None, 0.3, 8.0])
@pytest.mark.parametrize("n_metrics", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("n_algorithms", [2, 4, 12])
def test_radar_can_be_read(n_algorithms, n_metrics, difference, drawn, texts_overlap, cut_off):
    ax = drawn(plots.rank_radar(spread_ranks(n_algorithms, n_metrics), difference))
    assert not texts_overlap(ax.texts)
    assert not texts_overlap(ax.get_legend().get_texts())
    assert not cut_off(ax)
    corners = np.concatenate([line.get_xydata() for line in markers(ax)] + bars(ax))
    shown = ax.viewLim
    assert all(shown.x0 < x < shown.x1 and min(shown.intervaly) < y < max(shown.intervaly)
               for x, y in corners)  # fmt: skip


def test_diagram_joins_groups_and_writes_ranks():
    ax = plots.critical_difference(RANKS["Hamming"], 0.777)
    found = bars(ax)
    for bar, (low, high) in zip(found, [(1.931, 2.707), (2.397, 2.966)], strict=True):
        np.testing.assert_allclose(bar[:, 0], [low, high], atol=0.05)
        assert bar[0, 0] < low < high < bar[1, 0]
    assert found[0][0, 1] != found[1][0, 1]  # bars that overlap have lanes of their own
    texts = [text.get_text() for text in ax.texts]
    assert texts[-4:] == ["FCM  1.93", "FCM-O  2.40", "FCM-W  2.71", "LPW  2.97"]
    assert "critical difference 0.78" in texts
    assert "average rank, better on the left" in texts
    on_axis = [line for line in markers(ax) if line.get_ydata()[0] == 0]
    assert sorted(line.get_xdata()[0] for line in on_axis) == sorted(RANKS["Hamming"].values())
    lengths = [np.ptp(line.get_xdata()) for line in ax.lines]
    assert any(length == pytest.approx(0.777) for length in lengths)


@pytest.mark.parametrize("difference", [0.3, 0.8, 1.0, 2.5])
def test_groups_are_the_largest_sets_that_do_not_differ(difference):
    rng = np.random.default_rng(3)
    for _ in range(20):
        values = rng.integers(4, 20, 5) / 4
        ranks = dict(zip("abcde", np.clip(values, 1, 5), strict=True))
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


def test_separate_bars_share_a_line():
    ranks = dict(zip("abcd", [1.0, 1.4, 3.4, 3.9], strict=True))
    one, other = bars(plots.critical_difference(ranks, 0.6))
    assert one[0, 1] == other[0, 1]


@pytest.mark.parametrize("difference", [0.3, 8.0])
@pytest.mark.parametrize("n_algorithms", [2, 3, 4, 10, 12])
def test_diagram_can_be_read(n_algorithms, difference, drawn, texts_overlap, cut_off):
    (ranks,) = spread_ranks(n_algorithms, 1).values()
    for table in (ranks, dict.fromkeys(ranks, (n_algorithms + 1) / 2)):
        ax = drawn(plots.critical_difference(table, difference))
        assert not texts_overlap(ax.texts)
        assert not cut_off(ax)


def test_pandas_series_are_accepted():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(RANKS)
    assert explained(plots.rank_radar(frame, 0.777))[:4] == list(RANKS["Hamming"])
    ax = plots.critical_difference(frame["Hamming"], 0.777)
    assert ax.texts[-1].get_text() == "LPW  2.97"


ONE = {"a": 1.0, "b": 2.0}


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.rank_radar({}, 1), "at least one metric"),
        (lambda: plots.rank_radar({"x": {"a": 1.0}}, 1), "at least two algorithms; got \\['a'\\]"),
        (
            lambda: plots.rank_radar({"x": ONE, "y": {"a": 1, "c": 2}}, 1),
            "the same algorithms; 'x'",
        ),
        (lambda: plots.rank_radar({"x": {"a": 1, "b": 3}}, 1), "between 1 and 2; got {'a'"),
        (lambda: plots.rank_radar({"x": {"a": 1, "b": np.nan}}, 1), "between 1 and 2"),
        (lambda: plots.rank_radar({"x": ONE}, 0), "positive number; got 0"),
        (lambda: plots.critical_difference(ONE, np.inf), "positive number; got inf"),
    ],
)
def test_bad_input(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()

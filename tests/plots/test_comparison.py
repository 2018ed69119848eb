"""Drawings of folds, times and memory: what is in them, and that they can be read."""

import numpy as np
import pytest

from pairmend import plots

pytest.importorskip("matplotlib")

NAMES = [f"algorithm with a long name, {number}" for number in range(12)]


def made_losses(n_sets, n_algorithms, rng):
    return {
        f"a set with quite a long name {number}": {
            name: rng.uniform(0.2, 0.9, size=10) for name in NAMES[:n_algorithms]
        }
        for number in range(n_sets)
    }


def means(ax):
    """The large marks: for each algorithm its points."""
    return [line.get_xydata() for line in ax.lines if line.get_zorder() == 3]


def folds(ax):
    return [line.get_xydata() for line in ax.lines if line.get_marker() == "|"]


def test_spread_shows_means_and_folds():
    losses = {
        "yeast": {"LPW": [0.2, 0.4], "FCM": [0.1, 0.3]},
        "flare2": {"FCM": [0.6, np.nan, 0.8]},
        "birds": {"LPW": [np.nan], "FCM": []},
    }
    ax = plots.fold_spread(losses, criterion="Hamming loss")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["yeast", "flare2", "birds"]
    assert ax.yaxis_inverted()  # the first set is on top
    lpw, fcm = means(ax)
    np.testing.assert_allclose(lpw[:, 0], [0.3])
    np.testing.assert_allclose(fcm[:, 0], [0.2, 0.7])
    np.testing.assert_array_equal(np.round(fcm[:, 1]), [0, 1])  # each in the row of its set
    assert lpw[0, 1] < fcm[0, 1]  # in lanes of their own
    np.testing.assert_allclose(
        sorted(x for points in folds(ax) for x in points[:, 0]), [0.1, 0.2, 0.3, 0.4, 0.6, 0.8]
    )
    for points in folds(ax):
        assert points[0, 1] in {*lpw[:, 1], *fcm[:, 1]}  # at the height of their mean
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["LPW", "FCM"]


@pytest.mark.parametrize(
    ("small", "scale"), [([0.009, 0.011], "log"), ([0.0, 0.02], "linear"), ([0.04], "linear")]
)
def test_losses_far_apart_get_a_logarithmic_scale(small, scale):
    ax = plots.fold_spread({"a": {"LPW": small}, "b": {"LPW": [0.9, 0.95]}}, criterion="loss")
    assert ax.get_xscale() == scale
    assert ("logarithmic" in ax.get_xlabel()) == (scale == "log")
    low, high = ax.get_xlim()
    assert low < min(small)
    assert high > 0.95


@pytest.mark.parametrize("n_sets", [1, 12, 29])
@pytest.mark.parametrize("n_algorithms", [2, 4, 12])
def test_spread_can_be_read(n_sets, n_algorithms, rng, drawn, texts_overlap, cut_off):
    ax = drawn(plots.fold_spread(made_losses(n_sets, n_algorithms, rng)))
    tops = [tick.label2 for tick in ax.xaxis.get_major_ticks() if tick.label2.get_visible()]
    assert bool(tops) == (n_sets >= 12)
    assert not texts_overlap([*ax.get_yticklabels(), ax.xaxis.label])
    assert not texts_overlap([*ax.get_legend().get_texts(), *tops])
    assert not cut_off(ax)
    # Marks of neighbouring lanes do not cover each other.
    lane = 72 / ax.figure.dpi * np.diff(ax.transData.transform([(0, 0), (0, 0.86 / n_algorithms)]),
                                        axis=0)[0, 1]  # fmt: skip
    assert abs(lane) > 4.5


def bars(ax):
    return [
        [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in of_part]
        for of_part in ax.containers
    ]


def test_bars_are_stacked():
    ax = plots.bars({"fit": {"LPW": 2, "FCM": 3}, "predict": {"FCM": 1.5, "LPW": 0.25}})
    assert bars(ax) == [[(0, 2), (0, 3)], [(2, 2.25), (3, 4.5)]]
    assert [text.get_text() for text in ax.texts] == ["2.25", "4.5"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["LPW", "FCM"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["fit", "predict"]
    assert (ax.get_xscale(), ax.get_xlabel()) == ("linear", "seconds")
    looks = {(of_part[0].get_facecolor()[3], of_part[0].get_hatch()) for of_part in ax.containers}
    assert len(looks) == 2  # without colour as well


def test_bars_far_apart_get_a_logarithmic_scale():
    ax = plots.bars({"fit": {"LPW": 1, "FCM": 31}, "predict": {"LPW": 0, "FCM": 12345}})
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "seconds, logarithmic scale"
    start = ax.get_xlim()[0]
    assert 0 < start < 1
    fit, predict = bars(ax)
    np.testing.assert_allclose(fit, [(start, 1), (start, 31)])
    np.testing.assert_allclose(predict, [(start, start), (start, 12345)])
    heights = [bar.get_y() for of_part in ax.containers for bar in of_part]
    assert len(set(heights)) == 4  # below each other: lengths would not add up
    assert [text.get_text() for text in ax.texts] == ["1", "31", "0", "12,345"]


def test_memory_is_a_single_part():
    ax = plots.bars({"peak memory": {"LPW": 100, "FCM": 3000}}, unit="MB")
    assert ax.get_xscale() == "linear"  # exactly a factor 30
    assert ax.get_legend() is None
    assert ax.get_xlabel() == "MB"


@pytest.mark.parametrize("slowest", [2.0, 20_000.0])
@pytest.mark.parametrize("n_algorithms", [1, 2, 12])
def test_bars_can_be_read(n_algorithms, slowest, drawn, texts_overlap, cut_off):
    parts = {
        part: dict(zip(NAMES, np.geomspace(1, slowest, n_algorithms), strict=False))
        for part in ("fit", "predict")
    }
    ax = drawn(plots.bars(parts))
    assert not texts_overlap([*ax.texts, *ax.get_yticklabels(), *ax.get_legend().get_texts()])
    low, high = sorted(ax.get_xlim())
    shown = [label for label in ax.get_xticklabels() if low <= label.get_position()[0] <= high]
    assert len(shown) > 1
    assert not texts_overlap([*shown, ax.xaxis.label])
    assert not cut_off(ax)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.fold_spread({}), "at least one finite loss"),
        (lambda: plots.fold_spread({"a": {"LPW": [np.nan]}}), "at least one finite loss"),
        (lambda: plots.bars({}), "at least one part"),
        (lambda: plots.bars({"fit": {"a": 1}, "predict": {"b": 1}}), "'predict': \\['b'\\]"),
        (lambda: plots.bars({"fit": {"a": -1}}), "not negative; got \\[\\[-1"),
        (lambda: plots.bars({"fit": {"a": np.nan}}), "must be finite"),
    ],
)
def test_bad_input(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()

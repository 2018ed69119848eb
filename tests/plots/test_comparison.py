"""Plots of folds and of published losses: what is in them, and that they can be read."""

import numpy as np
import pandas as pd
import pytest

from pairmend import plots

pytest.importorskip("matplotlib")

NAMES = [f"a rather long name, {number}" for number in range(30)]
POINTS = pd.DataFrame(
    [
        ("yeast", "LPW", 0.2, 0.25), ("birds", "LPW", 0.5, 0.1), ("flare2", "LPW", 0.9, 0.9),
        ("yeast", "FCM", 0.2, 0.2), ("birds", "FCM", 0.4, 0.25), ("flare2", "FCM", 0.3, 0.3),
    ],
    columns=["set", "algorithm", "published", "measured"],
)  # fmt: skip


def rows(losses):
    """Tidy rows of losses by set and algorithm."""
    return pd.DataFrame(
        [(s, a, v) for s, of_set in losses.items() for a, values in of_set.items() for v in values],
        columns=["set", "algorithm", "value"],
    )


def test_spread_shows_means_and_folds():
    losses = {
        "yeast": {"LPW": [0.2, 0.4], "FCM": [0.1, 0.3]},
        "flare2": {"FCM": [0.6, np.nan, 0.8]},
        "birds": {"LPW": [np.nan]},
    }
    ax = plots.fold_spread(rows(losses), criterion="Hamming loss")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["yeast", "flare2", "birds"]
    assert ax.yaxis_inverted()  # the first set is on top
    lpw, fcm = (line.get_xydata() for line in ax.lines if line.get_zorder() == 3)
    np.testing.assert_allclose(lpw[:, 0], [0.3])
    assert dict(np.round(fcm, 1)) == pytest.approx({0.2: 0.2, 0.7: 1.2})  # below LPW
    assert lpw[0, 1] < 0 < fcm[:, 1].min()  # in lanes of their own
    ticks = [line.get_xydata() for line in ax.lines if line.get_marker() == "|"]
    found = sorted(x for points in ticks for x in points[:, 0])
    np.testing.assert_allclose(found, [0.1, 0.2, 0.3, 0.4, 0.6, 0.8])
    assert all(points[0, 1] in {*lpw[:, 1], *fcm[:, 1]} for points in ticks)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["LPW", "FCM"]


@pytest.mark.parametrize(
    ("small", "scale"), [([0.009, 0.011], "log"), ([0.0, 0.02], "linear"), ([0.04], "linear")]
)
def test_losses_far_apart_get_a_logarithmic_scale(small, scale):
    ax = plots.fold_spread(rows({"a": {"LPW": small}, "b": {"LPW": [0.9, 0.95]}}))
    assert ax.get_xscale() == scale
    low, high = ax.get_xlim()
    assert low < min(small)
    assert high > 0.95


@pytest.mark.parametrize("n_sets", [1, 29])
def test_spread_can_be_read(n_sets, rng, check_readable):
    of_set = {name: rng.uniform(0.2, 0.9, size=10) for name in NAMES[:12]}
    check_readable(plots.fold_spread(rows(dict.fromkeys(NAMES[:n_sets], of_set))).figure)


def test_points_diagonal_and_names():
    ax = plots.published_and_measured(POINTS)
    lpw, fcm, diagonal = (line.get_xydata() for line in ax.lines)
    np.testing.assert_allclose([*lpw, *fcm], POINTS[["published", "measured"]])
    np.testing.assert_array_equal(diagonal[:, 0], diagonal[:, 1])
    assert ax.get_xlim() == ax.get_ylim() == tuple(diagonal[:, 0])
    (name,) = ax.texts  # twice far, named once, where it is furthest
    assert (name.get_text(), name.xy) == ("birds", (0.5, 0.1))
    assert not plots.published_and_measured(POINTS, far=0.5).texts


@pytest.mark.parametrize("spread", [0.03, 1.0])
def test_names_stay_apart(spread, rng, check_readable):
    # Eighty points, all far, in a heap or all over the place: the twelve furthest are named.
    losses = pd.DataFrame({"set": NAMES[:20] * 4, "algorithm": np.repeat([*"abcd"], 20)})
    losses["published"] = 0.2 + spread * rng.uniform(size=80)
    ax = plots.published_and_measured(losses.assign(measured=losses["published"] + 0.3))
    assert len(ax.texts) == 12
    check_readable(ax.figure)


def test_losses_that_are_missing_or_not_finite_are_refused():
    for losses in ({}, {"a": {"LPW": [np.nan]}}):
        with pytest.raises(ValueError, match="at least one finite value"):
            plots.fold_spread(rows(losses))
    for losses in (POINTS[:0], POINTS.assign(published=np.nan)):
        with pytest.raises(ValueError, match="at least one loss, and finite ones"):
            plots.published_and_measured(losses)

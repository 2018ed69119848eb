"""The drawing of published against measured losses."""

import numpy as np
import pytest

from pairmend import plots

pytest.importorskip("matplotlib")


def clouds(ax):
    return [line.get_xydata() for line in ax.lines[1:]]


def test_points_diagonal_and_names():
    published = {"LPW": [0.2, 0.5, 0.9], "FCM": [0.2, 0.4, np.nan]}
    measured = {"LPW": [0.25, 0.1, 0.9], "FCM": [0.2, 0.25, 0.3]}
    ax = plots.published_and_measured(published, measured, ["yeast", "birds", "flare2"])
    lpw, fcm = clouds(ax)
    np.testing.assert_allclose(lpw, [(0.2, 0.25), (0.5, 0.1), (0.9, 0.9)])
    np.testing.assert_allclose(fcm[:2], [(0.2, 0.2), (0.4, 0.25)])
    assert np.isnan(fcm[2]).all()
    diagonal = ax.lines[0].get_xydata()
    np.testing.assert_array_equal(diagonal[:, 0], diagonal[:, 1])
    assert ax.get_xlim() == ax.get_ylim() == tuple(diagonal[:, 0])
    (name,) = ax.texts  # twice far, named once, where it is furthest
    assert (name.get_text(), name.xy) == ("birds", (0.5, 0.1))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("published loss", "measured loss")
    assert len({line.get_marker() for line in ax.lines[1:]}) == 2


def test_far_sets_which_points_are_named():
    def named(far):
        ax = plots.published_and_measured({"a": [0.5, 0.5]}, {"a": [0.54, 0.4]}, "xy", far=far)
        return sorted(text.get_text() for text in ax.texts)

    assert [named(far) for far in (0.01, 0.05, 0.2)] == [["x", "y"], ["y"], []]


@pytest.mark.parametrize("spread", [0.03, 1.0])
def test_names_stay_apart(spread, rng, drawn, texts_overlap, cut_off):
    # Twenty points, all far, in a heap or all over the place.
    published = {f"algorithm {n}": 0.2 + spread * rng.uniform(size=5) for n in range(4)}
    measured = {name: losses + 0.3 for name, losses in published.items()}
    names = [f"a set of that name, {number}" for number in range(5)]
    ax = drawn(plots.published_and_measured(published, measured, names))
    assert len(ax.texts) == 5
    assert not texts_overlap(ax.texts)
    assert not cut_off(ax)


def test_no_more_than_twelve_are_named(rng):
    losses = rng.uniform(size=40)
    distances = np.linspace(0.2, 0.8, 40)
    ax = plots.published_and_measured(
        {"a": losses}, {"a": losses + distances}, list(map(str, range(40)))
    )
    assert [text.get_text() for text in ax.texts] == [str(n) for n in range(39, 27, -1)]


def test_equal_losses_and_infinite_ones():
    ax = plots.published_and_measured({"a": [0.5, np.inf]}, {"a": [0.5, np.inf]}, ["x", "y"])
    low, high = ax.get_xlim()
    assert low < 0.5 < high < 1
    assert not ax.texts


@pytest.mark.parametrize(
    ("published", "measured", "message"),
    [
        ({"a": [1]}, {"b": [1]}, r"same algorithms in the same order; got \['a'\] and \['b'\]"),
        (
            {"a": [1, 2]},
            {"a": [1]},
            r"each of the 1 names; for 'a' got \(2,\) published and \(1,\)",
        ),
        ({"a": [np.nan]}, {"a": [1]}, "at least one loss that is both"),
        ({}, {}, "at least one loss that is both"),
    ],
)
def test_bad_input(published, measured, message):
    with pytest.raises(ValueError, match=message):
        plots.published_and_measured(published, measured, ["x"])

"""Bars of three probabilities."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose

from pairmend.plots import probability_bars, probability_triangle, to_svg
from pairmend.plots.drawing import BLUE
from pairmend.plots.probabilities import COLOURS, DARK_VERMILION

PAIRS = [("FCM", "LPW", (0.9, 0.06, 0.04)), ("FCM", "FCM-O", (0.0, 0.45, 0.55))]
SETS = [("FCM", "LPW", None), ("yeast", "", (0.2, 0.7, 0.1)), ("flags", "", (0.05, 0.05, 0.9))]


def test_parts_are_the_probabilities_and_fill_the_scale():
    ax = probability_bars(PAIRS)
    found = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    expected = [(0, 0.9), (0, 0), (0.9, 0.06), (0, 0.45), (0.96, 0.04), (0.45, 0.55)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert ax.get_xlim() == (0, 1)
    colours = [tuple(np.round(bar.get_facecolor()[:3], 6)) for bar in ax.patches[::2]]
    assert colours == [tuple(np.round(to_rgb(fill), 6)) for fill, _ in COLOURS]


def test_names_stand_on_both_sides_in_order():
    ax = probability_bars(PAIRS)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["FCM", "FCM"]
    names = [t.get_text() for t in ax.texts if not t.get_text().startswith("0.")]
    assert names == ["LPW", "FCM-O"]
    assert ax.patches[0].get_y() < ax.patches[1].get_y()
    low, high = ax.get_ylim()
    assert low > high  # the first on top


def test_headings_stand_above_their_bars():
    ax = probability_bars(SETS)
    heading = next(text for text in ax.texts if text.get_text() == "LPW")
    assert heading.xy[1] < min(bar.get_y() for bar in ax.patches)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["yeast", "flags"]


@pytest.mark.parametrize("bars", [PAIRS, SETS, [("A" * 50, "$b$ " * 20, (1, 0, 0))]])
def test_nothing_is_cut_off_or_overlaps(bars, drawn, cut_off, texts_overlap):
    ax = drawn(probability_bars(bars))
    assert cut_off(ax) == []
    assert not texts_overlap([*ax.texts, *ax.get_yticklabels(), *ax.get_legend().get_texts()])


@pytest.mark.parametrize("colour", [BLUE, DARK_VERMILION])
def test_numbers_can_be_read_and_bars_be_seen(colour, contrast):
    assert contrast(to_rgb(colour), to_rgb("white")) >= 4.5
    for page in ("#fdfdfc", "#17191c", "#1e1e1e"):
        assert contrast(to_rgb(colour), to_rgb(page)) >= 3


def test_svg_element():
    svg = to_svg(probability_bars(PAIRS), prefix="p", title="Probabilities of two pairs")
    assert svg.startswith("<svg")
    assert ">0.90<" in svg


@pytest.mark.parametrize(
    ("bars", "message"),
    [
        ([], "at least one bar with probabilities; got none"),
        ([("A", "B", None)], "at least one bar with probabilities; got none"),
        ([("A", "B", (0.5, 0.5))], "three probabilities"),
        ([("A", "B", (0.5, 0.6, -0.1))], "not negative and add up to 1"),
        ([("A", "B", (0.5, 0.2, 0.2))], "not negative and add up to 1"),
        ([("A", "B", (np.nan, 0.5, 0.5))], "not negative and add up to 1"),
    ],
)
def test_bad_bars_are_named(bars, message):
    with pytest.raises(ValueError, match=message):
        probability_bars(bars)


def test_the_triangle_has_a_corner_for_each_region():
    samples = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0.2, 0.8]]
    ax = probability_triangle(samples, "a" * 40, "$b_")
    assert [text.get_text() for text in ax.texts] == [
        f"{'a' * 27}… better  0.25", "equivalent  0.25", "$b_ better  0.50",
    ]  # fmt: skip
    offsets = ax.collections[0].get_offsets()
    assert_allclose(offsets[:, 1].max(), np.sqrt(3) / 2, atol=0.05)


@pytest.mark.parametrize("samples", [[], [0.2, 0.3, 0.5], [[0.5, 0.5]], [[0.9, 0.2, -0.1]]])
def test_other_samples_are_refused(samples):
    with pytest.raises(ValueError, match="samples must have three columns of probabilities"):
        probability_triangle(samples, "a", "b")

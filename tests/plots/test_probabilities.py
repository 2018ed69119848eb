"""Bars and triangles of three probabilities, and reliability diagrams."""

import numpy as np
import pandas as pd
import pytest

from chromium import contrast
from pairmend.metrics import reliability
from pairmend.plots import plot_reliability, probability_bars, probability_triangle

pytest.importorskip("matplotlib")


def outcomes(rows):
    """A frame of tests: three probabilities by names of the index."""
    return pd.DataFrame(rows, ["first_better", "equivalent", "second_better"]).T


PAIRS = outcomes({("FCM", "LPW"): (0.9, 0.06, 0.04), ("FCM", "FCM-O"): (0.0, 0.45, 0.55)})
SETS = outcomes(
    {("yeast", "FCM", "LPW"): (0.2, 0.7, 0.1), ("flags", "FCM", "LPW"): (0.05, 0.05, 0.9)}
)
LONG = outcomes({("A" * 50, "$b$ " * 20): (1, 0, 0)})


def test_parts_are_the_probabilities_between_two_names(check_readable):
    from matplotlib.colors import to_rgb

    ax = probability_bars(PAIRS)
    found = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    expected = [(0, 0.9), (0, 0), (0.9, 0.06), (0, 0.45), (0.96, 0.04), (0.45, 0.55)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert ax.get_xlim() == (0, 1)
    assert ax.yaxis_inverted()  # the first pair on top
    for place in (0, 4):  # white numbers are written on them
        colour = ax.patches[place].get_facecolor()[:3]
        assert contrast(colour, to_rgb("white")) >= 4.5
        assert all(contrast(colour, to_rgb(page)) >= 3 for page in ("#fdfdfc", "#17191c"))
    texts = [text.get_text() for text in ax.texts if text.get_text()]
    assert texts == ["LPW", "FCM-O", "0.90", "0.45", "0.55"]
    for tests, names in ((PAIRS, ["FCM", "FCM"]), (SETS, ["yeast: FCM", "flags: FCM"])):
        ax = probability_bars(tests)
        assert [text.get_text() for text in ax.get_yticklabels()] == names
        check_readable(ax.figure)
    check_readable(probability_bars(LONG).figure)


@pytest.mark.parametrize("row", [(0.5, 0.6, -0.1), (0.5, 0.2, 0.2), (np.nan, 0.5, 0.5)])
def test_other_probabilities_are_refused(row):
    with pytest.raises(ValueError, match="not negative and add up to 1"):
        probability_bars(outcomes({("A", "B"): row}))
    with pytest.raises(ValueError, match="not negative and add up to 1"):
        probability_triangle([row], "a", "b")
    with pytest.raises(ValueError, match="rows of three probabilities"):
        probability_triangle([], "a", "b")


def test_the_triangle_has_a_corner_for_each_region(check_readable):
    samples = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0.2, 0.8]]
    ax = probability_triangle(samples, "a" * 40, "$b_")
    assert [text.get_text() for text in ax.texts] == [
        f"{'a' * 27}… better  0.25", "equivalent  0.25", "$b_ better  0.50",
    ]  # fmt: skip
    offsets = ax.collections[0].get_offsets()
    np.testing.assert_allclose(offsets[:, 1].max(), np.sqrt(3) / 2, atol=0.05)
    check_readable(ax.figure)


@pytest.mark.parametrize("label", [None, 1])
def test_lines_are_shares_and_counts(label, rng, check_readable):
    Y = rng.rand(400, 3) < 0.3
    sure = np.clip(0.3 + 0.4 * rng.randn(400, 3), 0, 1)
    named = {"_sure $x$": sure, "a very long name of a classifier": 0.2 + 0.2 * sure}
    figure = plot_reliability(Y, named, label=label, n_bins=5, title="$y$")
    shares, numbers = figure.axes
    check_readable(figure)
    assert shares.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]
    legend = figure.legends[0].get_texts()
    for k, (name, each) in enumerate(named.items()):
        found = reliability(Y, each, label=label, n_bins=5)
        points = np.column_stack([found.predicted, found.observed])
        np.testing.assert_array_equal(shares.lines[k + 1].get_xydata(), points)
        np.testing.assert_array_equal(numbers.lines[k].get_ydata(), found.counts)
        assert legend[k + 1].get_text().startswith(f"{found.error:.3f} {name[:10]}")


def test_no_classifier_is_refused():
    with pytest.raises(ValueError, match="probabilities_by_name is empty"):
        plot_reliability([[1, 0]], {})

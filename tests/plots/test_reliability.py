"""Reliability diagrams: values, texts and layout."""

import numpy as np
import pytest

from pairmend import plots
from pairmend.metrics import reliability

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def predictions(rng):
    Y = rng.rand(400, 3) < 0.3
    sure = np.clip(0.3 + 0.4 * rng.randn(400, 3), 0, 1)
    return Y, {"sure": sure, "modest": 0.2 + 0.2 * sure}


@pytest.mark.parametrize("label", [None, 1])
def test_lines_are_shares_and_counts(predictions, label):
    Y, probabilities = predictions
    shares, numbers = plots.plot_reliability(Y, probabilities, label=label, n_bins=5).axes
    assert shares.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]
    for k, each in enumerate(probabilities.values()):
        found = reliability(Y, each, label=label, n_bins=5)
        points = np.column_stack([found.predicted, found.observed])
        np.testing.assert_array_equal(shares.lines[k + 1].get_xydata(), points)
        np.testing.assert_array_equal(numbers.lines[k].get_ydata(), found.counts)
    legend = [text.get_text() for text in numbers.get_legend().get_texts()]
    error = reliability(Y, probabilities["sure"], label=label, n_bins=5).error
    assert legend[1] == f"sure, calibration error {error:.3f}"


def test_draws_into_a_subfigure(predictions):
    from matplotlib.figure import Figure

    left, right = Figure(layout="constrained").subfigures(1, 2)
    assert plots.plot_reliability(*predictions, figure=left, title="all") is left
    assert left.axes[0].get_title(loc="left") == "all"
    assert not right.axes


@pytest.mark.parametrize("n_rows", [1, 400])
def test_nothing_is_cut_off_or_hidden(predictions, n_rows, cut_off, texts_overlap, drawn):
    Y, probabilities = predictions
    names = ["_sure $x$", "a very long name of a classifier indeed"]
    named = {name: each[:n_rows] for name, each in zip(names, probabilities.values(), strict=True)}
    figure = plots.plot_reliability(Y[:n_rows], named, title="$y$")
    drawn(figure.axes[0])
    for ax in figure.axes:
        assert cut_off(ax) == []
        low, high = ax.get_ylim()
        ticks = [t.label1 for t in ax.yaxis.get_major_ticks() if low <= t.get_loc() <= high]
        assert len(ticks) > 1
        assert not texts_overlap(ticks)
    assert not any(text.get_text() for text in figure.axes[1].get_yticklabels(minor=True))


def test_an_empty_mapping_is_refused():
    with pytest.raises(ValueError, match="probabilities_by_name is empty"):
        plots.plot_reliability([[1, 0]], {})

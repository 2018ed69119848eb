"""Plots of data, with few and with many labels."""

import numpy as np
import pytest

from pairmend import plots
from pairmend.plots.drawing import FAINT

matplotlib = pytest.importorskip("matplotlib")


def written(axis_labels):
    return [label.get_text() for label in axis_labels]


def names_of(n_labels):
    return [f"label {number}" for number in range(n_labels)]


def test_frequencies_are_sorted_and_numbered():
    ax = plots.label_frequencies(["sea", "sun", "sand"], [30, 1500, 0])
    assert written(ax.get_yticklabels()) == ["sun", "sea", "sand"]
    assert [bar.get_width() for bar in ax.patches] == [1500, 30, 0]
    assert [text.get_text() for text in ax.texts] == ["1,500", "30", "0"]
    assert ax.yaxis_inverted()  # the most frequent is on top
    assert list(ax.get_yticks()) == [0, 1, 2]


def test_of_many_labels_both_ends_are_drawn(rng):
    counts = rng.permutation(400)
    ax = plots.label_frequencies(names_of(400), counts)
    drawn_counts = [bar.get_width() for bar in ax.patches]
    assert drawn_counts == [*range(399, 387, -1), *range(11, -1, -1)]
    assert written(ax.get_yticklabels()) == [
        f"label {np.flatnonzero(counts == count)[0]}" for count in drawn_counts
    ]
    assert "376 labels between these are left out" in [text.get_text() for text in ax.texts]
    assert len({bar.get_facecolor() for bar in ax.patches}) == 2


@pytest.mark.parametrize("n_labels", [1, 6, 30, 31, 400])
def test_names_do_not_overlap(n_labels, drawn, texts_overlap):
    names = [f"a long name of a label, with number {n}" for n in range(n_labels)]
    ax = drawn(plots.label_frequencies(names, np.arange(n_labels)))
    assert not texts_overlap(ax.get_yticklabels())
    assert not texts_overlap(ax.texts)
    matrix = np.ones((n_labels, n_labels), dtype=int)
    ax = drawn(plots.co_occurrence(names, matrix))
    assert not texts_overlap(ax.get_yticklabels())
    assert not texts_overlap(ax.texts)


def test_co_occurrence_shows_counts_and_hides_the_diagonal():
    matrix = np.array([[90, 7, 0], [7, 50, 1200], [0, 1200, 20]])
    ax = plots.co_occurrence(["sea", "sun", "sand"], matrix)
    assert [text.get_text() for text in ax.texts] == ["7", "0", "7", "1,200", "0", "1,200"]
    assert written(ax.get_xticklabels()) == written(ax.get_yticklabels()) == ["sea", "sun", "sand"]
    (image,) = ax.images
    shown = image.get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), np.eye(3, dtype=bool))
    assert image.get_clim()[1] == 1200
    colours = image.to_rgba(shown)
    grey = matplotlib.colors.to_rgba(FAINT)
    assert tuple(colours[0, 0]) == pytest.approx(grey)
    assert tuple(colours[0, 2]) == (1, 1, 1, 1)  # never together: white
    assert tuple(colours[0, 1])[:3] != (1, 1, 1)


def test_numbers_in_cells_stand_out_from_their_colour(contrast):
    matrix = np.arange(169).reshape(13, 13)
    ax = plots.co_occurrence(names_of(13), matrix)
    (image,) = ax.images
    for text in ax.texts:
        column, row = (int(place) for place in text.get_position())
        cell = image.to_rgba(matrix[row, column])[:3]
        ink = matplotlib.colors.to_rgb(text.get_color())
        assert contrast(cell, ink) > 2.5, (row, column)


@pytest.mark.parametrize(("n_labels", "named"), [(50, True), (51, False), (400, False)])
def test_a_large_map_has_no_names(n_labels, named):
    ax = plots.co_occurrence(names_of(n_labels), np.eye(n_labels, dtype=int))
    assert (len(ax.get_yticks()) == n_labels) is named
    assert (f"{n_labels} labels" in ax.get_xlabel()) is not named
    assert not ax.texts


def test_a_large_map_stays_a_small_picture():
    svg = plots.to_svg(plots.co_occurrence(names_of(400), np.eye(400)), prefix="m", title="Map")
    assert svg.count("<image") == 2  # the map and the scale of its colours
    assert len(svg) < 100_000


def test_labels_per_row():
    ax = plots.labels_per_row([1, 1700, 0, 4])
    assert [bar.get_height() for bar in ax.patches] == [1, 1700, 0, 4]
    assert [bar.get_x() + bar.get_width() / 2 for bar in ax.patches] == pytest.approx([0, 1, 2, 3])
    assert [text.get_text() for text in ax.texts] == ["1", "1,700", "0", "4"]
    many = plots.labels_per_row(np.arange(100))
    assert not many.texts
    assert len(many.get_xticks()) <= 20


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.label_frequencies(["a"], [1, 2]), r"1 names for values of shape \(2,\)"),
        (lambda: plots.label_frequencies([], []), "at least one label"),
        (lambda: plots.co_occurrence(["a"], np.ones((2, 2))), "1 names for"),
        (lambda: plots.co_occurrence(["a"], np.ones((1, 2))), r"square; got shape \(1, 2\)"),
        (lambda: plots.labels_per_row([]), "at least one number"),
    ],
)
def test_bad_input(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()

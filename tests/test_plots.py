"""Drawings: what is in them, and that they can be read with few and with many labels."""

import ast
import re
import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import pairmend
from pairmend import plots

matplotlib = pytest.importorskip("matplotlib")


def written(axis_labels):
    return [label.get_text() for label in axis_labels]


def names_of(n_labels):
    return [f"label {number}" for number in range(n_labels)]


def texts_overlap(ax, texts):
    renderer = ax.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in texts if text.get_text()]
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.fixture
def drawn():
    """Lay a figure out with a renderer that knows how large texts are."""

    def draw(ax):
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        FigureCanvasAgg(ax.figure).draw()
        return ax

    return draw


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
def test_names_do_not_overlap(n_labels, drawn):
    names = [f"a long name of a label, with number {n}" for n in range(n_labels)]
    ax = drawn(plots.label_frequencies(names, np.arange(n_labels)))
    assert not texts_overlap(ax, ax.get_yticklabels())
    assert not texts_overlap(ax, ax.texts)
    matrix = np.ones((n_labels, n_labels), dtype=int)
    ax = drawn(plots.co_occurrence(names, matrix))
    assert not texts_overlap(ax, ax.get_yticklabels())
    assert not texts_overlap(ax, ax.texts)


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
    grey = matplotlib.colors.to_rgba(plots.FAINT)
    assert tuple(colours[0, 0]) == pytest.approx(grey)
    assert tuple(colours[0, 2]) == (1, 1, 1, 1)  # never together: white
    assert tuple(colours[0, 1])[:3] != (1, 1, 1)


def test_numbers_in_cells_stand_out_from_their_colour():
    matrix = np.arange(169).reshape(13, 13)
    ax = plots.co_occurrence(names_of(13), matrix)
    (image,) = ax.images
    for text in ax.texts:
        column, row = (int(place) for place in text.get_position())
        cell = image.to_rgba(matrix[row, column])[:3]
        ink = matplotlib.colors.to_rgb(text.get_color())
        assert contrast(cell, ink) > 2.5, (row, column)


def contrast(one, other):
    """Contrast ratio as the web content accessibility guidelines 2.1 define it."""

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


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


def test_draws_into_given_axes():
    from matplotlib.figure import Figure

    one, two, three = Figure().subplots(1, 3)
    assert plots.label_frequencies(["a"], [1], ax=one) is one
    assert plots.co_occurrence(["a"], [[1]], ax=two) is two
    assert plots.labels_per_row([1], ax=three) is three
    assert one.patches
    assert two.images
    assert three.patches


def test_all_zeros_are_drawn_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ax in (
            plots.label_frequencies(["a", "b"], [0, 0]),
            plots.co_occurrence(["a", "b"], np.zeros((2, 2), dtype=int)),
            plots.labels_per_row([0]),
        ):
            plots.to_svg(ax, prefix="zero", title="Zero")


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


NASTY = [
    "</text><script>alert(1)</script>",
    'a "quoted" & <b>',
    "$\\frac{$",
    "é日本",
    "a\nb\x00\x1b",
]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.label_frequencies(NASTY, range(5)),
        lambda: plots.co_occurrence(NASTY, np.eye(5, dtype=int)),
    ],
    ids=["label_frequencies", "co_occurrence"],
)
def test_svg_holds_names_as_text(draw):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = plots.to_svg(draw(), prefix="f", title='A "<b>"')
    root = ElementTree.fromstring(svg)
    harmless = {"svg", "defs", "g", "path", "use", "text", "clipPath", "rect", "image"}
    assert {element.tag for element in root.iter()} <= harmless
    texts = ["".join(element.itertext()).strip() for element in root.iter("text")]
    assert set(texts) >= {"</text><script>alert(1)</sc…", *NASTY[1:4], "a b"}
    assert root.get("aria-label") == 'A "<b>"'


def test_svgs_of_one_page_share_no_ids():
    drawings = [plots.labels_per_row([1, 2]), plots.labels_per_row([1, 2])]
    one, two = (
        ElementTree.fromstring(plots.to_svg(ax, prefix=prefix, title="Rows"))
        for ax, prefix in zip(drawings, ("one", "two"), strict=True)
    )
    ids = [{e.get("id") for e in root.iter() if e.get("id")} for root in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for root, known in zip((one, two), ids, strict=True):
        text = ElementTree.tostring(root, encoding="unicode")
        referred = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', text))
        assert referred
        assert {a or b for a, b in referred} <= known


def test_svg_is_self_contained_and_repeatable():
    def svg():
        ax = plots.co_occurrence(["sea", "sun"], [[3, 2], [2, 5]])
        return plots.to_svg(ax, prefix="map", title="Together")

    assert svg() == svg()
    assert "://" not in svg()
    assert "<metadata" not in svg()
    assert "<style" not in svg()


def test_drawing_leaves_no_global_traces():
    code = (
        "import sys; from pairmend import plots; assert 'matplotlib' not in sys.modules;"
        "plots.to_svg(plots.labels_per_row([1]), prefix='a', title='b');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: plots.label_frequencies(["a"], [1]),
        lambda: plots.co_occurrence(["a"], [[1]]),
        lambda: plots.labels_per_row([1]),
    ):
        with pytest.raises(ImportError, match=r"pip install 'pairmend\[plots\]'"):
            draw()


def test_no_other_file_of_the_package_imports_matplotlib():
    package = Path(pairmend.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if path.name != "plots.py":
                assert not any(name.split(".")[0] == "matplotlib" for name in names), path


def test_one_line():
    assert plots.one_line(" a\t b\r\n\x1b[31m\u202ec\u2028 ") == "a b [31m c"
    assert plots.one_line("") == ""

"""Properties of all plots: names, colours, axes and SVG."""

import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from pairmend import plots
from pairmend.plots.drawing import INK

matplotlib = pytest.importorskip("matplotlib")

NASTY = [
    "</text><script>alert(1)</script>", 'a "quoted" & <b>', "$\\frac{$", "é日本", "a\nb\x00\x1b",
    "_hidden",
]  # fmt: skip
RANKS = dict(zip(NASTY, range(1, 7), strict=True))
LOSSES = pd.DataFrame(
    [(name, other, 0.1, 0.1, 0.8) for name in NASTY for other in NASTY],
    columns=["set", "algorithm", "value", "published", "measured"],
)
TESTS = pd.DataFrame(
    {"first_better": 0.5, "equivalent": 0.3, "second_better": 0.2},
    index=pd.MultiIndex.from_product([NASTY[:3], NASTY[3:]]),
)
DRAWINGS = {
    "rank_radar": lambda: plots.rank_radar(pd.DataFrame([RANKS] * 6, index=NASTY), 1.0),
    "critical_difference": lambda ax=None: plots.critical_difference(RANKS, 1.0, ax=ax),
    "fold_spread": lambda ax=None: plots.fold_spread(LOSSES, criterion=NASTY[2], ax=ax),
    "published_and_measured": lambda ax=None: plots.published_and_measured(LOSSES, ax=ax),
    "probability_bars": lambda ax=None: plots.probability_bars(TESTS, ax=ax),
    "plot_labels": lambda: plots.plot_labels(np.eye(6, dtype=int), NASTY).axes[0],
}
all_drawings = pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)


@pytest.mark.parametrize("name", list(DRAWINGS)[1:5])
def test_draws_into_given_axes(name):
    from matplotlib.figure import Figure

    one, other = Figure().subplots(1, 2)
    assert DRAWINGS[name](ax=one) is one
    assert one.has_data()
    assert not other.has_data()
    left, right = Figure(layout="constrained").subfigures(1, 2)
    assert plots.plot_reliability([[1, 0]], {"a": [[0.3, 0.5]]}, figure=left) is left
    assert left.axes
    assert not right.axes


@all_drawings
@pytest.mark.filterwarnings("error")
def test_svg_is_self_contained_and_has_names_as_text(draw):
    svg, again = (plots.to_svg(draw(), title='A "<b>"') for _ in range(2))
    assert svg == again
    # The ink is dark or light as the page.
    assert "currentColor" in svg
    assert "prefers-color-scheme:dark" in svg
    assert f": {INK}" not in svg
    assert ": #000000" not in svg
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == 'A "<b>"'
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {
        "svg", "defs", "style", "g", "path", "use", "text", "tspan", "clipPath", "rect", "image",
    }  # fmt: skip
    for element in root.iter():
        links = [value for key, value in element.attrib.items() if key.endswith("href")]
        assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    lines = {" ".join("".join(e.itertext()).split()) for e in root.iter() if e.tag.endswith("text")}
    for name in ["</text><script>alert(1)</sc…", *NASTY[1:4], "a b", "_hidden"]:
        assert any(line.startswith(name) for line in lines), name


@pytest.mark.filterwarnings("error")
def test_all_zeros_are_drawn_without_a_warning():
    zeros = LOSSES.assign(value=0.0, published=0.0, measured=0.0)
    labels = plots.plot_labels(np.zeros((3, 2), dtype=int))
    for ax in (plots.fold_spread(zeros), plots.published_and_measured(zeros), labels.axes[0]):
        plots.to_svg(ax, title="Zero")


def test_drawing_leaves_no_global_traces():
    code = (
        "import sys; from pairmend import plots; assert 'matplotlib' not in sys.modules;"
        "ax = plots.critical_difference({'a': 1, 'b': 2}, 1); plots.to_svg(ax, title='b');"
        "assert 'matplotlib.pyplot' not in sys.modules;"
        "import matplotlib; assert matplotlib.rcParams['text.parse_math']"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        plots.critical_difference(RANKS, 1.0)

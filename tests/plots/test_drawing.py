"""Properties of all plots: names, colours, axes and SVG."""

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
from pairmend._utils.text import one_line
from pairmend.explanation import Explanation, LabelExplanation, explain_problem
from pairmend.plots.drawing import INK, LINES, MARKERS, PALETTE, style_of

matplotlib = pytest.importorskip("matplotlib")

NASTY = [
    "</text><script>alert(1)</script>",
    'a "quoted" & <b>',
    "$\\frac{$",
    "é日本",
    "a\nb\x00\x1b",
    "_hidden",
]
RANKS = dict(zip(NASTY, range(1, 7), strict=True))
PROBLEM = explain_problem(
    (0, 1), (NASTY[2], NASTY[0]), before=0.4, p_decide=0.3, weights=np.ones(3),
    truth=np.array([[1, 0], [0, 1], [1, 1]], dtype=bool), decisions=np.array([0, 0, 1.0]),
    overlap=0.5,
)  # fmt: skip
EXPLANATION = Explanation(
    row=0,
    labels=tuple(
        LabelExplanation.of(
            k, name, [], [], [], scores=(k / 6, 1 - k / 6), accepted=(k > 3, k < 3), threshold=0.5
        )
        for k, name in enumerate(NASTY)
    ),
    problems=(PROBLEM,),
    n_problems=15,
    n_changed=1,
)

DRAWINGS = {
    "label_frequencies": lambda ax=None: plots.label_frequencies(NASTY, range(6), ax=ax),
    "co_occurrence": lambda ax=None: plots.co_occurrence(NASTY, np.eye(6, dtype=int), ax=ax),
    "labels_per_row": lambda ax=None: plots.labels_per_row([1, 2], ax=ax),
    "rank_radar": lambda ax=None: plots.rank_radar(dict.fromkeys(NASTY, RANKS), 1.0, ax=ax),
    "rank_rows": lambda ax=None: plots.rank_radar({NASTY[2]: RANKS}, 1.0, ax=ax),
    "critical_difference": lambda ax=None: plots.critical_difference(RANKS, 1.0, ax=ax),
    "fold_spread": lambda ax=None: plots.fold_spread(
        {name: {name: [0.1, 0.2] for name in NASTY} for name in NASTY}, criterion=NASTY[2], ax=ax
    ),
    "published_and_measured": lambda ax=None: plots.published_and_measured(
        {name: np.zeros(6) for name in NASTY}, {name: np.ones(6) for name in NASTY}, NASTY, ax=ax
    ),
    "explained_scores": lambda ax=None: plots.explained_scores(EXPLANATION, ax=ax),
    "explained_confusion": lambda ax=None: plots.explained_confusion(PROBLEM, ax=ax),
    "explained_neighbours": lambda ax=None: plots.explained_neighbours(PROBLEM, ax=ax),
    "bars": lambda ax=None: plots.bars({"$a$": RANKS, "$b$": RANKS}, unit="$", ax=ax),
    "bars_far_apart": lambda ax=None: plots.bars(
        {"fit": {**RANKS, NASTY[0]: 400}}, unit="$", ax=ax
    ),
}
all_drawings = pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
# Those without names, and those with two of them among other words.
FEW_NAMES = {"labels_per_row", "explained_confusion", "explained_neighbours"}
with_names = pytest.mark.parametrize(
    "draw", [draw for name, draw in DRAWINGS.items() if name not in FEW_NAMES],
    ids=[name for name in DRAWINGS if name not in FEW_NAMES],
)  # fmt: skip


@all_drawings
def test_draws_into_given_axes(draw):
    from matplotlib.figure import Figure

    one, other = Figure().subplots(1, 2)
    assert draw(ax=one) is one
    assert one.has_data()
    assert not other.has_data()


@with_names
def test_svg_holds_names_as_text(draw):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = plots.to_svg(draw(), prefix="f", title='A "<b>"')
    root = ElementTree.fromstring(svg)
    harmless = {"svg", "defs", "g", "path", "use", "text", "clipPath", "rect", "image", "pattern"}
    assert {element.tag for element in root.iter()} <= harmless
    texts = "\n".join("".join(element.itertext()).strip() for element in root.iter("text"))
    for name in ["</text><script>alert(1)</sc…", *NASTY[1:4], "a b", "_hidden"]:
        # A diagram writes the rank behind the name, and the browser shows two spaces as one.
        assert re.search(rf"^{re.escape(name)}(\s+\d.*)?$", texts, re.MULTILINE), name
    assert root.get("aria-label") == 'A "<b>"'


def test_all_zeros_are_drawn_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ax in (
            plots.label_frequencies(["a", "b"], [0, 0]),
            plots.co_occurrence(["a", "b"], np.zeros((2, 2), dtype=int)),
            plots.labels_per_row([0]),
            plots.fold_spread({"a": {"b": [0, 0]}}),
            plots.published_and_measured({"a": [0]}, {"a": [0]}, ["b"]),
            plots.bars({"fit": {"a": 0}}),
        ):
            plots.to_svg(ax, prefix="zero", title="Zero")


@all_drawings
def test_ink_is_the_text_colour_of_the_page(draw):
    root = ElementTree.fromstring(plots.to_svg(draw(), prefix="f", title="Title"))
    assert "fill: currentColor" in root.get("style")
    styles = [element.get("style", "") for element in root.iter()]
    painted = {c for style in styles for c in re.findall(r"(?:fill|stroke): (?!url)([^;]+)", style)}
    assert "currentColor" in painted
    # Nothing that a dark or a light page would swallow; on cells of a map there is more light.
    colours = {colour.lower() for colour in PALETTE if colour != INK}
    assert painted - {"none", "currentColor", "#222222"} <= colours | {"#ffffff"}
    if "<image" not in ElementTree.tostring(root, encoding="unicode"):
        assert not painted & {"#222222", "#ffffff"}
    faint = [style for style in styles if "stroke-opacity: 0.22" in style]
    assert all("stroke: currentColor" in style for style in faint)
    assert faint or draw is DRAWINGS["critical_difference"]


def test_colours_stand_out_on_white_and_on_dark(contrast):
    rgb = matplotlib.colors.to_rgb
    for colour in PALETTE:
        if colour != INK:  # which follows the page
            for paper in ("#ffffff", "#121212", "#1e1e1e"):
                # the minimum of the web content accessibility guidelines 2.1 for graphics
                assert contrast(rgb(colour), rgb(paper)) >= 3, (colour, paper)


def test_algorithms_differ_with_and_without_colour():
    looks = [style_of(number, 12) for number in range(12)]
    assert len({look.marker for look in looks}) == 12
    assert len({(look.colour, str(look.line)) for look in looks}) == 12
    assert len({look.size for look in looks}) == 12
    assert len(PALETTE) == len(set(PALETTE)) == 8
    assert len(set(MARKERS)) == 12
    assert len(set(map(str, LINES))) == len(LINES)


def ids_and_references(svg):
    root = ElementTree.fromstring(svg)
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    return set(ids), {a or b for a, b in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', svg)}


@all_drawings
def test_svgs_of_one_page_share_no_ids(draw):
    one, two = (
        ids_and_references(plots.to_svg(draw(), prefix=prefix, title="Title"))
        for prefix in ("one", "two")
    )
    assert one[0]
    assert not one[0] & two[0]
    for ids, references in (one, two):
        assert references <= ids


@all_drawings
def test_svg_is_self_contained_and_repeatable(draw):
    svg, again = (plots.to_svg(draw(), prefix="map", title="Together") for _ in range(2))
    assert svg == again
    assert "://" not in svg
    assert "<metadata" not in svg
    assert "<style" not in svg


def test_drawing_leaves_no_global_traces():
    code = (
        "import sys; from pairmend import plots; assert 'matplotlib' not in sys.modules;"
        "plots.to_svg(plots.labels_per_row([1]), prefix='a', title='b');"
        "plots.published_and_measured({'a': [0]}, {'a': [1]}, ['b']);"
        "plots.bars({'fit': {'a': 1, 'b': 99}});"
        "plots.rank_radar(dict.fromkeys('xyz', {'a': 1, 'b': 2}), 1);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@all_drawings
def test_missing_matplotlib_is_named(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'pairmend\[plots\]'"):
        draw()


def test_no_other_room_of_the_package_imports_matplotlib():
    package = Path(pairmend.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if path.parent != package / "plots":
                assert not any(name.split(".")[0] == "matplotlib" for name in names), path


def test_one_line():
    assert one_line(" a\t b\r\n\x1b[31m\u202ec\u2028 ") == "a b [31m c"
    assert one_line("") == ""

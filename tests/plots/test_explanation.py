"""Plots of explanations: texts, values and layout."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from pairmend import CorrectedPairwiseClassifier, plots
from pairmend.explanation import Explanation, LabelExplanation, TrainingRow, explain_problem

matplotlib = pytest.importorskip("matplotlib")
LONG = "an extraordinarily long name of a label"


def problem(first="sea", second="beach", **given):
    default = {
        "before": 0.4,
        "p_decide": 0.25,
        "weights": np.array([1.0, 0.5, 0.5]),
        "truth": np.array([[1, 0], [0, 1], [1, 1]], dtype=bool),
        "decisions": np.array([0.0, 0.5, 1.0]),
        "rows": np.array([12, 40, 7]),
        "overlap": 0.5,
    }
    return explain_problem((0, 1), (first, second), **{**default, **given})


def explanation(names=("sea", "beach"), threshold=0.5):
    labels = tuple(
        LabelExplanation.of(
            k, name, [], [], [], scores=((0.25, 0.75), (0.75, 0.25))[k % 2],
            accepted=(k % 2 == 1, k % 2 == 0), threshold=threshold,
        )
        for k, name in enumerate(names)
    )  # fmt: skip
    problems = (problem(*names[:2]), problem(*names[:2], after=0.41))
    return Explanation(5, labels, problems, 2, 1)


def texts(items):
    return [item.get_text() for item in items]


def test_scores_before_and_after_are_joined_by_a_line():
    ax = plots.explained_scores(explanation())
    assert texts(ax.get_yticklabels()) == ["sea", "beach"]
    drawn = [line.get_xydata().tolist() for line in ax.lines]
    assert [[0.25, 0], [0.75, 0]] in drawn
    assert [[0.75, 1], [0.25, 1]] in drawn
    assert [[0.5, -0.5], [0.5, 0.5]] in drawn
    assert texts(ax.texts) == ["now predicted", "no longer predicted"]
    assert ax.get_title(loc="left") == "Row 5\n2 of 2 predictions changed"
    assert "threshold" in texts(ax.get_legend().get_texts())


def test_scores_without_a_threshold():
    ax = plots.explained_scores(explanation(threshold=None))
    assert "threshold" not in texts(ax.get_legend().get_texts())


def test_labels_with_the_largest_changes_are_drawn():
    unchanged = [
        LabelExplanation.of(
            k,
            f"unchanged {k}",
            [],
            [],
            [],
            scores=(0.1, 0.1),
            accepted=(False, False),
            threshold=0.5,
        )
        for k in range(40)
    ]
    many = Explanation(0, (*unchanged, *explanation().labels), (), 0, 0)
    ax = plots.explained_scores(many, n_labels=4)
    assert texts(ax.get_yticklabels())[:2] == ["sea", "beach"]
    assert len(ax.get_yticklabels()) == 4
    assert ax.get_xlabel() == "score (38 more labels not shown)"


def test_rows_of_the_confusion_plot_are_decisions():
    ax = plots.explained_confusion(problem())
    # Masses: truly sea 0.25 decided sea, 1 decided beach; truly beach 0.5 and 0.25.
    np.testing.assert_allclose(ax.images[0].get_array(), [[0.125, 0.25], [0.5, 0.125]])
    assert texts(ax.texts) == ["12 %", "25 %", "50 %", "12 %"]
    assert texts(ax.get_yticklabels()) == [
        "decided sea,\n33 % are sea",
        "decided beach,\n80 % are sea",
    ]
    assert ax.get_title(loc="left").startswith(
        "sea or beach\nsea from 0.40 to 0.68\nthe vote changed"
    )


def test_decisions_without_mass_are_marked():
    ax = plots.explained_confusion(problem(decisions=np.zeros(3)))
    assert texts(ax.get_yticklabels())[0] == "decided sea,\nno such row"


def test_neighbours_are_bars():
    ax = plots.explained_neighbours(problem(decisions=np.array([0.2, 0.5, 1.0])))
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([50, 25, 25])
    assert texts(ax.get_yticklabels()) == ["row 12", "row 7", "row 40"]
    assert texts(ax.texts) == [
        "sea, decided beach (80 %)", "both, decided sea (100 %)", "beach, decision tie",
    ]  # fmt: skip
    assert len({bar.get_facecolor() for bar in ax.patches}) == 3
    assert "sum 100 %" in ax.get_xlabel()
    ax = plots.explained_neighbours(problem(correction="neighbours (range)"))
    assert ax.get_title(loc="left") == "neighbours (range)\nrows of largest weight"


def test_neighbours_with_long_names_are_marked_right_or_wrong():
    names = (LONG + " 1", LONG + " 2")
    ax = plots.explained_neighbours(problem(*names, decisions=np.array([0.2, 1.0, 0.5])))
    assert ax.texts[0].get_text() == "an extraordin…, wrong (80 %)"


def test_no_neighbours():
    ax = plots.explained_neighbours(problem(weights=np.zeros(3)))
    assert ax.get_title(loc="left") == "no row has a weight"


def test_figure_of_an_explained_prediction(small_set):
    X, Y = small_set
    (explained,) = CorrectedPairwiseClassifier(random_state=0).fit(X, Y).explain(X[:1])
    figure = plots.plot_explanation(explained, n_problems=3)
    assert len(figure.axes) == 7
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    for k, each in enumerate(explained.most_changed(3)):
        assert titles[1 + 2 * k].startswith(f"{each.names[0]} or {each.names[1]}")
    assert len(plots.plot_explanation(explained, n_problems=0).axes) == 1


def test_draws_into_a_subfigure():
    from matplotlib.figure import Figure

    whole = Figure(layout="constrained")
    left, right = whole.subfigures(1, 2)
    assert plots.plot_explanation(explanation(), figure=left) is left
    assert len(left.axes) == 5
    assert not right.axes


@pytest.mark.parametrize("names", [("sea", "beach"), (LONG + " 1", LONG + " 2"), ("_a", "$b$")])
def test_nothing_is_cut_off_or_hidden(names, cut_off, texts_overlap, drawn):
    figure = plots.plot_explanation(explanation(names))
    drawn(figure.axes[0])
    for ax in figure.axes:
        assert cut_off(ax) == []
        # Of two long names side by side the second stands lower, below an empty line.
        side_by_side = [t for t in ax.get_xticklabels() if not t.get_text().startswith("\n")]
        assert not texts_overlap([*ax.texts, *side_by_side, *ax.get_yticklabels(), ax.xaxis.label])
    for row in (1, 3):
        shown = [figure.axes[row + k] for k in (0, 1)]
        assert not texts_overlap([t for ax in shown for t in (*ax.get_yticklabels(), *ax.texts)])


@pytest.mark.parametrize("names", [("sea", "not sea"), (LONG + " 1", "not " + LONG)])
def test_titles_of_local_corrections_are_inside_the_figure(names, cut_off, texts_overlap, drawn):
    local = problem(*names, correction="neighbours (standard)", weights=np.array([9.0, 0.5, 0.5]))
    figure = plots.plot_explanation(replace(explanation(names), problems=(local, local)))
    drawn(figure.axes[0])
    for ax in figure.axes:
        assert cut_off(ax) == []
    for row in (1, 3):
        assert not texts_overlap([figure.axes[row + k]._left_title for k in (0, 1)])


def test_shares_of_the_weight_have_no_ticks_above_100():
    ax = plots.explained_neighbours(problem(weights=np.array([20.0, 0.5, 0.5])))
    assert max(ax.get_xticks()) <= 100


def test_svg_escapes_names():
    names = ("</text><script>", "$\\frac{$")
    svg = plots.to_svg(plots.plot_explanation(explanation(names)).axes[0], prefix="e", title="E")
    root = ElementTree.fromstring(svg)
    assert not list(root.iter("script"))
    written = "\n".join("".join(element.itertext()) for element in root.iter("text"))
    assert "decided $\\frac{$," in written
    assert "</text><scrip… or" in written


def test_rows_with_names_are_shown_by_them():
    named = tuple(TrainingRow(row, 0.2, (0,), index=name) for row, name in ((12, "Eva"), (40, 40)))
    figure = plots.plot_explanation(
        replace(explanation(), problems=(problem(),), index="Hans $5$", training_rows=named)
    )
    assert figure.axes[0].get_title(loc="left").startswith("Row 5 (Hans $5$)\n")
    ticks = [text.get_text() for text in figure.axes[2].get_yticklabels()]
    assert sorted(ticks) == ["Eva", "row 40", "row 7"]

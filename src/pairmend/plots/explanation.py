"""Plots of explanations of predictions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pairmend.explanation import Explanation, Neighbour, ProblemExplanation
from pairmend.plots.drawing import (
    BLUE,
    CONFUSION_COLOURS,
    FAINT,
    INK,
    LETTER,
    PALETTE,
    VERMILION,
    add_legend,
    axes_or_new,
    import_matplotlib,
    make_plain,
    readable_on,
    short,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOTH = PALETTE[2]
NARROW = 14
"""Maximum number of letters of names that stand side by side."""
DARKEST = 0.75
"""Upper end of the colour map of cells: on darker cells numbers are hard to read."""


def plot_explanation(
    explanation: Explanation,
    *,
    n_problems: int = 2,
    n_labels: int = 12,
    figure: Any = None,
) -> Any:
    """Plot an explanation: scores, and the confusion matrices of the most changed problems.

    Parameters
    ----------
    explanation : Explanation
        An element of the list that a classifier's ``explain`` returns.
    n_problems : int, default=2
        Number of problems to draw, those with the largest changes.
    n_labels : int, default=12
        Number of labels to draw, those with the largest changes.
    figure : matplotlib Figure or SubFigure, default=None
        Figure to draw into; a new figure if None.

    Returns
    -------
    Figure
        Its first Axes show the scores, two further ones each problem.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend import CorrectedPairwiseClassifier
    >>> X, Y = np.random.RandomState(0).rand(60, 2), np.eye(3, dtype=int)[[0, 1, 2] * 20]
    >>> clf = CorrectedPairwiseClassifier(random_state=0).fit(X, Y)
    >>> from pairmend.plots import plot_explanation
    >>> figure = plot_explanation(clf.explain(X[:1])[0], n_problems=1)
    >>> figure.axes[2].get_title(loc="left")
    'rows of largest weight'
    """
    import_matplotlib()
    problems = explanation.most_changed(n_problems)
    shown = min(n_labels, len(explanation.labels))
    if figure is None:
        from matplotlib.figure import Figure

        height = max(2.6 * len(problems), 1.8 + 0.34 * shown, 3.0)
        letters = max((len(short(label.name)) for label in explanation.labels), default=0)
        width = 11.4 + 1.8 * LETTER * max(0, letters - 8) if problems else 5.2
        figure = Figure(figsize=(width, height), layout="constrained")
    if not problems:
        explained_scores(explanation, n_labels=n_labels, ax=figure.subplots())
        return figure
    grid = figure.add_gridspec(len(problems), 3, width_ratios=(1.5, 0.85, 1.25))
    explained_scores(explanation, n_labels=n_labels, ax=figure.add_subplot(grid[:, 0]))
    names = {
        each.row: str(each.index)
        for each in explanation.training_rows
        if each.index not in (None, each.row)
    }
    for number, problem in enumerate(problems):
        explained_confusion(problem, ax=figure.add_subplot(grid[number, 1]))
        explained_neighbours(problem, names=names, ax=figure.add_subplot(grid[number, 2]))
    return figure


def explained_scores(
    explanation: Explanation, *, n_labels: int = 12, ax: "Axes | None" = None
) -> "Axes":
    """Plot the labels' scores before and after the correction.

    Parameters
    ----------
    explanation : Explanation
        An element of the list that a classifier's ``explain`` returns.
    n_labels : int, default=12
        Number of labels to draw, those with the largest changes.
    ax : matplotlib Axes, default=None
        Axes to draw into; a new figure if None.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> from pairmend.explanation import Explanation, LabelExplanation
    >>> from pairmend.plots import explained_scores
    >>> sea = LabelExplanation.of(
    ...     0, "sea", [], [], [], scores=(0.4, 0.75), accepted=(False, True), threshold=0.5)
    >>> explained_scores(Explanation(0, (sea,), (), 0, 0)).get_xlabel()
    'score'
    """
    shown = sorted(explanation.most_changed_labels(n_labels), key=lambda label: -label.after)
    ax = axes_or_new(ax, width=5.2, height=1.8 + 0.34 * len(shown))
    thresholds = [np.nan if label.threshold is None else label.threshold for label in shown]
    for place, (label, threshold) in enumerate(zip(shown, thresholds, strict=True)):
        colour = BLUE if label.accepted else VERMILION
        ax.plot([label.before, label.after], [place, place], color=colour, lw=2, zorder=2)
        ax.plot(label.before, place, "o", ms=8, mfc="none", mec=colour, mew=1.6, zorder=2)
        ax.plot(label.after, place, "o" if label.accepted else "X", ms=9, color=colour, zorder=3)
        ax.plot([threshold] * 2, [place - 0.5, place + 0.5], color=INK, lw=1, ls=(0, (4, 3)))
        if label.changed:
            # On the same side of the threshold as the corrected score.
            text, side, offset = (
                ("now predicted", "left", 4)
                if label.accepted
                else ("no longer predicted", "right", -4)
            )
            at = label.after if label.threshold is None else label.threshold
            write(ax, at, place, text, offset=(offset, 8), ha=side, va="bottom")
    ax.set_yticks(
        range(len(shown)), [short(label.name) for label in shown], fontsize=9, parse_math=False
    )
    for tick, label in zip(ax.get_yticklabels(), shown, strict=True):
        tick.set_fontweight("bold" if label.changed else "normal")
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(-0.03, 1.03)
    n_hidden = len(explanation.labels) - len(shown)
    ax.set_xlabel("score" + (f" ({n_hidden:,} more labels not shown)" if n_hidden else ""))
    make_plain(ax)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
    n_changed = sum(label.changed for label in explanation.labels)
    ax.set_title(
        f"Row {_row_name(explanation)}\n"
        f"{n_changed} of {len(explanation.labels)} predictions changed",
        loc="left", fontsize=10, color=INK, parse_math=False,
    )  # fmt: skip
    from matplotlib.lines import Line2D
    from matplotlib.transforms import offset_copy

    looks: list[dict[str, Any]] = [
        {"marker": "o", "mfc": "none", "mec": INK, "mew": 1.6, "ms": 8},
        {"marker": "o", "color": BLUE, "ms": 9},
        {"marker": "X", "color": VERMILION, "ms": 9},
    ]
    names = ["before", "corrected: predicted", "corrected: not predicted"]
    handles = [Line2D([], [], **{"ls": "none", **look}) for look in looks]
    if not np.isnan(thresholds).all():
        handles.append(Line2D([], [], color=INK, lw=1, ls=(0, (4, 3))))
        names.append("threshold")
    # Below the labels of the axis, at any height of the figure.
    figure: Any = ax.figure
    below = offset_copy(ax.transAxes, fig=figure, y=-36, units="points")
    add_legend(
        ax, handles, names, loc="upper left", bbox_to_anchor=(-0.1, 0), bbox_transform=below,
        borderaxespad=0, ncols=2, columnspacing=1.0, handletextpad=0.4,
    )  # fmt: skip
    return ax


def explained_confusion(problem: ProblemExplanation, *, ax: "Axes | None" = None) -> "Axes":
    """Plot the local confusion matrix of a problem, as shares of its mass.

    Rows are decisions and columns true classes: the correction uses P(truth given decision).

    Parameters
    ----------
    problem : ProblemExplanation
        One of an explanation's problems.
    ax : matplotlib Axes, default=None
        Axes to draw into; a new figure if None.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.explanation import explain_problem
    >>> from pairmend.plots import explained_confusion
    >>> sea = explain_problem(
    ...     (0, None), ("sea", "not sea"), before=0.4, p_decide=0.25,
    ...     weights=np.array([1.0, 0.5, 0.5]), decisions=np.array([0.0, 0.0, 1.0]),
    ...     truth=np.array([[1, 0], [0, 1], [1, 0]], dtype=bool))
    >>> explained_confusion(sea).get_xlabel()
    'truth'
    """
    ax = axes_or_new(ax, width=3.4, height=2.6)
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    shares = np.array(problem.shares).T
    colours = ListedColormap(colormaps[CONFUSION_COLOURS](np.linspace(0.05, DARKEST, 256)))
    image = ax.imshow(shares, cmap=colours, vmin=0, vmax=1, interpolation="none", aspect="auto")
    for (decision, truth), share in np.ndenumerate(shares):
        ax.text(
            truth, decision, f"{100 * share:.0f} %", ha="center", va="center", fontsize=10,
            color=readable_on(image.to_rgba(share)),
        )  # fmt: skip
    first, second = names = [short(name, NARROW) for name in problem.names]
    shares_true = [_share_true(problem, decision, first) for decision in (0, 1)]
    ax.set_yticks(
        [0, 1], [f"decided {n},\n{share}" for n, share in zip(names, shares_true, strict=True)]
    )
    crowded = len(first) + len(second) > NARROW
    ax.set_xticks([0, 1], [first, "\n" * crowded + second])
    for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        text.set(fontsize=9, parse_math=False)
    ax.set_xlabel("truth", fontsize=9)
    make_plain(ax)
    ax.tick_params(length=0)
    ax.spines[["top", "right"]].set_visible(True)
    ax.spines[:].set_color(FAINT)
    ax.set_title(
        # A line for each part: the room beside the matrix belongs to the next plot.
        f"{first} or {second}\n{first} from {problem.before:.2f} to {problem.after:.2f}"
        + ("\nthe vote changed" if problem.changed else ""),
        loc="left", fontsize=10, color=INK, parse_math=False,
    )  # fmt: skip
    return ax


def _row_name(explanation: Explanation) -> str:
    """Return the number of a row, and its name if it has one."""
    row, index = explanation.row, explanation.index
    return str(row) if index in (None, row) else f"{row} ({short(str(index))})"


def explained_neighbours(
    problem: ProblemExplanation,
    *,
    names: Mapping[int, str] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Plot the neighbours of largest weight in a problem's confusion matrix.

    Parameters
    ----------
    problem : ProblemExplanation
        One of an explanation's problems.
    names : mapping of int to str, default=None
        Names of training rows by their numbers; the others are shown by number.
    ax : matplotlib Axes, default=None
        Axes to draw into; a new figure if None.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.explanation import explain_problem
    >>> from pairmend.plots import explained_neighbours
    >>> sea = explain_problem(
    ...     (0, None), ("sea", "not sea"), before=0.4, p_decide=0.25,
    ...     weights=np.array([1.0, 0.5, 0.5]), decisions=np.array([0.0, 0.0, 1.0]),
    ...     truth=np.array([[1, 0], [0, 1], [1, 0]], dtype=bool))
    >>> explained_neighbours(sea).get_title(loc="left")
    'rows of largest weight'
    """
    neighbours = problem.neighbours
    ax = axes_or_new(ax, width=4.4, height=1.2 + 0.3 * max(2, len(neighbours)))
    shares = [100 * neighbour.share for neighbour in neighbours]
    colours = [
        {(True, False): BLUE, (False, True): VERMILION}.get(neighbour.truth, BOTH)
        for neighbour in neighbours
    ]
    ax.barh(range(len(shares)), shares, height=0.68, color=colours)
    for place, neighbour in enumerate(neighbours):
        text = _neighbour_text(neighbour, problem.names)
        write(ax, shares[place], place, text, offset=(4, 0), ha="left", va="center")
    known = names or {}
    rows = [short(known.get(n.row, f"row {n.row}"), NARROW) for n in neighbours]
    ax.set_yticks(range(len(shares)), rows, fontsize=9, parse_math=False)
    ax.set_ylim(max(2, len(shares)) - 0.4, -0.6)
    from matplotlib.ticker import MaxNLocator

    longest = max([*shares, 1e-9])
    ax.set_xlim(0, 2.8 * longest)  # room for texts beside the bars
    # No ticks beside the bars: there a share may exceed 100 %, and the last number be cut off.
    ticks = MaxNLocator(4).tick_values(0, longest)
    ax.set_xticks([tick for tick in ticks if tick <= 1.25 * longest])
    ax.set_xlabel(f"% of the weight; sum {sum(shares):.0f} %", fontsize=9)
    make_plain(ax)
    ax.tick_params(axis="y", length=0)
    correction = f"{short(problem.correction)}\n" if problem.correction else ""
    ax.set_title(
        correction + ("rows of largest weight" if neighbours else "no row has a weight"),
        loc="left", fontsize=10, color=INK, parse_math=False,
    )  # fmt: skip
    return ax


def _share_true(problem: ProblemExplanation, decision: int, first: str) -> str:
    """Return the share of a decision's mass for which the first label is true."""
    if not sum(row[decision] for row in problem.masses):
        return "no such row"
    return f"{100 * problem.p_true_given_decision[decision]:.0f} % are {first}"


def _neighbour_text(neighbour: Neighbour, names: tuple[str, str]) -> str:
    """Return the true class of a neighbour, and the decision with its probability."""
    first, second = (short(name, NARROW) for name in names)
    truth = {(True, False): first, (False, True): second}.get(neighbour.truth, "both")
    if neighbour.p_decide == 0.5:
        return f"{truth}, decision tie"
    is_first = neighbour.p_decide > 0.5
    certainty = f"{100 * max(neighbour.p_decide, 1 - neighbour.p_decide):.0f} %"
    if neighbour.truth == (is_first, not is_first):
        return f"{truth}, correct ({certainty})"
    if truth != "both" and len(first) + len(second) > NARROW:  # no room for two names
        return f"{truth}, wrong ({certainty})"
    return f"{truth}, decided {first if is_first else second} ({certainty})"

"""Plots of explained predictions, and of where the correction changes probabilities."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairmend._utils.training import check_indicators
from pairmend._utils.typing import FloatArray, MatrixLike
from pairmend.explanation import Explanation, Neighbour, ProblemExplanation
from pairmend.explanation.features import read_table
from pairmend.plots import drawing
from pairmend.plots.drawing import BLUE, INK, PALETTE, VERMILION, short, styled

BOTH = PALETTE[2]
NARROW = 14
"""Maximum number of letters of names that stand side by side."""
DARKEST = 0.75
"""Upper end of the colour map of cells: on darker cells numbers are hard to read."""
EDGE = "#8C8C8C"
"""Colour of the edges of points: the middle of the colour maps is nearly white."""
SIZE = 24.0  # of points


@styled
def plot_explanation(
    explanation: Explanation, *, n_problems: int = 2, n_labels: int = 12, figure: Any = None
) -> Any:
    """Plot an explanation: scores, and the confusion matrices of the most changed problems.

    Rows of a matrix are decisions and columns true classes, in shares of its mass: the correction
    uses P(truth given decision). Beside it are the rows of largest weight.

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
    problems = explanation.most_changed(n_problems)
    shown = min(n_labels, len(explanation.labels))
    if figure is None:
        height = max(2.6 * len(problems), 1.8 + 0.34 * shown, 3.0)
        figure = drawing.new_figure(13.0 if problems else 6.0, height)
    ratios = (1.5, 0.85, 1.25)[: 3 if problems else 1]
    grid = figure.add_gridspec(max(1, len(problems)), len(ratios), width_ratios=ratios)
    _draw_scores(figure.add_subplot(grid[:, 0]), explanation, n_labels)
    names = {
        each.row: str(each.index)
        for each in explanation.training_rows
        if each.index not in (None, each.row)
    }
    for number, problem in enumerate(problems):
        _draw_confusion(figure.add_subplot(grid[number, 1]), problem)
        _draw_neighbours(figure.add_subplot(grid[number, 2]), problem, names)
    return figure


def _draw_scores(ax: Any, explanation: Explanation, n_labels: int) -> None:
    """Draw the labels' scores before and after the correction."""
    shown = sorted(explanation.most_changed_labels(n_labels), key=lambda label: -label.after)
    for place, label in enumerate(shown):
        colour = BLUE if label.accepted else VERMILION
        ax.plot([label.before, label.after], [place, place], color=colour, lw=2, zorder=2)
        ax.plot(label.before, place, "o", ms=8, mfc="none", mec=colour, mew=1.6, zorder=2)
        ax.plot(label.after, place, "o" if label.accepted else "X", ms=9, color=colour, zorder=3)
        if label.threshold is not None:
            ends = [place - 0.5, place + 0.5]
            ax.plot([label.threshold] * 2, ends, color=INK, lw=1, ls=(0, (4, 3)))
    ax.grid(axis="x")
    drawing.name_rows(ax, [label.name for label in shown])
    for tick, label in zip(ax.get_yticklabels(), shown, strict=True):
        tick.set_fontweight("bold" if label.changed else "normal")
    ax.set_xlim(-0.03, 1.03)
    n_hidden = len(explanation.labels) - len(shown)
    ax.set_xlabel("score" + (f" ({n_hidden:,} more labels not shown)" if n_hidden else ""))
    row, index = explanation.row, explanation.index
    name = str(row) if index in (None, row) else f"{row} ({short(str(index))})"
    n_changed = sum(label.changed for label in explanation.labels)
    ax.set_title(f"Row {name}\n{n_changed} of {len(explanation.labels)} predictions changed")
    from matplotlib.lines import Line2D

    line: dict[str, Any] = {"ls": "none", "ms": 9}
    looks = {
        "before": Line2D([], [], marker="o", mfc="none", mec=INK, **line),
        "corrected: predicted": Line2D([], [], marker="o", color=BLUE, **line),
        "corrected: not predicted": Line2D([], [], marker="X", color=VERMILION, **line),
        "threshold": Line2D([], [], color=INK, lw=1, ls=(0, (4, 3))),
    }
    below = {"loc": "outside lower left", "ncols": 4}
    drawing.add_legend(ax.figure, list(looks.values()), list(looks), **below)


def _draw_confusion(ax: Any, problem: ProblemExplanation) -> None:
    """Draw the local confusion matrix of a problem, as shares of its mass."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    shares = np.array(problem.shares).T
    colours = ListedColormap(colormaps["Blues"](np.linspace(0.05, DARKEST, 256)))
    image = ax.imshow(shares, cmap=colours, vmin=0, vmax=1, interpolation="none", aspect="auto")
    for (decision, truth), share in np.ndenumerate(shares):
        colour = drawing.readable_on(image.to_rgba(share))
        ax.text(truth, decision, f"{100 * share:.0f} %", ha="center", va="center", color=colour)
    first, second = names = [short(name, NARROW) for name in problem.names]
    decided = []
    for decision, name in enumerate(names):
        share_true = "no such row"
        if sum(row[decision] for row in problem.masses):
            share_true = f"{100 * problem.p_true_given_decision[decision]:.0f} % are {first}"
        decided.append(f"decided {name},\n{share_true}")
    ax.set_yticks([0, 1], decided)
    crowded = len(first) + len(second) > NARROW
    ax.set_xticks([0, 1], [first, "\n" * crowded + second])
    ax.tick_params(length=0)
    ax.set_xlabel("truth")
    # A line for each part: the room beside the matrix belongs to the next plot.
    title = f"{first} or {second}\n{first} from {problem.before:.2f} to {problem.after:.2f}"
    ax.set_title(title + ("\nthe vote changed" if problem.changed else ""))


def _draw_neighbours(ax: Any, problem: ProblemExplanation, names: Mapping[int, str]) -> None:
    """Draw the neighbours of largest weight in a problem's confusion matrix."""
    from matplotlib.ticker import MaxNLocator

    neighbours = problem.neighbours
    shares = [100 * neighbour.share for neighbour in neighbours]
    of_first, of_second = (True, False), (False, True)
    colours = [{of_first: BLUE, of_second: VERMILION}.get(n.truth, BOTH) for n in neighbours]
    bars = ax.barh(range(len(shares)), shares, height=0.68, color=colours)
    texts = [_neighbour_text(neighbour, problem.names) for neighbour in neighbours]
    ax.bar_label(bars, texts, padding=4, fontsize=8)
    drawing.name_rows(ax, [short(names.get(n.row, f"row {n.row}"), NARROW) for n in neighbours])
    ax.set_ylim(max(2, len(shares)) - 0.4, -0.6)
    longest = max([*shares, 1e-9])
    ax.set_xlim(0, 2.8 * longest)  # room for texts beside the bars
    # No ticks beside the bars: there a share may exceed 100 %, and the last number be cut off.
    ticks = MaxNLocator(4).tick_values(0, longest)
    ax.set_xticks([tick for tick in ticks if tick <= 1.25 * longest])
    ax.set_xlabel(f"% of the weight; sum {sum(shares):.0f} %")
    title = "rows of largest weight" if neighbours else "no row has a weight"
    ax.set_title(f"{short(problem.correction)}\n{title}" if problem.correction else title)


def _neighbour_text(neighbour: Neighbour, names: tuple[str, str]) -> str:
    """Return the true class of a neighbour, and whether the decision is this class."""
    first, second = (short(name, NARROW) for name in names)
    truth = {(True, False): first, (False, True): second}.get(neighbour.truth, "both")
    if neighbour.p_decide == 0.5:
        return f"{truth}, decision tie"
    is_first = neighbour.p_decide > 0.5
    verdict = "correct" if neighbour.truth == (is_first, not is_first) else "wrong"
    return f"{truth}, {verdict} ({100 * max(neighbour.p_decide, 1 - neighbour.p_decide):.0f} %)"


@styled
def plot_correction(
    classifier: Any,
    X: MatrixLike,
    label: int | str,
    *,
    Y: ArrayLike | None = None,
    features: Sequence[int | str] | None = None,
    figure: Any = None,
) -> Any:
    """Plot the probability of a label before and after the correction, by position of the rows.

    Each row is a point in the plane of two features, or in that of the first two principal
    components. Three plots show the probability of the base classifier, the corrected one, and
    the change.

    Parameters
    ----------
    classifier : MendedClassifier or CorrectedPairwiseClassifier
        A fitted classifier with the method ``explain``.
    X : array-like of shape (n_samples, n_features)
        Rows to draw; some hundred show the regions. Rows of training have smaller errors than
        new ones, so take others.
    label : int or str
        Number of the label, or its name in ``classes_``.
    Y : array-like of shape (n_samples, n_labels), default=None
        True label indicators: rows with the label are then circles, others crosses.
    features : sequence of two int or str, default=None
        Two numeric features, by number or name. None means the only two numeric ones, or with
        more the first two principal components of them, each divided by its standard deviation.
    figure : matplotlib Figure or SubFigure, default=None
        Figure to draw into; a new figure if None.

    Returns
    -------
    Figure
        Its first three Axes show the probabilities before and after, and the change.

    Examples
    --------
    >>> from pairmend import MendedClassifier
    >>> from pairmend.plots import plot_correction
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_features=4, random_state=0)
    >>> clf = MendedClassifier(random_state=0).fit(X[:60], Y[:60])
    >>> figure = plot_correction(clf, X[60:], 2, Y=Y[60:], features=[0, 3])
    >>> [ax.get_title(loc="left") for ax in figure.axes[:3]]
    ['before the correction', 'after the correction', 'change']
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.lines import Line2D

    labels = [str(name) for name in classifier.classes_.tolist()]
    number = _number_of(label, labels, "label")
    positions, names = _plane(X, features, getattr(classifier, "feature_names_in_", ()))
    explained = [each.labels[number] for each in classifier.explain(X, n_neighbors=0, n_problems=0)]
    before = np.array([each.before for each in explained])
    after = np.array([each.after for each in explained])
    changed = np.array([each.changed for each in explained], dtype=bool)
    is_true = np.ones(len(before), dtype=bool)
    if Y is not None:
        truth = check_indicators(Y)
        if truth.shape != (len(before), len(labels)):
            expected = f"expected {len(before)} rows and {len(labels)} labels"
            raise ValueError(f"Y has the shape {truth.shape}; {expected}.")
        is_true = truth[:, number]
    if figure is None:
        figure = drawing.new_figure(11.4, 4.6)
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    limit = max(float(np.abs(after - before).max(initial=0.0)), 0.01)
    changes = LinearSegmentedColormap.from_list("change", [VERMILION, "#EDEDED", BLUE])
    titles = ("before the correction", "after the correction", "change")
    for ax, values, title in zip(axes, (before, after, after - before), titles, strict=True):
        low, high, colours = (-limit, limit, changes) if title == "change" else (0.0, 1.0, "PuOr")
        look = {"cmap": colours, "vmin": low, "vmax": high, "edgecolors": EDGE, "linewidths": 0.5}
        # With true labels, rows without the label are crosses.
        for rows, marker in ((~is_true, "X"), (is_true, "o")):
            place = positions[rows].T
            image = ax.scatter(*place, c=values[rows], s=SIZE, marker=marker, **look)
        bar = figure.colorbar(image, ax=ax, location="bottom", shrink=0.9)
        bar.set_label("change of the probability" if title == "change" else "probability")
        ax.set_title(title)
        ax.set_xlabel(short(names[0]))
    axes[0].set_ylabel(short(names[1]))
    axes[2].scatter(*positions[changed].T, s=2.2 * SIZE, facecolors="none", edgecolors=INK)
    title = f"{changed.sum():,} of {len(before):,} predictions changed"
    figure.suptitle(f"{short(labels[number])}: {title}", x=0.01, ha="left", fontsize=11)
    names = ["prediction changed", "true", "not true"][: 1 if Y is None else 3]
    handles = [
        Line2D([], [], marker=marker, ms=size, ls="none", mfc="none", mec=INK)
        for marker, size, _ in zip("ooX", (9, 6, 6), names, strict=False)
    ]
    drawing.add_legend(figure, handles, names, loc="outside lower right", ncols=3)
    return figure


def _number_of(given: int | str, names: Sequence[str], thing: str) -> int:
    """Return the number of a label or a feature, given by number or name."""
    if isinstance(given, str) and given in names:
        return list(names).index(given)
    if isinstance(given, (str, bool)) or not 0 <= given < len(names):
        known = f"a number from 0 to {len(names) - 1}, or one of {', '.join(names[:20])}"
        raise ValueError(f"{given!r} is no {thing}; expected {known}")
    return int(given)


def _plane(
    X: MatrixLike, features: Sequence[int | str] | None, names: Sequence[str]
) -> tuple[FloatArray, list[str]]:
    """Return the positions of rows in a plane, (n_rows, 2), and the names of its axes."""
    table: Any = read_table(X.toarray() if hasattr(X, "toarray") else X, names)
    numeric = [place for place, numbers in enumerate(table.numbers) if numbers is not None]
    chosen = numeric
    if features is not None:
        chosen = [_number_of(each, table.names, "feature") for each in features]
    if len(chosen) < 2 or not set(chosen) <= set(numeric) or (features and len(chosen) > 2):
        given = ", ".join(table.names[place] for place in chosen)
        raise ValueError(f"expected two numeric features, or None with two or more; got {given}")
    matrix = np.column_stack([table.numbers[place] for place in chosen]).astype(np.float64)
    matrix = np.where(np.isnan(matrix), np.nanmean(matrix, axis=0), matrix)
    if len(chosen) == 2:
        return matrix, [table.names[place] for place in chosen]
    centred = matrix - matrix.mean(axis=0)
    deviations = centred.std(axis=0)
    left, singular, _ = np.linalg.svd(centred / np.where(deviations, deviations, 1), False)
    shares = 100 * singular**2 / (singular**2).sum()
    positions = left[:, :2] * singular[:2]
    return positions, [f"principal component {k + 1} ({shares[k]:.0f} %)" for k in (0, 1)]

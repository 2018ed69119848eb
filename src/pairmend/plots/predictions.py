"""Plots of explained predictions, and of where the correction changes probabilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairmend._utils.training import check_indicators
from pairmend._utils.typing import FloatArray, MatrixLike
from pairmend.explanation import Explanation, LabelExplanation
from pairmend.explanation.tables import names_of, values_of
from pairmend.explanation.view import feature, row_name
from pairmend.plots import drawing
from pairmend.plots.drawing import BLUE, FAINT, INK, VERMILION, short, styled

EDGE = "#8C8C8C"
"""Colour of the edges of points: the middle of the colour maps is nearly white."""
SIZE = 24.0  # of points


@styled
def plot_explanation(
    explanation: Explanation, *, n_labels: int = 3, n_bars: int = 8, figure: Any = None
) -> Any:
    """Plot an explanation: contributions to the log-odds, and the terms of the probability.

    Parameters
    ----------
    explanation : Explanation
        An element of the list that ``explain`` returns.
    n_labels : int, default=3
        Number of labels to draw, the first ones.
    n_bars : int, default=8
        Number of contributions to draw for each; the others are summed. Without contributions,
        as of pairs of labels, they are the changes by the correction.
    figure : matplotlib Figure or SubFigure, default=None
        Figure to draw into; a new figure if None.

    Returns
    -------
    Figure
        With two Axes for each label.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend import CorrectedPairwiseClassifier
    >>> X, Y = np.random.RandomState(0).rand(60, 2), np.eye(3, dtype=int)[[0, 1, 2] * 20]
    >>> clf = CorrectedPairwiseClassifier(random_state=0).fit(X, Y)
    >>> from pairmend.plots import plot_explanation
    >>> figure = plot_explanation(clf.explain(X[:1], labels=[0])[0])
    >>> len(figure.axes)
    2
    """
    labels = explanation.labels[:n_labels]
    if figure is None:
        figure = drawing.new_figure(11.0, 3.4 * len(labels))
    for (left, right), label in zip(
        figure.subplots(len(labels), 2, squeeze=False, width_ratios=(1.5, 1)), labels, strict=True
    ):
        _draw_amounts(left, label, n_bars)
        _draw_terms(right, label)
    left = len(explanation.labels) - len(labels)
    more = f" ({left:,} more labels not shown)" if left else ""
    figure.suptitle(f"Row {row_name(explanation)}{more}", x=0.01, ha="left", fontsize=11)
    return figure


def _draw_amounts(ax: Any, label: LabelExplanation, n_bars: int) -> None:
    """Draw the contributions to a label, or the changes of its pairs."""
    bars = [(feature(each.name, each.value), each.amount) for each in label.contributions]
    if not bars:
        bars = [(change.name, change.amount) for change in label.changes]
        bars.sort(key=lambda each: -abs(each[1]))
    if left := bars[n_bars:]:
        bars = [*bars[:n_bars], ("others", sum(amount for _, amount in left))]
    amounts = [amount for _, amount in bars]
    colours = [BLUE if amount > 0 else VERMILION for amount in amounts]
    drawn = ax.barh(range(len(bars)), amounts, height=0.68, color=colours)
    ax.bar_label(drawn, [f"{amount:+.2f}" for amount in amounts], padding=4, fontsize=8)
    drawing.name_rows(ax, [name for name, _ in bars])
    ax.axvline(0, color=INK, lw=1)
    ax.margins(x=0.2)
    ax.set_xlabel("log-odds" if label.contributions else "change of the score")
    ax.set_title(f"{short(label.name)}: what the base classifier used"
                 if label.contributions else f"{short(label.name)}: changes of votes")  # fmt: skip


def _draw_terms(ax: Any, label: LabelExplanation) -> None:
    """Draw the base classifier's probability, its changes, and their sum."""
    parts = dict.fromkeys(change.part for change in label.changes)
    steps = [("base classifier", 0.0, label.base)]
    for part in parts:
        end = steps[-1][1] + steps[-1][2]
        steps.append((part, end, label.amount(part)))
    steps.append(("probability", 0.0, label.proba))
    for place, (_, start, amount) in enumerate(steps):
        is_sum = place in (0, len(steps) - 1)
        colour = FAINT if is_sum else BLUE if amount > 0 else VERMILION
        ax.barh(place, amount, left=start, height=0.68, color=colour)
        end = max(start, start + amount)
        text = f"{amount:.2f}" if is_sum else f"{amount:+.2f}"
        ax.annotate(text, (end, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set_xlabel("probability")
    if label.threshold is not None:
        ax.axvline(label.threshold, color=INK, lw=1, ls=(0, (4, 3)))
        ax.set_xlabel("probability; the line is the threshold")
    drawing.name_rows(ax, [name for name, _, _ in steps])
    ax.set_xlim(0, 1.12)
    state = "predicted" if label.predicted else "not predicted"
    ax.set_title(state + (", changed by the correction" if label.changed else ""))


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
    found = classifier.explain(X, labels=[number], n_neighbors=0, n_contributions=0)
    explained = [each.labels[0] for each in found]
    before = np.array([each.base for each in explained])
    after = np.array([each.proba for each in explained])
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
        ax.set(title=title, xlabel=short(names[0]))
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
    dense = X.toarray() if hasattr(X, "toarray") else X
    rows, known = values_of(dense, names), names_of(dense, names)
    columns = {name: [row[name] for row in rows] for name in known}
    texts = {name for name in known if any(isinstance(each, str) for each in columns[name])}
    columns = {name: values for name, values in columns.items() if name not in texts}
    chosen = list(columns)
    if features is not None:
        chosen = [known[_number_of(each, known, "feature")] for each in features]
    if len(chosen) < 2 or not {*chosen} <= {*columns} or (features and len(chosen) > 2):
        given = ", ".join(chosen)
        raise ValueError(f"expected two numeric features, or None with two or more; got {given}")
    matrix = np.array([columns[name] for name in chosen], dtype=np.float64).T
    matrix = np.where(np.isnan(matrix), np.nanmean(matrix, axis=0), matrix)
    if len(chosen) == 2:
        return matrix, chosen
    centred = matrix - matrix.mean(axis=0)
    deviations = centred.std(axis=0)
    left, singular, _ = np.linalg.svd(centred / np.where(deviations, deviations, 1), False)
    shares = 100 * singular**2 / (singular**2).sum()
    positions = left[:, :2] * singular[:2]
    return positions, [f"principal component {k + 1} ({shares[k]:.0f} %)" for k in (0, 1)]

"""plot_correction: where in feature space the correction changes the probability of a label."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pairmend._utils.typing import FloatArray, MatrixLike
from pairmend.explanation.features import read_table
from pairmend.plots.drawing import (
    BLUE,
    INK,
    VERMILION,
    add_legend,
    import_matplotlib,
    make_plain,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROBABILITY_COLOURS = "PuOr"
EDGE = "#8C8C8C"
"""Colour of the edges of points: the middle of the colour maps is nearly white."""
MANY_ROWS = 300
"""Number of rows above which points are smaller."""
MOST_CATEGORIES = 20
"""Largest number of values of a feature of texts that is used for principal components."""


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
        Two numeric features, by number or name. None means the only two features, or with more
        the first two principal components of the features, each divided by its standard
        deviation.
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
    import_matplotlib()
    number = _label_number(classifier, label)
    positions, names = _plane(X, features, getattr(classifier, "feature_names_in_", ()))
    explained = [each.labels[number] for each in classifier.explain(X, n_neighbors=0, n_problems=0)]
    before = np.array([each.before for each in explained])
    after = np.array([each.after for each in explained])
    changed = np.array([each.changed for each in explained], dtype=bool)
    is_true = None
    if Y is not None:
        truth = np.asarray(Y)
        if truth.ndim != 2 or len(truth) != len(before) or truth.shape[1] <= number:
            raise ValueError(
                f"Y has the shape {truth.shape}; expected label indicators of the "
                f"{len(before)} rows of X."
            )
        is_true = truth[:, number] == 1
    if figure is None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(11.4, 4.4), layout="constrained")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    limit = max(float(np.abs(after - before).max(initial=0.0)), 0.01)
    values = (before, after, after - before)
    titles = ("before the correction", "after the correction", "change")
    for ax, value, title in zip(axes, values, titles, strict=True):
        is_change = title == "change"
        low, high = (-limit, limit) if is_change else (0.0, 1.0)
        colours = _change_colours() if is_change else PROBABILITY_COLOURS
        image = _draw(ax, positions, value, is_true, cmap=colours, vmin=low, vmax=high)
        bar = figure.colorbar(image, ax=ax, location="bottom", shrink=0.9)
        bar.set_label("change of the probability" if is_change else "probability", fontsize=9)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8)
        ax.set_title(title, loc="left", fontsize=10, color=INK)
        ax.set_xlabel(short(names[0]), fontsize=9, parse_math=False)
        make_plain(ax)
        ax.tick_params(labelsize=8)
    axes[0].set_ylabel(short(names[1]), fontsize=9, parse_math=False)
    axes[2].scatter(
        *positions[changed].T, s=_size(len(before)) * 2.2, facecolors="none", edgecolors=INK,
        linewidths=1.0,
    )  # fmt: skip
    name = short(str(classifier.classes_[number]))
    _add_markers(axes[0], axes[2], name, is_true is not None)
    figure.suptitle(
        f"{name}: {np.count_nonzero(changed):,} of {len(before):,} predictions changed",
        x=0.01, ha="left", fontsize=11, color=INK, parse_math=False,
    )  # fmt: skip
    return figure


def _label_number(classifier: Any, label: int | str) -> int:
    names = [str(name) for name in classifier.classes_.tolist()]
    if isinstance(label, str):
        if label not in names:
            raise ValueError(f"label={label!r} is no label; choose one of {', '.join(names[:20])}")
        return names.index(label)
    if isinstance(label, bool) or not 0 <= label < len(names):
        raise ValueError(f"label={label!r} is no label; expected 0 to {len(names) - 1}, or a name")
    return int(label)


def _plane(
    X: MatrixLike, features: Sequence[int | str] | None, names: Sequence[str]
) -> tuple[FloatArray, tuple[str, str]]:
    """Return the positions of rows in a plane, (n_rows, 2), and the names of its axes."""
    table: Any = read_table(X.toarray() if hasattr(X, "toarray") else X, names)
    if features is None and len(table.names) == 2:
        features = [0, 1]
    if features is not None:
        if isinstance(features, str) or len(features) != 2:
            raise ValueError(f"features={features!r}; expected two features, or None")
        chosen = [_feature_number(table.names, each) for each in features]
        columns = [_numbers(table, place) for place in chosen]
        return np.column_stack(columns), (table.names[chosen[0]], table.names[chosen[1]])
    columns = []
    for place in range(len(table.names)):
        if table.numbers[place] is not None:
            columns.append(_numbers(table, place)[:, np.newaxis])
            continue
        values = sorted({text for text in table.texts[place] if text is not None})
        if 1 < len(values) <= MOST_CATEGORIES:
            columns.append(table.texts[place][:, np.newaxis] == np.array(values, dtype=object))
    matrix = np.hstack(columns).astype(np.float64) if columns else np.zeros((table.n_rows, 0))
    deviations = matrix.std(axis=0)
    matrix = (matrix - matrix.mean(axis=0))[:, deviations > 0] / deviations[deviations > 0]
    if min(matrix.shape) < 2:
        raise ValueError(
            "X has fewer than two features that vary over its rows; expected two or more"
        )
    scores, singular, _ = np.linalg.svd(matrix, full_matrices=False)
    shares = singular**2 / (singular**2).sum()
    first, second = (f"principal component {k + 1} ({100 * shares[k]:.0f} %)" for k in (0, 1))
    return scores[:, :2] * singular[:2], (first, second)


def _feature_number(names: Sequence[str], feature: int | str) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"{feature!r} is no feature; choose two of {', '.join(names[:20])}")
        return list(names).index(feature)
    if not 0 <= feature < len(names):
        raise ValueError(f"{feature!r} is no feature; expected 0 to {len(names) - 1}, or a name")
    return int(feature)


def _numbers(table: Any, place: int) -> FloatArray:
    """Return a column of numbers, missing ones as their mean."""
    numbers = table.numbers[place]
    if numbers is None:
        raise ValueError(
            f"the feature {table.names[place]!r} is not numeric; choose numeric features, or None "
            "for principal components"
        )
    missing = np.isnan(numbers)
    if missing.any():
        numbers = np.where(missing, numbers[~missing].mean() if not missing.all() else 0, numbers)
    return np.asarray(numbers)


def _draw(
    ax: "Axes", positions: FloatArray, values: FloatArray, is_true: Any, **colours: Any
) -> Any:
    """Draw rows as points; with true labels, those without the label as crosses."""
    size = _size(len(values))
    has_label = np.ones(len(values), dtype=bool) if is_true is None else is_true
    x, y = positions.T
    image = ax.scatter(
        x[has_label], y[has_label], c=values[has_label], s=size, marker="o", linewidths=0.5,
        edgecolors=EDGE, **colours,
    )  # fmt: skip
    ax.scatter(
        x[~has_label], y[~has_label], c=values[~has_label], s=size, marker="X", linewidths=0.5,
        edgecolors=EDGE, **colours,
    )  # fmt: skip
    return image


def _size(n_rows: int) -> float:
    return 30.0 if n_rows <= MANY_ROWS else 18.0


def _change_colours() -> Any:
    """Return the colours of changes: blue upwards, vermilion downwards."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("change", [VERMILION, "#EDEDED", BLUE])


def _add_markers(left: "Axes", right: "Axes", name: str, has_truth: bool) -> None:
    """Add legends of markers above the plots, which points may fill."""
    from matplotlib.lines import Line2D

    place: dict[str, Any] = {
        "loc": "lower right", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.1,
        "handletextpad": 0.1, "columnspacing": 0.8,
    }  # fmt: skip
    dot: dict[str, Any] = {"ls": "none", "mfc": "none", "mec": INK}
    if has_truth:
        handles = [Line2D([], [], marker=marker, ms=6, **dot) for marker in ("o", "X")]
        add_legend(left, handles, ["true", "not true"], ncols=2, **place)
    ring = Line2D([], [], marker="o", ms=9, **dot)
    add_legend(right, [ring], ["prediction changed"], **place)

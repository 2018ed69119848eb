"""Plots that compare algorithms: losses of folds, published losses."""

from typing import TYPE_CHECKING, Any

import numpy as np

from pairmend._utils.text import one_line
from pairmend.plots import drawing
from pairmend.plots.drawing import FAINT, INK, style_of, styled

if TYPE_CHECKING:
    import pandas as pd

LOG_SPAN = 30  # numbers that span a larger factor are drawn on a logarithmic scale
MOST_NAMED = 12


@styled
def fold_spread(losses: "pd.DataFrame", *, criterion: str = "loss", ax: Any = None) -> Any:
    """Plot the losses of all folds: a row for each set, in it a line for each algorithm.

    The large mark is the mean of the folds, the small ticks are the folds. If all losses are
    positive and the means span more than a factor 30, the scale is logarithmic.

    Parameters
    ----------
    losses : DataFrame
        A row for each loss, with the columns ``set``, ``algorithm`` and ``value``, such as the
        results of a study by one metric. Losses that are not finite are left out.
    criterion : str, default="loss"
        Name of the losses, written below the scale.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None. Its height grows with the sets and algorithms.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from pairmend.plots import fold_spread
    >>> losses = pd.DataFrame(
    ...     {"set": "yeast", "algorithm": ["LPW", "LPW", "FCM"], "value": [0.24, 0.26, 0.2]})
    >>> ax = fold_spread(losses, criterion="Hamming loss")
    >>> [text.get_text() for text in ax.get_yticklabels()], ax.get_xlabel()
    (['yeast'], 'Hamming loss')
    """
    drawn = losses[np.isfinite(losses["value"].astype(float))]
    if drawn.empty:
        raise ValueError("losses must have at least one finite value; got none")
    sets, algorithms = (list(losses[key].unique()) for key in ("set", "algorithm"))
    row = max(0.3, 0.1 + 0.08 * len(algorithms))
    ax = drawing.axes_or_new(ax, 8.0, 0.75 + max(row * len(sets), 0.2 * len(algorithms)))
    handles: list[Any] = []
    for number, algorithm in enumerate(algorithms):
        style = {**style_of(number, len(algorithms)), "ls": "none", "ms": 5.5, "zorder": 3}
        fine = {"color": style["color"], "marker": "|", "ms": 4.5, "mew": 0.7, "lw": 0.8}
        offset = 0.86 * ((number + 0.5) / len(algorithms) - 0.5)
        means = []
        for name, folds in drawn[drawn["algorithm"] == algorithm].groupby("set")["value"]:
            place = sets.index(name) + offset
            ax.plot(np.sort(folds), np.full(len(folds), place), **fine)
            means.append((folds.mean(), place))
        handles += ax.plot(*np.array(means).reshape(-1, 2).T, **style)
    for edge in np.arange(1, len(sets)) - 0.5:
        ax.axhline(edge, color=FAINT, lw=0.8)
    ax.set_xlabel(one_line(criterion))
    ax.grid(axis="x")
    every_mean = drawn.groupby(["set", "algorithm"])["value"].mean()
    if drawn["value"].min() > 0 and every_mean.max() > LOG_SPAN * every_mean.min():
        ax.set_xscale("log")
        ax.set_xlabel(f"{one_line(criterion)}, logarithmic scale")
        # Plain numbers: powers of ten would be drawn as mathematics.
        ax.xaxis.set_major_formatter("{x:g}")
    drawing.name_rows(ax, sets)
    drawing.add_legend(ax, handles, algorithms)
    return ax


@styled
def published_and_measured(losses: "pd.DataFrame", *, far: float = 0.1, ax: Any = None) -> Any:
    """Plot published losses against measured ones; on the diagonal both are equal.

    Parameters
    ----------
    losses : DataFrame
        A row for each loss, with the columns ``set``, ``algorithm``, ``published`` and
        ``measured``.
    far : float, default=0.1
        Sets with losses that differ by more are named, at most 12.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from pairmend.plots import published_and_measured
    >>> losses = pd.DataFrame({
    ...     "set": ["yeast", "birds"], "algorithm": "LPW", "published": [0.25, 0.9],
    ...     "measured": [0.26, 0.55]})
    >>> [text.get_text() for text in published_and_measured(losses).texts]
    ['birds']
    """
    points = losses[["published", "measured"]].to_numpy(dtype=float)
    if not len(points) or not np.isfinite(points).all():
        raise ValueError(f"expected at least one loss, and finite ones; got\n{losses}")
    ax = drawing.axes_or_new(ax, 7.0, 5.0)
    algorithms = list(losses["algorithm"].unique())
    handles: list[Any] = []
    for number, algorithm in enumerate(algorithms):
        style = {**style_of(number, len(algorithms)), "ls": "none"}
        handles += ax.plot(*points[losses["algorithm"] == algorithm].T, **style)
    limits = points.min() - 0.03, points.max() + 0.03
    ax.plot(limits, limits, color=INK, lw=0.8, ls="--", zorder=1)
    ax.set(xlim=limits, ylim=limits, xlabel="published loss", ylabel="measured loss")
    ax.grid()
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
    drawing.add_legend(ax, handles, algorithms, ncols=min(4, len(algorithms)), **place)
    # The names are a column on the right, in the order of the measured losses.
    distances = losses["measured"].sub(losses["published"]).abs()
    far_ones = losses.assign(distance=distances)[distances > far]
    named = far_ones.sort_values("distance", ascending=False, kind="stable").drop_duplicates("set")
    by_height = named[:MOST_NAMED].sort_values("measured", ascending=False)
    for number, row in enumerate(by_height.itertuples()):
        line = {"arrowstyle": "-", "color": INK, "lw": 0.4, "shrinkA": 1, "shrinkB": 2}
        ax.annotate(
            drawing.short(row.set), (row.published, row.measured), va="center", arrowprops=line,
            xytext=(1.03, 0.98 - 0.96 * (number + 0.5) / MOST_NAMED), textcoords="axes fraction",
        )  # fmt: skip
    return ax

"""Plots of average ranks with the critical difference of the Nemenyi test."""

from bisect import bisect_left
from collections.abc import Mapping
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np

from pairmend.plots.drawing import INK, add_legend, axes_or_new, new_figure, short, style_of, styled

if TYPE_CHECKING:
    import pandas as pd

MIN_SPOKES = 3
BAR = 4.0  # points, the width of bars of critical differences


@styled
def rank_radar(ranks: "pd.DataFrame", critical_difference: float | None, *, ax: Any = None) -> Any:
    """Plot average ranks by metric: a spoke for each metric, a line for each algorithm.

    Better ranks are further out. The bar beside a spoke is the critical difference: it begins at
    the best algorithm of that metric, so those at its inner end or beyond it differ
    significantly from the best.

    Parameters
    ----------
    ranks : DataFrame
        Average ranks, with a row for each metric, at least three, and a column for each
        algorithm; 1 is best.
    critical_difference : float or None
        Ranks that differ by at least this much are significantly different; None draws no bars.
    ax : matplotlib PolarAxes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from pairmend.plots import rank_radar
    >>> ranks = pd.DataFrame(
    ...     {"LPW": [1.9, 1.8, 1.6], "FCM": [1.1, 1.2, 1.4]},
    ...     index=["Hamming", "zero-one", "micro F1"])
    >>> ax = rank_radar(ranks, critical_difference=0.8)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['LPW', 'FCM', 'critical difference 0.80']
    """
    values = ranks.to_numpy(dtype=float)
    if len(values) < MIN_SPOKES:
        raise ValueError(f"expected the ranks of at least three metrics; got {len(values)}")
    _check(values, critical_difference)
    polar = new_figure(7.0, 5.0).add_subplot(projection="polar") if ax is None else ax
    polar.set_theta_zero_location("N")
    polar.set_theta_direction(-1)
    turns = 2 * np.pi * np.arange(len(values)) / len(values)
    polar.set_xticks(turns, [short(metric) for metric in ranks.index])
    for label, side in zip(polar.get_xticklabels(), np.sin(turns).round(1), strict=True):
        label.set_horizontalalignment("left" if side > 0 else "right" if side else "center")
    first = values.min(axis=1)
    best = max(1.0, floor(2 * first.min()) / 2)
    worst = max(values.max(), (first + (critical_difference or 0)).max(), best + 0.5)
    # The worst rank is not the centre, where lines would hide each other.
    polar.set_ylim(worst + 0.2 * (worst - best), best)
    polar.yaxis.get_major_locator().base.set_params(nbins=5, steps=[1, 2, 5, 10])
    polar.set_rlabel_position(-90 / len(values))
    closed = [*range(len(values)), 0]
    lines = [
        polar.plot(turns[closed], of_one[closed], clip_on=False, **style_of(k, len(values.T)))[0]
        for k, of_one in enumerate(values.T)
    ]
    names = list(ranks.columns)
    if critical_difference is not None:
        for turn, start in zip(turns, first, strict=True):
            ends = [start, start + critical_difference]
            (bar,) = polar.plot([turn + 0.07] * 2, ends, color=INK, lw=BAR, solid_capstyle="butt")
        lines.append(bar)
        names.append(f"critical difference {critical_difference:.2f}")
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.12), "ncols": 2, "handlelength": 3}
    add_legend(polar, lines, names, title="average rank, better outside", **below)
    return polar


@styled
def critical_difference(
    ranks: Mapping[str, float], critical_difference: float, *, ax: Any = None
) -> Any:
    """Plot a critical difference diagram: average ranks, with bars that join groups.

    The algorithms of a group do not differ significantly: their ranks differ by less than the
    critical difference.

    Parameters
    ----------
    ranks : mapping of str to float
        Average rank of each algorithm; 1 is best and on the left. It may be a pandas Series.
    critical_difference : float
        Ranks that differ by at least this much are significantly different; drawn above the
        line.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    Axes

    References
    ----------
    J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of
    Machine Learning Research 7 (2006), figure 1.

    Examples
    --------
    >>> from pairmend.plots import critical_difference
    >>> ranks = {"LPW": 2.97, "FCM": 1.93, "FCM-W": 2.71}
    >>> ax = critical_difference(ranks, 0.78)
    >>> [text.get_text() for text in ax.texts if "FCM" in text.get_text()]
    ['FCM  1.93', 'FCM-W  2.71']
    """
    table = {str(name): float(rank) for name, rank in ranks.items()}
    _check(np.array([list(table.values())]), critical_difference)
    groups = _groups(sorted(table.values()), critical_difference)
    order = list(table)
    by_rank = sorted(order, key=lambda name: table[name])
    n_rows, worst = ceil(len(table) / 2), len(table)
    # One unit of height is a row of names.
    first_row = 1.0 + 0.5 * len(groups)
    lowest, highest = -(first_row + n_rows - 0.4), 3.6
    ax = axes_or_new(ax, 6.0, 0.24 * (highest - lowest))
    end = max(worst, 1 + critical_difference)
    margin = 0.05 * (end - 1)
    ax.set(xlim=(1 - margin, end + margin), ylim=(lowest, highest))
    ax.axis("off")
    line: dict[str, Any] = {"color": INK, "lw": 1.2, "solid_capstyle": "butt", "clip_on": False}
    ax.plot([1, worst], [0, 0], **line)
    for rank in range(1, worst + 1, ceil(worst / 8)):
        ax.plot([rank, rank], [0, 0.25], **line)
        ax.text(rank, 0.4, str(rank), ha="center", va="bottom")
    ax.plot([1, 1 + critical_difference], [1.8, 1.8], marker="|", **line)
    ax.text(1, 2.0, f"critical difference {critical_difference:.2f}", va="bottom")
    ax.text(1, 3.2, "average rank, better on the left", va="bottom")
    overhang = 0.012 * (worst - 1)
    for lane, (low, high) in enumerate(groups):
        height = -0.6 - 0.5 * lane
        ax.plot([low - overhang, high + overhang], [height, height], **{**line, "lw": BAR})
    for place, name in enumerate(by_rank):
        on_left = place < n_rows
        # The outermost of each side has the highest row, so that no lines cross.
        height = -first_row - (place if on_left else len(by_rank) - 1 - place)
        edge = ax.get_xlim()[0 if on_left else 1]
        ax.plot([table[name], table[name], edge], [0, height, height], **{**line, "lw": 0.8})
        style = {**style_of(order.index(name), len(order)), "ls": "none", "clip_on": False}
        ax.plot([table[name]], [0], zorder=3, **style)
        ax.plot([edge], [height], **{**style, "ms": 6})
        beyond = edge + (-0.03 if on_left else 0.03) * (end - 1)
        side = "right" if on_left else "left"
        ax.text(beyond, height, f"{short(name)}  {table[name]:.2f}", ha=side, va="center")
    return ax


def _check(ranks: Any, difference: float | None) -> None:
    n_algorithms = ranks.shape[1]
    if n_algorithms < 2:
        raise ValueError(f"expected the ranks of at least two algorithms; got {n_algorithms}")
    if not ((ranks >= 1) & (ranks <= n_algorithms)).all():
        raise ValueError(f"ranks must lie between 1 and {n_algorithms}; got {ranks.tolist()}")
    if difference is not None and not 0 < difference < np.inf:
        raise ValueError(f"critical_difference must be a positive number; got {difference}")


def _groups(ranks: list[float], difference: float) -> list[tuple[float, float]]:
    """Return first and last rank of the largest groups that do not differ; ranks are sorted."""
    groups: list[tuple[float, float]] = []
    for start, first in enumerate(ranks):
        end = bisect_left(ranks, first + difference)
        last = ranks[end - 1]
        if end - start > 1 and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups

"""Plots of average ranks with the critical difference of the Nemenyi test."""

from bisect import bisect_left
from collections.abc import Mapping
from math import ceil, floor, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from pairmend.plots.drawing import (
    FAINT,
    INK,
    LETTER,
    Style,
    add_legend,
    axes_or_new,
    make_plain,
    short,
    style_of,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_SPOKES = 3
RADAR_TITLE = "average rank, better outside"
BAR = 4.0  # points, the width of bars of critical differences


def rank_radar(
    ranks: Mapping[str, Mapping[str, float]],
    critical_difference: float | None,
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """Plot average ranks by metric: a spoke for each metric, a line for each algorithm.

    Better ranks are further out. The bar beside a spoke is the critical difference: it begins at
    the best algorithm of that metric, so those at its inner end or beyond it differ
    significantly from the best. One or two metrics are drawn as rows, with better ranks on the
    left.

    Parameters
    ----------
    ranks : mapping of str to mapping of str to float
        For each metric, the average rank of each algorithm; 1 is best. The inner mapping may be a
        pandas Series. All metrics must have the same algorithms.
    critical_difference : float or None
        Ranks that differ by at least this much are significantly different; None draws no bars.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from pairmend.plots import rank_radar
    >>> ranks = {
    ...     "Hamming": {"LPW": 1.9, "FCM": 1.1},
    ...     "zero-one": {"LPW": 1.8, "FCM": 1.2},
    ...     "micro F1": {"LPW": 1.6, "FCM": 1.4},
    ... }
    >>> ax = rank_radar(ranks, critical_difference=0.8)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['LPW', 'FCM', 'critical difference 0.80']
    """
    metrics = [str(metric) for metric in ranks]
    if not metrics:
        raise ValueError("ranks must have at least one metric; got none")
    tables = [_checked(of_metric, critical_difference) for _, of_metric in ranks.items()]
    algorithms = list(tables[0])
    for metric, table in zip(metrics, tables, strict=True):
        if set(table) != set(algorithms):
            raise ValueError(
                f"all metrics must have the same algorithms; {metrics[0]!r} has {algorithms}, "
                f"{metric!r} has {list(table)}"
            )
    values = np.array([[table[algorithm] for algorithm in algorithms] for table in tables])
    if len(metrics) < MIN_SPOKES:
        return _rank_rows(metrics, algorithms, values, critical_difference, ax)
    return _radar(metrics, algorithms, values, critical_difference, ax)


def _radar(
    metrics: list[str],
    algorithms: list[str],
    values: Any,
    difference: float | None,
    ax: "Axes | None",
) -> "Axes":
    # Names are inside the axes. A unit, the length of a spoke, has this many inches.
    unit = 1.7 if len(algorithms) <= 6 else 2.1
    turns = 2 * np.pi * np.arange(len(metrics)) / len(metrics)
    rims = np.column_stack([np.sin(turns), np.cos(turns)]).round(9)
    widths = np.array([LETTER * len(short(name)) / unit for name in metrics])
    ends_of_names = 1.1 * rims[:, 0] + np.sign(rims[:, 0]) * widths
    left, right = min(-1.1, ends_of_names.min()), max(1.1, ends_of_names.max())
    explained = 0.1 + (0.7 + LETTER * _longest_in_legend(algorithms)) / unit
    ax = axes_or_new(
        ax, width=unit * (right + explained - left), height=unit * (1.4 - rims[:, 1].min())
    )
    best, worst = _half_steps(values, difference)
    # The worst rank is not the centre, where lines would hide each other.
    centre = worst + 0.2 * (worst - best)

    def place(rank: Any, spoke: int) -> Any:
        return rims[spoke] * (centre - rank) / (centre - best)

    closed = [*range(len(metrics)), 0]
    for ring in _rings(best, worst, len(algorithms)):
        ax.plot(*np.array([place(ring, spoke) for spoke in closed]).T, color=FAINT, lw=0.8)
        x, y = place(ring, 0)
        write(ax, x, y, f"{ring:g}", offset=(-8, 0), ha="right", va="center")
    for spoke, metric in enumerate(metrics):
        x, y = rims[spoke]
        ax.plot([0, x], [0, y], color=FAINT, lw=0.8)
        ax.text(
            1.07 * x, 1.07 * y, short(metric), color=INK, fontsize=9.5, parse_math=False,
            ha=_side(x, "right", "center", "left"), va=_side(y, "top", "center", "bottom"),
        )  # fmt: skip
        if difference is not None:
            beside = 0.06 * np.array([y, -x])
            first = values[spoke].min()
            ends = np.array([place(first, spoke), place(first + difference, spoke)]) + beside
            ax.plot(*ends.T, color=INK, lw=BAR, solid_capstyle="butt")
    lines = []
    for number in range(len(algorithms)):
        points = np.array([place(values[spoke, number], spoke) for spoke in closed])
        lines += ax.plot(*points.T, **_line_style(style_of(number, len(algorithms))))
    ax.set_aspect("equal")
    ax.set_xlim(left, right + explained)
    ax.set_ylim(rims[:, 1].min() - 0.2, 1.2)
    ax.axis("off")
    _add_legend(
        ax, lines, algorithms, difference, title=RADAR_TITLE,
        bbox_to_anchor=(right, 0.1), bbox_transform=ax.transData,
    )  # fmt: skip
    return ax


def _rank_rows(
    metrics: list[str],
    algorithms: list[str],
    values: Any,
    difference: float | None,
    ax: "Axes | None",
) -> "Axes":
    lane = 0.16  # inches of each algorithm
    row = lane * (len(algorithms) + 2)
    longest = max(len(short(name)) for name in metrics) + _longest_in_legend(algorithms)
    ax = axes_or_new(
        ax, width=4.6 + LETTER * longest,
        height=0.7 + max(row * len(metrics), 0.21 * (len(algorithms) + 2)),
    )  # fmt: skip
    best, worst = _half_steps(values, difference)
    step = 1 / (len(algorithms) + 2)
    top = np.arange(len(metrics)) - 0.5 + step
    if difference is not None:
        for start, first in zip(top, values.min(axis=1), strict=True):
            ends = [first, first + difference]
            ax.plot(ends, [start, start], color=INK, lw=BAR, solid_capstyle="butt")
    lines = []
    for number, of_algorithm in enumerate(values.T):
        style = {**_line_style(style_of(number, len(algorithms))), "ls": "none"}
        lines += ax.plot(of_algorithm, top + (number + 1) * step, **style)
    for edge in np.arange(1, len(metrics)) - 0.5:
        ax.axhline(edge, color=FAINT, lw=0.8)
    ax.set_yticks(range(len(metrics)), [short(name) for name in metrics], parse_math=False)
    ax.set_ylim(len(metrics) - 0.5, -0.5)
    margin = 0.04 * (worst - best)
    ax.set_xlim(best - margin, worst + margin)
    ax.set_xticks(_rings(best, worst, len(algorithms)))
    ax.set_xlabel("average rank, better on the left")
    ax.grid(axis="x", color=FAINT, lw=0.8)
    ax.set_axisbelow(True)
    make_plain(ax)
    ax.tick_params(axis="y", length=0)
    _add_legend(ax, lines, algorithms, difference, bbox_to_anchor=(1.02, 0.5))
    return ax


def critical_difference(
    ranks: Mapping[str, float],
    critical_difference: float,
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """Plot a critical difference diagram: average ranks, with bars that join groups.

    The algorithms of a group do not differ significantly: their ranks differ by less than the
    critical difference.

    Parameters
    ----------
    ranks : mapping of str to float
        Average rank of each algorithm; 1 is best and on the left.
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
    table = _checked(ranks, critical_difference)
    bars = _groups(sorted(table.values()), critical_difference)
    lanes = _lanes(bars)
    n_rows = ceil(len(table) / 2)
    first_row = 1.2 + 0.5 * (max(lanes, default=-1) + 1)
    # One unit of height is a row of names.
    lowest, highest = -(first_row + n_rows - 0.4), 3.9
    order = list(table)
    by_rank = sorted(order, key=lambda name: table[name])
    letters = sum(
        max(len(short(name)) for name in side) + 6 for side in (by_rank[:n_rows], by_rank[n_rows:])
    )
    ax = axes_or_new(ax, width=4.4 + LETTER * letters, height=0.24 * (highest - lowest))
    worst = len(table)
    margin = 0.05 * (worst - 1)
    ax.axis("off")
    ax.set_xlim(1 - margin, max(worst, 1 + critical_difference) + margin)
    ax.set_ylim(lowest, highest)
    line: dict[str, Any] = {"color": INK, "lw": 1.0, "clip_on": False}

    ax.plot([1, worst], [0, 0], **line)
    for rank in range(1, worst + 1):
        ax.plot([rank, rank], [0, 0.25], **line)
        write(ax, rank, 0.25, str(rank), offset=(0, 2), ha="center", va="bottom")
    ax.plot([1, 1 + critical_difference], [1.8, 1.8], **line)
    for end in (1, 1 + critical_difference):
        ax.plot([end, end], [1.6, 2.0], **line)
    write(
        ax, 1, 2.0, f"critical difference {critical_difference:.2f}", offset=(0, 2), ha="left",
        va="bottom",
    )  # fmt: skip
    write(ax, 1, 3.1, "average rank, better on the left", offset=(0, 0), ha="left", va="center")
    overhang = 0.012 * (worst - 1)
    for (low, high), lane in zip(bars, lanes, strict=True):
        height = -0.6 - 0.5 * lane
        ax.plot([low - overhang, high + overhang], [height, height], **{**line, "lw": BAR})

    for place, name in enumerate(by_rank):
        on_left = place < n_rows
        # The outermost of each side has the highest row, so that no lines cross.
        row = place if on_left else len(by_rank) - 1 - place
        height = -first_row - row
        edge, side = (1 - margin, -1) if on_left else (worst + margin, 1)
        ax.plot([table[name], table[name], edge], [0, height, height], **{**line, "lw": 0.8})
        style = _line_style(style_of(order.index(name), len(order)))
        style |= {"ls": "none", "clip_on": False}
        ax.plot([table[name]], [0], zorder=3, **style)
        ax.plot([edge], [height], **{**style, "ms": 6})
        write(
            ax, edge, height, f"{short(name)}  {table[name]:.2f}", offset=(6 * side, 0),
            ha="right" if on_left else "left", va="center", fontsize=10,
        )  # fmt: skip
    return ax


def _checked(ranks: Mapping[str, float], difference: float | None) -> dict[str, float]:
    table = {str(name): float(rank) for name, rank in ranks.items()}
    if len(table) < 2:
        raise ValueError(f"expected the ranks of at least two algorithms; got {list(table)}")
    if not all(isfinite(rank) and 1 <= rank <= len(table) for rank in table.values()):
        raise ValueError(f"ranks must lie between 1 and {len(table)}; got {table}")
    if difference is not None and not (isfinite(difference) and difference > 0):
        raise ValueError(f"critical_difference must be a positive number; got {difference}")
    return table


def _half_steps(values: Any, difference: float | None) -> tuple[float, float]:
    """Return the range of ranks to show, in half steps, so that ranks and bars fit."""
    best = max(1.0, floor(2 * values.min()) / 2)
    worst = max(values.max(), (values.min(axis=1) + (difference or 0)).max())
    return best, max(best + 0.5, ceil(2 * worst) / 2)


def _rings(best: float, worst: float, n_algorithms: int) -> list[float]:
    """Return about five round ranks for the scale, none above the number of algorithms."""
    step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50) if (worst - best) / s <= 6)
    last = floor(min(worst, n_algorithms) / step)
    return [step * number for number in range(ceil(best / step), last + 1)]


def _groups(ranks: list[float], difference: float) -> list[tuple[float, float]]:
    """Return first and last rank of the largest groups that do not differ; ranks are sorted."""
    groups: list[tuple[float, float]] = []
    for start, first in enumerate(ranks):
        end = bisect_left(ranks, first + difference)
        last = ranks[end - 1]
        if end - start > 1 and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _lanes(bars: list[tuple[float, float]]) -> list[int]:
    """Return the highest line of each bar on which it touches no other; bars are sorted."""
    ends: list[float] = []
    lanes = []
    for low, high in bars:
        lane = next((n for n, end in enumerate(ends) if end < low - 0.05), len(ends))
        ends[lane : lane + 1] = [high]
        lanes.append(lane)
    return lanes


def _side(coordinate: float, low: str, middle: str, high: str) -> str:
    return middle if abs(coordinate) < 0.1 else low if coordinate < 0 else high


def _line_style(style: Style) -> dict[str, Any]:
    return {
        "color": style.colour, "marker": style.marker, "ls": style.line, "ms": style.size,
        "lw": 1.4, "mew": 0,
    }  # fmt: skip


def _longest_in_legend(algorithms: list[str]) -> int:
    return max(len(RADAR_TITLE), *(len(short(name)) for name in algorithms))


def _add_legend(
    ax: "Axes", lines: list[Any], algorithms: list[str], difference: float | None, **place: Any
) -> None:
    from matplotlib.lines import Line2D

    handles, names = list(lines), list(map(short, algorithms))
    if difference is not None:
        handles.append(Line2D([], [], color=INK, lw=BAR, solid_capstyle="butt"))
        names.append(f"critical difference {difference:.2f}")
    add_legend(ax, handles, names, loc="center left", handlelength=3, **place)

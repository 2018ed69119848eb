"""Plots that compare algorithms: losses of folds, times and memory."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pairmend._utils.text import one_line
from pairmend.plots.drawing import (
    BLUE,
    FAINT,
    LETTER,
    PALETTE,
    VERMILION,
    add_legend,
    axes_or_new,
    make_plain,
    short,
    style_of,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_SPAN = 30  # numbers that span a larger factor are drawn on a logarithmic scale
# Fill, edge and hatch of the parts of a bar.
PARTS = ((BLUE, BLUE, ""), ("none", VERMILION, "////"), ("none", PALETTE[2], "...."))
TALL = 12  # number of sets from which on the scale is also written on top


def fold_spread(
    losses: Mapping[str, Mapping[str, ArrayLike]],
    *,
    criterion: str = "loss",
    ax: "Axes | None" = None,
) -> "Axes":
    """Plot the losses of all folds: a row for each set, in it a line for each algorithm.

    The large mark is the mean of the folds, the small ticks are the folds. If all losses are
    positive and the means span more than a factor 30, the scale is logarithmic.

    Parameters
    ----------
    losses : mapping of str to mapping of str to array-like
        For each set, for each algorithm, the losses of its folds. Losses that are not finite are
        left out, and an algorithm may be missing from a set.
    criterion : str, default="loss"
        Name of the losses, written below the scale.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None. Its height grows with the sets and algorithms.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from pairmend.plots import fold_spread
    >>> losses = {"yeast": {"LPW": [0.24, 0.26], "FCM": [0.2, 0.21]}}
    >>> ax = fold_spread(losses, criterion="Hamming loss")
    >>> [text.get_text() for text in ax.get_yticklabels()], ax.get_xlabel()
    (['yeast'], 'Hamming loss')
    """
    sets = [str(name) for name in losses]
    tables = [
        {str(algorithm): _finite(folds) for algorithm, folds in table.items()}
        for table in losses.values()
    ]
    algorithms = list(dict.fromkeys(name for table in tables for name in table))
    drawn = [folds for table in tables for folds in table.values() if folds.size]
    if not drawn:
        raise ValueError("losses must hold at least one finite loss; got none")
    width = 7.0
    columns = _columns(algorithms, width)
    legend_rows = -(-len(algorithms) // columns)
    row = max(0.3, 0.1 + 0.08 * len(algorithms))
    ax = axes_or_new(ax, width=width, height=0.75 + 0.2 * legend_rows + row * len(sets))

    lane = 0.86 / len(algorithms)
    handles = []
    for number, algorithm in enumerate(algorithms):
        style = style_of(number, len(algorithms))
        offset = (number - (len(algorithms) - 1) / 2) * lane
        found = [
            (place + offset, table[algorithm])
            for place, table in enumerate(tables)
            if algorithm in table and table[algorithm].size
        ]
        for place, folds in found:
            ends = [folds.min(), folds.max()]
            ax.plot(ends, [place, place], color=style.colour, lw=0.8)
            ax.plot(
                folds, np.full(folds.size, place), color=style.colour, marker="|", ls="none",
                ms=4.5, mew=0.7,
            )  # fmt: skip
        handles += ax.plot(
            [folds.mean() for _, folds in found], [place for place, _ in found],
            color=style.colour, marker=style.marker, ls="none", ms=5.5, mew=0, zorder=3,
        )  # fmt: skip
    for edge in np.arange(1, len(sets)) - 0.5:
        ax.axhline(edge, color=FAINT, lw=0.8)
    means = [folds.mean() for folds in drawn]
    smallest, largest = min(map(np.min, drawn)), max(map(np.max, drawn))
    logarithmic = smallest > 0 and max(means) > LOG_SPAN * min(means)
    margin = 0.03 * (largest - smallest) or 0.05
    if logarithmic:
        _make_logarithmic(ax, smallest / 1.1, 1.1 * largest)
    else:
        ax.set_xlim(smallest - margin, largest + margin)
    ax.set_yticks(range(len(sets)), [short(name) for name in sets], fontsize=9, parse_math=False)
    ax.set_ylim(len(sets) - 0.5, -0.5)
    ax.set_xlabel(_scale_name(criterion, logarithmic), parse_math=False)
    ax.grid(axis="x", color=FAINT, lw=0.8)
    ax.set_axisbelow(True)
    make_plain(ax)
    ax.tick_params(axis="y", length=0)
    tall = len(sets) >= TALL
    if tall:
        ax.tick_params(axis="x", which="both", top=True, labeltop=True)
    add_legend(
        ax, handles, list(map(short, algorithms)), loc="lower center", bbox_to_anchor=(0.5, 1.0),
        ncols=columns, borderaxespad=2.2 if tall else 0.5,
    )  # fmt: skip
    return ax


def bars(
    parts: Mapping[str, Mapping[str, float]],
    *,
    unit: str = "seconds",
    ax: "Axes | None" = None,
) -> "Axes":
    """Plot the time or memory of each algorithm as horizontal bars.

    Parts are stacked, and their sum is written. If the numbers span more than a factor 30 the
    scale is logarithmic and the parts are drawn below each other, because lengths on such a scale
    do not add up.

    Parameters
    ----------
    parts : mapping of str to mapping of str to float
        The number of each algorithm, for each part, such as "fit" and "predict", or for a single
        one such as "peak memory". All parts must have the same algorithms.
    unit : str, default="seconds"
        Unit of the numbers, written below the scale.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from pairmend.plots import bars
    >>> ax = bars({"fit": {"LPW": 2.0, "FCM": 2.5}, "predict": {"LPW": 0.5, "FCM": 1.5}})
    >>> [text.get_text() for text in ax.texts]
    ['2.5', '4']
    """
    algorithms = list(next(iter(parts.values()), {}))
    if not algorithms:
        raise ValueError("parts must hold at least one part with one algorithm; got none")
    if any(set(part) != set(algorithms) for part in parts.values()):
        raise ValueError(
            "all parts must have the same algorithms; got "
            + ", ".join(f"{name!r}: {list(part)}" for name, part in parts.items())
        )
    values = np.array([[part[name] for name in algorithms] for part in parts.values()], dtype=float)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"numbers must be finite and not negative; got {values.tolist()}")
    positive = values[values > 0]
    logarithmic = bool(positive.size) and positive.max() > LOG_SPAN * positive.min()
    n_lanes = len(parts) if logarithmic else 1
    ax = axes_or_new(
        ax, width=6.0, height=0.95 + (0.1 + 0.2 * n_lanes) * len(algorithms)
    )  # fmt: skip
    if logarithmic:
        _bars_below_each_other(ax, values)
    else:
        _stacked_bars(ax, values)
    ax.set_yticks(
        range(len(algorithms)), [short(str(name)) for name in algorithms], parse_math=False
    )
    ax.set_ylim(len(algorithms) - 0.5, -0.5)
    ax.set_xlabel(_scale_name(unit, logarithmic), parse_math=False)
    make_plain(ax)
    ax.tick_params(axis="y", length=0)
    if len(parts) > 1:
        add_legend(
            ax, [of_part[0] for of_part in ax.containers], [short(str(name)) for name in parts],
            loc="lower left", bbox_to_anchor=(0, 1), ncols=len(parts), borderaxespad=0.2,
        )  # fmt: skip
    return ax


def _finite(folds: ArrayLike) -> Any:
    values = np.asarray(folds, dtype=float).ravel()
    return values[np.isfinite(values)]


def _columns(names: Sequence[str], width: float) -> int:
    """Return how many columns of a legend fit into a width in inches."""
    longest = max(len(short(name)) for name in names)
    return min(len(names), max(1, int(width / (0.6 + LETTER * longest))))


def _make_logarithmic(ax: "Axes", low: float, high: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_xscale("log")
    ax.set_xlim(low, high)
    steps = (1, 2, 5) if high / low < 500 else (1,)
    ax.xaxis.set_major_locator(LogLocator(subs=steps, numticks=12))
    # Plain numbers: powers of ten would be drawn as mathematics.
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
    ax.xaxis.set_minor_locator(NullLocator())


def _scale_name(name: str, logarithmic: bool) -> str:
    return f"{one_line(name)}, logarithmic scale" if logarithmic else one_line(name)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _bar_style(number: int) -> dict[str, Any]:
    """Return the colours and the hatch of a part of the bars."""
    fill, edge, hatch = PARTS[number % len(PARTS)]
    return {"facecolor": fill, "edgecolor": edge, "hatch": hatch}


def _stacked_bars(ax: "Axes", values: Any) -> None:
    places = np.arange(values.shape[1])
    starts = np.cumsum(values, axis=0) - values
    for number, (lengths, left) in enumerate(zip(values, starts, strict=True)):
        ax.barh(places, lengths, left=left, height=0.66, lw=1.0, **_bar_style(number))
    sums = values.sum(axis=0)
    for place, total in enumerate(sums):
        write(ax, total, place, _number(total), offset=(4, 0), ha="left", va="center")
    ax.set_xlim(0, 1.12 * sums.max() or 1)  # room for the numbers


def _bars_below_each_other(ax: "Axes", values: Any) -> None:
    start = values[values > 0].min() / 2
    _make_logarithmic(ax, start, values.max() * (values.max() / start) ** 0.12)
    height = 0.8 / len(values)
    for number, lengths in enumerate(values):
        places = np.arange(values.shape[1]) + (number - (len(values) - 1) / 2) * height
        ends = np.maximum(lengths, start)  # a bar of 0 has no length
        ax.barh(places, ends - start, left=start, height=0.9 * height, lw=1.0, **_bar_style(number))
        for place, end, value in zip(places, ends, lengths, strict=True):
            write(ax, end, place, _number(value), offset=(4, 0), ha="left", va="center")

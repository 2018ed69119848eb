"""Stacked bars of three probabilities: first better, equivalent, second better."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairmend.plots.drawing import (
    BLUE,
    FAINT,
    INK,
    LETTER,
    add_legend,
    axes_or_new,
    make_plain,
    short,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# White numbers are written on the outer colours: both have a contrast of 4.5 or more to white, and
# of 3 or more to light and dark pages. Vermilion has 3.9 to white.
DARK_VERMILION = "#B85000"
COLOURS = ((BLUE, "white"), (FAINT, INK), (DARK_VERMILION, "white"))
REGIONS = ("left one better", "equivalent", "right one better")
LONGEST_LABEL = 20
NARROWEST = 0.1  # narrower parts have no number
BAR, HEADING = 0.27, 0.32  # inches


class ProbabilityBar(NamedTuple):
    """A bar of `probability_bars`.

    Attributes
    ----------
    left, right : str
        Names on its two sides.
    probabilities : tuple of three floats, or None
        That the left one is better, that both are equivalent, and that the right one is better.
        None makes a heading: left and right are written above the bars that follow, at both ends.

    Examples
    --------
    >>> from pairmend.plots import ProbabilityBar
    >>> ProbabilityBar("FCM", "LPW", (0.9, 0.06, 0.04)).left
    'FCM'
    """

    left: str
    right: str
    probabilities: tuple[float, float, float] | None


def probability_bars(bars: Sequence[ProbabilityBar], *, ax: "Axes | None" = None) -> "Axes":
    """Plot the outcomes of Bayesian tests as stacked bars, one for each pair of algorithms.

    A bar's left part is the probability that the left one is better, its middle part that both are
    equivalent, its right part that the right one is better.

    Parameters
    ----------
    bars : sequence of ProbabilityBar
        Bars and headings, from top to bottom. Plain tuples are accepted, too.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None. Its height grows with the bars.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from pairmend.plots import probability_bars
    >>> ax = probability_bars([("FCM", "LPW", (0.9, 0.06, 0.04)), ("FCM", "FCM-O", (0, 0.5, 0.5))])
    >>> [text.get_text() for text in ax.texts]
    ['0.90', '0.50', '0.50', 'LPW', 'FCM-O']
    >>> ax = probability_bars([("FCM", "LPW", None), ("yeast", "", (0.2, 0.7, 0.1))])
    >>> [text.get_text() for text in ax.texts]
    ['0.20', '0.70', '0.10', 'FCM', 'LPW']
    """
    rows = [ProbabilityBar(*bar) for bar in bars]
    _check(rows)
    heights = np.array([HEADING if row.probabilities is None else BAR for row in rows])
    places = np.cumsum(heights) - heights / 2
    shown = [
        (place, row)
        for place, row in zip(places, rows, strict=True)
        if row.probabilities is not None
    ]
    letters = max(len(_label(row.left)) for _, row in shown)
    letters += max(len(_label(row.right)) for _, row in shown)
    height = float(heights.sum())
    ax = axes_or_new(ax, width=max(4.0, 3.2 + LETTER * letters), height=0.75 + height)
    _draw(ax, [place for place, _ in shown], np.array([row.probabilities for _, row in shown]))
    for place, row in zip(places, rows, strict=True):
        if row.probabilities is None:
            low = place + HEADING / 2 - 0.04
            for x, text, side in ((0, row.left, "left"), (1, row.right, "right")):
                write(ax, x, low, _label(text), offset=(0, 0), ha=side, va="bottom", weight="bold")
        elif row.right:
            name = _label(row.right)
            write(ax, 1, place, name, offset=(6, 0), ha="left", va="center", fontsize=9)
    names = [_label(row.left) for _, row in shown]
    ax.set_yticks([place for place, _ in shown], names, fontsize=9, parse_math=False)
    ax.set_ylim(height, 0)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"], fontsize=8)
    ax.set_xlabel("probability", fontsize=9)
    make_plain(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _draw(ax: "Axes", places: Sequence[float], lengths: NDArray[np.float64]) -> None:
    """Draw all bars, the numbers on them, and the legend."""
    starts = np.cumsum(lengths, axis=1) - lengths
    handles = []
    for (colour, ink), of_region, left in zip(COLOURS, lengths.T, starts.T, strict=True):
        handles.append(ax.barh(places, of_region, left=left, height=0.72 * BAR, color=colour, lw=0))
        for place, length, start in zip(places, of_region, left, strict=True):
            if length >= NARROWEST:
                write(
                    ax, start + length / 2, place, f"{length:.2f}", offset=(0, 0), ha="center",
                    va="center_baseline", color=ink,
                )  # fmt: skip
    add_legend(
        ax, handles, REGIONS, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3,
        borderaxespad=0.3, columnspacing=1.2, handlelength=1.2, handletextpad=0.5,
    )  # fmt: skip


def _label(text: str) -> str:
    return short(str(text), LONGEST_LABEL)


def _check(rows: Sequence[ProbabilityBar]) -> None:
    shown = [row.probabilities for row in rows if row.probabilities is not None]
    if not shown:
        raise ValueError("bars must hold at least one bar with probabilities; got none")
    for each in shown:
        values = np.asarray(each, dtype=float)
        if values.shape != (3,) or not (values >= 0).all() or abs(values.sum() - 1) > 1e-6:
            raise ValueError(
                f"expected three probabilities that are not negative and add up to 1; got {each}"
            )

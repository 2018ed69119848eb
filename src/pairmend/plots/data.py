"""Plots of multi-label data: frequencies, heat map of co-occurrence, labels per row."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pairmend.plots.drawing import (
    BLUE,
    CO_OCCURRENCE_COLOURS,
    FAINT,
    INK,
    VERMILION,
    axes_or_new,
    make_plain,
    readable_on,
    short,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Limits above which only the ends of a list are drawn, or names and numbers are left out.
MOST_BARS = 30
ENDS = 12
MOST_TICKS = 50
MOST_NUMBERED_CELLS = 14
MOST_NUMBERED_BARS = 16


def label_frequencies(names: Sequence[str], counts: ArrayLike, ax: "Axes | None" = None) -> "Axes":
    """Plot how many rows have each label, the most frequent on top.

    Of more than 30 labels the 12 most frequent and the 12 least frequent are drawn.

    Parameters
    ----------
    names : sequence of str
        Names of the labels.
    counts : array-like of shape (L,)
        Number of rows that have each label.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        Save it with ``ax.figure.savefig``.

    Examples
    --------
    >>> from pairmend.plots import label_frequencies
    >>> ax = label_frequencies(["sea", "sun"], [3, 5])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['sun', 'sea']
    """
    rows = np.asarray(counts)
    _check_lengths(names, rows)
    order = np.argsort(-rows, kind="stable")
    left_out = len(rows) - 2 * ENDS if len(rows) > MOST_BARS else 0
    most, least = (order[:ENDS], order[-ENDS:]) if left_out else (order, order[:0])
    # The gap between both ends takes the place of a bar and a half.
    places = np.concatenate([np.arange(len(most)), len(most) + 1.5 + np.arange(len(least))])
    shown = np.concatenate([most, least])
    ax = axes_or_new(ax, width=4.85, height=1.0 + 0.24 * (places[-1] + 1))

    colours = [BLUE] * len(most) + [VERMILION] * len(least)
    ax.barh(places, rows[shown], height=0.72, color=colours)
    ax.set_yticks(
        places,
        [short(names[label]) for label in shown],
        fontsize=9,
        parse_math=False,
    )
    for place, label in zip(places, shown, strict=True):
        write(ax, rows[label], place, f"{rows[label]:,}", offset=(4, 0), ha="left", va="center")
    if left_out:
        write(
            ax,
            0,
            len(most) + 0.25,
            f"{left_out:,} labels between these are left out",
            offset=(4, 0),
            ha="left",
            va="center",
            style="italic",
        )
    ax.set_ylim(places[-1] + 0.7, -0.7)
    ax.set_xlim(0, max(1, rows.max()) * 1.12)  # room for the numbers
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("rows that have the label")
    make_plain(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def co_occurrence(names: Sequence[str], matrix: ArrayLike, ax: "Axes | None" = None) -> "Axes":
    """Plot how often each two labels occur together, as a heat map.

    Labels keep their order. The diagonal is grey, because its counts are much larger. Labels that
    never occur together are white. Colours follow the square root of the count, so that small
    counts are visible. Up to 14 labels the counts are written, up to 50 the names.

    Parameters
    ----------
    names : sequence of str
        Names of the labels.
    matrix : array-like of shape (L, L)
        Number of rows that have both labels.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from pairmend.plots import co_occurrence
    >>> ax = co_occurrence(["sea", "sun"], [[3, 2], [2, 5]])
    >>> [text.get_text() for text in ax.texts]
    ['2', '2']
    """
    together = np.asarray(matrix)
    _check_lengths(names, together)
    n_labels = len(together)
    if together.shape != (n_labels, n_labels):
        raise ValueError(f"matrix must be square; got shape {together.shape}")
    side = min(7.0, max(3.6, 1.8 + 0.36 * n_labels))
    ax = axes_or_new(ax, width=side + 0.7, height=side)
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, PowerNorm
    from matplotlib.ticker import MaxNLocator

    diagonal = np.eye(n_labels, dtype=bool)
    drawn = np.ma.masked_array(together, mask=diagonal)
    highest = max(1, int(drawn.max())) if n_labels > 1 else 1
    # The palest colours are left out, so that a count of 1 differs visibly from white.
    colours = ListedColormap(colormaps[CO_OCCURRENCE_COLOURS](np.linspace(0.12, 1, 256)))
    image = ax.imshow(
        drawn,
        cmap=colours.with_extremes(under="white", bad=FAINT),
        norm=PowerNorm(0.5, vmin=0.5, vmax=highest),
        interpolation="none",  # an SVG then holds one sharp pixel per cell
    )
    if n_labels <= MOST_TICKS:
        size = 9 if n_labels <= 20 else 7
        shown = [short(name) for name in names]
        places = range(n_labels)
        ax.set_yticks(places, shown, fontsize=size, parse_math=False)
        ax.set_xticks(
            places, shown, fontsize=size, parse_math=False, rotation=45, ha="right",
            rotation_mode="anchor",
        )  # fmt: skip
    else:
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel(f"{n_labels:,} labels, in one order on both axes")
    if n_labels <= MOST_NUMBERED_CELLS:
        for row, column in zip(*np.nonzero(~diagonal), strict=True):
            count = together[row, column]
            ax.text(
                float(column), float(row), f"{count:,}", ha="center", va="center", fontsize=8,
                color=readable_on(image.to_rgba(count)),
            )  # fmt: skip
    make_plain(ax)
    ax.tick_params(length=0)
    ax.spines[["top", "right"]].set_visible(True)
    ax.spines[:].set_color(FAINT)
    steps = MaxNLocator(4, integer=True).tick_values(0, highest)
    ticks = [1, *(step for step in steps if 1 < step <= highest)]
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.75, ticks=ticks, format="{x:,.0f}")
    bar.set_label("rows that have both labels", color=INK)
    bar.outline.set_color(FAINT)
    bar.ax.tick_params(colors=INK, length=2, labelsize=9)
    return ax


def labels_per_row(counts: ArrayLike, ax: "Axes | None" = None) -> "Axes":
    """Plot how many rows have no label, one, two and so on.

    Parameters
    ----------
    counts : array-like
        Entry k is the number of rows with k labels.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from pairmend.plots import labels_per_row
    >>> ax = labels_per_row([1, 7, 4])
    >>> [bar.get_height().item() for bar in ax.patches]
    [1, 7, 4]
    """
    rows = np.asarray(counts)
    if rows.ndim != 1 or rows.size == 0:
        raise ValueError(f"counts must be a list of at least one number; got shape {rows.shape}")
    ax = axes_or_new(ax, width=4.85, height=3.0)
    from matplotlib.ticker import MaxNLocator

    ax.bar(np.arange(len(rows)), rows, width=0.8, color=BLUE)
    if len(rows) <= MOST_NUMBERED_BARS:
        for place, count in enumerate(rows):
            write(ax, place, count, f"{count:,}", offset=(0, 3), ha="center", va="bottom")
    ax.xaxis.set_major_locator(MaxNLocator(16, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlim(-0.6, len(rows) - 0.4)
    ax.set_ylim(0, max(1, rows.max()) * 1.1)
    ax.set_xlabel("labels of the row")
    ax.set_ylabel("rows")
    make_plain(ax)
    return ax


def _check_lengths(names: Sequence[str], values: Any) -> None:
    if values.ndim == 0 or len(values) == 0 or len(names) != len(values):
        raise ValueError(
            f"expected at least one label and as many names as labels; got {len(names)} names for "
            f"values of shape {values.shape}"
        )

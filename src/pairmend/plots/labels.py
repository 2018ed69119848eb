"""plot_labels: frequencies of labels, labels per row, labels that occur together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pairmend._utils.training import check_indicators
from pairmend._utils.typing import TargetLike
from pairmend.plots.drawing import BLUE, FAINT, name_rows, new_figure, readable_on, short, styled

MOST_NAMED = 20
"""Number of labels that are drawn at most: the most frequent."""
MOST_NUMBERED = 14
"""Number of labels up to which the counts of pairs are written."""


@styled
def plot_labels(Y: TargetLike, names: Sequence[str] | None = None, *, figure: Any = None) -> Any:
    """Plot how often labels occur, how many labels rows have, and which labels occur together.

    Of more than 20 labels the 20 most frequent are drawn. Labels that never occur together are
    white in the heat map; its colours follow the square root of the count, so that small counts
    are visible, and its diagonal is grey.

    Parameters
    ----------
    Y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
        Label indicators.
    names : sequence of str, default=None
        Names of the labels; None means the columns of a DataFrame, or else numbers.
    figure : matplotlib Figure or SubFigure, default=None
        Figure to draw into; a new figure if None.

    Returns
    -------
    Figure
        Its Axes show the rows of each label, the rows by number of labels, and the heat map.

    Examples
    --------
    >>> from pairmend.plots import plot_labels
    >>> figure = plot_labels([[1, 0], [1, 1], [0, 0]], ["sea", "sun"])
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['sea', 'sun']
    >>> [bar.get_height().item() for bar in figure.axes[1].patches]
    [1, 1, 1]
    """
    indicators = check_indicators(Y).astype(np.int64)
    n_labels = indicators.shape[1]
    given = getattr(Y, "columns", range(n_labels)) if names is None else names
    if len(given) != n_labels:
        raise ValueError(f"names has {len(given)} entries for the {n_labels} labels of Y")
    most = np.argsort(-indicators.sum(axis=0), kind="stable")[:MOST_NAMED]
    shown = [str(given[label]) for label in most]
    together = indicators[:, most].T @ indicators[:, most]
    if figure is None:
        figure = new_figure(11.0, max(4.4, 1.8 + 0.36 * len(most)))
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.4), height_ratios=(2, 1))
    _draw_frequencies(figure.add_subplot(grid[0, 0]), shown, together.diagonal(), n_labels)
    _draw_labels_per_row(figure.add_subplot(grid[1, 0]), indicators.sum(axis=1))
    _draw_co_occurrence(figure, figure.add_subplot(grid[:, 1]), shown, together)
    return figure


def _draw_frequencies(ax: Any, names: list[str], counts: Any, n_labels: int) -> None:
    bars = ax.barh(range(len(names)), counts, height=0.72, color=BLUE)
    ax.bar_label(bars, [f"{n:,}" for n in counts], padding=4, fontsize=8)
    name_rows(ax, names)
    ax.margins(x=0.15)  # room for the numbers
    left_out = n_labels - len(names)
    ax.set_xlabel("rows" + (f" ({left_out:,} rarer labels not shown)" if left_out else ""))


def _draw_labels_per_row(ax: Any, n_of_rows: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    counts = np.bincount(n_of_rows)
    ax.bar(np.arange(len(counts)), counts, width=0.8, color=BLUE)
    ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.set(xlabel="labels of the row", ylabel="rows")


def _draw_co_occurrence(figure: Any, ax: Any, names: list[str], together: Any) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Colormap, ListedColormap, PowerNorm

    diagonal = np.eye(len(names), dtype=bool)
    drawn = np.ma.masked_array(together, mask=diagonal)
    highest = max(1, int(drawn.max())) if len(names) > 1 else 1
    # The palest colours are left out, so that a count of 1 differs visibly from white.
    colours: Colormap = ListedColormap(colormaps["YlGnBu"](np.linspace(0.12, 1, 256)))
    colours = colours.with_extremes(under="white", bad=FAINT)
    norm = PowerNorm(0.5, vmin=0.5, vmax=highest)
    image = ax.imshow(drawn, cmap=colours, norm=norm, interpolation="none")
    name_rows(ax, names)
    slanted: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(names)), [short(name) for name in names], **slanted)
    if len(names) <= MOST_NUMBERED:
        for row, column in zip(*np.nonzero(~diagonal), strict=True):
            count = together[row, column]
            centred = {"ha": "center", "va": "center", "fontsize": 8}
            colour = readable_on(image.to_rgba(count))
            ax.text(column, row, f"{count:,}", color=colour, **centred)
    bar = figure.colorbar(image, ax=ax, shrink=0.75, format="{x:,.0f}")
    bar.set_label("rows that have both labels")

"""Plot of published losses against measured ones."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pairmend.plots.drawing import (
    FAINT,
    INK,
    LETTER,
    add_legend,
    axes_or_new,
    make_plain,
    short,
    style_of,
    without_glyph_warnings,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMED = 12
# Positions of a name: right or left of its point, and the points above; the nearest first.
PLACES = [(side, rise) for rise in (0, 10, -10, 22, -22, 34, -34, 46, -46, 60, -60, 74, -74)
          for side in (1, -1)]  # fmt: skip


def published_and_measured(
    published: Mapping[str, ArrayLike],
    measured: Mapping[str, ArrayLike],
    names: Sequence[str],
    *,
    far: float = 0.1,
    ax: "Axes | None" = None,
) -> "Axes":
    """Plot published losses against measured ones; on the diagonal both are equal.

    Parameters
    ----------
    published, measured : mapping of str to array-like of shape (n,)
        For each algorithm the losses, in the order of `names`. Points with a loss that is not
        finite are left out.
    names : sequence of str, length n
        Names of the losses, such as those of the sets.
    far : float, default=0.1
        Points whose two losses differ by more are named: for each name the one that differs
        most, at most 12.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from pairmend.plots import published_and_measured
    >>> ax = published_and_measured(
    ...     {"LPW": [0.25, 0.90], "FCM": [0.21, 0.80]},
    ...     {"LPW": [0.26, 0.55], "FCM": [0.20, 0.78]},
    ...     names=["yeast", "birds"],
    ... )
    >>> [text.get_text() for text in ax.texts]
    ['birds']
    """
    if list(published) != list(measured):
        raise ValueError(
            "published and measured must have the same algorithms in the same order; got "
            f"{list(published)} and {list(measured)}"
        )
    points = {}
    for algorithm in published:
        x = np.asarray(published[algorithm], dtype=float)
        y = np.asarray(measured[algorithm], dtype=float)
        if x.shape != (len(names),) or y.shape != (len(names),):
            raise ValueError(
                f"expected one loss for each of the {len(names)} names; for {algorithm!r} got "
                f"{x.shape} published and {y.shape} measured"
            )
        finite = np.isfinite(x) & np.isfinite(y)
        points[str(algorithm)] = np.where(finite, [x, y], np.nan).T
    together = np.concatenate(list(points.values())) if points else np.empty((0, 2))
    drawn = together[~np.isnan(together[:, 0])]
    if not drawn.size:
        raise ValueError("expected at least one loss that is both published and measured; got none")
    longest = max(len(short(name)) for name in points)
    # Almost a square: an exact one would leave the layout no room for labels and legend.
    ax = axes_or_new(ax, width=5.3 + LETTER * longest, height=4.6)

    low, high = drawn.min(), drawn.max()
    margin = 0.05 * (high - low) or 0.05
    limits = (low - margin, high + margin)
    ax.plot(limits, limits, color=INK, lw=0.8, ls="--", zorder=1)
    handles = []
    for number, of_algorithm in enumerate(points.values()):
        look = style_of(number, len(points))
        handles += ax.plot(
            *of_algorithm.T, color=look.colour, marker=look.marker, ls="none",
            ms=0.8 * look.size, mew=0,
        )  # fmt: skip
    ax.set_xlim(limits)
    ax.set_ylim(limits)
    ax.set_xlabel("published loss")
    ax.set_ylabel("measured loss")
    ax.grid(color=FAINT, lw=0.8)
    ax.set_axisbelow(True)
    make_plain(ax)
    add_legend(ax, handles, list(map(short, points)), loc="center left", bbox_to_anchor=(1.02, 0.5))
    _name_far_points(ax, drawn, together, list(names) * len(points), far)
    return ax


def _name_far_points(ax: "Axes", drawn: Any, points: Any, names: Sequence[str], far: float) -> None:
    """Name the points furthest from the diagonal, each at the position with the lowest cost."""
    distance = np.nan_to_num(np.abs(points[:, 0] - points[:, 1]))
    furthest: dict[str, int] = {}
    for point in np.argsort(-distance, kind="stable"):
        if distance[point] > far and len(furthest) < MOST_NAMED:
            furthest.setdefault(names[point], int(point))
    if not furthest:
        return
    figure: Any = ax.figure
    with without_glyph_warnings():
        figure.draw_without_rendering()  # gives the axes their final position and size
    to_points = 72 / figure.dpi
    pixels = ax.transData.transform(drawn) * to_points
    frame = ax.bbox.extents * to_points
    taken: list[Any] = []
    for name, point in furthest.items():
        text = short(name)
        size = np.array([5.0 * len(text), 12.0])  # approximate, in points
        x, y = points[point]
        anchor = ax.transData.transform((x, y)) * to_points
        box, offset = min(
            (_box(anchor, size, side, rise) for side, rise in PLACES),
            key=lambda tried: _cost(tried[0], pixels, taken, frame),
        )
        taken.append(box)
        arrow = {"arrowstyle": "-", "color": INK, "lw": 0.5, "shrinkA": 0, "shrinkB": 2}
        write(
            ax, x, y, text, offset=(offset[0], offset[1]), ha="center", va="center",
            arrowprops=arrow if np.abs(offset[1]) > 12 else None,
        )  # fmt: skip


def _box(anchor: Any, size: Any, side: int, rise: int) -> tuple[Any, Any]:
    """Return the box of a text beside its point, and the offset of its centre."""
    offset = np.array([side * (size[0] / 2 + 5), rise])
    middle = anchor + offset
    return np.concatenate([middle - size / 2, middle + size / 2]), offset


def _cost(box: Any, pixels: Any, taken: list[Any], frame: Any) -> float:
    """Return the cost of a text: hidden points, and 100 for each hidden name or the frame."""
    inside = (pixels > box[:2] - 2) & (pixels < box[2:] + 2)
    hidden = inside.all(axis=1).sum()
    clashes = sum((box[:2] < other[2:]).all() and (box[2:] > other[:2]).all() for other in taken)
    outside = (box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any()
    return float(hidden + 100 * clashes + 100 * outside)

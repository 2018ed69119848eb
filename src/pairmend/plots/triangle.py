"""Triangle of the posterior of a Bayesian test: first better, equivalent, second better."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pairmend.plots.drawing import BLUE, INK, axes_or_new, short, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = np.array([[0.0, 0.0], [0.5, np.sqrt(3) / 2], [1.0, 0.0]])
"""Corners of the first, of equivalence, and of the second."""

N_CELLS = 28


def probability_triangle(
    samples: ArrayLike, first: str, second: str, *, ax: "Axes | None" = None
) -> "Axes":
    """Plot samples of three probabilities of a Bayesian test in a triangle.

    Each sample is a point: the nearer to a corner, the more probable is its region. The lines
    separate the parts of the triangle in which a region is the most probable of the three, and
    the numbers are the shares of the samples in these parts. Darker cells have more samples.

    Parameters
    ----------
    samples : array-like of shape (n_samples, 3)
        Probabilities that the first is better, that both are equivalent, and that the second is
        better, as from :func:`pairmend.stats.signed_rank_posterior`.
    first, second : str
        Names of the algorithms.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    Axes

    References
    ----------
    A. Benavoli, G. Corani, J. Demšar, M. Zaffalon, "Time for a change: a tutorial for comparing
    multiple classifiers through Bayesian analysis", Journal of Machine Learning Research 18
    (2017).

    Examples
    --------
    >>> from pairmend.plots import probability_triangle
    >>> ax = probability_triangle([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]], "FCM", "LPW")
    >>> [text.get_text() for text in ax.texts]
    ['FCM better  1.00', 'equivalent  0.00', 'LPW better  0.00']
    """
    values = np.asarray(samples, dtype=float)
    shape_fits = values.ndim == 2 and values.shape[1:] == (3,) and len(values) > 0
    if not shape_fits or not (values >= 0).all() or (abs(values.sum(axis=1) - 1) > 1e-6).any():
        raise ValueError(
            "samples must have three columns of probabilities that are not negative and add up to "
            f"1 in each row; got an array of shape {values.shape}"
        )
    ax = axes_or_new(ax, width=4.2, height=3.7)
    x, y = (values @ CORNERS).T
    cells = ax.hexbin(
        x, y, gridsize=(N_CELLS, N_CELLS // 2), extent=(0, 1, 0, CORNERS[1, 1]), mincnt=1, lw=0
    )
    counts = np.asarray(cells.get_array())
    # One colour with more or less ink, so that it is readable on light and dark pages.
    cells.set_array(None)
    cells.set_facecolor([(*_rgb(BLUE), 0.15 + 0.85 * n / counts.max()) for n in counts])
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color=INK, lw=1.0)
    centre = CORNERS.mean(axis=0)
    for one, other in ((0, 1), (1, 2), (2, 0)):
        middle = (CORNERS[one] + CORNERS[other]) / 2
        ax.plot(*np.array([centre, middle]).T, color=INK, lw=0.8, ls="--")
    most_probable = values >= values.max(axis=1, keepdims=True) - 1e-12
    shares = (most_probable / most_probable.sum(axis=1, keepdims=True)).mean(axis=0)
    names = (f"{short(first)} better", "equivalent", f"{short(second)} better")
    places = ((0, -8, "left", "top"), (0, 6, "center", "bottom"), (0, -8, "right", "top"))
    lines = (0, 0, 1 if len(names[0]) + len(names[2]) > 30 else 0)
    for corner, name, share, place, line in zip(CORNERS, names, shares, places, lines, strict=True):
        right, up, ha, va = place
        write(
            ax, corner[0], corner[1], f"{name}  {share:.2f}", offset=(right, up - 12 * line),
            ha=ha, va=va, fontsize=9,
        )  # fmt: skip
    ax.set_aspect("equal")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.16, CORNERS[1, 1] + 0.1)
    ax.axis("off")
    return ax


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue

"""Plots of probabilities: of Bayesian tests, and how well predicted ones are calibrated."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pairmend._utils.typing import TargetLike
from pairmend.metrics import reliability
from pairmend.plots import drawing
from pairmend.plots.drawing import BLUE, FAINT, INK, short, style_of, styled

if TYPE_CHECKING:
    import pandas as pd

# White numbers are written on the outer colours: both have a contrast of 4.5 or more to white, and
# of 3 or more to light and dark pages. Vermilion has 3.9 to white.
COLOURS = ((BLUE, "white"), (FAINT, INK), ("#B85000", "white"))
REGIONS = ("left one better", "equivalent", "right one better")
NARROWEST = 0.1  # narrower parts have no number
CORNERS = np.array([[0.0, 0.0], [0.5, np.sqrt(3) / 2], [1.0, 0.0]])
"""Corners of a triangle: of the first, of equivalence, and of the second."""
N_CELLS = 28


@styled
def probability_bars(tests: "pd.DataFrame", *, ax: Any = None) -> Any:
    """Plot the outcomes of Bayesian tests as stacked bars, one for each pair of algorithms.

    A bar's left part is the probability that the left one is better, its middle part that both are
    equivalent, its right part that the right one is better.

    Parameters
    ----------
    tests : DataFrame
        Probabilities in the columns ``first_better``, ``equivalent`` and ``second_better``, with
        a row for each pair, as from :func:`pairmend.stats.bayesian_signed_rank`. The last level
        of its index is written on the right of each bar, the others on the left.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None. Its height grows with the bars.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from pairmend.plots import probability_bars
    >>> tests = pd.DataFrame(
    ...     {"first_better": [0.9], "equivalent": [0.06], "second_better": [0.04]},
    ...     index=pd.MultiIndex.from_tuples([("FCM", "LPW")]))
    >>> [text.get_text() for text in probability_bars(tests).texts if text.get_text()]
    ['LPW', '0.90']
    """
    lengths = tests[["first_better", "equivalent", "second_better"]].to_numpy(dtype=float)
    _check_probabilities(lengths)
    places = np.arange(len(lengths))
    ax = drawing.axes_or_new(ax, 6.0, 0.75 + 0.27 * len(lengths))
    for place, (*_, right) in enumerate(tests.index):
        ax.text(1.02, place, short(right), va="center")
    starts = np.cumsum(lengths, axis=1) - lengths
    handles = []
    for (colour, ink), of_region, start in zip(COLOURS, lengths.T, starts.T, strict=True):
        drawn = ax.barh(places, of_region, left=start, height=0.72, color=colour, lw=0)
        labels = [f"{length:.2f}" if length >= NARROWEST else "" for length in of_region]
        ax.bar_label(drawn, labels, label_type="center", fontsize=8, color=ink)
        handles.append(drawn)
    drawing.name_rows(ax, [": ".join(map(str, left)) for *left, _ in tests.index])
    ax.set(xlim=(0, 1), xticks=[0, 0.5, 1], xlabel="probability")
    ax.spines["left"].set_visible(False)
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3}
    drawing.add_legend(ax, handles, REGIONS, handlelength=1.2, columnspacing=1.2, **above)
    return ax


@styled
def probability_triangle(samples: ArrayLike, first: str, second: str, *, ax: Any = None) -> Any:
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
    _check_probabilities(values)
    ax = drawing.axes_or_new(ax, 4.2, 3.7)
    grid: dict[str, Any] = {"gridsize": (N_CELLS, N_CELLS // 2), "extent": (0, 1, 0, CORNERS[1, 1])}
    cells = ax.hexbin(*(values @ CORNERS).T, **grid, mincnt=1, lw=0)
    counts = np.asarray(cells.get_array())
    # One colour with more or less ink, so that it is readable on light and dark pages.
    cells.set_array(None)
    cells.set_facecolor([(BLUE, 0.15 + 0.85 * n / counts.max()) for n in counts])
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color=INK, lw=1.0)
    for one, other in ((0, 1), (1, 2), (2, 0)):
        middle = (CORNERS[one] + CORNERS[other]) / 2
        ax.plot(*np.array([CORNERS.mean(axis=0), middle]).T, color=INK, lw=0.8, ls="--")
    most_probable = values >= values.max(axis=1, keepdims=True) - 1e-12
    shares = (most_probable / most_probable.sum(axis=1, keepdims=True)).mean(axis=0)
    names = (f"{short(first)} better", "equivalent", f"{short(second)} better")
    # The second name stands a line lower: two long ones would overlap.
    places = ((-0.03, "left", "top"), (0.02, "center", "bottom"), (-0.09, "right", "top"))
    for (x, y), name, share, (up, ha, va) in zip(CORNERS, names, shares, places, strict=True):
        ax.text(x, y + up, f"{name}  {share:.2f}", ha=ha, va=va)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


@styled
def plot_reliability(
    Y_true: TargetLike,
    probabilities_by_name: Mapping[str, ArrayLike],
    *,
    label: int | None = None,
    n_bins: int = 10,
    title: str | None = None,
    figure: Any = None,
) -> Any:
    """Plot the share of true labels against the predicted probability (reliability diagram).

    Calibrated probabilities lie on the diagonal: of the labels with a probability of 70 %, 70 %
    are true. Below the diagonal probabilities are too high, above it too low.

    Parameters
    ----------
    Y_true : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
        True label indicators of rows that the classifiers were not trained on.
    probabilities_by_name : mapping of array-like of shape (n_samples, n_labels)
        Probabilities of each classifier's ``predict_proba``, by the name of the classifier.
    label : int, default=None
        Number of a single label to plot; None means all labels, pooled.
    n_bins : int, default=10
        Number of bins of probabilities, of equal width.
    title : str, default=None
        Title of the figure.
    figure : matplotlib Figure or SubFigure, default=None
        Figure to draw into; a new figure if None.

    Returns
    -------
    Figure
        Its first Axes show the shares, the second the number of probabilities in each bin.

    See Also
    --------
    pairmend.metrics.reliability : The numbers that are plotted.

    Examples
    --------
    >>> from pairmend.plots import plot_reliability
    >>> figure = plot_reliability([[1, 0], [0, 0]], {"base": [[0.9, 0.2], [0.4, 0.1]]})
    >>> figure.axes[0].get_ylabel()
    'share of true labels'
    """
    if not probabilities_by_name:
        raise ValueError("probabilities_by_name is empty; expected at least one classifier.")
    if figure is None:
        figure = drawing.new_figure(5.0, 5.6 + 0.22 * len(probabilities_by_name))
    shares, numbers = figure.subplots(2, sharex=True, height_ratios=(3, 1))
    handles = shares.plot([0, 1], [0, 1], color=INK, lw=1, ls=(0, (4, 3)), zorder=1)
    names = ["0  perfectly calibrated"]
    for k, (name, probabilities) in enumerate(probabilities_by_name.items()):
        found = reliability(Y_true, probabilities, label=label, n_bins=n_bins)
        style = style_of(k, len(probabilities_by_name))
        handles += shares.plot(found.predicted, found.observed, **style)
        numbers.plot(found.predicted, found.counts, **style)
        names.append(f"{found.error:.3f}  {name}")
    shares.set(ylabel="share of true labels", ylim=(-0.03, 1.03))
    numbers.set(yscale="log", ylabel="count", xlabel="predicted probability")
    numbers.yaxis.set_major_formatter("{x:,.0f}")
    numbers.minorticks_off()
    for ax in (shares, numbers):
        ax.grid()
    if title is not None:
        shares.set_title(title)
    drawing.add_legend(figure, handles, names, loc="outside lower left", title="calibration error")
    return figure


def _check_probabilities(values: Any) -> None:
    fits = values.ndim == 2 and values.shape[1:] == (3,) and len(values) > 0
    if not fits or not (values >= 0).all() or (abs(values.sum(axis=1) - 1) > 1e-6).any():
        raise ValueError(
            "expected rows of three probabilities that are not negative and add up to 1; got an "
            f"array of shape {values.shape}"
        )

"""Reliability diagram; its bins are computed by `reliability` in metrics.py."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairmend._utils.typing import TargetLike
from pairmend.metrics import reliability
from pairmend.plots.drawing import (
    FAINT,
    INK,
    add_legend,
    import_matplotlib,
    make_plain,
    short,
    style_of,
)


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
    import_matplotlib()
    if not probabilities_by_name:
        raise ValueError("probabilities_by_name is empty; expected at least one classifier.")
    if figure is None:
        from matplotlib.figure import Figure

        height = 5.6 + 0.22 * len(probabilities_by_name)
        figure = Figure(figsize=(5.0, height), layout="constrained")
    shares, numbers = figure.subplots(2, sharex=True, height_ratios=(3, 1))
    (diagonal,) = shares.plot([0, 1], [0, 1], color=INK, lw=1, ls=(0, (4, 3)), zorder=1)
    handles, names, most = [diagonal], ["perfectly calibrated"], 1
    for k, (name, probabilities) in enumerate(probabilities_by_name.items()):
        found = reliability(Y_true, probabilities, label=label, n_bins=n_bins)
        style = style_of(k, len(probabilities_by_name))
        looks: dict[str, Any] = {
            "color": style.colour, "marker": style.marker, "ms": style.size - 2, "ls": style.line,
        }  # fmt: skip
        (line,) = shares.plot(found.predicted, found.observed, **looks, lw=1.6, zorder=2)
        numbers.plot(found.predicted, found.counts, **looks, lw=1.2)
        most = max(most, int(found.counts.max(initial=1)))
        handles.append(line)
        names.append(f"{short(name)}, calibration error {found.error:.3f}")
    shares.set_ylabel("share of true labels")
    shares.set_ylim(-0.03, 1.03)
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    # Ticks at powers of ten only: more would overlap on the low axis.
    numbers.set_yscale("log")
    numbers.set_ylim(0.8, 1.25 * 10 ** np.ceil(np.log10(most)))
    numbers.yaxis.set_major_locator(LogLocator(numticks=5))
    numbers.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    numbers.minorticks_off()
    numbers.set_ylabel("count")
    numbers.set_xlabel("predicted probability")
    numbers.set_xlim(-0.03, 1.03)
    for ax in (shares, numbers):
        make_plain(ax)
        ax.grid(color=FAINT, lw=0.6)
        ax.set_axisbelow(True)
    if title is not None:
        shares.set_title(title, loc="left", fontsize=10, color=INK, parse_math=False)
    # Below the labels of the axis, because curves may be anywhere inside.
    from matplotlib.transforms import offset_copy

    below = offset_copy(numbers.transAxes, fig=figure.figure or figure, y=-36, units="points")
    add_legend(
        numbers, handles, names, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below,
        borderaxespad=0,
    )  # fmt: skip
    return figure

"""Plots of labels, comparisons and explanations. They need matplotlib.

Each function returns the Axes it draws on, or the Figure if it draws several; :func:`to_svg`
converts it to an image.
"""

from pairmend.plots.comparison import fold_spread, published_and_measured
from pairmend.plots.drawing import to_svg
from pairmend.plots.labels import plot_labels
from pairmend.plots.predictions import plot_correction, plot_explanation
from pairmend.plots.probabilities import plot_reliability, probability_bars, probability_triangle
from pairmend.plots.ranks import critical_difference, rank_radar

__all__ = [
    "critical_difference",
    "fold_spread",
    "plot_correction",
    "plot_explanation",
    "plot_labels",
    "plot_reliability",
    "probability_bars",
    "probability_triangle",
    "published_and_measured",
    "rank_radar",
    "to_svg",
]

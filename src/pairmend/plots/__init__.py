"""Plots of multi-label data, comparisons and explanations. They need matplotlib.

Each function returns the Axes it draws on, or the Figure if it draws several; :func:`to_svg`
converts it to an element of an HTML page.
"""

from pairmend.plots.comparison import bars, fold_spread
from pairmend.plots.correction import plot_correction
from pairmend.plots.data import co_occurrence, label_frequencies, labels_per_row
from pairmend.plots.drawing import to_svg
from pairmend.plots.explanation import (
    explained_confusion,
    explained_neighbours,
    explained_scores,
    plot_explanation,
)
from pairmend.plots.probabilities import ProbabilityBar, probability_bars
from pairmend.plots.published import published_and_measured
from pairmend.plots.ranks import critical_difference, rank_radar
from pairmend.plots.reliability import plot_reliability
from pairmend.plots.triangle import probability_triangle

__all__ = [
    "ProbabilityBar",
    "bars",
    "co_occurrence",
    "critical_difference",
    "explained_confusion",
    "explained_neighbours",
    "explained_scores",
    "fold_spread",
    "label_frequencies",
    "labels_per_row",
    "plot_correction",
    "plot_explanation",
    "plot_reliability",
    "probability_bars",
    "probability_triangle",
    "published_and_measured",
    "rank_radar",
    "to_svg",
]

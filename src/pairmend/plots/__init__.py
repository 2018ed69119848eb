"""Drawings of multi-label data and of comparisons. They need matplotlib.

Numbers come in as they are to be drawn; only the means of folds, the sums of parts and the bins of
probabilities are worked out here. Each drawing returns the Axes it is on, a whole of several its
Figure; :func:`to_svg` turns it into an element of a page.
"""

from pairmend._utils.text import one_line
from pairmend.plots.comparison import bars, fold_spread
from pairmend.plots.data import ENDS, MOST_BARS, co_occurrence, label_frequencies, labels_per_row
from pairmend.plots.drawing import FAINT, INK, PALETTE, to_svg
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

__all__ = [
    "ENDS",
    "FAINT",
    "INK",
    "MOST_BARS",
    "PALETTE",
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
    "one_line",
    "plot_explanation",
    "plot_reliability",
    "probability_bars",
    "published_and_measured",
    "rank_radar",
    "to_svg",
]

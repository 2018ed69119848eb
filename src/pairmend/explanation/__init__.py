"""Explanations of predictions: what the base classifier used, and what the correction changed.

Explanations are dataclasses of numbers, texts and tuples: ``dataclasses.asdict`` converts them for
JSON. They are text, data frames, HTML pages and outputs of notebooks as well, and
:func:`pairmend.plots.plot_explanation` draws them.
"""

from pairmend.explanation.data import Explanation, Explanations, LabelExplanation
from pairmend.explanation.explaining import explain

__all__ = ["Explanation", "Explanations", "LabelExplanation", "explain"]

"""Explanations of predictions: binary problems, their corrections, and the sums of scores.

Explanations are dataclasses of numbers, names and tuples: ``dataclasses.asdict`` converts them for
JSON. ``to_html`` returns them as a page, :func:`pairmend.plots.plot_explanation` draws them.
"""

from pairmend.explanation.data import (
    Explanation,
    Explanations,
    FeatureExplanation,
    LabelExplanation,
    Neighbour,
    ProblemExplanation,
    SetExplanation,
    Step,
    TrainingRow,
)
from pairmend.explanation.features import add_features
from pairmend.explanation.problem import explain_problem

__all__ = [
    "Explanation",
    "Explanations",
    "FeatureExplanation",
    "LabelExplanation",
    "Neighbour",
    "ProblemExplanation",
    "SetExplanation",
    "Step",
    "TrainingRow",
    "add_features",
    "explain_problem",
]

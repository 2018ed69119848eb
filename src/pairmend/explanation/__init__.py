"""Explanations of predictions: binary problems, their corrections, and the sums of scores.

Explanations are dataclasses of numbers, names and tuples: ``dataclasses.asdict`` converts them for
JSON. :func:`pairmend.plots.plot_explanation` draws them.
"""

from pairmend.explanation.data import (
    Explanation,
    LabelExplanation,
    Neighbour,
    ProblemExplanation,
    SetExplanation,
    Step,
)
from pairmend.explanation.problem import explain_problem

__all__ = [
    "Explanation",
    "LabelExplanation",
    "Neighbour",
    "ProblemExplanation",
    "SetExplanation",
    "Step",
    "explain_problem",
]

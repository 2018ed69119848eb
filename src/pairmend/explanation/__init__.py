"""Why a row got its labels: what each binary problem said, how it was mended, how scores add up.

Explanations are plain data, made of numbers, names and tuples only: ``dataclasses.asdict`` turns
them into what JSON can hold. :func:`pairmend.plots.plot_explanation` draws them.
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

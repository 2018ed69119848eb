"""Loops that numba compiles, where arrays of numpy would cost passes over memory.

Each does what a function elsewhere does with numpy alone, which is there for whoever has no numba
and is what the tests hold this against. All let go of the interpreter's lock. Ask
:func:`pairmend._compiled.compiled_for` for them.
"""

from pairmend.compiled.confusion import multiply
from pairmend.compiled.features import count_distinct, stack_rows
from pairmend.compiled.reference import beta_reference
from pairmend.compiled.sums import sum_labels
from pairmend.compiled.supports import (
    mean_supports,
    mean_supports_at,
    mean_supports_of_labels,
    mean_supports_of_pairs,
    score,
)

__all__ = [
    "beta_reference",
    "count_distinct",
    "mean_supports",
    "mean_supports_at",
    "mean_supports_of_labels",
    "mean_supports_of_pairs",
    "multiply",
    "score",
    "stack_rows",
    "sum_labels",
]

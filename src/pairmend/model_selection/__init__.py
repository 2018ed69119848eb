"""Splits of multi-label rows for validation and cross-validation."""

from pairmend.model_selection.splits import (
    MultilabelStratifiedKFold,
    given_split,
    hold_out,
    shuffled_folds,
    stratified_folds,
    validation_split,
)

__all__ = [
    "MultilabelStratifiedKFold",
    "given_split",
    "hold_out",
    "shuffled_folds",
    "stratified_folds",
    "validation_split",
]

"""Splits of multi-label rows for cross-validation."""

from pairmend.model_selection.splits import MultilabelStratifiedKFold

__all__ = ["MultilabelStratifiedKFold"]

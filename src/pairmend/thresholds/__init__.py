"""Thresholds that convert scores of labels to predictions."""

from pairmend.thresholds.strategies import (
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
    NeverEmpty,
    Threshold,
    TopLabels,
)

__all__ = [
    "CardinalityThreshold",
    "F1Thresholds",
    "FixedThreshold",
    "NeverEmpty",
    "Threshold",
    "TopLabels",
]

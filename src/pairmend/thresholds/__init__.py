"""Thresholds that turn the scores of labels into predictions."""

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

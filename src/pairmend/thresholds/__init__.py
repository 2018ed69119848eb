"""Thresholds that convert scores of labels to predictions."""

from pairmend.thresholds.risk_control import PrecisionControl, RecallControl, abstain
from pairmend.thresholds.strategies import (
    BatchF1Thresholds,
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
    NeverEmpty,
    TopLabels,
)

__all__ = [
    "BatchF1Thresholds",
    "CardinalityThreshold",
    "F1Thresholds",
    "FixedThreshold",
    "NeverEmpty",
    "PrecisionControl",
    "RecallControl",
    "TopLabels",
    "abstain",
]

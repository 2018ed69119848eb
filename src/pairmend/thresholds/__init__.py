"""Thresholds of scores, some with a guarantee (their cuts are found in kernels/threshold.py).

Each has ``fit(scores, Y, sample_weight=None)`` and ``decide(scores)``. Fit them on out-of-fold
scores, as :class:`~pairmend.ThresholdedClassifier` does. Scores of
:class:`~pairmend.CalibratedLabelRanking` need no fit: ``FixedThreshold(0.5)`` is its virtual label.
"""

from pairmend.thresholds.guarantees import PrecisionControl, RecallControl
from pairmend.thresholds.rules import (
    BatchF1Thresholds,
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
    NeverEmpty,
    TopLabels,
    abstain,
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

"""Pairwise multi-label classification, mended by local fuzzy confusion matrices."""

from pairmend.calibrated import CalibratedLabelRanking
from pairmend.corrected import CorrectedPairwiseClassifier
from pairmend.family import PairwisePerceptrons
from pairmend.mended import MendedClassifier
from pairmend.naive_bayes import RandomSubspaceNB
from pairmend.neighbourhoods import (
    AdaptiveNeighbourhood,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
)
from pairmend.pairwise import PairwiseClassifier
from pairmend.rivals import BinaryRelevance, ClassifierChainEnsemble, LabelPowerset, MLkNN, RAkEL
from pairmend.thresholded import ThresholdedClassifier

__version__ = "0.1.0"

__all__ = [
    "AdaptiveNeighbourhood",
    "BinaryRelevance",
    "CalibratedLabelRanking",
    "ClassifierChainEnsemble",
    "CorrectedPairwiseClassifier",
    "GaussianNeighbourhood",
    "GlobalNeighbourhood",
    "LabelPowerset",
    "MLkNN",
    "MendedClassifier",
    "PairwiseClassifier",
    "PairwisePerceptrons",
    "RAkEL",
    "RandomSubspaceNB",
    "ThresholdedClassifier",
]

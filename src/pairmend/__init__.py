"""Multi-label classification, mended by how a classifier errs near the point in question."""

from importlib import import_module
from typing import Any

from pairmend.calibrated import CalibratedLabelRanking
from pairmend.corrected import CorrectedPairwiseClassifier
from pairmend.family import (
    BradleyTerryClassifier,
    CorrectedBinaryRelevance,
    CorrectedMulticlassClassifier,
    FourClassPairsClassifier,
    PairwisePerceptrons,
    ParallelHyperplanesSVM,
    QWeightedVoting,
    SharedFirstClassifier,
    TwoStageVoting,
)
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
    "BradleyTerryClassifier",
    "CalibratedLabelRanking",
    "ClassifierChainEnsemble",
    "CorrectedBinaryRelevance",
    "CorrectedMulticlassClassifier",
    "CorrectedPairwiseClassifier",
    "FourClassPairsClassifier",
    "GaussianNeighbourhood",
    "GlobalNeighbourhood",
    "LabelPowerset",
    "MLkNN",
    "MendedClassifier",
    "PairwiseClassifier",
    "PairwisePerceptrons",
    "ParallelHyperplanesSVM",
    "QWeightedVoting",
    "RAkEL",
    "RandomSubspaceNB",
    "SharedFirstClassifier",
    "ThresholdedClassifier",
    "TwoStageVoting",
]

_PARTS = (
    "datasets",
    "distributed",
    "models",
    "model_selection",
    "metrics",
    "plots",
    "published",
    "report",
    "stats",
    "study",
)


def __getattr__(name: str) -> Any:
    """Import a part of the library when it is asked for, as ``pairmend.plots``."""
    if name in _PARTS:
        return import_module(f"pairmend.{name}")
    raise AttributeError(f"module 'pairmend' has no attribute {name!r}")

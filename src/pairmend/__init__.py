"""Multi-label classification corrected by local confusion matrices, for scikit-learn."""

from importlib import import_module
from typing import Any

from pairmend.baselines import BinaryRelevance, ClassifierChainEnsemble, LabelPowerset, MLkNN, RAkEL
from pairmend.mended.estimator import MendedClassifier
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.neighbourhoods import (
    AdaptiveNeighbourhood,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
)
from pairmend.pairwise.calibrated import CalibratedLabelRanking
from pairmend.pairwise.corrected import CorrectedPairwiseClassifier
from pairmend.pairwise.family import (
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
from pairmend.pairwise.voting import PairwiseClassifier
from pairmend.thresholds.classifier import ThresholdedClassifier

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

_SUBMODULES = [
    "base_classifiers",
    "datasets",
    "distributed",
    "explanation",
    "frames",
    "metrics",
    "model_selection",
    "persistence",
    "plots",
    "published",
    "report",
    "stats",
    "study",
    "thresholds",
]


def __getattr__(name: str) -> Any:
    """Import a public submodule when it is first used, as in ``pairmend.plots``."""
    if name in _SUBMODULES:
        return import_module(f"pairmend.{name}")
    raise AttributeError(f"module 'pairmend' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*__all__, *_SUBMODULES])

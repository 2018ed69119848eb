"""Further pairwise classifiers from the literature."""

from pairmend.pairwise.family.bradley_terry import BradleyTerryClassifier
from pairmend.pairwise.family.four_classes import FourClassPairsClassifier
from pairmend.pairwise.family.locally_corrected import (
    CorrectedBinaryRelevance,
    CorrectedMulticlassClassifier,
)
from pairmend.pairwise.family.parallel_hyperplanes import ParallelHyperplanesSVM
from pairmend.pairwise.family.perceptrons import PairwisePerceptrons
from pairmend.pairwise.family.qweighted import QWeightedVoting
from pairmend.pairwise.family.selective import CountedPrediction
from pairmend.pairwise.family.shared_first import SharedFirstClassifier
from pairmend.pairwise.family.two_stage import TwoStageVoting

__all__ = [
    "BradleyTerryClassifier",
    "CorrectedBinaryRelevance",
    "CorrectedMulticlassClassifier",
    "CountedPrediction",
    "FourClassPairsClassifier",
    "PairwisePerceptrons",
    "ParallelHyperplanesSVM",
    "QWeightedVoting",
    "SharedFirstClassifier",
    "TwoStageVoting",
]

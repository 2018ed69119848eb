"""Relatives of the pairwise vote and its correction, behind one way of use."""

from pairmend.family.bradley_terry import BradleyTerryClassifier
from pairmend.family.corrected_classes import CorrectedMulticlassClassifier
from pairmend.family.corrected_relevance import CorrectedBinaryRelevance
from pairmend.family.four_classes import FourClassPairsClassifier
from pairmend.family.frugal import Poll
from pairmend.family.parallel_hyperplanes import ParallelHyperplanesSVM
from pairmend.family.perceptrons import PairwisePerceptrons
from pairmend.family.qweighted import QWeightedVoting
from pairmend.family.shared_first import SharedFirstClassifier
from pairmend.family.two_stage import TwoStageVoting

__all__ = [
    "BradleyTerryClassifier",
    "CorrectedBinaryRelevance",
    "CorrectedMulticlassClassifier",
    "FourClassPairsClassifier",
    "PairwisePerceptrons",
    "ParallelHyperplanesSVM",
    "Poll",
    "QWeightedVoting",
    "SharedFirstClassifier",
    "TwoStageVoting",
]

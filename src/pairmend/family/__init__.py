"""Relatives of the pairwise vote and its correction, with the same way of use."""

from pairmend.family.corrected_classes import CorrectedMulticlassClassifier
from pairmend.family.corrected_relevance import CorrectedBinaryRelevance
from pairmend.family.frugal import Poll
from pairmend.family.qweighted import QWeightedVoting
from pairmend.family.two_stage import TwoStageVoting

__all__ = [
    "CorrectedBinaryRelevance",
    "CorrectedMulticlassClassifier",
    "Poll",
    "QWeightedVoting",
    "TwoStageVoting",
]

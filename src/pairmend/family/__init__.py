"""Relatives of the pairwise vote, with the same pairs and the same way of use."""

from pairmend.family.bradley_terry import BradleyTerryClassifier
from pairmend.family.four_classes import FourClassPairsClassifier
from pairmend.family.frugal import Poll
from pairmend.family.parallel_hyperplanes import ParallelHyperplanesSVM
from pairmend.family.qweighted import QWeightedVoting
from pairmend.family.shared_first import SharedFirstClassifier
from pairmend.family.two_stage import TwoStageVoting

__all__ = [
    "BradleyTerryClassifier",
    "FourClassPairsClassifier",
    "ParallelHyperplanesSVM",
    "Poll",
    "QWeightedVoting",
    "SharedFirstClassifier",
    "TwoStageVoting",
]

"""Pairwise methods from the literature, and corrections of one problem per label or class.

Pairwise voting itself and its correction are in :mod:`pairmend`.
"""

from pairmend.pairwise.family.bradley_terry import BradleyTerryClassifier
from pairmend.pairwise.family.four_classes import FourClassPairsClassifier
from pairmend.pairwise.family.locally_corrected import (
    CorrectedBinaryRelevance,
    CorrectedMulticlassClassifier,
)
from pairmend.pairwise.family.parallel_hyperplanes import ParallelHyperplanesSVM
from pairmend.pairwise.family.perceptrons import PairwisePerceptrons
from pairmend.pairwise.family.selective import QWeightedVoting, TwoStageVoting
from pairmend.pairwise.family.shared_first import SharedFirstClassifier

__all__ = [
    "BradleyTerryClassifier", "CorrectedBinaryRelevance", "CorrectedMulticlassClassifier",
    "FourClassPairsClassifier", "PairwisePerceptrons", "ParallelHyperplanesSVM", "QWeightedVoting",
    "SharedFirstClassifier", "TwoStageVoting",
]  # fmt: skip

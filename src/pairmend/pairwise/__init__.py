"""Pairwise methods from the literature, and corrections of one problem per label or class.

Pairwise voting itself and its correction are in :mod:`pairmend`.
"""

from pairmend.pairwise.both_labels import (
    BradleyTerryClassifier,
    FourClassPairsClassifier,
    SharedFirstClassifier,
)
from pairmend.pairwise.locally_corrected import (
    CorrectedBinaryRelevance,
    CorrectedMulticlassClassifier,
)
from pairmend.pairwise.parallel_hyperplanes import ParallelHyperplanesSVM
from pairmend.pairwise.perceptrons import PairwisePerceptrons
from pairmend.pairwise.selective import QWeightedVoting, TwoStageVoting

__all__ = [
    "BradleyTerryClassifier", "CorrectedBinaryRelevance", "CorrectedMulticlassClassifier",
    "FourClassPairsClassifier", "PairwisePerceptrons", "ParallelHyperplanesSVM", "QWeightedVoting",
    "SharedFirstClassifier", "TwoStageVoting",
]  # fmt: skip

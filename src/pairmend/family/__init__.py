"""Relatives of pairwise multi-label learning, behind one way of use."""

from pairmend.family.bradley_terry import BradleyTerryClassifier
from pairmend.family.four_classes import FourClassPairsClassifier
from pairmend.family.parallel_hyperplanes import ParallelHyperplanesSVM
from pairmend.family.shared_first import SharedFirstClassifier

__all__ = [
    "BradleyTerryClassifier",
    "FourClassPairsClassifier",
    "ParallelHyperplanesSVM",
    "SharedFirstClassifier",
]

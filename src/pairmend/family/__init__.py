"""Relatives of the corrected pairwise ensemble."""

from pairmend.family.corrected_classes import CorrectedMulticlassClassifier
from pairmend.family.corrected_relevance import CorrectedBinaryRelevance

__all__ = ["CorrectedBinaryRelevance", "CorrectedMulticlassClassifier"]

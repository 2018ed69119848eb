"""Relatives of pairwise multi-label learning, a file for each."""

from pairmend.family.perceptrons import PairwisePerceptrons

__all__ = ["PairwisePerceptrons"]

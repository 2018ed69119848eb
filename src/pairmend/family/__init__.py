"""Relatives of the pairwise vote, with the same pairs and the same way of use."""

from pairmend.family.frugal import Poll
from pairmend.family.qweighted import QWeightedVoting
from pairmend.family.two_stage import TwoStageVoting

__all__ = ["Poll", "QWeightedVoting", "TwoStageVoting"]

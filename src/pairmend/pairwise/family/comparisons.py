"""Pairwise comparisons of labels until those with fewer losses than the virtual label are found."""

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.pairs import label_pairs


class Comparisons:
    """Losses of labels in pairwise comparisons, for many rows at once.

    Every label is compared with every other and with the virtual label. A tie is half a loss for
    both; losses are counted in halves, so that they are integers. `virtual_votes`, of shape
    (n, L), are the votes for each label against the virtual label: 0, 1/2 or 1. With
    `winner_only`, only the first label with the fewest losses is searched for.
    """

    def __init__(self, virtual_votes: FloatArray, *, winner_only: bool = False):
        n_rows, n_labels = virtual_votes.shape
        won = np.round(2 * virtual_votes).astype(np.int32)
        self.losses: IntArray = 2 - won
        self._virtual_losses = won.sum(axis=1, keepdims=True)
        self._compared: BoolArray = np.tile(np.eye(n_labels, dtype=bool), (n_rows, 1, 1))
        self._n_open: IntArray = np.full((n_rows, n_labels), n_labels - 1, dtype=np.int32)
        self._winner_only = winner_only
        # Indices of pairs in the order of label_pairs, the virtual label last.
        self._pairs = label_pairs(n_labels + 1)
        self._number: IntArray = np.full((n_labels + 1, n_labels + 1), -1)
        first, second = self._pairs.T
        self._number[first, second] = self._number[second, first] = np.arange(len(self._pairs))

    @property
    def relevant(self) -> BoolArray:
        """Mask of the labels with fewer losses than the virtual label."""
        return np.asarray(self.losses < self._virtual_losses)

    def next_pairs(self, rows: IntArray) -> IntArray:
        """Return the index of the pair to compare next in each row; -1 if none.

        The undecided label with the fewest losses is compared with the label with the fewest
        losses among those it was not compared with, the first of several.
        """
        losses = self.losses[rows]
        undecided = self._undecided(rows, losses)
        open_rows = undecided.any(axis=1)
        never = np.iinfo(losses.dtype).max
        label = np.where(undecided, losses, never).argmin(axis=1)
        compared = self._compared[rows, label]
        other = np.where(compared, never, losses).argmin(axis=1)
        return np.where(open_rows, self._number[label, other], -1)

    def add(self, rows: IntArray, pair: int, votes: FloatArray) -> None:
        """Add the votes of a pair for its first label at rows: 1, 0, or 1/2 for a tie."""
        first, second = self._pairs[pair]
        won = np.round(2 * votes).astype(self.losses.dtype)
        self.losses[rows, first] += 2 - won
        self.losses[rows, second] += won
        for one, another in ((first, second), (second, first)):
            self._compared[rows, one, another] = True
            self._n_open[rows, one] -= 1

    def _undecided(self, rows: IntArray, losses: IntArray) -> BoolArray:
        """Return the mask of labels whose open comparisons may change the prediction."""
        n_open = self._n_open[rows]
        if self._winner_only:
            # Losses never decrease: the first label without open comparisons stays the first.
            leads = losses.argmin(axis=1)[:, np.newaxis] == np.arange(losses.shape[1])
            return np.asarray(leads & (n_open > 0))
        limit = self._virtual_losses[rows]
        return np.asarray((losses < limit) & (losses + 2 * n_open >= limit))

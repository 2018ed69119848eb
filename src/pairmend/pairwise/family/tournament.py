"""The games between labels that decide which have fewer losses than the virtual label."""

import numpy as np

from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.kernels.pairs import label_pairs


class Tournament:
    """Who lost how often and who has played whom, in many rows at once.

    Every label plays every other and the virtual one; whoever loses has a loss more, and a tie is
    half a loss for both. Losses are counted in halves, so that they are whole numbers.

    Parameters
    ----------
    virtual_votes : ndarray of shape (n, L)
        What each label won against the virtual one: 0, 1/2 or 1.
    winner_only : bool, default=False
        Whether only the label with the fewest losses is sought, the first of several, and not
        all with fewer losses than the virtual label.

    Examples
    --------
    Label 1 lost against the virtual label, which lost once. There is no need to ask whether it
    loses against label 0, too, but whether label 0 loses against it.

    >>> games = Tournament(np.array([[1.0, 0.0]]))
    >>> games.next_pairs(np.array([0])).tolist()
    [0]
    >>> games.enter(np.array([0]), 0, np.array([1.0]))
    >>> games.next_pairs(np.array([0])).tolist()
    [-1]
    >>> games.relevant.tolist()
    [[True, False]]
    """

    def __init__(self, virtual_votes: FloatArray, *, winner_only: bool = False):
        n_rows, n_labels = virtual_votes.shape
        won = np.round(2 * virtual_votes).astype(np.int32)
        self.losses: IntArray = 2 - won
        self._virtual_losses = won.sum(axis=1, keepdims=True)
        self._played: BoolArray = np.tile(np.eye(n_labels, dtype=bool), (n_rows, 1, 1))
        self._n_unplayed: IntArray = np.full((n_rows, n_labels), n_labels - 1, dtype=np.int32)
        self._winner_only = winner_only
        # Numbers of pairs in the library's order, the virtual label being one more.
        self._pairs = label_pairs(n_labels + 1)
        self._number: IntArray = np.full((n_labels + 1, n_labels + 1), -1)
        first, second = self._pairs.T
        self._number[first, second] = self._number[second, first] = np.arange(len(self._pairs))

    @property
    def relevant(self) -> BoolArray:
        """Which labels have fewer losses than the virtual label; in the end, which are relevant."""
        return np.asarray(self.losses < self._virtual_losses)

    def next_pairs(self, rows: IntArray) -> IntArray:
        """Return the number of the pair that must be asked next in each row; -1 if none.

        The undecided label with the fewest losses plays the unplayed opponent with the fewest,
        the first if there are several.
        """
        losses = self.losses[rows]
        undecided = self._undecided(rows, losses)
        open_rows = undecided.any(axis=1)
        never = np.iinfo(losses.dtype).max
        player = np.where(undecided, losses, never).argmin(axis=1)
        played = self._played[rows, player]
        opponent = np.where(played, never, losses).argmin(axis=1)
        return np.where(open_rows, self._number[player, opponent], -1)

    def enter(self, rows: IntArray, pair: int, votes: FloatArray) -> None:
        """Enter what a pair says of rows: 1 if its first label won, 0 if the second, 1/2 a tie."""
        first, second = self._pairs[pair]
        won = np.round(2 * votes).astype(self.losses.dtype)
        self.losses[rows, first] += 2 - won
        self.losses[rows, second] += won
        for label, other in ((first, second), (second, first)):
            self._played[rows, label, other] = True
            self._n_unplayed[rows, label] -= 1

    def _undecided(self, rows: IntArray, losses: IntArray) -> BoolArray:
        """Return which labels' unplayed games may still change what is sought."""
        unplayed = self._n_unplayed[rows]
        if self._winner_only:
            # Whoever leads, and has no game left, stays ahead: losses never become fewer.
            leads = losses.argmin(axis=1)[:, np.newaxis] == np.arange(losses.shape[1])
            return np.asarray(leads & (unplayed > 0))
        limit = self._virtual_losses[rows]
        return np.asarray((losses < limit) & (losses + 2 * unplayed >= limit))

"""Naive Bayes in random subspaces for all pairs at once, in closed form."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._basis import Basis, Expanded
from pairmend._pairs import LabelRows
from pairmend._streaming import batches
from pairmend._typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._validation import check_sample_weight, seed_estimator
from pairmend.kernels.logistic import add_logistic
from pairmend.learners.sums import LabelSums, Terms
from pairmend.naive_bayes import RandomSubspaceNB, read_numbers

TILE = 2**16
"""Log-odds that are worked on at once: few enough to stay in the processor's cache."""
TERMS = 2**19
"""Terms of pairs that are worked out at once."""


@dataclass(frozen=True)
class _Rows:
    """Rows to be asked about: written in the basis, whole and by subspace."""

    whole: Expanded
    parts: list[Any]

    @property
    def n_rows(self) -> int:
        return int(self.whole.matrix.shape[0])

    def at(self, rows: IntArray | slice) -> "_Rows":
        absent = self.whole.absent
        whole = Expanded(self.whole.matrix[rows], None if absent is None else absent[rows])
        return _Rows(whole, [part[rows] for part in self.parts])


class SubspaceNBPairLearner:
    """Trains :class:`~pairmend.RandomSubspaceNB` for all pairs in one pass over the rows.

    It gives what one clone a pair gives. Training adds up the rows of each label and of each
    two labels that share rows. A pair whose labels share none needs no model of its own: its
    log-odds are the difference of its labels' log-likelihoods.

    Parameters
    ----------
    estimator : RandomSubspaceNB
        The base classifier.
    seed : int
        Set as its ``random_state`` where that is None.

    Attributes
    ----------
    survey_ : FeatureSurvey
        What all pairs know of the features.
    """

    def __init__(self, estimator: RandomSubspaceNB, *, seed: int):
        self.estimator = estimator
        self.seed = seed

    def fit(
        self, X: MatrixLike, Y: BoolArray, pairs: IntArray, fit_params: dict[str, Any]
    ) -> "SubspaceNBPairLearner":
        """Train all pairs, each on the rows that carry exactly one of its labels."""
        estimator = seed_estimator(self.estimator, self.seed)
        weights = fit_params.get("sample_weight")
        if weights is not None:
            weights = check_sample_weight(weights, X, ensure_non_negative=True)
        self.survey_ = fit_params.get("survey") or estimator.survey(X, sample_weight=weights)
        numbers = read_numbers(estimator, X, self.survey_.encoder)
        if weights is not None:
            present = weights > 0
            numbers, Y, weights = numbers[present], Y[present], weights[present]
        self._basis = Basis.learn(self.survey_, numbers)
        self._sums = LabelSums.over(Y, weights, self._basis.expand(numbers))
        self._pairs = pairs
        self._labels = Terms.of(self._sums.labels, self._basis)
        # Labels with a feature they have never seen leave it out of all their pairs.
        complete = np.ones(Y.shape[1], dtype=bool)
        if self._labels.usable is not None:
            complete = self._labels.usable.all(axis=1)
        self._separable = (self._sums.number < 0) & complete & complete[:, np.newaxis]
        return self

    def supports(self, X: MatrixLike, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports for the first labels of blocks of pairs, (n, block) each."""
        rows = self._read(X)
        tiles = [rows.at(tile) for tile in batches(rows.n_rows, self._tile_size())]
        scores: list[FloatArray] | None = None
        for block in blocks:
            first, second = self._pairs[block].T
            separable = self._separable[first, second]
            supports = np.empty((len(first), rows.n_rows))
            if separable.any():
                scores = scores or [self._label_scores(tile) for tile in tiles]
                where = np.flatnonzero(separable)
                self._fill_separable(supports, where, first[where], second[where], scores)
            where = np.flatnonzero(~separable)
            for part in batches(len(where), self._pairs_at_once()):
                here = where[part]
                supports[here] = self._own(first[here], second[here], tiles)
            self._fill_constant(supports, first, second)
            yield supports.T

    def support_at(self, X: MatrixLike, carried: LabelRows) -> FloatArray:
        """Return the supports for labels at the rows that carry them, in all their pairs."""
        rows = self._read(X)
        n_labels = len(self._labels.base)
        out = np.full((len(carried.rows), n_labels), 0.5)
        if self._separable.any():
            self._fill_separable_at(out, rows, carried)
        for label in range(n_labels):
            entries = carried.entries(label)
            others = np.flatnonzero(~self._separable[label])
            others = others[others != label]
            if entries.start == entries.stop or not len(others):
                continue
            mine = rows.at(carried.rows[entries])
            tiles = [mine.at(tile) for tile in batches(mine.n_rows, self._tile_size())]
            for part in batches(len(others), self._pairs_at_once()):
                first = np.full(part.stop - part.start, label)
                out[entries, others[part]] = self._own(first, others[part], tiles).T
        for label in range(n_labels):
            entries = carried.entries(label)
            others = np.delete(np.arange(n_labels), label)
            constant, value = self._constants(np.full(len(others), label), others)
            out[entries, others[constant]] = value
        return out

    def _read(self, X: MatrixLike) -> _Rows:
        numbers = read_numbers(self.estimator, X, self.survey_.encoder)
        if numbers.shape[1] != len(self.survey_.categorical):
            raise ValueError(
                f"X has {numbers.shape[1]} features, but the pairs were trained with "
                f"{len(self.survey_.categorical)}."
            )
        whole = self._basis.expand(numbers)
        return _Rows(whole, [whole.matrix[:, c] for c in self._basis.subspace_columns])

    def _pairs_at_once(self) -> int:
        return min(1024, max(32, TERMS // max(1, len(self._basis.column_feature))))

    def _tile_size(self) -> int:
        return max(16, TILE // min(len(self._pairs), self._pairs_at_once()))

    def _scores(self, terms: Terms, prior: FloatArray, rows: _Rows) -> Iterator[FloatArray]:
        """Yield weighted sums of the rows' columns in each subspace, (classes, rows) each."""
        constants = terms.base @ self._basis.subspace_masks + prior[:, np.newaxis]
        columns = np.ascontiguousarray(terms.weights.T)
        for s, (part, chosen) in enumerate(
            zip(rows.parts, self._basis.subspace_columns, strict=True)
        ):
            scores = np.ascontiguousarray((part @ columns[chosen]).T)
            scores += constants[:, s, np.newaxis]
            if rows.whole.absent is not None:
                left_out = terms.base * self._basis.subspace_masks[:, s]
                scores -= (rows.whole.absent @ left_out.T).T
            yield scores

    def _own(self, first: IntArray, second: IntArray, tiles: list[_Rows]) -> FloatArray:
        """Return the supports for first labels of pairs with models of their own, (pairs, n)."""
        ours, theirs = self._sums.only(first, second), self._sums.only(second, first)
        # Odds against the first label: what the logistic function is made of.
        terms = Terms.of(theirs, self._basis).less(Terms.of(ours, self._basis), self._basis)
        prior = np.log((theirs.mass + 1) / (ours.mass + 1))
        supports = [np.zeros((len(first), tile.n_rows)) for tile in tiles]
        for tile, total in zip(tiles, supports, strict=True):
            for log_odds in self._scores(terms, prior, tile):
                add_logistic(log_odds, total)
            total /= len(tile.parts)
        return np.concatenate(supports, axis=1)

    def _label_scores(self, rows: _Rows) -> FloatArray:
        """Return the log-likelihoods of labels' rows in all subspaces, (subspaces, L, n)."""
        prior = np.log(self._sums.labels.mass + 1)
        return np.stack(list(self._scores(self._labels, prior, rows)))

    def _fill_separable(
        self,
        supports: FloatArray,
        where: IntArray,
        first: IntArray,
        second: IntArray,
        scores: list[FloatArray],
    ) -> None:
        """Set the supports of pairs whose labels share no row."""
        start = 0
        for tile in scores:
            n_subspaces, _, n_rows = tile.shape
            for part in batches(len(where), max(1, TILE // n_rows)):
                total = np.zeros((part.stop - part.start, n_rows))
                for score in tile:
                    add_logistic(score[second[part]] - score[first[part]], total)
                total /= n_subspaces
                supports[where[part], start : start + n_rows] = total
            start += n_rows

    def _fill_separable_at(self, out: FloatArray, rows: _Rows, carried: LabelRows) -> None:
        """Set the supports of labels against all labels they share no row with."""
        by_row = np.argsort(carried.rows, kind="stable")
        ordered = carried.rows[by_row]
        n_labels, n_subspaces = len(self._labels.base), len(rows.parts)
        at_once = max(1, 2 * TILE // (n_labels * n_subspaces))
        for chunk in batches(rows.n_rows, max(1, 8 * TILE // n_labels)):
            scores = self._label_scores(rows.at(chunk)).transpose(2, 0, 1).copy()
            low, high = np.searchsorted(ordered, [chunk.start, chunk.stop])
            for part in batches(int(high - low), at_once):
                entries = by_row[low + part.start : low + part.stop]
                here = scores[carried.rows[entries] - chunk.start]
                label = carried.label[entries]
                own = np.take_along_axis(here, label[:, np.newaxis, np.newaxis], axis=2)
                here -= own
                total = np.zeros((len(entries), n_labels))
                for s in range(n_subspaces):
                    add_logistic(here[:, s], total)
                total /= n_subspaces
                out[entries] = total

    def _constants(self, first: IntArray, second: IntArray) -> tuple[BoolArray, FloatArray]:
        """Return which pairs lack the rows of a side, and the smoothed shares they say."""
        ours, n_ours = self._sums.sizes(first, second)
        theirs, n_theirs = self._sums.sizes(second, first)
        constant = (n_ours == 0) | (n_theirs == 0)
        return constant, ((ours + 1) / (ours + theirs + 2))[constant]

    def _fill_constant(self, supports: FloatArray, first: IntArray, second: IntArray) -> None:
        constant, value = self._constants(first, second)
        supports[constant] = value[:, np.newaxis]

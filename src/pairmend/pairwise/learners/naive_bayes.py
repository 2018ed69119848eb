"""RandomSubspaceNB for all pairs at once, in closed form."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pairmend._utils.arrays import by_density
from pairmend._utils.classifiers import seed_estimator
from pairmend._utils.computing import batches, in_threads, row_chunks, thread_count
from pairmend._utils.progress import report
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.kernels.pairs import LabelRows, pairs_of
from pairmend.kernels.rrc import decide, fold
from pairmend.naive_bayes.estimator import positive_rows, read_numbers
from pairmend.naive_bayes.features import Design
from pairmend.naive_bayes.likelihood import (
    LabelScores,
    ScoredRows,
    Scorer,
    Terms,
    folded_mean_logistic,
    mean_logistic,
)
from pairmend.naive_bayes.sums import LabelSums
from pairmend.pairwise.learners import PairLearner

TERMS = 2**19
"""Terms of pairs computed at once."""
WORTHWHILE = 0.25
"""Share of pairs without shared rows above which they are computed from label scores."""
CACHED_TERMS = 2**22
"""Number of terms of pairs up to which they are cached after training."""


class SubspaceNBPairLearner(PairLearner):
    """Trains :class:`~pairmend.RandomSubspaceNB` for all pairs in one pass over the rows.

    Its supports equal those of one clone for each pair. Training sums the rows of each label and of
    each two labels that share rows. A pair whose labels share none needs no model of its own: its
    log-odds are the difference of its labels' log-likelihoods. If `n_jobs` is None, there are as
    many threads as matrix products use.
    """

    def fit(self, rows: Any, pairs: IntArray, owner: Any = None) -> "SubspaceNBPairLearner":
        """Train all pairs, each on the rows that have exactly one of its labels."""
        estimator, Y = seed_estimator(self.estimator, self.seed), rows.Y
        given, weights = map(rows.fit_params.get, ("feature_statistics", "sample_weight"))
        numbers, present, weights, statistics = estimator.read_training_rows(rows.X, weights, given)
        Y, design = Y[present], Design.from_rows(statistics, numbers)
        has_virtual = Y.shape[1] in pairs
        sums = LabelSums.over(Y, weights, design.expand(numbers), has_virtual=has_virtual)
        report(owner, f"{len(pairs)} pairs trained in closed form")
        return self.set_sums(pairs, design, sums)

    def set_sums(self, pairs: IntArray, design: Design, sums: LabelSums) -> "SubspaceNBPairLearner":
        """Train all pairs from sums that were computed elsewhere."""
        self.feature_statistics_ = design.feature_statistics
        self._design, self._pairs = design, pairs
        self._update_scorers(sums)
        return self

    def partial_fit(
        self, rows: Any, pairs: IntArray, *, decay: float = 1.0, min_mass: float = 0.0
    ) -> "SubspaceNBPairLearner":
        """Train all pairs on further rows, in addition to those of earlier calls.

        Training only updates sums, so no earlier row is stored. Feature statistics are needed
        before any sum: they are those of the first call's rows, or ``feature_statistics`` among its
        parameters, such as those of a larger sample. Later values of a categorical feature that
        they do not list are ignored. The weight that counts as one row in smoothing is that of the
        first call as well.

        Rows of earlier calls keep a share `decay` of their weight. A label, or a class of a pair,
        that then weighs less than `min_mass` becomes empty. Further rows may be empty.
        """
        if not hasattr(self, "feature_statistics_"):
            return self.fit(rows, pairs)
        weights, unit = rows.fit_params.get("sample_weight"), self.feature_statistics_.unit or 1.0
        sums = self._sums if decay == 1 else self._sums.decayed(decay, min_mass / unit)
        if len(rows.Y):
            numbers, present, weights = positive_rows(self._read_numbers(rows.X), weights, unit)
            sums = sums.with_rows(rows.Y[present], weights, self._design.expand(numbers))
        self._update_scorers(sums)
        return self

    def _update_scorers(self, sums: LabelSums) -> None:
        """Compute from sums what prediction needs."""
        self._sums = sums
        terms = Terms.of(sums.labels, self._design)
        self._labels = Scorer.of(terms, np.log(sums.labels.mass + 1), self._design)
        # A feature without any value under a label is ignored in all pairs of that label.
        complete = np.ones(len(sums.number), dtype=bool)
        if terms.usable is not None:
            complete = terms.usable.all(axis=1)
        self._separable = (sums.number < 0) & complete & complete[:, np.newaxis]
        if np.mean(self._separable) < WORTHWHILE:
            self._separable[:] = False
        # A pair without rows of one class has a constant support, the smoothed share.
        mass, count = sums.sizes()
        self._is_constant = (count <= 0) | (count.T <= 0)
        self._constant = (mass + 1) / (mass + mass.T + 2)
        first, second = np.nonzero(np.triu(~self._separable, k=1))
        self._scorer = None
        if len(first) * len(self._design.column_feature) <= CACHED_TERMS:
            self._scorer = self._pair_scorer(first, second)
            self._place = np.zeros(self._separable.shape, dtype=np.intp)
            self._place[first, second] = self._place[second, first] = np.arange(len(first))

    def supports(self, X: MatrixLike, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports for the first labels of blocks of pairs, (n, block) each."""
        rows = ScoredRows.of(self._design.expand(self._read_numbers(X)), self._design)
        scores: list[LabelScores] = []
        for labels in blocks:
            yield self._all_rows(pairs_of(labels, len(self._separable)), rows, scores).T

    def decide(
        self, X: MatrixLike, label_rows: LabelRows, reference: Callable[..., FloatArray]
    ) -> FloatArray:
        """Return the decisions for labels at the rows that have them, folded."""
        numbers = self._read_numbers(X)
        n_rows = numbers.shape[0]
        out = np.full((len(label_rows.rows), label_rows.n_labels), 0.5)
        for chunk in row_chunks(n_rows, self.sizes[0]):
            here, chosen = label_rows.among(np.arange(chunk.start, chunk.stop), n_rows)
            rows = ScoredRows.of(self._design.expand(numbers[chunk]), self._design)
            out[chosen] = decide(self._at_labels(rows, here), reference)
        return out

    def _at_labels(self, rows: ScoredRows, label_rows: LabelRows) -> FloatArray:
        """Return the folded supports for labels at the rows that have them."""
        n_labels = label_rows.n_labels
        out = np.full((len(label_rows.rows), n_labels), 0.5)
        if self._separable.any():
            self._fill_separable_at(out, rows, label_rows)

        def fill(label: int) -> None:
            entries = label_rows.entries(label)
            own = np.flatnonzero(~self._separable[label])
            own, mine, block = own[own != label], label_rows.rows[entries], out[entries]
            for part in batches(len(own), self._pairs_at_once):
                scorer = self._scorer_of(np.full(len(own[part]), label), own[part])
                for tile in rows.tiles(len(own[part]), len(mine)):
                    scores = rows.scores(scorer, mine[tile])
                    block[tile][:, own[part]] = folded_mean_logistic(scores).T

        table = self._design.subspace_tables[0]
        work = 0.1 * len(out) * np.count_nonzero(~self._separable) / n_labels * table.size
        in_threads(fill, range(n_labels), thread_count(self.n_jobs, nanoseconds=work))
        folded = fold(self._constant)
        for label, constant in enumerate(self._is_constant):
            out[label_rows.entries(label), constant] = folded[label, constant]
        return out

    def _all_rows(self, block: slice, rows: ScoredRows, scores: list[LabelScores]) -> FloatArray:
        """Return the supports of a block of pairs, (n_pairs, n).

        Scores of labels are appended to `scores`, for the next block.
        """
        first, second = self._pairs[block].T
        separable = self._separable[first, second]
        supports = np.empty((len(first), rows.n_rows))
        if separable.any():
            if not scores:
                scores += self._label_scores(rows)
            chosen = np.flatnonzero(separable)

            def fill(tile: LabelScores) -> None:
                supports[chosen, tile.rows] = tile.supports_of_pairs(first[chosen], second[chosen])

            work = 2 * supports.size * len(scores[0].scores)
            in_threads(fill, scores, thread_count(self.n_jobs, nanoseconds=work))
        where = np.flatnonzero(~separable)
        for part in batches(len(where), self._pairs_at_once):
            here = where[part]
            supports[here] = self._own_supports(first[here], second[here], rows)
        constant = self._is_constant[first, second]
        supports[constant] = self._constant[first, second][constant, np.newaxis]
        return supports

    def encoded(self, X: MatrixLike) -> MatrixLike:
        """Return rows in the form that is kept: those of frames as numbers, with the encoder."""
        encoder = self.feature_statistics_.encoder
        return X if encoder is None else replace(encoder.encode(X), words=None)

    def _read_numbers(self, X: MatrixLike) -> Any:
        numbers = read_numbers(self.estimator, X, self.feature_statistics_.encoder)
        # Rows relative to centres that are not 0 are dense.
        return numbers if self._design.centre.any() else by_density(numbers)

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of floats that a row, and a pair, need in prediction, without supports."""
        n_subspaces, width = self._design.subspace_tables[0].shape
        columns, n_labels = len(self._design.column_feature), len(self._separable)
        return columns + n_subspaces * (width + n_labels), 0

    @property
    def _pairs_at_once(self) -> int:
        return min(1024, max(32, TERMS // max(1, len(self._design.column_feature))))

    def _pair_scorer(self, first: IntArray, second: IntArray) -> Scorer:
        """Return the scorer of the log-odds against the first labels of pairs."""
        n_pairs = len(first)
        sums = self._sums.only(np.concatenate([first, second]), np.concatenate([second, first]))
        terms = Terms.of(sums, self._design)
        ours, theirs = terms.at(slice(0, n_pairs)), terms.at(slice(n_pairs, None))
        prior = np.log((sums.mass[n_pairs:] + 1) / (sums.mass[:n_pairs] + 1))
        return Scorer.of(theirs.minus(ours, self._design), prior, self._design)

    def _scorer_of(self, first: IntArray, second: IntArray) -> Scorer:
        if self._scorer is None:
            return self._pair_scorer(first, second)
        return self._scorer.at(self._place[first, second], np.where(first < second, 1.0, -1.0))

    def _own_supports(self, first: IntArray, second: IntArray, rows: ScoredRows) -> FloatArray:
        """Return the supports for first labels of pairs with models of their own, (n_pairs, n)."""
        scorer = self._scorer_of(first, second)
        supports = np.empty((len(first), rows.n_rows))

        def fill(tile: slice) -> None:
            supports[:, tile] = mean_logistic(rows.scores(scorer, tile))

        work = 0.1 * supports.size * self._design.subspace_tables[0].size
        n_threads = thread_count(self.n_jobs, nanoseconds=work)
        in_threads(fill, rows.tiles(len(first), rows.n_rows), n_threads)
        return supports

    def _label_scores(self, rows: ScoredRows) -> list[LabelScores]:
        """Return the scores of rows under labels, by tiles."""
        n_labels = len(self._separable)
        tiles = list(rows.tiles(n_labels, rows.n_rows))
        scores: list[Any] = [None] * len(tiles)

        def fill(number: int) -> None:
            tile = tiles[number]
            scores[number] = LabelScores.of(rows.scores(self._labels, tile), tile)

        work = 0.1 * rows.n_rows * n_labels * self._design.subspace_tables[0].size
        in_threads(fill, range(len(tiles)), thread_count(self.n_jobs, nanoseconds=work))
        return scores

    def _fill_separable_at(self, out: FloatArray, rows: ScoredRows, label_rows: LabelRows) -> None:
        """Fill in the folded supports of labels against all labels they share no row with."""
        by_row = np.argsort(label_rows.rows, kind="stable")
        ordered, label = label_rows.rows[by_row], label_rows.label[by_row]
        scores = self._label_scores(rows)

        def fill(tile: LabelScores) -> None:
            start, stop = np.searchsorted(ordered, [tile.rows.start, tile.rows.stop])
            for part in batches(stop - start, tile.scores.shape[2]):
                here = slice(start + part.start, start + part.stop)
                found = tile.folded_supports_at(label[here], ordered[here] - tile.rows.start)
                out[by_row[here]] = found

        work = 2 * out.size * len(scores[0].scores)
        in_threads(fill, scores, thread_count(self.n_jobs, nanoseconds=work))

"""Naive Bayes in random subspaces for all pairs at once, in closed form."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pairmend._utils.cells import densify
from pairmend._utils.chunking import batches, row_chunks
from pairmend._utils.fit_params import check_sample_weight
from pairmend._utils.threads import in_threads, thread_count
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import seed_estimator
from pairmend._utils.weights import unit_weight
from pairmend.kernels.indexing import check_indices, check_shape
from pairmend.kernels.pairs import LabelRows
from pairmend.naive_bayes.design_matrix import Design
from pairmend.naive_bayes.estimator import RandomSubspaceNB, read_numbers
from pairmend.naive_bayes.label_sums import add_up_labels
from pairmend.naive_bayes.scoring import CompiledRows, ScoredRows, Scorer
from pairmend.naive_bayes.sums import LabelSums, Terms
from pairmend.naive_bayes.support_loops import mean_supports_of_labels

TERMS = 2**19
"""Terms of pairs that are worked out at once."""
DENSE_LABELS = 0.2
"""Share of labels a row carries from which on all its pairs are asked, not only its own..."""
KEPT_SUPPORTS = 2**24
"""...if no more supports than these are to be kept at once."""
WORTHWHILE = 0.25
"""Share of pairs without shared rows from which on they are treated apart."""
PARTS = 4
"""Parts into which work for threads is cut, at the least."""
KEPT_TERMS = 2**22
"""Terms of pairs that are kept after training, not worked out whenever they are needed."""


class SubspaceNBPairLearner:
    """Trains :class:`~pairmend.RandomSubspaceNB` for all pairs in one pass over the rows.

    It gives what one clone a pair gives. Training adds up the rows of each label and of each
    two labels that share rows. A pair whose labels share none needs no model of its own: its
    log-odds are the difference of its labels' log-likelihoods.

    Parameters
    ----------
    estimator : RandomSubspaceNB
        The base classifier.
    n_jobs : int or None
        Number of threads that answer; None means as many as matrix products use.
    seed : int
        Set as its ``random_state`` where that is None.

    Attributes
    ----------
    feature_statistics_ : FeatureStatistics
        What all pairs know of the features.
    """

    def __init__(self, estimator: RandomSubspaceNB, *, n_jobs: int | None, seed: int):
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.seed = seed

    def fit(
        self, X: MatrixLike, Y: BoolArray, pairs: IntArray, fit_params: dict[str, Any]
    ) -> "SubspaceNBPairLearner":
        """Train all pairs, each on the rows that carry exactly one of its labels."""
        estimator = seed_estimator(self.estimator, self.seed)
        weights = fit_params.get("sample_weight")
        if weights is not None:
            weights = check_sample_weight(weights, X, ensure_non_negative=True)
        if feature_statistics := fit_params.get("feature_statistics"):
            numbers = densify(read_numbers(estimator, X, feature_statistics.encoder))
        else:
            numbers, feature_statistics = estimator.read_with_statistics(X, weights)
        if feature_statistics.unit is None:  # without weights, each row weighs 1
            feature_statistics = replace(
                feature_statistics, unit=1.0 if weights is None else unit_weight(weights)
            )
        numbers, Y, weights = _present(numbers, Y, weights, feature_statistics.unit)
        design = Design.learn(feature_statistics, numbers)
        has_virtual = Y.shape[1] in pairs
        sums = add_up_labels(numbers, Y, weights, design, has_virtual=has_virtual)
        return self.adopt(pairs, design, sums)

    def adopt(self, pairs: IntArray, design: Design, sums: LabelSums) -> "SubspaceNBPairLearner":
        """Train all pairs from sums that were added up elsewhere."""
        self.feature_statistics_, self._design, self._pairs = (
            design.feature_statistics,
            design,
            pairs,
        )
        self._settle(sums)
        return self

    def partial_fit(
        self,
        X: MatrixLike,
        Y: BoolArray,
        pairs: IntArray,
        fit_params: dict[str, Any],
        *,
        decay: float = 1.0,
        forgotten: float = 0.0,
    ) -> "SubspaceNBPairLearner":
        """Train all pairs on further rows, in addition to those of earlier calls.

        Sums only grow, so nothing of earlier rows needs to be kept. What is known of the
        features (kinds, values, floors, subspaces) must be known before any sum: it is that of
        the first call's rows, or ``feature_statistics`` in its `fit_params`, such as
        those of a larger sample. Later values of a categorical feature that it does not list are left out. The
        weight that counts as one row in smoothing is that of the first call as well.

        Rows of earlier calls keep a share `decay` of their weight. A label, or a side of a
        pair, that weighs less than `forgotten` then is as if it had never been seen. There may
        be no further rows at all.
        """
        if not hasattr(self, "feature_statistics_"):
            return self.fit(X, Y, pairs, fit_params)
        n_labels = len(self._separable) - self._sums.has_virtual
        if Y.shape[1] != n_labels:
            raise ValueError(f"Y has {Y.shape[1]} labels, earlier rows had {n_labels}.")
        weights = fit_params.get("sample_weight")
        if weights is not None and len(Y):
            weights = check_sample_weight(weights, X, ensure_non_negative=True)
        unit = self.feature_statistics_.unit or 1.0
        sums = self._sums if decay == 1 else self._sums.faded(decay, forgotten / unit)
        if len(Y):
            numbers, Y, weights = _present(self._read_numbers(X), Y, weights, unit)
            sums = sums.extended(Y, weights, self._design.expand(numbers))
        self._settle(sums)
        return self

    def _settle(self, sums: LabelSums) -> None:
        """Work out from sums what asking needs."""
        self._sums = sums
        terms = Terms.of(sums.labels, self._design)
        self._labels = Scorer.of(terms, np.log(sums.labels.mass + 1), self._design)
        # Labels with a feature they have never seen leave it out of all their pairs.
        complete = np.ones(len(sums.number), dtype=bool)
        if terms.usable is not None:
            complete = terms.usable.all(axis=1)
        self._separable = (sums.number < 0) & complete & complete[:, np.newaxis]
        if np.mean(self._separable) < WORTHWHILE:
            self._separable[:] = False
        # A pair that lacks the rows of a side says the smoothed share of the other.
        mass, count = sums.sizes()
        self._is_constant = (count <= 0) | (count.T <= 0)
        self._constant = (mass + 1) / (mass + mass.T + 2)
        self._keep_terms()

    def supports(self, X: MatrixLike, blocks: Iterable[slice]) -> Iterator[FloatArray]:
        """Yield the supports for the first labels of blocks of pairs, (n, block) each."""
        rows = self._expand(self._read_numbers(X))
        scores: list[FloatArray] = []
        for block in blocks:
            yield self._all_rows(block, rows, scores).T

    def support_at(self, X: MatrixLike, label_rows: LabelRows) -> FloatArray:
        """Return the supports for labels at the rows that carry them, in all their pairs."""
        numbers = self._read_numbers(X)
        n_rows = numbers.shape[0]
        out = np.full((len(label_rows.rows), label_rows.n_labels), 0.5)
        for chunk in row_chunks(n_rows, self.row_size):
            here, chosen = label_rows.among(np.arange(chunk.start, chunk.stop), n_rows)
            out[chosen] = self._at_labels(self._expand(numbers[chunk]), here)
        return out

    def _at_labels(self, rows: ScoredRows, label_rows: LabelRows) -> FloatArray:
        """Return the supports for labels at the rows that carry them."""
        if self._scorer is not None and isinstance(rows, CompiledRows):
            return self._compiled_at_labels(rows, label_rows)
        n_labels = label_rows.n_labels
        out = np.full((len(label_rows.rows), n_labels), 0.5)
        dense = len(label_rows.rows) > DENSE_LABELS * rows.n_rows * n_labels
        if dense and rows.n_rows * len(self._pairs) <= KEPT_SUPPORTS:
            self._pick(out, self._all_rows(slice(0, len(self._pairs)), rows, []), label_rows)
            return out
        if self._separable.any():
            self._fill_separable_at(out, rows, label_rows)
        for label in range(n_labels):
            entries = label_rows.entries(label)
            if entries.start == entries.stop:
                continue
            own = np.flatnonzero(~self._separable[label])
            own = own[own != label]
            if len(own):
                mine = rows.at(label_rows.rows[entries])
                for part in batches(len(own), self._pairs_at_once):
                    against = self._own(np.full(len(own[part]), label), own[part], mine)
                    out[entries, own[part]] = against.T
            constant = np.flatnonzero(self._is_constant[label])
            out[entries, constant] = self._constant[label, constant]
        return out

    def _compiled_at_labels(self, rows: CompiledRows, label_rows: LabelRows) -> FloatArray:
        """Return the same where the terms of all pairs are kept and rows are plain numbers."""
        out = np.full((len(label_rows.rows), label_rows.n_labels), 0.5)
        scorer = self._scorer
        assert scorer is not None
        if self._separable.any():
            self._fill_separable_at(out, rows, label_rows)
        places = np.where(self._separable, -1, self._place)
        np.fill_diagonal(places, -1)
        check_shape(places, (label_rows.n_labels, label_rows.n_labels), "pairs of labels")
        check_indices(places + 1, scorer.n_classes + 1, "pairs")
        rows.check_scorer(scorer)

        def fill(label: int) -> None:
            mean_supports_of_labels(
                rows.stack,
                rows.table,
                label_rows.rows,
                label_rows.indptr,
                scorer.columns,
                scorer.table,
                places,
                label,
                out,
            )

        self._each(fill, np.argsort(np.diff(label_rows.indptr))[::-1].tolist())  # the longest first
        for label, constant in enumerate(self._is_constant):
            out[label_rows.entries(label), constant] = self._constant[label, constant]
        return out

    def _pick(self, out: FloatArray, supports: FloatArray, label_rows: LabelRows) -> None:
        """Pick the supports at the rows of labels out of all, (n_pairs, n)."""
        first, second = self._pairs.T
        for label in range(label_rows.n_labels):
            entries = label_rows.entries(label)
            rows = label_rows.rows[entries]
            ahead, behind = np.flatnonzero(first == label), np.flatnonzero(second == label)
            out[entries, label + 1 :] = supports[ahead[:, np.newaxis], rows].T
            out[entries, :label] = 1 - supports[behind[:, np.newaxis], rows].T

    def _all_rows(self, block: slice, rows: ScoredRows, scores: list[FloatArray]) -> FloatArray:
        """Return the supports of a block of pairs, (pairs, n).

        Scores of labels are kept in `scores` for the next block.
        """
        first, second = self._pairs[block].T
        separable = self._separable[first, second]
        supports = np.empty((len(first), rows.n_rows))
        if separable.any():
            if not scores:
                scores += self._label_scores(rows)
            stops = np.cumsum([tile.shape[2] for tile in scores]).tolist()
            wanted = np.flatnonzero(separable)
            n_parts = min(-(-PARTS // len(scores)), len(wanted))

            def fill(part: tuple[FloatArray, int, IntArray]) -> None:
                tile, stop, chosen = part
                here = slice(stop - tile.shape[2], stop)
                supports[chosen, here] = rows.supports_of_pairs(tile, first[chosen], second[chosen])

            parts = [
                (tile, stop, chosen)
                for tile, stop in zip(scores, stops, strict=True)
                for chosen in np.array_split(wanted, n_parts)
            ]
            self._each(fill, parts, 2 * supports.size * rows.n_subspaces)
        where = np.flatnonzero(~separable)
        for part in batches(len(where), self._pairs_at_once):
            here = where[part]
            supports[here] = self._own(first[here], second[here], rows)
        constant = self._is_constant[first, second]
        supports[constant] = self._constant[first, second][constant, np.newaxis]
        return supports

    def _read_numbers(self, X: MatrixLike) -> Any:
        numbers = read_numbers(self.estimator, X, self.feature_statistics_.encoder)
        if numbers.shape[1] != len(self.feature_statistics_.categorical):
            raise ValueError(
                f"X has {numbers.shape[1]} features, but the pairs were trained with "
                f"{len(self.feature_statistics_.categorical)}."
            )
        return numbers

    def _expand(self, numbers: Any) -> ScoredRows:
        return ScoredRows.reading(numbers, self._design)

    @property
    def row_size(self) -> int:
        """How many floats a row takes while it is asked about, pairs left aside."""
        n_subspaces, width = self._design.subspace_table.shape
        columns, n_labels = len(self._design.column_feature), len(self._separable)
        return columns + n_subspaces * (width + 1 + n_labels)

    @property
    def _pairs_at_once(self) -> int:
        return min(1024, max(32, TERMS // max(1, len(self._design.column_feature))))

    def _keep_terms(self) -> None:
        """Work out the terms of all pairs with models of their own, if they are few."""
        first, second = np.nonzero(np.triu(~self._separable, k=1))
        self._scorer = None
        if len(first) * len(self._design.column_feature) <= KEPT_TERMS:
            self._scorer = self._work_out(first, second)
            self._place = np.zeros(self._separable.shape, dtype=np.intp)
            self._place[first, second] = self._place[second, first] = np.arange(len(first))

    def _work_out(self, first: IntArray, second: IntArray) -> Scorer:
        """Return what gives the log-odds against the first labels of pairs."""
        n_pairs = len(first)
        sums = self._sums.only(np.concatenate([first, second]), np.concatenate([second, first]))
        terms = Terms.of(sums, self._design)
        ours, theirs = terms.at(slice(0, n_pairs)), terms.at(slice(n_pairs, None))
        prior = np.log((sums.mass[n_pairs:] + 1) / (sums.mass[:n_pairs] + 1))
        return Scorer.of(theirs.less(ours, self._design), prior, self._design)

    def _against(self, first: IntArray, second: IntArray) -> Scorer:
        if self._scorer is None:
            return self._work_out(first, second)
        return self._scorer.at(self._place[first, second], np.where(first < second, 1.0, -1.0))

    def _own(self, first: IntArray, second: IntArray, rows: ScoredRows) -> FloatArray:
        """Return the supports for first labels of pairs with models of their own, (pairs, n)."""
        scorer = self._against(first, second)
        supports = np.empty((len(first), rows.n_rows))

        def fill(tile: slice) -> None:
            supports[:, tile] = rows.at(tile).supports(scorer)

        self._each(fill, list(rows.tiles(len(first))))
        return supports

    def _each(
        self, work: Callable[[Any], None], items: Sequence[Any], nanoseconds: float = np.inf
    ) -> None:
        in_threads(work, items, thread_count(self.n_jobs, nanoseconds=nanoseconds))

    def _label_scores(self, rows: ScoredRows) -> list[FloatArray]:
        """Return the log-likelihoods of rows under labels, (subspaces, L, rows), by tiles."""
        n_labels = self._labels.n_classes
        tiles = list(rows.tiles(n_labels))
        scores: list[Any] = [None] * len(tiles)

        def fill(number: int) -> None:
            scores[number] = np.ascontiguousarray(rows.at(tiles[number]).scores(self._labels))

        self._each(fill, range(len(tiles)), 0.1 * rows.n_rows * n_labels * rows.table.size)
        return scores

    def _fill_separable_at(self, out: FloatArray, rows: ScoredRows, label_rows: LabelRows) -> None:
        """Set the supports of labels against all labels they share no row with."""
        by_row = np.argsort(label_rows.rows, kind="stable")
        ordered, label = label_rows.rows[by_row], label_rows.label[by_row]
        scores = self._label_scores(rows)
        starts = np.cumsum([0, *(tile.shape[2] for tile in scores)])
        bounds = np.searchsorted(ordered, starts)

        def fill(number: int) -> None:
            tile, start = scores[number], starts[number]
            for part in batches(int(bounds[number + 1] - bounds[number]), tile.shape[2]):
                here = slice(bounds[number] + part.start, bounds[number] + part.stop)
                out[by_row[here]] = rows.supports_at(tile, label[here], ordered[here] - start)

        self._each(fill, range(len(scores)), 2 * out.size * rows.n_subspaces)


def _present(
    numbers: Any, Y: BoolArray, weights: FloatArray | None, unit: float | None
) -> tuple[Any, BoolArray, FloatArray | None]:
    """Leave out rows of weight 0, and count weights in a unit, 1 if there is none."""
    unit = unit or 1.0
    if weights is None:
        return numbers, Y, None if unit == 1 else np.full(len(Y), 1 / unit)
    present = weights > 0
    return numbers[present], Y[present], weights[present] / unit

"""What a base classifier used: contributions of words, columns and categories to its log-odds.

Those of a linear classifier are coefficients times values. Those of any other are Shapley values:
a feature's contribution is the mean change of the log-odds when the feature is added to a random
set of others, while all that are left out have the values of background rows. Words are left out
of their text. Together they are the log-odds of the row less the mean over the background.

Shapley, L. S. (1953). A value for n-person games. Contributions to the Theory of Games 2, 307-317.

Strumbelj, E., Kononenko, I. (2014). Explaining prediction models and individual predictions with
feature contributions. Knowledge and Information Systems 41, 647-665.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit

from pairmend._utils.arrays import EncodedFrame, is_frame, is_pandas, is_texts, take_rows, to_csr
from pairmend._utils.classifiers import PerLabelClassifier, logistic_parts
from pairmend._utils.computing import row_chunks
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.explanation.data import Contribution, Value
from pairmend.explanation.tables import names_after, names_of, values_of, with_texts

N_BACKGROUND = 32
"""Number of background rows."""
FEWEST_BACKGROUND = 8
"""Smallest number of them, if all sets of features are evaluated."""
MAX_CELLS = 2**20
"""Largest number of cells of the background rows; with many features there are fewer rows."""
MAX_ROWS = 2**11
"""Rows for which the base classifier is evaluated to explain one row; a little more with hundreds
of features."""
MIN_ROWS = 2**9
"""The same if many rows are explained at once."""
MAX_ALL = 2**16
"""Rows for which it is evaluated to explain many rows at once, unless each needs MIN_ROWS."""
MAX_PLAYERS = 400
"""Largest number of features; of more columns, neighbouring ones count as one feature."""
MAX_PHRASES = 40
"""Largest number of parts of a text; of more words, neighbouring ones are one part."""
MIN_WORDS = 4
"""Number of words from which a cell is a text, where the kinds of columns are not known."""
MEAN = "the mean of training rows"
NO_BACKGROUND = "not known without rows to compare with, which the parameter background takes"
MARGIN = 1e-3
"""Probabilities are clipped to this distance from 0 and 1 before their log-odds are taken."""


@dataclass(frozen=True)
class Evidence:
    """Contributions to the log-odds of labels at a row.

    Attributes
    ----------
    names : sequence of str
        Names of features.
    amounts : ndarray of shape (n_features, n_labels)
        Their contributions; with `reference`, their sum is `log_odds`.
    reference, log_odds : ndarray of shape (n_labels,)
        Log-odds without and with the contributions.
    about : str
        What the reference stands for.
    values : dict, default={}
        Values of features by name.
    """

    names: Sequence[str]
    amounts: FloatArray
    reference: FloatArray
    log_odds: FloatArray
    about: str
    values: dict[str, Value] = field(default_factory=dict)

    def largest(self, label: int, n_listed: int) -> Iterator[Contribution]:
        """Yield the largest contributions to a label, and the sum of the others."""
        amounts = self.amounts[:, label]
        order = np.argsort(-np.abs(amounts), kind="stable")
        order = order[amounts[order] != 0]
        # A single further one takes no more room than the line that would sum it up.
        n_listed = n_listed if len(order) > n_listed + 1 else len(order)
        for k in order[:n_listed].tolist():
            name = self.names[k]
            yield Contribution(name, self.values.get(name), float(amounts[k]))
        if len(left := order[n_listed:]):
            yield Contribution(f"{len(left)} others", None, float(amounts[left].sum()))


def evenly(n_rows: int, n_drawn: int = N_BACKGROUND) -> IntArray:
    """Return positions that are evenly distributed over rows, at most so many."""
    return np.linspace(0, n_rows - 1, min(n_rows, n_drawn)).astype(np.intp)


def background_rows(X: MatrixLike) -> Any:
    """Return some rows as numbers, without texts, or as a pandas frame; None for all others."""
    every = evenly(count_rows(X))
    if is_pandas(X):
        return take_rows(X, every)
    values = X.values if isinstance(X, EncodedFrame) else X
    if type(values) is not np.ndarray or values.ndim != 2 or values.dtype.kind not in "biuf":
        return None
    chosen = values[every[: max(1, MAX_CELLS // max(1, values.shape[1]))]]
    if isinstance(X, EncodedFrame):
        kinds = np.array([column.kind for column in X.encoder.columns_])
        chosen[:, kinds[X.encoder.source_] == "text"] = 0.0
    return chosen


Rows = Callable[[BoolArray, IntArray], MatrixLike]
"""Returns rows with those features of a row that a mask (n_rows, n_features) selects, and others
of background rows (n_rows,)."""


@dataclass(frozen=True)
class Row:
    """One row to explain.

    Attributes
    ----------
    X : array-like of shape (1, n_features)
        The row.
    encode : callable
        Returns rows in the form that the base classifier takes.
    proba : callable
        Returns the base classifier's probabilities of such rows.
    background : array-like of shape (n_background, n_features) or None
        Background rows in this form, if there are any.
    names : sequence of str
        Names of the features.
    """

    X: MatrixLike
    encode: Callable[[MatrixLike], MatrixLike]
    proba: Callable[[MatrixLike], FloatArray]
    background: Any
    names: Sequence[str]

    def evidence(self, n_explained: int) -> Evidence:
        """Return the Shapley values; nothing without a background that they need.

        `n_explained` is the number of all rows to explain.
        """
        if (found := self._features()) is None:
            nothing = np.empty(0)
            return Evidence((), nothing, nothing, nothing, NO_BACKGROUND)
        features, n_background, rows, about = found
        size = 4 * (int(np.prod(getattr(self.X, "shape", (1,))[1:])) + len(features))

        def log_odds(present: BoolArray, places: IntArray) -> FloatArray:
            chunks = row_chunks(len(present), size)
            parts = [self.proba(rows(present[chunk], places[chunk])) for chunk in chunks]
            return np.asarray(logit(np.clip(np.concatenate(parts), MARGIN, 1 - MARGIN)))

        max_rows = max(MIN_ROWS, min(MAX_ROWS, MAX_ALL // n_explained))
        amounts, reference, full = shapley_values(log_odds, len(features), n_background, max_rows)
        names, owner = np.unique(features, return_inverse=True)  # a word may occur twice
        summed = np.zeros((len(names), len(reference)))
        np.add.at(summed, owner, amounts)
        return Evidence(names.tolist(), summed, reference, full, about)

    def _features(self) -> tuple[list[str], int, Rows, str] | None:
        """Return names of features, number of background rows, mixed rows, and what these are."""
        row, names, background = self.encode(self.X), self.names, self.background
        if is_texts(row) or isinstance(row, EncodedFrame) or is_pandas(row):
            return self._columns_and_words(row)
        is_sparse = sparse.issparse(row)
        if not is_sparse and (background is None or not isinstance(row, np.ndarray)):
            return None
        # Of sparse rows, cells that are not 0 are features; left out, they are 0.
        columns = row.tocsr().indices if is_sparse else np.arange(row.shape[1])
        cells = (row.toarray() if is_sparse else row)[:, columns]
        others = np.zeros_like(cells) if is_sparse else np.asarray(background)
        blocks = np.array_split(columns, max(1, min(len(columns), MAX_PLAYERS)))
        owner = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
        ends = [dict.fromkeys((names[b[0]], names[b[-1]])) for b in blocks if len(b)]

        def mixed(present: BoolArray, places: IntArray) -> MatrixLike:
            values = np.where(present[:, owner], cells, others[places])
            if not is_sparse:
                return values
            kept = to_csr(values)
            parts = kept.data, columns[kept.indices], kept.indptr
            return sparse.csr_array(parts, shape=(len(present), row.shape[1]))

        about = "a row of zeros" if is_sparse else MEAN
        return [" to ".join(pair) for pair in ends], len(others), mixed, about

    def _columns_and_words(self, row: MatrixLike) -> tuple[list[str], int, Rows, str] | None:
        """Return the columns of a frame, and in place of texts their words."""
        X, names, background = self.X, self.names, self.background
        is_encoded = isinstance(row, EncodedFrame)
        texts = _texts(X, row.encoder.columns_ if is_encoded else None)
        columns = [k for k in range(0 if is_texts(X) else X.shape[1]) if k not in texts]
        if is_encoded:
            columns = [k for k in columns if (row.encoder.source_ == k).any()]
        if columns and background is None:
            return None
        phrases = {place: _phrases(text) for place, text in texts.items()}
        found = [names[k] for k in columns]
        for place, parts in phrases.items():
            own = f"{names[place]}: " if is_frame(X) else ""
            found += [own + (part.strip(",.;:!?") or part) for part in parts]

        def mixed(present: BoolArray, places: IntArray) -> MatrixLike:
            every = np.zeros(len(present), dtype=np.intp)
            rows, start = take_rows(X, every), len(columns)
            for place, parts in phrases.items():
                kept = present[:, start : start + len(parts)]
                words = np.array(parts, dtype=object)
                rows = with_texts(rows, place, [" ".join(words[mask]) for mask in kept])
                start += len(parts)
            if is_encoded:
                rows = self.encode(rows) if phrases else take_rows(row, every)
                values = rows.values.copy()
                for k, place in enumerate(columns):
                    absent, own = ~present[:, k], rows.encoder.source_ == place
                    values[np.ix_(absent, own)] = background[places[absent]][:, own]
                return EncodedFrame(values, rows.encoder, rows.words)
            for k, place in enumerate(columns):
                others = background.iloc[places, place].set_axis(rows.index)
                rows.isetitem(place, rows.iloc[:, place].where(present[:, k], others))
            return rows

        if not columns:
            return found, 1, mixed, "no text"
        about = f"{MEAN}, with empty texts" if phrases else MEAN
        return found, count_rows(background), mixed, about


def linear_evidence(model: Any, X: MatrixLike, names: Sequence[str]) -> list[Evidence] | None:
    """Return coefficients times values of rows; None unless the models of labels are logistic."""
    if (
        not isinstance(model, PerLabelClassifier)
        or (parts := logistic_parts(model.models_)) is None
    ):
        return None
    transformers, coef, intercept = parts
    known: list[str] | None = list(names)
    for transformer in transformers:
        known = names_after(transformer, known or ())
        X = transformer.transform(X)
    if known is None or len(known) != X.shape[1]:
        known = names_of(np.empty((0, X.shape[1])))
    reference = logit(model.share_)
    reference[model.varying_] = intercept
    rows, explained = sparse.csr_array(X), []
    for start, stop in pairwise(rows.indptr.tolist()):
        columns, values = rows.indices[start:stop], rows.data[start:stop]
        # Columns of one name, as those of a date, are one feature.
        found, owner = np.unique([known[k] for k in columns], return_inverse=True)
        amounts = np.zeros((len(found), len(reference)))
        np.add.at(amounts, np.ix_(owner, model.varying_), (coef[:, columns] * values).T)
        full = reference + amounts.sum(axis=0)
        explained.append(Evidence(found.tolist(), amounts, reference, full, "the intercept"))
    return explained


def shapley_values(
    value: Callable[[BoolArray, IntArray], FloatArray],
    n_features: int,
    n_background: int,
    max_rows: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Shapley values, (n_features, n_labels), the value of no feature, and that of all.

    All sets of features are evaluated, with all background rows or with fewer. If these are too
    many, pairs of a random order of features and its reverse are, each with one background row:
    they are exact where at most two features interact.
    """
    every: IntArray = np.arange(n_background)
    at_once = max_rows >> n_features
    if at_once >= min(n_background, FEWEST_BACKGROUND):
        every = evenly(n_background, at_once)
        sets = (np.arange(2**n_features)[:, np.newaxis] >> np.arange(n_features)) % 2 == 1
        found = value(np.repeat(sets, len(every), axis=0), np.tile(every, len(sets)))
        found = found.reshape(len(sets), len(every), -1).mean(axis=1)
        # One over the number of sets of this size without the feature, and over all sizes.
        weights = np.array([1 / (n_features * comb(n_features - 1, k)) for k in range(n_features)])
        amounts = np.empty((n_features, found.shape[1]))
        for feature in range(n_features):
            with_it = np.flatnonzero(sets[:, feature])
            gains = found[with_it] - found[with_it - 2**feature]
            amounts[feature] = weights[sets[with_it].sum(axis=1) - 1] @ gains
        return amounts, found[0], found[-1]
    n_pairs = max(2, max_rows // (2 * n_features + 2))
    if n_pairs < n_background:
        every = evenly(n_background, n_pairs)
    used = np.repeat(every, n_pairs // len(every))
    rng = np.random.RandomState(0)
    rank = np.array([rng.permutation(n_features) for _ in used])
    steps = np.arange(n_features + 1)[:, np.newaxis]
    present = np.stack([rank[:, np.newaxis] < steps, rank[:, np.newaxis] >= steps])
    flat = present.reshape(-1, n_features)
    found = value(flat, np.tile(np.repeat(used, len(steps)), 2))
    found = found.reshape(2, len(used), len(steps), -1)
    forwards, backwards = np.diff(found[0], axis=1), -np.diff(found[1], axis=1)
    gains = np.take_along_axis((forwards + backwards) / 2, rank[..., np.newaxis], axis=1)
    return gains.mean(axis=0), found[0, :, 0].mean(axis=0), found[0, :, -1].mean(axis=0)


def _texts(X: MatrixLike, kinds: Any) -> dict[int, str]:
    """Return the texts of a row by the places of their columns."""
    if is_texts(X):
        return {0: X[0] or ""}
    cells = values_of(X)[0].values() if is_frame(X) else ()
    return {
        place: cell
        for place, cell in enumerate(cells)
        if isinstance(cell, str)
        and (kinds[place].kind == "text" if kinds else len(cell.split()) >= MIN_WORDS)
    }


def _phrases(text: str) -> list[str]:
    """Return the words of a text; of a long one, several words together."""
    words = text.split()
    parts = np.array_split(np.arange(len(words)), max(1, min(len(words), MAX_PHRASES)))
    return [" ".join(words[k] for k in part) for part in parts if len(part)]

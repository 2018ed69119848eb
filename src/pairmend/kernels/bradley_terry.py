"""Bradley-Terry model with ties: strengths of labels from comparisons of two."""

import numpy as np

from pairmend._utils.typing import FloatArray

SCALE_STEPS = 5
"""Steps of the common scale of all strengths within each step of the strengths."""


def ties_of(wins_or_ties: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return comparisons (t, L, L) without contradictions, and the sum of all ties, (t,).

    Cell (i, j) is P(label i | label i or j). The two cells of a pair sum to 1 plus P(both), the
    tie. Where they sum to less than 1 they contradict each other, and are scaled to sum to 1.
    """
    n_labels = wins_or_ties.shape[1]
    both = wins_or_ties + wins_or_ties.transpose(0, 2, 1)
    scaled = np.divide(wins_or_ties, both, out=np.full_like(wins_or_ties, 0.5), where=both > 0)
    consistent = np.where(both < 1, scaled, wins_or_ties)
    consistent[:, np.arange(n_labels), np.arange(n_labels)] = 0
    i, j = np.triu_indices(n_labels, k=1)
    return consistent, np.maximum(both[:, i, j] - 1, 0).sum(axis=1)


def bradley_terry(
    wins_or_ties: FloatArray,
    against_virtual: FloatArray,
    *,
    prior: float,
    tol: float = 1e-9,
    max_iter: int = 10_000,
) -> tuple[FloatArray, FloatArray]:
    """Fit the Bradley-Terry model with ties; return strengths (t, L) and tie factors (t,).

    Label i of strength a beats label j of strength b with the probability a / (a + T b), and
    they tie with (T² - 1) a b / ((a + T b) (b + T a)); the tie factor is T > 1 (Rao and Kupper,
    1967). A virtual label has the strength 1, and a label beats it with a / (a + 1). The likelihood
    is maximised by the minorise-maximise algorithm (Hunter, 2004), all rows at once, until no
    logarithm of a strength changes by more than `tol` in a step. `prior` is the number of wins, of
    losses and of ties that are added to each comparison, so that all strengths are finite and
    above 0.

    Hunter, D. R. (2004). MM algorithms for generalized Bradley-Terry models. The Annals of
    Statistics 32(1), 384-406.

    Rao, P. V., Kupper, L. L. (1967). Ties in paired-comparison experiments: a generalization of
    the Bradley-Terry model. Journal of the American Statistical Association 62, 194-204.
    """
    comparisons, ties = ties_of(wins_or_ties)
    gained = comparisons.sum(axis=2) + against_virtual + prior
    won = (against_virtual + prior).sum(axis=1)
    data = [comparisons, gained, won, ties + prior]
    start = np.log(against_virtual + prior) - np.log(1 - against_virtual + prior)
    found = np.column_stack([start, np.full(len(comparisons), np.log(np.log(2.0)))])
    active = np.arange(len(comparisons))
    for _ in range(max_iter):
        if len(active) == 0:
            break
        old = found[active]
        first = _step(old, data, prior)
        second = _step(first, data, prior)
        # Steps shrink by about the same factor each: extrapolate to their limit (SQUAREM).
        # Where the next step is longer there, the row continues without extrapolation.
        by, change = first - old, second - 2 * first + old
        length = -_norm(by) / np.maximum(_norm(change), np.finfo(float).tiny)
        length = np.clip(length, -64, -1)[:, np.newaxis]
        ahead = old - 2 * length * by + length**2 * change
        new = _step(ahead, data, prior)
        worse = _norm(new - ahead) > _norm(second - first)
        new[worse] = second[worse]
        found[active] = new
        going = (
            np.abs(np.where(worse[:, np.newaxis], second - first, new - ahead)).max(axis=1) > tol
        )
        if not going.all():
            active, data = active[going], [part[going] for part in data]
    return np.exp(found[:, :-1]), np.exp(np.exp(found[:, -1]))


def _norm(vectors: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(vectors, axis=1))


def _step(found: FloatArray, data: list[FloatArray], prior: float) -> FloatArray:
    """Do one minorise-maximise step of log-strengths and the log of the tie factor's logarithm."""
    comparisons, gained, won, ties = data
    strengths, factors = np.exp(found[:, :-1]), np.exp(np.exp(found[:, -1]))
    # Each ratio is a tangent that bounds a concave logarithm; both maxima are closed forms.
    ratio = _ratios(comparisons, strengths, factors)
    lost = ratio.sum(axis=2) + factors[:, np.newaxis] * ratio.sum(axis=1)
    strengths = gained / (lost + (1 + 2 * prior) / (1 + strengths))
    # Only comparisons with the virtual label determine the common scale of all strengths, which
    # therefore converges slowly. It is maximised separately.
    for _ in range(SCALE_STEPS):
        share = (1 + 2 * prior) * strengths / (1 + strengths)
        strengths = strengths * (won / share.sum(axis=1))[:, np.newaxis]
    ratio = _ratios(comparisons, strengths, factors)
    slope = np.einsum("tij,tj->t", ratio, strengths) + 4 * prior / (1 + factors)
    # The positive root of slope T² - 2 ties T - slope; its logarithm is that of arsinh.
    return np.column_stack([np.log(strengths), np.log(np.arcsinh(ties / slope))])


def _ratios(comparisons: FloatArray, strengths: FloatArray, factors: FloatArray) -> FloatArray:
    """Divide each comparison by the sum of its two labels' strengths."""
    others = factors[:, np.newaxis] * strengths
    weight = strengths[:, :, np.newaxis] + others[:, np.newaxis, :]
    return np.divide(comparisons, weight, out=weight)

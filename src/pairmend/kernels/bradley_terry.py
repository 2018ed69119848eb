"""Strengths of labels from comparisons that may end in a tie."""

import numpy as np

from pairmend._utils.typing import FloatArray

SCALE_STEPS = 5
"""Cheap steps of the common scale of all strengths in each step of the strengths."""


def ties_of(at_least: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Read ties out of two answers a pair: what each label gets at least, a tie or a win.

    The two answers for a pair are to sum to 1 or more, and what they exceed 1 by is the tie.
    Where they do not, they contradict each other, and are scaled to sum to 1.

    Parameters
    ----------
    at_least : ndarray of shape (t, L, L)
        Cell (i, j) is the probability that label i is there, given that i or j is. The diagonal
        is not looked at.

    Returns
    -------
    at_least : ndarray of shape (t, L, L)
        The same without contradictions, and with 0 on the diagonal.
    ties : ndarray of shape (t,)
        The sum of all pairs' ties.

    Examples
    --------
    >>> at_least, ties = ties_of(np.array([[[0, 0.75], [0.5, 0]], [[0, 0.25], [0.25, 0]]]))
    >>> at_least[:, [0, 1], [1, 0]].tolist(), ties.tolist()
    ([[0.75, 0.5], [0.5, 0.5]], [0.25, 0.0])
    """
    n_labels = at_least.shape[1]
    both = at_least + at_least.transpose(0, 2, 1)
    scaled = np.divide(at_least, both, out=np.full_like(at_least, 0.5), where=both > 0)
    consistent = np.where(both < 1, scaled, at_least)
    consistent[:, np.arange(n_labels), np.arange(n_labels)] = 0
    i, j = np.triu_indices(n_labels, k=1)
    return consistent, np.maximum(both[:, i, j] - 1, 0).sum(axis=1)


def bradley_terry(
    at_least: FloatArray,
    against_virtual: FloatArray,
    *,
    prior: float,
    tol: float = 1e-9,
    max_iter: int = 10_000,
) -> tuple[FloatArray, FloatArray]:
    """Fit the Bradley-Terry model with ties to each row's comparisons.

    Label i of strength a beats label j of strength b with the probability a / (a + T b), and
    they tie with (T² - 1) a b / ((a + T b) (b + T a)); T > 1 says how common ties are (Rao and
    Kupper, 1967). A virtual label has the strength 1, and a label beats it with a / (a + 1). The
    likelihood is maximised by the minorise-maximise algorithm (Hunter, 2004), all rows at once;
    rows that have converged are left alone.

    Parameters
    ----------
    at_least : ndarray of shape (t, L, L)
        Cell (i, j) is what label i gets from its comparison with j, a win or a tie; the two
        cells of a pair sum to 1 plus the tie. Others are scaled, see :func:`ties_of`.
    against_virtual : ndarray of shape (t, L)
        What each label wins from the virtual one.
    prior : float
        So many wins and so many losses against the virtual label are added to each label, and
        so many of each of two wins and a tie between labels of equal strength, so that all
        strengths are finite and above 0.
    tol : float, default=1e-9
        A row has converged when no logarithm of its strengths moves by more in a step.
    max_iter : int, default=10_000
        Number of steps at the most.

    Returns
    -------
    strengths : ndarray of shape (t, L)
        Strengths of the labels; above 1 are those that are stronger than the virtual one.
    tie_factors : ndarray of shape (t,)
        T of each row.

    References
    ----------
    Hunter, D. R. (2004). MM algorithms for generalized Bradley-Terry models. The Annals of
    Statistics 32(1), 384-406.

    Rao, P. V., Kupper, L. L. (1967). Ties in paired-comparison experiments: a generalization of
    the Bradley-Terry model. Journal of the American Statistical Association 62, 194-204.

    Examples
    --------
    >>> at_least = np.array([[[0.0, 0.9], [0.4, 0.0]]])
    >>> strengths, _ = bradley_terry(at_least, np.array([[0.8, 0.3]]), prior=0.01)
    >>> strengths.round(2).tolist()
    [[2.82, 0.56]]
    """
    games, ties = ties_of(at_least)
    gained = games.sum(axis=2) + against_virtual + prior
    won = (against_virtual + prior).sum(axis=1)
    data = [games, gained, won, ties + prior]
    start = np.log(against_virtual + prior) - np.log(1 - against_virtual + prior)
    found = np.column_stack([start, np.full(len(games), np.log(np.log(2.0)))])
    active = np.arange(len(games))
    for _ in range(max_iter):
        if len(active) == 0:
            break
        old = found[active]
        first = _step(old, data, prior)
        second = _step(first, data, prior)
        # Steps shrink by about the same factor each: extrapolated to where they would end
        # (SQUAREM). Where the next step is longer there, the row goes on without.
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
    """Take one step of minorising and maximising.

    The unknowns are the logarithms of strengths and the logarithm of that of the tie factor.
    """
    games, gained, won, ties = data
    strengths, factors = np.exp(found[:, :-1]), np.exp(np.exp(found[:, -1]))
    # Each ratio is a tangent that bounds a concave logarithm; both maxima are closed forms.
    ratio = _ratios(games, strengths, factors)
    lost = ratio.sum(axis=2) + factors[:, np.newaxis] * ratio.sum(axis=1)
    strengths = gained / (lost + (1 + 2 * prior) / (1 + strengths))
    # Only the virtual label holds all strengths in place together, one game among many: what is
    # common to them would go slowly. Here it goes to its own maximum, step by step.
    for _ in range(SCALE_STEPS):
        share = (1 + 2 * prior) * strengths / (1 + strengths)
        strengths = strengths * (won / share.sum(axis=1))[:, np.newaxis]
    ratio = _ratios(games, strengths, factors)
    slope = np.einsum("tij,tj->t", ratio, strengths) + 4 * prior / (1 + factors)
    # The positive root of slope T² - 2 ties T - slope; its logarithm is that of arsinh.
    return np.column_stack([np.log(strengths), np.log(np.arcsinh(ties / slope))])


def _ratios(games: FloatArray, strengths: FloatArray, factors: FloatArray) -> FloatArray:
    """Return what each label gets from each other over the weight of the two."""
    others = factors[:, np.newaxis] * strengths
    weight = strengths[:, :, np.newaxis] + others[:, np.newaxis, :]
    return np.divide(games, weight, out=weight)

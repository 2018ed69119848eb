"""Label sets that come more often than by chance."""

from dataclasses import replace

import numpy as np
import pytest

from pairmend.mended.label_sets import SURE, LabelSets, Own


def slow_scores(Y, weights, p, dependence, left_out=None):
    """Log-probabilities of the distinct sets of Y at one row, by the definition."""
    distinct = sorted({tuple(row) for row in Y.tolist()})
    total = sum(weights)
    share = [(sum(weights[column]) + 1) / (total + 2) for column in Y.T]
    scores = []
    for labels in distinct:
        rows = [k for k, row in enumerate(Y.tolist()) if tuple(row) == labels and k != left_out]
        count = sum(weights[k] for k in rows)
        if not rows:
            scores.append(-np.inf)
            continue
        independent = np.prod([s if on else 1 - s for s, on in zip(share, labels, strict=True)])
        affinity = count / total / independent
        product = np.prod([q if on else 1 - q for q, on in zip(p, labels, strict=True)])
        scores.append(np.log(min(count, 1) * product) + dependence * np.log(affinity))
    return np.array(distinct), np.array(scores)


@pytest.mark.parametrize("dependence", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_sets_are_as_likely_as_by_the_definition(dependence, left_out, weighted):
    rng = np.random.RandomState(0)
    Y = rng.uniform(size=(40, 4)) < [0.5, 0.4, 0.3, 0.1]
    Y[:15, 1] = Y[:15, 0]
    P = np.clip(rng.uniform(size=Y.shape), SURE, 1 - SURE)
    weights = rng.choice([0.01, 0.3, 1.0, 2.5], size=40) if weighted else np.ones(40)
    sets, number = LabelSets.seen_in(Y, weights if weighted else None)
    sets = replace(sets, dependence=dependence)
    own = Own(number, weights) if left_out else None
    marginals, most_likely = sets.marginals(P, own), sets.most_likely(P, own)
    for row, p in enumerate(P):
        distinct, scores = slow_scores(Y, weights, p, dependence, row if left_out else None)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        np.testing.assert_allclose(marginals[row], shares @ distinct, atol=1e-12)
        np.testing.assert_array_equal(most_likely[row], distinct[scores.argmax()])


def test_labels_that_come_together_pull_each_other():
    Y = np.repeat(np.array([[1, 1], [0, 0], [1, 0]], dtype=bool), [45, 45, 10], axis=0)
    sets, _ = LabelSets.seen_in(Y)
    p = np.array([[0.8, 0.4]])
    second = [replace(sets, dependence=d).marginals(p)[0, 1] for d in (0.0, 0.5, 1.0)]
    assert second == sorted(second)
    assert second[0] < second[-1]

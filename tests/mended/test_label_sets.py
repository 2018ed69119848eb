"""Label sets against enumeration, and against the definition of the lift."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from pairmend.mended import label_sets
from pairmend.mended.label_sets import PROBA_MARGIN, LabelSets, OwnSets, distinct_rows

# Few labels, so that some sets occur in several rows and some in one.
problems = st.tuples(st.integers(2, 9), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(
        arrays(np.bool_, shape), arrays(np.float64, shape, elements=st.floats(0, 1))
    )
)


def proba_of_sets(seen, p):
    """Probability of each set at a row."""
    p = np.clip(p, PROBA_MARGIN, 1 - PROBA_MARGIN)
    likely = [np.prod([q if there else 1 - q for q, there in zip(p, s, strict=True)]) for s in seen]
    return np.array(likely) / sum(likely)


def by_enumeration(Y, probabilities, *, left_out):
    """Marginals, and the probability of each set, row by row."""
    marginals, proba_by_set = [], []
    for row, p in enumerate(probabilities):
        rest = np.delete(Y, row, axis=0) if left_out else Y
        seen = sorted({tuple(y) for y in rest.tolist()})
        found = proba_of_sets(seen, p)
        marginals.append(found @ np.array(seen, dtype=float))
        proba_by_set.append(dict(zip(seen, found, strict=True)))
    return np.array(marginals), proba_by_set


@given(problems)
def test_new_rows_equal_the_enumeration(problem):
    Y, p = problem
    sets, indices = LabelSets.from_indicators(Y)
    np.testing.assert_array_equal(sets.members.toarray()[indices], Y)
    np.testing.assert_array_equal(sets.counts[indices], [(y == Y).all(axis=1).sum() for y in Y])
    marginals, proba_by_set = by_enumeration(Y, p, left_out=False)
    np.testing.assert_allclose(sets.marginals(p), marginals, atol=1e-9)
    for found, likely in zip(sets.most_likely(p).astype(bool).tolist(), proba_by_set, strict=True):
        assert likely[tuple(found)] >= max(likely.values()) - 1e-12


@given(problems)
def test_training_rows_are_left_out_of_their_own_sets(problem):
    """A set of no other row has the probability 0."""
    Y, p = problem
    sets, indices = LabelSets.from_indicators(Y)
    own = OwnSets(indices, np.ones(len(Y)))
    marginals, proba_by_set = by_enumeration(Y, p, left_out=True)
    np.testing.assert_allclose(sets.marginals(p, own), marginals, atol=1e-9)
    for found, likely in zip(
        sets.most_likely(p, own).astype(bool).tolist(), proba_by_set, strict=True
    ):
        assert likely[tuple(found)] >= max(likely.values()) - 1e-12


@given(problems)
def test_indices_of_rows_are_those_of_their_sets(problem):
    Y, p = problem
    sets, indices = LabelSets.from_indicators(Y)
    np.testing.assert_array_equal(sets.indices_of(Y), indices)
    others = p > 0.5
    expected = [
        next((i for i, s in enumerate(sets.members.toarray()) if (s == y).all()), -1)
        for y in others
    ]
    np.testing.assert_array_equal(sets.indices_of(others), expected)


def test_a_certain_label_excludes_no_set():
    sets, _ = LabelSets.from_indicators(np.array([[1, 1, 0], [0, 0, 0]], dtype=bool))
    assert sets.most_likely(np.array([[0.9, 0.9, 1.0], [0.0, 1.0, 0.0]])).tolist()[0] == [1, 1, 0]
    assert np.isfinite(sets.marginals(np.array([[0.0, 1.0, 1.0]]))).all()


def test_blocks_of_rows_and_dense_products_change_nothing(monkeypatch):
    rng = np.random.RandomState(0)
    Y = rng.rand(2400, 30) < 0.3
    sets, indices = LabelSets.from_indicators(Y)
    assert len(sets.counts) > 2200
    p, own = rng.rand(300, 30), OwnSets(indices[:300], np.ones(300))
    whole = sets.marginals(p, own), sets.most_likely(p, own)
    monkeypatch.setattr(label_sets, "BLOCK", 7)
    monkeypatch.setattr(label_sets, "MAX_DENSE_LABELS", 0)
    sparse_sets, _ = LabelSets.from_indicators(Y)
    pieces = sparse_sets.marginals(p, own), sparse_sets.most_likely(p, own)
    np.testing.assert_allclose(pieces[0], whole[0], atol=1e-12)
    np.testing.assert_array_equal(pieces[1], whole[1])
    # A set that only the row itself has is not predicted when the row is left out.
    sure = np.where(Y[:50], 0.99, 0.01)
    unique = sets.counts[indices[:50]] == 1
    right = (sets.most_likely(sure, own.take(slice(50))) == Y[:50]).all(axis=1)
    np.testing.assert_array_equal(right, ~unique)
    assert (sets.most_likely(sure) == Y[:50]).all()


def test_the_most_frequent_sets_are_kept(monkeypatch):
    """Rows of other sets are predicted as they are without being left out of a count."""
    rng = np.random.RandomState(0)
    Y = rng.rand(200, 4) < 0.4
    weights = rng.randint(1, 4, 200).astype(float)
    every, indices = LabelSets.from_indicators(Y, weights)
    monkeypatch.setattr(label_sets, "MAX_SETS", 5)
    sets, kept_indices = LabelSets.from_indicators(Y, weights)
    kept = sorted(np.argsort(-every.counts, kind="stable")[:5].tolist())
    np.testing.assert_array_equal(sets.members.toarray(), every.members.toarray()[kept])
    np.testing.assert_array_equal(sets.counts, every.counts[kept])
    np.testing.assert_allclose(sets.log_lift, every.log_lift[kept])
    expected = [kept.index(k) if k in kept else -1 for k in indices]
    assert kept_indices.tolist() == expected
    p, lost = rng.rand(200, 4), kept_indices == -1
    own = OwnSets(kept_indices, weights)
    np.testing.assert_array_equal(sets.marginals(p, own)[lost], sets.marginals(p)[lost])


def test_more_sets_than_a_fit_keeps_are_refused():
    """A model file of some kilobytes could otherwise need gigabytes at prediction."""
    members = sparse.csr_array((100_000, 64))
    for n_counts in (1, 100_000):
        forged = LabelSets(members, np.ones(n_counts), np.zeros(n_counts))
        for method in (forged.marginals, forged.most_likely):
            with pytest.raises(ValueError, match="100000 label sets .* expected at most 2500"):
                method(np.full((1, 64), 0.5))


@pytest.mark.parametrize("n_labels", [1, 8, 20, 64, 70])
def test_distinct_rows_are_those_of_numpy(n_labels, rng):
    Y = rng.rand(300, n_labels) < 2 / n_labels
    distinct, indices = distinct_rows(Y)
    expected, expected_indices = np.unique(Y, axis=0, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(indices, expected_indices.ravel())


def slow_scores(Y, weights, p, exponent, left_out=None):
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
        lift = count / total / independent
        product = np.prod([q if on else 1 - q for q, on in zip(p, labels, strict=True)])
        scores.append(np.log(min(count, 1) * product) + exponent * np.log(lift))
    return np.array(distinct), np.array(scores)


@pytest.mark.parametrize("exponent", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_of_sets_equal_the_definition(exponent, left_out, weighted):
    rng = np.random.RandomState(0)
    Y = rng.uniform(size=(40, 4)) < [0.5, 0.4, 0.3, 0.1]
    Y[:15, 1] = Y[:15, 0]
    P = np.clip(rng.uniform(size=Y.shape), PROBA_MARGIN, 1 - PROBA_MARGIN)
    weights = rng.choice([0.01, 0.3, 1.0, 2.5], size=40) if weighted else np.ones(40)
    sets, indices = LabelSets.from_indicators(Y, weights if weighted else None)
    sets = replace(sets, lift_exponent=exponent)
    own = OwnSets(indices, weights) if left_out else None
    marginals, most_likely = sets.marginals(P, own), sets.most_likely(P, own)
    for row, p in enumerate(P):
        distinct, scores = slow_scores(Y, weights, p, exponent, row if left_out else None)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        np.testing.assert_allclose(marginals[row], shares @ distinct, atol=1e-12)
        np.testing.assert_array_equal(most_likely[row], distinct[scores.argmax()])


def test_the_lift_raises_the_probability_of_a_label_that_occurs_with_another():
    Y = np.repeat(np.array([[1, 1], [0, 0], [1, 0]], dtype=bool), [45, 45, 10], axis=0)
    sets, _ = LabelSets.from_indicators(Y)
    p = np.array([[0.8, 0.4]])
    second = [replace(sets, lift_exponent=d).marginals(p)[0, 1] for d in (0.0, 0.5, 1.0)]
    assert second == sorted(second)
    assert second[0] < second[-1]

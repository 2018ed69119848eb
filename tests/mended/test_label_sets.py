"""Label sets and their local lift against the definitions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit

from pairmend import MendedClassifier
from pairmend.mended import label_sets
from pairmend.mended.label_sets import PROBA_MARGIN, LabelSets, LocalSets, OwnSets, distinct_rows
from slow_label_sets import local_lift


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
    """A set of no other row than the one left out has the probability 0."""
    rng = np.random.RandomState(0)
    Y = rng.uniform(size=(40, 4)) < [0.5, 0.4, 0.3, 0.1]
    Y[:15, 1] = Y[:15, 0]
    P = rng.uniform(size=Y.shape)
    P[0], P[1, 1] = [0, 1, 0, 1], 1.0  # a certain label excludes no set
    weights = rng.choice([0.01, 0.3, 1.0, 2.5], size=40) if weighted else np.ones(40)
    sets, indices = LabelSets.from_indicators(Y, weights if weighted else None)
    np.testing.assert_array_equal(sets.members.toarray()[indices], Y)
    sets = replace(sets, lift_exponent=exponent)
    own = OwnSets(indices, weights) if left_out else None
    marginals, most_likely = sets.marginals(P, own), sets.most_likely(P, own)
    for row, p in enumerate(np.clip(P, PROBA_MARGIN, 1 - PROBA_MARGIN)):
        distinct, scores = slow_scores(Y, weights, p, exponent, row if left_out else None)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        np.testing.assert_allclose(marginals[row], shares @ distinct, atol=1e-9)
        np.testing.assert_array_equal(most_likely[row], distinct[scores.argmax()])


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
    assert kept_indices.tolist() == [kept.index(k) if k in kept else -1 for k in indices]
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


@pytest.mark.parametrize("n_labels", [1, 8, 20, 70])
def test_distinct_rows_are_those_of_numpy(n_labels, rng):
    Y = rng.rand(300, n_labels) < 2 / n_labels
    distinct, indices = distinct_rows(Y)
    expected, expected_indices = np.unique(Y, axis=0, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(indices, expected_indices.ravel())


def local_problem(seed, n_rows=60, n_labels=3):
    """Label sets of rows whose probabilities are informative, with weights."""
    rng = np.random.RandomState(seed)
    Y = rng.rand(n_rows, n_labels) < [0.5, 0.4, 0.2][:n_labels]
    proba = np.clip(0.3 + 0.4 * Y + 0.2 * rng.randn(*Y.shape), 0, 1)
    weights = rng.choice([0.5, 1.0, 2.0], size=n_rows)
    sets, indices = LabelSets.from_indicators(Y, weights)
    local = LocalSets.from_rows(proba, indices, weights, sets.counts, weights.sum(), rng)
    return sets, local, proba, OwnSets(indices, weights, np.arange(n_rows))


def test_local_lift_equals_the_definition():
    _, local, proba, own = local_problem(0)
    new = np.random.RandomState(1).rand(9, 3)
    expected = [local_lift(local, p) for p in new]
    np.testing.assert_allclose(local.log_lift(new), np.log(expected), atol=1e-10)
    found = local.log_lift(proba, own)  # each row left out
    for row, p in enumerate(proba):
        expected = local_lift(local, p, left_out=row)
        others = (
            local.counts - (np.arange(len(local.counts)) == own.indices[row]) * (own.weights[row])
        )
        np.testing.assert_allclose(found[row][others > 0], np.log(expected)[others > 0], atol=1e-10)
    # Far from all rows, sets have their frequency.
    narrow = replace(local, beta=1e9)
    np.testing.assert_allclose(narrow.log_lift(np.full((1, 3), 0.123)), 0, atol=1e-12)


def test_sets_that_are_not_kept_have_no_lift_but_a_mass():
    _, local, _, _ = local_problem(2)
    kept = local.sets > 0
    fewer = replace(local, sets=np.where(kept, local.sets - 1, -1), counts=local.counts[1:])
    new = np.random.RandomState(1).rand(5, 3)
    np.testing.assert_allclose(fewer.log_lift(new), local.log_lift(new)[:, 1:], atol=1e-10)


def test_the_bandwidth_is_relative_to_the_median_distance(rng):
    _, local, proba, _ = local_problem(4)
    points = logit(np.clip(proba, 1e-3, 1 - 1e-3))
    first, second = np.triu_indices(len(points), k=1)
    distances = ((points[first] - points[second]) ** 2).sum(axis=1)
    given = local.sets, np.ones(len(points)), local.counts, local.total, rng
    found = LocalSets.from_rows(proba, *given)
    assert found.beta == pytest.approx(8 / np.median(distances), rel=1e-9)
    same = np.full_like(proba, 0.3)
    assert np.isfinite(LocalSets.from_rows(same, *given).log_lift(same)).all()


def test_local_exponent_enters_the_probabilities_of_sets():
    sets, local, proba, own = local_problem(5)
    plain = replace(sets, lift_exponent=0.5)
    both = replace(plain, local=local, local_exponent=0.7)
    for rows, left_out in ((np.random.RandomState(1).rand(70, 3), None), (proba, own)):
        scores = plain.log_scores(rows, left_out) + 0.7 * local.log_lift(rows, left_out)
        expected = sets.members.toarray()[scores.argmax(axis=1)]
        np.testing.assert_array_equal(both.most_likely(rows, left_out), expected)


@pytest.mark.parametrize(
    "forge",
    [
        lambda local: {"sets": local.sets[:, np.newaxis]},
        lambda local: {"sets": local.sets + 100},
        lambda local: {"masses": local.masses[:-1]},
        lambda local: {"proba": local.proba[:-1]},
        lambda local: {"counts": np.append(local.counts, 1.0)},
        lambda local: {"counts": local.counts[:, np.newaxis]},
        lambda local: {"proba": local.proba[:, :2]},
        lambda local: {"proba": local.proba[:, 0]},
    ],
)
def test_damaged_rows_are_refused(forge):
    sets, local, proba, _ = local_problem(7)
    damaged = replace(sets, local=replace(local, **forge(local)), local_exponent=0.5)
    with pytest.raises(ValueError, match="The model is damaged: fit the classifier again"):
        damaged.most_likely(proba)


def test_the_local_lift_finds_sets_that_depend_on_the_place():
    """Which of two labels a row has depends on its place, and no row has both."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(600, 3))
    third = X[:, 2] > 0
    side = np.where(third, X[:, 0], -X[:, 0]) + 0.6 * rng.randn(600) > 0
    Y = np.column_stack([side, ~side, third]).astype(int)
    clf = MendedClassifier(None, criterion="zero_one", random_state=0).fit(X, Y)
    found = clf.decisions_
    at = found["decision"] == "sets"
    assert found["lift_exponent"][at].tolist() == [clf.lift_exponent_, 0.25]
    assert found["local_exponent"][at].tolist() == [0.0, 0.5]
    assert np.isnan(found["local_exponent"][~at]).all()
    clf.set_params(decision="sets")
    assert (clf.predict(X).sum(axis=1) >= 1).all()

"""Label sets against enumeration."""

import numpy as np
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pairmend.mended.label_sets import SURE, LabelSets, Own

# Few labels, so that some sets are carried by several rows and some by one.
problems = st.tuples(st.integers(2, 9), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(
        arrays(np.bool_, shape), arrays(np.float64, shape, elements=st.floats(0, 1))
    )
)


def chances_of_sets(seen, p):
    """Probability of each set at a row."""
    p = np.clip(p, SURE, 1 - SURE)
    likely = [np.prod([q if there else 1 - q for q, there in zip(p, s, strict=True)]) for s in seen]
    return np.array(likely) / sum(likely)


def by_enumeration(Y, probabilities, *, left_out):
    """Marginals, and the probabilities of sets by name, row by row."""
    marginals, chances = [], []
    for row, p in enumerate(probabilities):
        rest = np.delete(Y, row, axis=0) if left_out else Y
        seen = sorted({tuple(y) for y in rest.tolist()})
        found = chances_of_sets(seen, p)
        marginals.append(found @ np.array(seen, dtype=float))
        chances.append(dict(zip(seen, found, strict=True)))
    return np.array(marginals), chances


@given(problems)
def test_new_rows(problem):
    Y, p = problem
    sets, number = LabelSets.seen_in(Y)
    np.testing.assert_array_equal(sets.members.toarray()[number], Y)
    np.testing.assert_array_equal(sets.counts[number], [(y == Y).all(axis=1).sum() for y in Y])
    marginals, chances = by_enumeration(Y, p, left_out=False)
    np.testing.assert_allclose(sets.marginals(p), marginals, atol=1e-9)
    for said, likely in zip(sets.most_likely(p).astype(bool).tolist(), chances, strict=True):
        assert likely[tuple(said)] >= max(likely.values()) - 1e-12


@given(problems)
def test_rows_that_are_left_out(problem):
    """A set that the row alone carries is one that was never seen without the row."""
    Y, p = problem
    sets, number = LabelSets.seen_in(Y)
    own = Own(number, np.ones(len(Y)))
    marginals, chances = by_enumeration(Y, p, left_out=True)
    np.testing.assert_allclose(sets.marginals(p, own), marginals, atol=1e-9)
    for said, likely in zip(sets.most_likely(p, own).astype(bool).tolist(), chances, strict=True):
        assert likely[tuple(said)] >= max(likely.values()) - 1e-12


def test_certain_labels_rule_out_no_set_alone():
    sets, _ = LabelSets.seen_in(np.array([[1, 1, 0], [0, 0, 0]], dtype=bool))
    assert sets.most_likely(np.array([[0.9, 0.9, 1.0], [0.0, 1.0, 0.0]])).tolist()[0] == [1, 1, 0]
    assert np.isfinite(sets.marginals(np.array([[0.0, 1.0, 1.0]]))).all()


def test_thousands_of_sets_in_little_memory():
    rng = np.random.RandomState(0)
    Y = rng.rand(4000, 30) < 0.3
    sets, number = LabelSets.seen_in(Y)
    assert len(sets.counts) > 3500
    p, own = rng.rand(300, 30), Own(number[:300], np.ones(300))
    whole = sets.marginals(p, own), sets.most_likely(p, own)
    with sklearn.config_context(working_memory=1):
        pieces = sets.marginals(p, own), sets.most_likely(p, own)
    np.testing.assert_allclose(pieces[0], whole[0], atol=1e-12)
    np.testing.assert_array_equal(pieces[1], whole[1])
    # The set of one row, with its own labels likely, is still not to be had.
    sure = np.where(Y[:50], 0.99, 0.01)
    lonely = sets.counts[number[:50]] == 1
    right = (sets.most_likely(sure, own.at(slice(50))) == Y[:50]).all(axis=1)
    np.testing.assert_array_equal(right, ~lonely)
    assert (sets.most_likely(sure) == Y[:50]).all()

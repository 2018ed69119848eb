import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import references
from pairmend._pairs import FIRST, SECOND, SHARED, PairRows, label_pairs, pair_rows

indicators = st.tuples(st.integers(1, 12), st.integers(2, 6)).flatmap(lambda s: arrays(bool, s))


def test_order_of_pairs():
    assert [tuple(pair) for pair in label_pairs(5).tolist()] == references.pairs(5)


@given(indicators)
def test_rows_of_pairs_equal_a_loop(Y):
    pairs = label_pairs(Y.shape[1])
    found = pair_rows(Y, pairs)
    for m, (i, j) in enumerate(pairs):
        expected = [
            (k, SHARED if y[i] and y[j] else FIRST if y[i] else SECOND)
            for k, y in enumerate(Y)
            if y[i] or y[j]
        ]
        entries = found.entries(slice(m, m + 1))
        got = zip(found.rows[entries].tolist(), found.side[entries].tolist(), strict=True)
        assert list(got) == expected


@given(indicators, st.integers(1, 7))
def test_blocks_join_to_the_whole(Y, size):
    pairs = label_pairs(Y.shape[1])
    whole = pair_rows(Y, pairs)
    cuts = [slice(a, min(a + size, len(pairs))) for a in range(0, len(pairs), size)]
    joined = PairRows.join(pair_rows(Y, pairs[cut]) for cut in cuts)
    again = PairRows.join(whole.block(cut) for cut in cuts)
    for other in (joined, again):
        np.testing.assert_array_equal(other.indptr, whole.indptr)
        np.testing.assert_array_equal(other.rows, whole.rows)
        np.testing.assert_array_equal(other.side, whole.side)


@given(indicators, st.randoms(use_true_random=False))
def test_among_keeps_the_chosen_rows(Y, random):
    pairs = label_pairs(Y.shape[1])
    rows = np.array(sorted(random.sample(range(len(Y)), random.randint(1, len(Y)))))
    whole = pair_rows(Y, pairs)
    kept, chosen = whole.among(rows, len(Y))
    alone = pair_rows(Y[rows], pairs)
    np.testing.assert_array_equal(kept.indptr, alone.indptr)
    np.testing.assert_array_equal(kept.rows, alone.rows)
    np.testing.assert_array_equal(kept.side, alone.side)
    np.testing.assert_array_equal(chosen, np.isin(whole.rows, rows))

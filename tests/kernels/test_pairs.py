import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import references
from pairmend.kernels.pairs import LabelRows, label_pairs, pairs_of

indicators = st.tuples(st.integers(1, 12), st.integers(2, 6)).flatmap(lambda s: arrays(bool, s))


def test_order_of_pairs():
    assert [tuple(pair) for pair in label_pairs(5).tolist()] == references.pairs(5)


@given(st.integers(2, 9), st.data())
def test_pairs_of_consecutive_first_labels(n_labels, data):
    start = data.draw(st.integers(0, n_labels - 2))
    stop = data.draw(st.integers(start + 1, n_labels - 1))
    found = label_pairs(n_labels)[pairs_of(slice(start, stop), n_labels)].tolist()
    assert found == [list(pair) for pair in references.pairs(n_labels) if start <= pair[0] < stop]


@given(indicators)
def test_rows_of_labels_equal_a_loop(Y):
    label_rows = LabelRows.of(Y)
    for i in range(Y.shape[1]):
        entries = label_rows.entries(i)
        assert label_rows.rows[entries].tolist() == [k for k, y in enumerate(Y) if y[i]]
        assert set(label_rows.label[entries]) <= {i}


@given(indicators, st.randoms(use_true_random=False))
def test_among_keeps_the_entries_of_some_rows(Y, random):
    rows = np.array(sorted(random.sample(range(len(Y)), random.randint(1, len(Y)))))
    whole = LabelRows.of(Y)
    kept, chosen = whole.among(rows, len(Y))
    expected = LabelRows.of(Y[rows])
    np.testing.assert_array_equal(kept.indptr, expected.indptr)
    np.testing.assert_array_equal(kept.rows, expected.rows)
    np.testing.assert_array_equal(chosen, np.isin(whole.rows, rows))

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend.model_selection import hold_out, shuffled_folds


@given(st.integers(2, 50), st.floats(0.05, 0.95), st.integers(0, 99))
def test_hold_out_splits_all_rows(n_rows, share, seed):
    size = int(np.floor(share * n_rows + 0.5))
    if size in (0, n_rows):
        with pytest.raises(ValueError, match="part of .* empty"):
            hold_out(n_rows, share, np.random.RandomState(seed))
        return
    train, validation = hold_out(n_rows, share, np.random.RandomState(seed))
    assert len(train) == size
    assert sorted([*train, *validation]) == list(range(n_rows))


@given(st.integers(2, 10), st.integers(0, 40), st.integers(0, 99))
def test_every_row_is_in_exactly_one_fold(n_folds, more, seed):
    n_rows = n_folds + more
    folds = list(shuffled_folds(n_rows, n_folds, seed))
    assert len(folds) == n_folds
    assert sorted(row for _, fold in folds for row in fold) == list(range(n_rows))
    for rest, fold in folds:
        assert sorted([*rest, *fold]) == list(range(n_rows))

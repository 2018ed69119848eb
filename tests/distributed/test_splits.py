"""Splits of rows in blocks."""

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="needs pip install 'pairmend[dask]'")

from pairmend.distributed.splits import FoldDraw, cut_splits


@pytest.fixture
def Y():
    return np.random.RandomState(0).uniform(size=(203, 3)) < [0.5, 0.2, 0.05]


def test_each_label_set_is_spread_over_the_folds(Y):
    splits = FoldDraw(4, seed=7, number=0).of_block(Y, np.ones(len(Y), dtype=bool))
    assert np.ptp(np.bincount(splits.fold)) <= 1
    for labels in np.unique(Y, axis=0):
        of_set = splits.fold[(labels == Y).all(axis=1)]
        assert np.ptp(np.bincount(of_set, minlength=4)) <= 1
    for split in range(4):
        np.testing.assert_array_equal(splits.test(split), np.flatnonzero(splits.fold == split))
        np.testing.assert_array_equal(splits.train(split), np.flatnonzero(splits.fold != split))
    np.testing.assert_array_equal(splits.train(4), np.arange(len(Y)))


def test_folds_depend_on_the_seed_and_the_block_only(Y):
    present = np.ones(len(Y), dtype=bool)
    first, again, other_block, other_seed = (
        FoldDraw(3, seed, number).of_block(Y, present).fold
        for seed, number in ((1, 0), (1, 0), (1, 1), (2, 0))
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other_block).any()
    assert (first != other_seed).any()


def test_rows_of_weight_0_are_in_no_fold(Y):
    present = np.arange(len(Y)) % 5 > 0
    splits = FoldDraw(3, seed=1, number=0).of_block(Y, present)
    np.testing.assert_array_equal(splits.tested(), np.flatnonzero(present))
    np.testing.assert_array_equal(splits.train(3), np.flatnonzero(present))
    assert np.ptp(np.bincount(splits.fold[present])) <= 1


def test_a_block_may_have_fewer_rows_than_folds():
    one, none = (
        FoldDraw(5, seed=1, number=0).of_block(np.ones((n, 2), bool), np.ones(n, bool))
        for n in (1, 0)
    )
    assert len(one.fold) == 1
    assert 0 <= one.fold[0] < 5
    assert len(none.tested()) == 0


def test_given_splits_are_cut_to_blocks():
    splits = [(np.array([5, 0, 3]), np.array([4, 1])), (np.array([1, 2]), np.array([0, 1]))]
    present = np.split(np.array([1, 1, 1, 0, 1, 1], dtype=bool), [2, 2])
    plans = cut_splits(splits, [2, 0, 4])
    blocks = [plan.of_block(None, part) for plan, part in zip(plans, present, strict=True)]
    found = [[[b.train(s).tolist(), b.test(s).tolist()] for s in range(2)] for b in blocks]
    assert found == [
        [[[0], [1]], [[1], [0, 1]]],
        [[[], []], [[], []]],
        [[[1, 3], [2]], [[0], []]],
    ]
    assert [b.train(2).tolist() for b in blocks] == [[0, 1], [], [0, 2, 3]]
    assert [b.tested().tolist() for b in blocks] == [[0, 1], [], [2]]

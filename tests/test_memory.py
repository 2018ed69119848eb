"""Arrays in memory that is used again."""

import multiprocessing
import os
import pickle
import threading

import numpy as np
import pytest

from pairmend import _memory
from pairmend._memory import KEPT, SMALLEST, empty, empty_like


@pytest.fixture
def pool(monkeypatch):
    pool = _memory._Pool()
    monkeypatch.setattr(_memory, "_POOL", pool)
    return pool


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("shape", [(0, 5), (3,), (200, 300), (2, 3, 50_000)])
@pytest.mark.parametrize("dtype", [np.float64, "float32", np.bool_, np.intp])
def test_an_array_like_any_other(shape, dtype, pool):
    array = empty(shape, dtype)
    assert array.shape == shape
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    array[:] = 1
    assert array.all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), array)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (2, 1, 0)])
def test_the_same_order_in_memory(axes, pool):
    array = np.zeros((40, 50, 60)).transpose(axes)
    like = empty_like(array, np.float32)
    assert like.shape == array.shape
    assert like.dtype == np.float32
    assert np.argsort(like.strides).tolist() == np.argsort(array.strides).tolist()
    assert empty_like(np.array(1.0)).shape == ()


def test_memory_is_used_again_once_no_view_of_it_is_left(pool):
    array = empty((SMALLEST,), np.uint8)
    place, view = address(array), array[10:].reshape(-1)[5:]
    del array
    other = empty((SMALLEST,), np.uint8)
    assert address(other) != place
    view[:] = 7
    other[:] = 1
    assert (view == 7).all()
    del view
    assert address(empty((SMALLEST,), np.uint8)) == place


def test_little_memory_is_kept(pool):
    sizes = [SMALLEST * n for n in (1, 2, 3)] * 5 + [KEPT // 2, KEPT, 2 * KEPT] * 3
    arrays = [empty((size,), np.uint8) for size in sizes]
    assert pool.size == 0
    while arrays:
        arrays.pop()
        assert pool.size == sum(block.nbytes for block in pool.free) <= KEPT
    for n in range(1, 200):  # what is free for longest goes first
        del_me = empty((SMALLEST * 4 + 99 * n * 1000,), np.uint8)
        del del_me
        assert pool.size == sum(block.nbytes for block in pool.free) <= KEPT
    small = empty((SMALLEST - 1,), np.uint8)
    assert small.base is None


def test_without_the_lock_memory_is_new(pool):
    array = empty((SMALLEST,), np.uint8)
    with pool.lock:
        del array
        assert empty((SMALLEST,), np.uint8).nbytes == SMALLEST
    assert pool.free == []


def test_threads_never_share_memory():
    wrong = []

    def work(number):
        for _ in range(300):
            arrays = [empty((SMALLEST // 8 + 7,)) for _ in range(3)]
            for k, array in enumerate(arrays):
                array[:] = 10 * number + k
            wrong.extend(
                number for k, array in enumerate(arrays) if (array != 10 * number + k).any()
            )

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks beside threads
def test_a_fork_has_memory_of_its_own():
    kept = empty((SMALLEST,))
    kept[:] = 1
    with _memory._POOL.lock:
        child = multiprocessing.get_context("fork").Process(target=use_memory)
        child.start()
        child.join(30)
    assert child.exitcode == 0
    assert (kept == 1).all()


def use_memory():
    array = empty((SMALLEST,))
    place = address(array)
    del array
    assert address(empty((SMALLEST,))) == place

"""Work in threads."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from pairmend._threads import in_threads, single_blas, thread_count


@pytest.mark.parametrize("n_threads", [1, 2, 5, 100])
@pytest.mark.parametrize("n_items", [0, 1, 7])
def test_every_item_is_done_once(n_threads, n_items):
    done = []
    in_threads(done.append, range(n_items), n_threads)
    assert sorted(done) == list(range(n_items))


def test_threads_work_at_the_same_time():
    together = threading.Barrier(3, timeout=30)
    in_threads(lambda _: together.wait(), range(3), 3)  # would time out one after the other


@pytest.mark.parametrize("bad", [0, 1])
def test_errors_are_raised_after_all_have_ended(bad):
    done = []

    def work(item):
        if item == bad:
            raise ValueError("odd")
        done.append(item)

    with pytest.raises(ValueError, match="odd"):
        in_threads(work, [0, 1], 2)
    assert done == [1 - bad]


def test_as_many_threads_as_matrix_products_take():
    with threadpool_limits(limits=1):
        assert thread_count(None) == 1
        assert thread_count(3) == 3
    with threadpool_limits(limits=2):
        assert thread_count(None) == 2


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_matrix_products_stay_in_one_thread_until_all_are_done():
    with threadpool_limits(limits=2):
        first, second = single_blas(), single_blas()
        with first:
            second.__enter__()
            assert blas_threads() == {1}
            assert thread_count(None) == 2  # the threads that BLAS does not use
        assert blas_threads() == {1}  # the second still wants it
        second.__exit__(None, None, None)
        assert blas_threads() == {2}

"""Running work in several threads."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from pairmend import CorrectedPairwiseClassifier
from pairmend._utils import computing as _threads
from pairmend._utils.computing import in_threads, thread_count


@pytest.mark.parametrize("n_threads", [1, 2, 5, 100])
@pytest.mark.parametrize("n_items", [0, 1, 7])
def test_every_item_is_done_once(n_threads, n_items):
    done = []
    in_threads(done.append, range(n_items), n_threads)
    assert sorted(done) == list(range(n_items))


def test_threads_run_at_the_same_time():
    together = threading.Barrier(3, timeout=30)
    in_threads(lambda _: together.wait(), range(3), 3)  # times out if they run one after the other


@pytest.mark.parametrize("bad", [0, 1])
def test_errors_are_raised_after_all_threads_have_ended(bad):
    done, together = [], threading.Barrier(2, timeout=30)

    def work(item):
        together.wait()
        if item == bad:
            raise ValueError("odd")
        time.sleep(0.05)
        done.append(item)

    with pytest.raises(ValueError, match="odd"):
        in_threads(work, [0, 1], 2)
    assert done == [1 - bad]


def squares_in_threads(n, n_threads=4):
    done = [0] * n
    in_threads(lambda i: done.__setitem__(i, i * i), range(n), n_threads)
    return done


def test_nested_use():
    done = []
    many = 2 * _threads.MAX_THREADS
    in_threads(lambda i: done.append(squares_in_threads(5)), range(many), many)
    assert done == [[0, 1, 4, 9, 16]] * many


def test_after_an_interrupt_no_thread_continues():
    begun, go_on = [], threading.Event()

    def work(item):
        begun.append(item)
        if threading.current_thread() is threading.main_thread():
            go_on.set()
            raise KeyboardInterrupt
        assert go_on.wait(30)
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(1000), 2)
    n_begun = len(begun)
    assert n_begun < 1000
    assert squares_in_threads(3) == [0, 1, 4]
    assert len(begun) == n_begun


def test_work_is_done_if_no_thread_can_start(monkeypatch):
    _threads._executor.cache_clear()
    monkeypatch.setattr(threading.Thread, "start", raise_no_thread)
    assert squares_in_threads(4) == [0, 1, 4, 9]
    assert _threads._executor.cache_info().currsize == 0, "the queue keeps failed jobs"


def raise_no_thread(self):
    raise RuntimeError("can't start new thread")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # that a process with threads is forked
@pytest.mark.parametrize("held", [False, True])
def test_a_forked_process_starts_its_own_threads(held):
    squares_in_threads(4)  # creates the executor
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with _threads._executor()._shutdown_lock:
            entered.set()
            assert leave.wait(60)

    other = threading.Thread(target=hold)
    if held:
        other.start()
        assert entered.wait(30)
    child = multiprocessing.get_context("fork").Process(target=check_squares)
    child.start()
    child.join(30)
    hangs = child.is_alive()
    child.kill()
    if held:
        leave.set()
        other.join()
    assert not hangs
    assert child.exitcode == 0


def check_squares():
    assert squares_in_threads(4) == [0, 1, 4, 9]


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_predictions_are_equal_with_all_backends_of_joblib(backend, rng):
    X, Y = rng.rand(300, 20), rng.rand(300, 6) < 0.3
    clf = CorrectedPairwiseClassifier(n_jobs=2, random_state=0).fit(X, Y)
    expected = clf.pair_corrected(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_threads, "WORTHWHILE_THREADS", 0.0)
        jobs = (delayed(clf.pair_corrected)(X) for _ in range(4))
        for found in Parallel(n_jobs=2, backend=backend)(jobs):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_threads", ["1", "2"])
def test_work_after_the_end_of_the_main_thread(n_threads):
    program = """
import threading, time
import sklearn  # as with every classifier: older versions of threadpoolctl find scipy's BLAS only
from pairmend._utils.computing import in_threads, thread_count
done = []
def work():
    threading.main_thread().join()
    time.sleep(0.1)  # the interpreter has begun to shut down
    in_threads(done.append, range(5), 3)
    assert sorted(done) == [*range(5)]
    print("done", thread_count())
in_threads(done.append, [], 3)
in_threads(done.append, [0], 2)
done.clear()
threading.Thread(target=work).start()
"""
    environment = {**os.environ, "OMP_NUM_THREADS": n_threads, "OPENBLAS_NUM_THREADS": n_threads}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == (f"done {n_threads}\n", "")


def test_default_number_of_threads_is_that_of_blas():
    with threadpool_limits(limits=1):
        assert thread_count(None) == 1
        assert thread_count(3) == 3
    with threadpool_limits(limits=2):
        assert thread_count(None) == 2


def test_work_in_a_destructor_at_shutdown_ends():
    program = """
import time
from pairmend._utils import computing as _threads

class Late:
    def __del__(self, in_threads=_threads.in_threads, sleep=time.sleep):
        in_threads(lambda item: sleep(0.001), range(20), 2)

late = Late()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

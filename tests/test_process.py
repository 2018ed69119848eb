"""Settings of the process do not change; forks work."""

import gc
import locale
import logging
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from sklearn import get_config
from threadpoolctl import threadpool_info, threadpool_limits

from pairmend import CorrectedPairwiseClassifier, MendedClassifier
from public_classifiers import CLASSIFIERS, data_for, made


def process_state():
    """Return the settings of the process and of its libraries."""
    state = {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "import path": list(sys.path),
        "warning filters": list(warnings.filters),
        "floating point errors": np.geterr(),
        "printing of arrays": np.get_printoptions(),
        "random state of numpy": pickle.dumps(np.random.get_state()),  # noqa: NPY002
        "random state": random.getstate(),
        "scikit-learn": get_config(),
        "locale": locale.setlocale(locale.LC_ALL),
        "signal handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "exception hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "garbage collection": (gc.isenabled(), gc.get_threshold()),
        "level of logging": logging.getLogger().level,
        "handlers of logging": list(logging.getLogger().handlers),
        "timeout of sockets": socket.getdefaulttimeout(),
    }
    if hasattr(os, "sched_getaffinity"):
        state["processors"] = os.sched_getaffinity(0)
    return state


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_settings_of_the_process_do_not_change(name):
    X, y = data_for(name)
    made(name).fit(X, y).predict(X)  # imports modules that are loaded on demand
    before = process_state()
    clf = made(name).fit(X, y)
    clf.predict(X)
    if hasattr(clf, "predict_proba"):
        clf.predict_proba(X)
    after = process_state()
    assert [setting for setting in before if before[setting] != after[setting]] == []


def run_program(program, *, timeout, **variables):
    """Run a program in another process, and return its output."""
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


FIT_AND_PREDICT = """
import numpy as np
from pairmend import CorrectedPairwiseClassifier
rng = np.random.RandomState(0)
X, Y = rng.rand(120, 6), rng.rand(120, 4) < 0.4
clf = CorrectedPairwiseClassifier(random_state=0).fit(X, Y)
expected = clf.predict_proba(X[:20])
"""

SETTINGS_OF_MALLOC = """
import ctypes, sys

class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

library = ctypes.CDLL(None)
if not hasattr(library, "mallinfo2"):
    sys.exit(print("no such function"))
library.mallinfo2.restype = Info
library.malloc.restype = ctypes.c_void_p
library.malloc.argtypes = [ctypes.c_size_t]
library.free.argtypes = [ctypes.c_void_p]

def is_mapped(size):
    before = library.mallinfo2().hblks
    block = library.malloc(size)
    mapped = library.mallinfo2().hblks > before
    library.free(block)
    return mapped

import numpy, scipy, sklearn, pairmend  # may themselves have freed large blocks
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the GNU C library")
def test_malloc_keeps_its_settings():
    """A block of 24 MiB is mapped by default, and not after mallopt(M_MMAP_THRESHOLD, 32 MiB)."""
    program = SETTINGS_OF_MALLOC + FIT_AND_PREDICT + "print(is_mapped(24 * 2**20))"
    clean = {name: "" for name in os.environ if name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    printed = run_program(program, timeout=120, **clean).strip()
    if printed == "no such function":
        pytest.skip("needs mallinfo2 of the GNU C library")
    assert printed == "True"


def shared_settings():
    """Return settings that all threads share; OpenMP's number of threads is set by thread."""
    libraries = (library for library in threadpool_info() if library["user_api"] == "blas")
    blas = {library["filepath"]: library["num_threads"] for library in libraries}
    return blas, dict(os.environ), list(sys.path), os.getcwd()


@pytest.mark.parametrize(
    "clf",
    [CorrectedPairwiseClassifier(n_jobs=2, random_state=0), MendedClassifier(random_state=0)],
    ids=lambda clf: type(clf).__name__,
)
def test_settings_do_not_change_during_a_fit(clf, rng):
    X, Y = rng.rand(600, 20), rng.rand(600, 8) < 0.3
    seen, end = [], threading.Event()

    def look():
        while not end.is_set():
            seen.append(shared_settings())
            end.wait(0.001)

    with threadpool_limits(limits=2, user_api="blas"):
        before = shared_settings()
        other = threading.Thread(target=look)
        other.start()
        try:
            while len(seen) <= 2:  # on a busy machine one fit may end before the other thread runs
                clf.fit(X, Y).predict_proba(X)
        finally:
            end.set()
            other.join()
        assert all(settings == before for settings in seen)


FORKS = """
import os, signal, sys, threading, time

sys.setswitchinterval(0.0005)
end = threading.Event()
def predict():
    while not end.is_set():
        clf.predict_proba(X[:20])

threads = [threading.Thread(target=predict) for _ in range(3)]
for thread in threads:
    thread.start()
hung = wrong = 0
for _ in range(100):
    child = os.fork()
    if child == 0:
        same = np.array_equal(clf.predict_proba(X[:20]), expected)
        os._exit(0 if same else 1)
    give_up = time.monotonic() + 30
    ended, status = 0, 0
    while not ended and time.monotonic() < give_up:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.001)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        hung += 1
        if hung == 3:
            break
    wrong += status != 0
end.set()
for thread in threads:
    thread.join()
print("hung:", hung, "wrong:", wrong)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_while_other_threads_predict():
    """With one thread of BLAS: OpenBLAS with more does not support forks."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    printed = run_program(FIT_AND_PREDICT + FORKS, timeout=240, PYTHONWARNINGS="ignore", **one)
    assert printed == "hung: 0 wrong: 0\n"

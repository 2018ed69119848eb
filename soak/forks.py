"""Forks while threads predict, and interrupts at random moments."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from typing import Any

import numpy as np

from pairmend import CorrectedPairwiseClassifier, MendedClassifier, PairwiseClassifier
from pairmend.baselines import BinaryRelevance, MLkNN
from soak.state import State
from soak.workers import run_seeds

NAME = "forks"
TARGET = 1_000
KINDS = ("fork", "interrupt")
N_THREADS = 3
CHILD_SECONDS = 30


def run_slice(state: State, deadline: float) -> None:
    """Check the kind with the fewest inputs so far."""
    done = {kind: n for campaign, kind, n, *_ in state.rows() if campaign == NAME}
    kind = min(KINDS, key=lambda name: done.get(name, 0))
    run_seeds(state, NAME, kind, 50, deadline, max_seconds=180)


def check(kind: str, seed: int) -> None:
    """Fork a child that predicts, or interrupt a process that fits."""
    (check_fork if kind == "fork" else check_interrupt)(seed)


@cache
def data() -> tuple[Any, Any]:
    """Return rows and labels."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 8))
    return X, (X[:, :4] + rng.normal(size=(300, 4)) > 0).astype(int)


@cache
def fitted() -> list[Any]:
    """Return fitted classifiers."""
    X, Y = data()
    classifiers = [PairwiseClassifier(), CorrectedPairwiseClassifier(validation=2),
                   MendedClassifier(cv=2), MLkNN(), BinaryRelevance()]  # fmt: skip
    return [classifier.fit(X, Y) for classifier in classifiers]


def check_fork(seed: int) -> None:
    """Fork while threads predict; the child predicts and ends."""
    X, _ = data()
    classifier = fitted()[seed % len(fitted())]
    expected = classifier.predict(X)
    stop = threading.Event()

    def predict() -> None:
        while not stop.is_set():
            classifier.predict(X)

    threads = [threading.Thread(target=predict) for _ in range(N_THREADS)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(random.Random(seed).uniform(0, 0.05))
        child = os.fork()
        if child == 0:
            os._exit(0 if (classifier.predict(X) == expected).all() else 1)
        end = time.monotonic() + CHILD_SECONDS
        status = 0
        done = 0
        while not done and time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.005)
        if not done:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"the child hangs ({type(classifier).__name__})")
        if status:
            raise AssertionError(f"the child ended with {status} ({type(classifier).__name__})")
    finally:
        stop.set()
        for thread in threads:
            thread.join()


INTERRUPTED = """
import signal, sys
# A process started in the background of a shell ignores SIGINT, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from soak.forks import data, fitted
X, Y = data()
classifier = fitted()[int(sys.argv[1]) % len(fitted())]
before = classifier.predict(X)
print("ready", flush=True)
try:
    while True:
        classifier.fit(X, Y)
        classifier.predict(X)
except KeyboardInterrupt:
    pass
assert (classifier.predict(X) == before).all() or classifier.fit(X, Y).predict(X).shape == Y.shape
sys.exit(33)
"""


def check_interrupt(seed: int) -> None:
    """Send SIGINT to a process that fits and predicts, and check that it ends as interrupted."""
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(seed)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(seed).uniform(0, 0.3))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=CHILD_SECONDS)
    finally:
        process.kill()
        process.wait()
    if process.returncode != 33:
        raise AssertionError(f"ended with {process.returncode}: {errors[-2000:]}")

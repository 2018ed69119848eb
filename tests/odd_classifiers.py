"""Classifiers that misbehave, or count: importable by worker processes and study files.

Where they have a parameter `n_rows`, they misbehave on training sets of this size only: in one fold
of two, if the number of rows is odd. None means always.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""The signal that ends a process at once; Windows has one only."""
READ = "import sys; sys.stdin.read()"


class Counting(GaussianNB):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y, sample_weight)


class Frequent(ClassifierMixin, BaseEstimator):
    """Predicts every label that most rows carry, after a while."""

    def __init__(self, seconds=0.0, random_state=None):
        self.seconds = seconds
        self.random_state = random_state

    def fit(self, X, Y):
        time.sleep(self.seconds)
        noise = np.random.RandomState(self.random_state).uniform(-0.2, 0.2, Y.shape[1])
        self.labels_ = (np.asarray(Y).mean(axis=0) + noise > 0.5).astype(int)
        return self

    def predict(self, X):
        return np.tile(self.labels_, (X.shape[0], 1))


class Failing(Frequent):
    """Fails while the file that it names exists."""

    def __init__(self, while_exists="", seconds=0.0, random_state=None):
        super().__init__(seconds, random_state)
        self.while_exists = while_exists

    def fit(self, X, Y):
        if Path(self.while_exists).exists():
            raise ArithmeticError("this classifier fails on purpose")
        return super().fit(X, Y)


class Deadly(Frequent):
    """Kills its process: always, or once if it names a file, which it then makes.

    It may let time pass before: Dask starts no worker again that dies while it is started.
    """

    def __init__(self, once="", n_rows=None, pause=0.0, seconds=0.0, random_state=None):
        super().__init__(seconds, random_state)
        self.once = once
        self.n_rows = n_rows
        self.pause = pause

    def fit(self, X, Y):
        chosen = self.n_rows in (None, len(X))
        if chosen and not (self.once and Path(self.once).exists()):
            if self.once:
                Path(self.once).touch()
            time.sleep(self.pause)
            os.kill(os.getpid(), KILL)
        return super().fit(X, Y)


class Odd(Frequent):
    """Does something that no classifier should, by name."""

    def __init__(self, kind="", n_rows=None, seconds=0.0, random_state=None):
        super().__init__(seconds, random_state)
        self.kind = kind
        self.n_rows = n_rows

    def fit(self, X, Y):
        super().fit(X, Y)
        match self.kind if self.n_rows in (None, len(X)) else "":
            case "exits":
                raise SystemExit(0)
            case "exits at once":
                os._exit(0)
            case "prints":
                print("printed by a classifier", flush=True)
                # Standard input is empty, and not the pipe.
                subprocess.run([sys.executable, "-S", "-c", READ], check=True)
            case "surrogate":
                raise ValueError("a name that cannot be decoded: \udcff")
            case "forks and dies":
                if os.fork() == 0:
                    time.sleep(1000)
                    os._exit(0)
                os.kill(os.getpid(), KILL)
        return self

    def predict(self, X):
        Y = super().predict(X)
        match self.kind:
            case "signs":
                return 2 * Y - 1
            case "narrow":
                return Y[:, :-1]
            case "global":
                return (np.random.uniform(size=Y.shape) > 0.5).astype(int)  # noqa: NPY002
        return Y


class Hanging(Frequent):
    """Takes for ever: to fit, to predict, or not at all."""

    prediction_parameters = ("late",)

    def __init__(self, when="fit", late=0, n_rows=None, seconds=0.0, random_state=None):
        super().__init__(seconds, random_state)
        self.when = when
        self.late = late
        self.n_rows = n_rows

    def fit(self, X, Y):
        self.chosen_ = self.n_rows in (None, len(X))
        if self.when == "fit" and self.chosen_:
            time.sleep(1000)
        return super().fit(X, Y)

    def predict(self, X):
        if self.when == "predict" and self.late and self.chosen_:
            time.sleep(1000)
        return super().predict(X)

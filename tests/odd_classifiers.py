"""Classifiers that misbehave, or count: importable by worker processes and study files."""

import os
import signal
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB


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
    """Kills its process: always, or once if it names a file, which it then makes."""

    def __init__(self, once="", seconds=0.0, random_state=None):
        super().__init__(seconds, random_state)
        self.once = once

    def fit(self, X, Y):
        if not self.once or not Path(self.once).exists():
            if self.once:
                Path(self.once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, Y)

"""Small studies for several tests."""

import pytest
from sklearn.naive_bayes import GaussianNB

from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
from pairmend.study import Study


@pytest.fixture
def sets(small_set):
    return {"one": small_set, "two": (small_set[0][:50], small_set[1][:50])}


@pytest.fixture
def odd_set(small_set):
    """79 rows: of two folds, one has a training set of 39 rows, the other of 40."""
    return {"one": (small_set[0][:79], small_set[1][:79])}


@pytest.fixture
def algorithms():
    return {
        "LPW": PairwiseClassifier(GaussianNB()),
        "FCM": CorrectedPairwiseClassifier(GaussianNB()),
        "FCM-O": CorrectedPairwiseClassifier(GaussianNB(), overlap=0.5),
    }


@pytest.fixture
def study(sets, algorithms):
    return Study(sets, algorithms, folds=3)

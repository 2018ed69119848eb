"""Studies on a device: rows and algorithms move where they can."""

from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn import get_config

import odd_classifiers
from array_libraries import Library
from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
from pairmend.baselines import MLkNN
from pairmend.study import Study, run_study


class Rows(odd_classifiers.Frequent):
    """Stores the type of its rows."""

    types: ClassVar[list] = []
    is_moved = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = self.is_moved
        return tags

    def fit(self, X, y):
        self.types.append(type(X).__module__.partition(".")[0])
        assert bool(get_config()["array_api_dispatch"]) == self.is_moved
        return super().fit(X, y)


class MovedRows(Rows):
    is_moved = True


def test_dense_rows_of_algorithms_with_support_move_and_losses_stay(small_set, in_process):
    Library("torch")
    X, Y = small_set
    algorithms = {
        "FCM": CorrectedPairwiseClassifier(), "LPW": PairwiseClassifier(),
        "MLkNN": MLkNN(),  # takes arrays of numpy only
    }  # fmt: skip
    here, there = (
        run_study(Study({"small": small_set}, algorithms, ["hamming"], folds=2, device=device))
        for device in (None, "cpu")
    )
    np.testing.assert_array_equal(here["value"], there["value"])
    sets = {"dense": (X, Y), "sparse": (sparse.csr_array(X), Y)}
    for algorithm, expected in ((Rows(), "numpy"), (MovedRows(), "torch")):
        Rows.types.clear()
        run_study(Study(sets, {"A": algorithm}, ["hamming"], folds=2, device="cpu"))
        assert Rows.types == [expected] * 2 + ["scipy"] * 2

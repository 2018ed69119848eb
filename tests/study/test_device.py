"""Studies on a device: rows and algorithms move where they can."""

from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn import get_config

import odd_classifiers
from array_libraries import Library
from in_process import performed_in_process
from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
from pairmend.baselines import MLkNN
from pairmend.study import Study, run_study


def small_study(small_set, device):
    algorithms = {
        "FCM": CorrectedPairwiseClassifier(),
        "LPW": PairwiseClassifier(),
        "MLkNN": MLkNN(),  # takes arrays of numpy only
    }
    return Study({"small": small_set}, algorithms, ["hamming"], folds=2, device=device)


def test_losses_are_those_of_the_processors(small_set, tmp_path):
    Library("torch")
    found = []
    for device in (None, "cpu"):
        with performed_in_process():
            results = run_study(small_study(small_set, device), tmp_path / str(device))
        losses = results.sort_values(["algorithm", "fold"])
        found.append(losses["value"].to_numpy())
    np.testing.assert_array_equal(*found)


class Rows(odd_classifiers.Frequent):
    """Stores the type of its rows."""

    types: ClassVar[list] = []

    def fit(self, X, y):
        self.types.append(type(X).__module__)
        return super().fit(X, y)


class MovedRows(Rows):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def fit(self, X, y):
        self.types.append(type(X).__module__)
        assert get_config()["array_api_dispatch"]
        return odd_classifiers.Frequent.fit(self, np.asarray(X), y)


def test_only_dense_rows_of_algorithms_with_support_move(small_set):
    Library("torch")
    X, Y = small_set
    sets = {"dense": (X, Y), "sparse": (sparse.csr_array(X), Y)}
    for algorithm, expected in ((Rows(), "numpy"), (MovedRows(), "torch")):
        Rows.types.clear()
        with performed_in_process():
            run_study(Study(sets, {"A": algorithm}, ["hamming"], folds=2, device="cpu"))
        assert [name.partition(".")[0] for name in Rows.types] == [expected] * 2 + ["scipy"] * 2

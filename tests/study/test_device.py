"""Studies on a device: rows and algorithms move where they can."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from array_libraries import Library
from in_process import performed_in_process
from pairmend import CorrectedPairwiseClassifier, MLkNN, PairwiseClassifier
from pairmend.study import Study, run_study
from pairmend.study.devices import Mover, reason_device_is_missing


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


def test_a_missing_device_is_refused_before_the_first_task(small_set, tmp_path):
    Library("torch")
    with pytest.raises(ValueError, match="device 'nowhere' of the study is not available"):
        run_study(small_study(small_set, "nowhere"), tmp_path / "out")


def test_without_torch_the_reason_names_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert "needs torch" in reason_device_is_missing("cuda")


def test_only_dense_rows_of_algorithms_with_support_move():
    rows = [[1.0], [2.0]]
    assert Mover("cpu", GaussianNB())(rows) is rows
    assert Mover("cpu", MLkNN()).device is None
    assert Mover("cpu", PairwiseClassifier()).device == "cpu"


@pytest.mark.parametrize("device", ["", 3])
def test_a_device_is_a_name(device, small_set):
    with pytest.raises(ValueError, match="device must be the name of a device"):
        small_study(small_set, device)

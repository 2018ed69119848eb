import numpy as np
import pytest
from scipy.io import savemat

from pairmend.datasets import load_miml


def write(path, bags, targets, names):
    cell = np.empty((len(bags), 1), dtype=object)
    cell[:, 0] = bags
    savemat(path, {"bags": cell, "targets": targets, "class_name": np.array(names, dtype=object)})


def test_bags_become_rows(tmp_path, rng):
    bags = [rng.rand(3, 2) for _ in range(4)]
    targets = np.array([[1, -1, 1, -1], [-1, -1, 1, 1]])
    write(tmp_path / "set.mat", bags, targets, ["sea", "sun"])
    data = load_miml(tmp_path / "set.mat")
    np.testing.assert_array_equal(data.X[2], bags[2].ravel())
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 0], [1, 1], [0, 1]])
    assert data.label_names == ("sea", "sun")
    assert data.feature_names[:3] == ("i0_0", "i0_1", "i1_0")
    assert data.name == "set"


def test_broken_files(tmp_path, rng):
    path = tmp_path / "set.mat"
    write(path, [rng.rand(3, 2), rng.rand(2, 2)], np.ones((2, 2)), ["a", "b"])
    with pytest.raises(ValueError, match="bags of different sizes"):
        load_miml(path)
    write(path, [rng.rand(3, 2)] * 2, np.ones((2, 3)), ["a", "b"])
    with pytest.raises(ValueError, match="2 bags, but targets for 3"):
        load_miml(path)
    savemat(path, {"other": 1})
    with pytest.raises(ValueError, match=r"lacks the variables \['bags', 'targets'\]"):
        load_miml(path)

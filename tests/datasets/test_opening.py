import numpy as np
import pytest

from pairmend.datasets import load_file, make_hypercubes, save_file


@pytest.fixture(scope="module")
def data():
    return make_hypercubes(30, n_labels=3, n_relevant=4, n_irrelevant=1, n_redundant=1,
                           random_state=0)  # fmt: skip


@pytest.mark.parametrize("suffix", [".arff", ".ARFF", ".arff.gz", ".arff.xz"])
@pytest.mark.parametrize("kind", ["meka", "mulan", "mulan beside"])
def test_arff_by_suffix(tmp_path, data, suffix, kind):
    path = tmp_path / f"set{suffix}"
    xml = None if kind == "meka" else tmp_path / ("set.xml" if "beside" in kind else "names.xml.gz")
    save_file(data, path, xml=xml)
    read = load_file(path, xml=None if kind in ("meka", "mulan beside") else xml)
    np.testing.assert_array_equal(read.X, data.X)
    np.testing.assert_array_equal(read.Y, data.Y)
    assert read.label_names == data.label_names


@pytest.mark.parametrize("suffix", [".csv", ".csv.bz2"])
def test_csv_by_suffix(tmp_path, data, suffix):
    path = tmp_path / f"set{suffix}"
    save_file(data, path)
    read = load_file(path, labels=data.label_names)
    np.testing.assert_array_equal(read.X, data.X)
    np.testing.assert_array_equal(read.Y, data.Y)


def test_bags_by_suffix(shared):
    assert load_file(shared / "data/mimlimg/miml-image-data.mat").X.shape == (2000, 135)
    assert load_file(shared / "data/haloarcula/MIMLprotein_test.mat").X.shape[0] == 304


def test_suffixes_nobody_knows(tmp_path, data):
    with pytest.raises(ValueError, match="cannot read .ods.*save it as .xlsx"):
        load_file(tmp_path / "set.ods")
    with pytest.raises(ValueError, match="cannot read a file without suffix"):
        load_file(tmp_path / "set")
    with pytest.raises(ValueError, match="cannot write .xlsx"):
        save_file(data, tmp_path / "set.xlsx")

"""Sets in the wheels of river and mimllearning; tests skip where these are not installed."""

import gzip
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np
import pytest

from pairmend.datasets import packaged
from pairmend.datasets.mulan import load_mulan
from pairmend.datasets.multitarget import load_multitarget
from pairmend.datasets.packaged import PackagedDataError, load_packaged, packaged_names


def needs(name):
    try:
        distribution(name)
    except PackageNotFoundError:
        pytest.skip(f"needs the wheel of {name}: pip install 'pairmend[data]'")


def assert_same(found, expected):
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.Y, expected.Y)
    for attribute in ("feature_names", "label_names", "categories", "name"):
        assert getattr(found, attribute) == getattr(expected, attribute)


def test_yeast_is_mulans(shared):
    needs("river")
    folder = shared / "data/yeast"
    assert_same(load_packaged("yeast"), load_mulan(folder / "yeast.arff", folder / "yeast.xml"))


def test_flare2_is_mulans(shared):
    needs("river")
    expected = load_multitarget(shared / "data/flare2/sf2.arff", 3, name="flare2")
    assert_same(load_packaged("flare2"), expected)


def test_yeast_as_published():
    needs("river")
    data = load_packaged("yeast")
    assert data.X.shape == (2417, 103)
    assert data.Y.shape == (2417, 14)
    assert data.Y.sum(axis=1).mean() == pytest.approx(4.237, abs=5e-4)  # LC of the paper's table 1
    assert data.name == "yeast"
    assert data.source[0].is_file()


def test_flare2_as_published():
    needs("river")
    data = load_packaged("flare2")
    assert data.X.shape == (1066, 10)
    assert data.Y.sum(axis=1).mean() == pytest.approx(0.209, abs=5e-4)  # as above
    assert set(data.categories) == set(range(10))


def test_bags_of_birds():
    needs("mimllearning")
    data = load_packaged("miml-birds")
    # Counted in the file: 257 rows after @data, 1,805 times \\n between two instances of a bag.
    assert data.Y.shape == (257, 19)
    assert len(data.bags) == 257
    assert sum(map(len, data.bags)) == 1805 + 257
    assert {bag.shape[1] for bag in data.bags} == {38}
    assert data.name == "miml-birds"


def test_toy_bags():
    needs("mimllearning")
    data = load_packaged("miml-toy")
    first, second = data.bags
    np.testing.assert_array_equal(first, [[42, -198, -109], [41.9, -191, -142], [35, 14.2, 6.33]])
    np.testing.assert_array_equal(second, [[11.25, -98, 10], [31, 40.5, 7.85]])
    np.testing.assert_array_equal(data.Y, [[1, 0, 0, 1], [0, 1, 1, 0]])


@pytest.mark.parametrize("name", packaged_names())
def test_packages_are_not_imported(name):
    needs("river")
    needs("mimllearning")
    load_packaged(name)
    assert not {"river", "miml"} & set(sys.modules)


def test_not_installed(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(packaged, "distribution", missing)
    with pytest.raises(PackagedDataError, match=r"river, .* pip install 'pairmend\[data\]'"):
        load_packaged("yeast")
    with pytest.raises(PackagedDataError, match=r"mimllearning, .* 'pairmend\[data\]'"):
        load_packaged("miml-toy")


class Installed:
    """A distribution whose files lie in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def locate_file(self, path):
        return self.folder / path


def test_a_wheel_without_the_file(monkeypatch, tmp_path):
    monkeypatch.setattr(packaged, "distribution", lambda name: Installed(tmp_path))
    with pytest.raises(PackagedDataError, match=r"river lacks the file .*yeast.csv.gz"):
        load_packaged("yeast")


def test_a_wheel_with_another_table(monkeypatch, tmp_path):
    folder = tmp_path / "river/datasets"
    folder.mkdir(parents=True)
    (folder / "yeast.csv.gz").write_bytes(gzip.compress(b"Att1,Class1\n0.5,1\n"))
    with zipfile.ZipFile(folder / "solar-flare.csv.zip", "w") as archive:
        archive.writestr("solar-flare.csv", "a,b\n1,2\n")
    monkeypatch.setattr(packaged, "distribution", lambda name: Installed(tmp_path))
    for name in ("yeast", "flare2"):
        with pytest.raises(PackagedDataError, match=r"another table .* SHA-256 .* expected"):
            load_packaged(name)


def test_unknown_name():
    with pytest.raises(ValueError, match="no wheel includes 'birds'; expected one of yeast"):
        load_packaged("birds")

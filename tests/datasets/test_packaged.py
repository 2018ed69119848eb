"""Sets in the wheel of river; tests skip where it is not installed."""

import gzip
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np
import pytest

from pairmend.datasets import packaged
from pairmend.datasets.mulan import load_mulan
from pairmend.datasets.multitarget import load_multitarget
from pairmend.datasets.packaged import load_packaged


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


@pytest.mark.parametrize("name", ["yeast", "flare2"])
def test_river_is_not_imported(name):
    needs("river")
    load_packaged(name)
    assert "river" not in sys.modules


def test_not_installed(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(packaged, "distribution", missing)
    assert load_packaged("yeast") is None
    assert load_packaged("birds") is None


class Installed:
    """A distribution whose files lie in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def locate_file(self, path):
        return self.folder / path


@pytest.mark.parametrize(
    "content", [None, b"PK", b"\x1f\x8b" + bytes(30), gzip.compress(b"a,b\n1,2", mtime=0)]
)
def test_wheels_without_the_table(monkeypatch, tmp_path, content):
    """A missing, damaged or other file."""
    monkeypatch.setattr(packaged, "distribution", lambda name: Installed(tmp_path))
    if content is not None:
        folder = tmp_path / "river/datasets"
        folder.mkdir(parents=True)
        (folder / "yeast.csv.gz").write_bytes(content)
        with zipfile.ZipFile(folder / "solar-flare.csv.zip", "w") as archive:
            archive.writestr("solar-flare.csv", "a,b\n1,2\n")
    for name in ("yeast", "flare2"):
        assert load_packaged(name) is None

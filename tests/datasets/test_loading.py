import csv
import hashlib
import math
import sys
from dataclasses import replace
from functools import cache as remembered
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np
import pytest

from pairmend.datasets import download, loading
from pairmend.datasets.bags import MultiInstanceData
from pairmend.datasets.catalogue import CatalogueFile, catalogue, find_entry
from pairmend.datasets.download import DownloadError
from pairmend.datasets.loading import load

ARFF = b"""@relation toy
@attribute size numeric
@attribute hue {red,green,blue}
@attribute sea {0,1}
@data
1.5,red,1
2.5,blue,0
3.5,blue,1
"""
XML = b"""<labels><label name="sea"/></labels>"""
TOY = replace(
    find_entry("emotions"),
    name="toy",
    folder="toyfiles",
    files=tuple(
        CatalogueFile(name, hashlib.sha256(text).hexdigest(), len(text), name)
        for name, text in (("toy.arff", ARFF), ("toy.xml", XML))
    ),
)


@pytest.fixture(autouse=True)
def empty_machine(tmp_path, monkeypatch):
    """No folder of the user's, an empty cache and no network, as on a fresh machine."""
    monkeypatch.delenv("PAIRMEND_DATA", raising=False)
    monkeypatch.setenv("PAIRMEND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PAIRMEND_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def toy(monkeypatch):
    """Put a small set into the catalogue."""
    monkeypatch.setattr(loading, "find_entry", lambda name: TOY)


def add_to_catalogue(monkeypatch, folder, text, **facts):
    """Add a set of one file to the catalogue, and write the file to a folder."""
    folder.mkdir()
    (folder / "file.arff").write_bytes(text)
    file = CatalogueFile("file.arff", hashlib.sha256(text).hexdigest(), len(text), "file.arff")
    entry = replace(TOY, files=(file,), **facts)
    monkeypatch.setattr(loading, "find_entry", lambda name: entry)


def put(folder, **texts):
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, text in texts.items():
        (folder / f"toy.{suffix}").write_bytes(text)


# Where files are searched


@pytest.mark.parametrize("inner", ["", "toyfiles", "toy", "Toy"])
def test_found_in_the_folder_of_the_user(toy, tmp_path, inner):
    put(tmp_path / "mine" / inner, arff=ARFF, xml=XML)
    data = load("toy", tmp_path / "mine")
    np.testing.assert_array_equal(data.X, [[1.5, 0], [2.5, 2], [3.5, 2]])
    np.testing.assert_array_equal(data.Y, [[1], [0], [1]])
    assert data.name == "toy"
    assert data.source == tuple(tmp_path / "mine" / inner / f for f in ("toy.arff", "toy.xml"))


def test_data_dir_takes_precedence_over_the_environment_variable(toy, tmp_path, monkeypatch):
    put(tmp_path / "a", arff=ARFF, xml=XML)
    put(tmp_path / "b", arff=ARFF, xml=XML)
    monkeypatch.setenv("PAIRMEND_DATA", str(tmp_path / "a"))
    assert load("toy").source[0].parent.name == "a"
    assert load("toy", str(tmp_path / "b")).source[0].parent.name == "b"


def test_found_in_the_cache_if_not_in_the_folder(toy, tmp_path):
    put(tmp_path / "cache/toyfiles", arff=ARFF, xml=XML)
    put(tmp_path / "mine", arff=ARFF)
    assert load("toy").source[0] == tmp_path / "cache/toyfiles/toy.arff"
    sources = load("toy", tmp_path / "mine").source
    assert sources == (tmp_path / "mine/toy.arff", tmp_path / "cache/toyfiles/toy.xml")


def test_missing_files_are_downloaded(toy, tmp_path, monkeypatch):
    put(tmp_path / "network", arff=ARFF, xml=XML)
    downloaded = []

    def fetch_file(entry, file):
        downloaded.append(file.name)
        return tmp_path / "network" / file.name

    monkeypatch.setattr(loading, "fetch_file", fetch_file)
    put(tmp_path / "mine", xml=XML)
    assert load("toy", tmp_path / "mine").Y.shape == (3, 1)
    assert downloaded == ["toy.arff"]


def test_missing_files_without_network(toy, tmp_path):
    pytest.importorskip("pooch", reason="downloads need pooch")
    with pytest.raises(DownloadError, match=r"toy.arff and toy.xml .*PAIRMEND_DATA"):
        load("toy")


def test_a_file_with_another_hash_is_an_error(toy, tmp_path):
    put(tmp_path / "mine", arff=ARFF.replace(b"1.5", b"1.6"), xml=XML)
    put(tmp_path / "cache/toyfiles", arff=ARFF, xml=XML)
    with pytest.raises(ValueError, match=r"mine.toy.arff is not the file of the set 'toy'") as e:
        load("toy", tmp_path / "mine")
    assert TOY.files[0].sha256 in str(e.value)


def test_data_dir_must_be_a_folder(toy, tmp_path, monkeypatch):
    with pytest.raises(NotADirectoryError, match="data_dir names .*nothing, which is not a folder"):
        load("toy", tmp_path / "nothing")
    monkeypatch.setenv("PAIRMEND_DATA", str(tmp_path / "nothing"))
    with pytest.raises(NotADirectoryError, match="PAIRMEND_DATA names .*nothing"):
        load("toy")


def test_names():
    with pytest.raises(ValueError, match="did you mean 'birds'"):
        load("bird")
    with pytest.raises(ValueError, match="drosophila: no public copy of this set was found"):
        load("Drosophila")


@pytest.mark.parametrize("name", ["SimpleHC", "SimpleHS"])
def test_generated_sets(name):
    data, again = load(name), load(name)
    assert data.X.shape == (3000, 30)
    assert data.Y.shape == (3000, 10)
    assert data.name == name.lower()
    np.testing.assert_array_equal(data.X, again.X)


def test_every_preparation_is_in_the_catalogue():
    for name in loading._PREPARATIONS:
        assert catalogue()[name].preparation


# Kinds of files


def test_meka(monkeypatch, tmp_path):
    text = ARFF.replace(b"toy", b"'toy: -C -1'")
    add_to_catalogue(monkeypatch, tmp_path / "mine", text, format="meka")
    data = load("toy", tmp_path / "mine")
    assert data.label_names == ("sea",)
    assert data.feature_names == ("size", "hue")


def test_multitarget(monkeypatch, tmp_path):
    text = ARFF.replace(b"{0,1}", b"numeric").replace(b",1\n", b",0.2\n")
    add_to_catalogue(monkeypatch, tmp_path / "mine", text, format="multitarget", targets=1)
    data = load("toy", tmp_path / "mine")
    assert data.label_names == ("sea",)
    np.testing.assert_array_equal(data.Y, [[1], [0], [1]])


def test_parts_are_joined(monkeypatch, tmp_path):
    put(tmp_path / "mine", arff=ARFF, more=ARFF, xml=XML)
    more = replace(TOY.files[0], name="toy.more")
    entry = replace(TOY, files=(TOY.files[0], more, TOY.files[1]))
    monkeypatch.setattr(loading, "find_entry", lambda name: entry)
    np.testing.assert_array_equal(load("toy", tmp_path / "mine").Y.ravel(), [1, 0, 1] * 2)


def test_random_subset(monkeypatch, tmp_path):
    rows = b"".join(b"%d,red,1\n" % i for i in range(100))
    text = ARFF.replace(b"toy", b"'toy: -C -1'").partition(b"1.5")[0] + rows
    taken = []
    for seed in (0, 0, 1):
        folder = tmp_path / f"mine{len(taken)}"
        add_to_catalogue(monkeypatch, folder, text, format="meka", rows=20, seed=seed)
        taken.append(load("toy", folder).X[:, 0].tolist())
        assert len(load("toy", folder, raw=True).Y) == 100
    assert [len(set(values)) for values in taken] == [20, 20, 20]
    assert taken[0] == taken[1] != taken[2]


@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("flags", ("size", "hue=red", "hue=green", "hue=blue")),  # all that are declared
        ("genbase", ("hue",)),
        ("birds", ("size", "hue")),
    ],
)
def test_preparation_by_name(monkeypatch, tmp_path, name, features):
    text = ARFF.replace(b"toy", b"'toy: -C -1'")
    add_to_catalogue(monkeypatch, tmp_path / "mine", text, format="meka", name=name)
    assert load(name, tmp_path / "mine").feature_names == features
    assert load(name, tmp_path / "mine", raw=True).feature_names == ("size", "hue")


# Wheels


def test_wheels_are_used_before_the_network(monkeypatch):
    wheel = replace(load("simplehc"), name="wheel")
    monkeypatch.setattr(loading, "load_packaged", lambda name: wheel)
    assert load("Yeast").name == "wheel"


def test_files_are_downloaded_without_the_wheel(monkeypatch):
    monkeypatch.setattr(loading, "load_packaged", lambda name: None)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match="yeast.arff and yeast.xml"):
        load("yeast")


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("name", ["yeast", "flare2"])
def test_sets_of_wheels_equal_the_files(shared, name, raw):
    try:
        distribution("river")
    except PackageNotFoundError:
        pytest.skip("needs the wheel of river: pip install 'pairmend[data]'")
    found = load(name, raw=raw)
    expected = load(name, shared / "data", raw=raw)
    assert found.source != expected.source
    assert replace(found, X=0, Y=0, source=()) == replace(expected, X=0, Y=0, source=())
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.Y, expected.Y)


# Against the published table


@pytest.fixture(scope="module")
def real(shared):
    """Load a set of the shared folder; each is read only once, IMDB for its subsets too."""
    read = remembered(loading.load_meka)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "load_meka", lambda path, name: replace(read(path), name=name))
        yield remembered(lambda name, raw=False: load(name, shared / "data", raw=raw))


@pytest.fixture(scope="module")
def published(shared):
    with (shared / "paper/published_datasets.csv").open(newline="") as file:
        return {row["name"].lower(): row for row in csv.DictReader(file)}


def slow_characteristics(Y):
    """LC, LD, avIR and AVsc, row by row and label by label."""
    rows = Y.tolist()
    counts = [sum(column) for column in zip(*rows, strict=True)]
    ratios = [max(counts) / count if count else 0 for count in counts]
    cardinality = sum(map(sum, rows)) / len(rows)
    concurrence = []
    for row in rows:
        own = [ratio for ratio, present in zip(ratios, row, strict=True) if present]
        mean = sum(own) / len(own) if own else 1
        concurrence.append(1 - math.prod(own) ** (1 / len(own)) / mean if own else 0)
    return {
        "LC": cardinality,
        "LD": cardinality / len(counts),
        "avIR": sum(ratios) / len(ratios),
        "AVsc": sum(concurrence) / len(rows),
    }


HERE = [
    "arts", "birds", "emotions", "flags", "flare1", "flare2", "genbase", "haloarcula", "medical",
    "mimlimg", "plant", "yeast",
]  # fmt: skip
UNCOUNTED = {
    "arts": 1233,  # 500 words in the file, 1733 in the paper
    "genbase": 1,  # the identifier, which is no feature
}


@pytest.mark.parametrize("name", HERE)
def test_characteristics_as_published(real, published, name):
    data, row = real(name), published[name]
    assert data.Y.shape == (int(row["N"]), int(row["L"]))
    assert data.X.shape == (len(data.Y), int(row["d"]) - data.Y.shape[1] - UNCOUNTED.get(name, 0))
    assert len(data.feature_names) == data.X.shape[1]
    assert len(data.label_names) == data.Y.shape[1]
    for characteristic, value in slow_characteristics(data.Y).items():
        assert f"{value:.3f}" == row[characteristic], characteristic


@pytest.mark.parametrize("name", [*HERE, "imdb", "tmc2007-500", "corel5k"])
def test_counts_as_in_the_catalogue(real, name):
    data, entry = real(name), catalogue()[name]
    assert data.X.shape == (entry.rows, entry.features)
    assert data.Y.shape == (entry.rows, entry.labels)
    assert round(data.Y.sum(axis=1).mean(), 4) == entry.cardinality
    assert data.name == name


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("IMDB0", "imdb"),
        ("IMDB1", "imdb"),
        ("Tmc2007_0", "tmc2007-500"),
        ("Tmc2007_1", "tmc2007-500"),
    ],
)
def test_subsets_have_the_published_size(real, published, part, whole):
    data, row = real(part), published[part.lower()]
    assert data.X.shape[0] == int(row["N"])
    assert data.X.shape[1] + data.Y.shape[1] == int(row["d"])
    assert data.label_names == real(whole).label_names
    # Another draw than the paper's, of the same set: LC is near, not equal.
    assert data.Y.sum(axis=1).mean() == pytest.approx(float(row["LC"]), abs=0.1)


def test_subsets_differ_and_are_reproducible(real, shared):
    first, second = real("tmc2007_0"), real("tmc2007_1")
    assert (first.X[:2000] != second.X[:2000]).sum() > 0
    again = load("tmc2007_0", shared / "data")
    assert (again.X != first.X).sum() == 0
    np.testing.assert_array_equal(again.Y, first.Y)
    assert len(load("tmc2007_0", shared / "data", raw=True).Y) == 28596


# Preparation


def test_raw_is_as_in_the_file(real):
    assert len(real("flags", raw=True).categories) == 9  # nominal ones in the file
    assert real("flags").categories == {}
    assert real("genbase", raw=True).X.shape[1] == real("genbase").X.shape[1] + 1
    assert real("flare1", raw=True).X.shape[1] == 10
    assert real("emotions", raw=True).X.shape == real("emotions").X.shape


def test_genbase_has_no_identifier_left(real):
    dropped = set(real("genbase", raw=True).feature_names) - set(real("genbase").feature_names)
    assert dropped == {"protein"}
    assert max(len(values) for values in real("genbase").categories.values()) == 2


def test_birds_keeps_categories(real):
    assert len(real("birds").categories) == 2
    assert int((real("birds").Y.sum(axis=1) == 0).sum()) == 294


def test_bags(real):
    bags = real("mimlimg", raw=True)
    assert isinstance(bags, MultiInstanceData)
    assert {bag.shape for bag in bags.bags} == {(9, 15)}
    np.testing.assert_array_equal(real("mimlimg").X[7], np.asarray(bags.bags[7]).ravel())
    proteins = real("haloarcula", raw=True)
    assert isinstance(proteins, MultiInstanceData)
    assert proteins.Y.shape == (304, 234)
    assert sum(map(len, proteins.bags)) == 950
    kept = real("haloarcula").label_names
    assert kept == tuple(
        label
        for label, count in zip(proteins.label_names, proteins.Y.sum(axis=0), strict=True)
        if count >= 16
    )


def test_the_names_of_environment_variables_are_documented():
    for variable in (download.DATA_VARIABLE, download.CACHE_VARIABLE, download.MIRROR_VARIABLE):
        assert variable in f"{load.__doc__}{download.fetch.__doc__}"

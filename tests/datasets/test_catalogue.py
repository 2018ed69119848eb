"""The catalogue, and the sets that `load` finds by name."""

import csv
import hashlib
import re
import sys
import threading
from dataclasses import replace
from functools import cache as remembered
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import numpy as np
import pytest

from pairmend.datasets import MultiInstanceData, catalogue, characteristics, load
from pairmend.datasets.named_sets import find_entry, is_available

ENTRIES = list(catalogue().values())


def test_every_set_of_the_study_occurs_once():
    numbers = [number for entry in ENTRIES for number in entry.paper_numbers]
    assert sorted(numbers) == list(range(1, 30))
    assert {entry.name for entry in ENTRIES if entry.status == "not found"} == {
        "azotobacter", "caenorhabditis", "drosophila", "geobacter", "pyrococcus", "saccharomyces",
    }  # fmt: skip
    with pytest.raises(TypeError):
        catalogue()["yeast"] = None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_facts_are_complete(entry):
    assert entry.title
    assert re.search(r"\((19|20)\d\d\)", entry.citation), "a citation has a year"
    assert (entry.status == "files") == bool(entry.files)
    if entry.status == "files":
        assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", entry.repository)
        assert re.fullmatch(r"[0-9a-f]{40}", entry.commit)
        assert entry.licence
    if entry.format == "mulan":  # `load` reads the labels from the last file
        assert [".xml" in path for path in entry.files].index(True) == len(entry.files) - 1


def test_names_in_any_case():
    found = {"YEAST": "yeast", "tmc2007-0": "tmc2007_0", "tmc2007": "tmc2007-500",
             "solar flare": "flare2"}  # fmt: skip
    assert {name: find_entry(name).name for name in found} == found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("yeats", "'yeats'; expected one of arts, azotobacter, .*, tmc2007-500"),
        ("!", r"'!'; expected one of arts, azotobacter, .*, tmc2007-500"),
        ("Drosophila", "drosophila: No public copy was found"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(ValueError, match=message):
        load(name)


# Where files are searched

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
TEXTS = {"toy.arff": ARFF, "toy.xml": XML}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A small set in the catalogue, no folder of the user's, an empty cache and no network."""
    monkeypatch.delenv("PAIRMEND_DATA", raising=False)
    monkeypatch.setenv("PAIRMEND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PAIRMEND_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    files = {f"toy set/{name}": hashlib.sha256(text).hexdigest() for name, text in TEXTS.items()}
    place = {"repository": "https://github.com/someone/sets", "commit": "c0ffee"}
    entry = replace(find_entry("emotions"), name="toy", folder="toyfiles", files=files, **place)
    known = {**catalogue(), "toy": entry}
    monkeypatch.setattr("pairmend.datasets.named_sets.catalogue", lambda: known)
    return entry


def put(folder, names=tuple(TEXTS), **texts):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(texts.get(name.replace(".", "_"), TEXTS[name]))


@pytest.mark.parametrize("inner", ["", "toyfiles"])
def test_found_in_the_folder_of_the_user(toy, tmp_path, inner, monkeypatch):
    assert not is_available("toy")
    put(tmp_path / "mine" / inner)
    data = load("toy", tmp_path / "mine")
    np.testing.assert_array_equal(data.X, [[1.5, 0], [2.5, 2], [3.5, 2]])
    np.testing.assert_array_equal(data.Y, [[1], [0], [1]])
    assert data.name == "toy"
    assert data.source == tuple(tmp_path / "mine" / inner / f for f in TEXTS)
    monkeypatch.setenv("PAIRMEND_DATA", str(tmp_path / "mine"))
    assert is_available("toy")
    put(tmp_path / "other")
    assert load("toy", tmp_path / "other").source[0].parent == tmp_path / "other"


def test_found_in_the_cache_if_not_in_the_folder(toy, tmp_path):
    put(tmp_path / "cache/toyfiles")
    put(tmp_path / "mine", ["toy.arff"])
    assert load("toy").source[0] == tmp_path / "cache/toyfiles/toy.arff"
    sources = load("toy", tmp_path / "mine").source
    assert sources == (tmp_path / "mine/toy.arff", tmp_path / "cache/toyfiles/toy.xml")


def test_wrong_folders_and_files_are_errors(toy, tmp_path, monkeypatch):
    put(tmp_path / "mine", toy_arff=ARFF.replace(b"1.5", b"1.6"))
    put(tmp_path / "cache/toyfiles")
    with pytest.raises(ValueError, match=r"mine.toy.arff is not the file of the set 'toy'") as e:
        load("toy", tmp_path / "mine")
    assert toy.files["toy set/toy.arff"] in str(e.value)
    with pytest.raises(NotADirectoryError, match="names .*nothing, which is not a folder"):
        load("toy", tmp_path / "nothing")
    monkeypatch.setenv("PAIRMEND_DATA", str(tmp_path / "nothing"))
    with pytest.raises(NotADirectoryError, match="PAIRMEND_DATA, names .*nothing"):
        load("toy")


@pytest.mark.parametrize(
    ("facts", "text", "features"),
    [
        ({"format": "meka"}, ARFF.replace(b"toy", b"'toy: -C -1'"), ("size", "hue")),
        (
            {"format": "multitarget", "targets": 1},
            ARFF.replace(b"{0,1}", b"numeric").replace(b",1\n", b",0.2\n"),
            ("size", "hue"),
        ),
        ({"name": "flags"}, ARFF, ("size", "hue=red", "hue=green", "hue=blue")),
        ({"name": "flare1"}, ARFF, ("size", "hue")),  # two values occur
        ({"name": "genbase"}, ARFF, ("hue",)),
    ],
)
def test_formats_and_preparations(toy, tmp_path, monkeypatch, facts, text, features):
    own = {"toy set/toy.arff": hashlib.sha256(text).hexdigest()}
    files = own if "format" in facts else {**toy.files, **own}
    entry = replace(toy, files=files, **facts)
    monkeypatch.setattr("pairmend.datasets.named_sets.find_entry", lambda name: entry)
    put(tmp_path / "mine", toy_arff=text)
    data = load(entry.name, tmp_path / "mine")
    assert data.feature_names == features
    assert data.label_names == ("sea",)
    np.testing.assert_array_equal(data.Y, [[1], [0], [1]])
    assert load(entry.name, tmp_path / "mine", raw=True).feature_names == ("size", "hue")


# Downloads, from a real HTTP server on this machine


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def mirror(toy, tmp_path, monkeypatch):
    """The folder of the files that a server has."""
    pytest.importorskip("pooch", reason="downloads need pooch: pip install 'pairmend[data]'")
    put(tmp_path / "www/someone/sets/c0ffee/toy set")
    handler = partial(Handler, directory=tmp_path / "www")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("PAIRMEND_MIRROR", f"http://127.0.0.1:{httpd.server_port}/")
        yield tmp_path / "www/someone/sets/c0ffee/toy set"
        httpd.shutdown()
        thread.join()


def test_files_are_downloaded_once(mirror, tmp_path, capfd):
    put(tmp_path / "mine", ["toy.xml"])
    (mirror / "toy.xml").unlink()
    assert load("toy", tmp_path / "mine").Y.shape == (3, 1)
    put(mirror)
    data = load("toy")
    assert data.source == tuple(tmp_path / "cache/toyfiles" / name for name in TEXTS)
    assert [path.read_bytes() for path in data.source] == [ARFF, XML]
    put(mirror, toy_arff=b"other", toy_xml=b"other")
    assert load("toy").source == data.source
    data.source[0].write_bytes(b"spoilt")
    with pytest.raises(ValueError, match="toy.arff is not the file of the set .* Remove it"):
        load("toy")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("content", "message"), [(None, "404"), (ARFF[:20], "hash")])
def test_broken_downloads_are_errors(mirror, tmp_path, content, message):
    put(mirror, toy_arff=content or ARFF)
    if content is None:
        (mirror / "toy.arff").unlink()
    with pytest.raises(OSError, match=f"cannot fetch .*toy.arff: .*{message}.*PAIRMEND_DATA"):
        load("toy")
    folder = tmp_path / "cache/toyfiles"
    assert not folder.is_dir() or list(folder.iterdir()) == []
    put(mirror)
    assert load("toy").source[0].read_bytes() == ARFF


def test_without_network_or_pooch(toy, tmp_path, monkeypatch):
    pytest.importorskip("pooch", reason="downloads need pooch")
    with pytest.raises(OSError, match=r"get toy set/toy.arff and .* from .*someone.*PAIRMEND_DATA"):
        load("toy")
    with pytest.raises(FileNotFoundError, match="toy.arff, .*toy.xml are neither .*download=True"):
        load("toy", download=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"toy.arff.*pip install pooch"):
        load("toy")
    monkeypatch.delenv("PAIRMEND_CACHE")
    with pytest.raises(ImportError, match=r"toy.arff.*pip install pooch"):
        load("toy")
    monkeypatch.setenv("PAIRMEND_CACHE", str(tmp_path / "cache"))
    put(tmp_path / "cache/toyfiles")  # files in the cache need no pooch
    assert len(load("toy").Y) == 3


@pytest.mark.skipif(not find_spec("river"), reason="needs pip install 'pairmend[data]'")
@pytest.mark.parametrize("name", ["yeast", "flare2"])
def test_sets_of_river_equal_the_files(shared, name, toy):
    found, expected = load(name, raw=True), load(name, shared / "data", raw=True)
    assert found.source != expected.source
    assert replace(found, X=0, Y=0, source=()) == replace(expected, X=0, Y=0, source=())
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.Y, expected.Y)
    assert "river" not in sys.modules  # which takes seconds to import


# Against the published table


@pytest.fixture(scope="module")
def real(shared):
    """Load a set of the shared folder; each is read only once."""
    return remembered(lambda name, raw=False: load(name, shared / "data", raw=raw))


@pytest.fixture(scope="module")
def published(shared):
    with (shared / "paper/published_datasets.csv").open(newline="") as file:
        return {row["name"].lower(): row for row in csv.DictReader(file)}


HERE = [
    "arts", "birds", "emotions", "flags", "flare1", "flare2", "genbase", "haloarcula", "medical",
    "mimlimg", "plant", "yeast",
]  # fmt: skip
UNCOUNTED = {
    "arts": 1233,  # 500 words in the file, 1733 in the paper
    "genbase": 1,  # the identifier, which is no feature
}


@pytest.mark.parametrize("name", [*HERE, "imdb", "tmc2007-500", "corel5k"])
def test_characteristics_as_published_and_in_the_catalogue(real, published, name):
    data, row, entry = real(name), published.get(name), catalogue()[name]
    found = characteristics(data)
    assert (*data.X.shape, found["L"]) == (entry.rows, entry.features, entry.labels)
    assert (round(found["LC"], 4), data.name) == (entry.cardinality, name)
    if name not in HERE:
        return
    for key in ("LC", "LD", "avIR", "AVsc"):
        assert f"{found[key]:.3f}" == row[key], key
    assert (found["N"], found["L"]) == (int(row["N"]), int(row["L"]))
    assert found["d"] == int(row["d"]) - UNCOUNTED.get(name, 0)
    assert (len(data.feature_names), len(data.label_names)) == (data.X.shape[1], data.Y.shape[1])


def test_random_subsets(real, published):
    first, second = real("tmc2007_0"), real("tmc2007_1")
    row = published["tmc2007_0"]
    assert first.X.shape == (int(row["N"]), int(row["d"]) - len(first.label_names))
    # Another draw than the paper's, of the same set: LC is near, not equal.
    assert first.Y.sum(axis=1).mean() == pytest.approx(float(row["LC"]), abs=0.1)
    assert (first.X[:2000] != second.X[:2000]).sum() > 0
    assert len(real("tmc2007_0", raw=True).Y) == 28596


@pytest.mark.parametrize("name", ["SimpleHC", "SimpleHS"])
def test_generated_sets_come_close_to_the_study(published, name):
    data, row = load(name), published[name.lower()]
    assert (data.name, data.source, data.categories) == (name.lower(), (), {})
    assert data.X.shape == (3000, 30)
    found = characteristics(data)
    for key, tolerance in {"LC": 0.003, "avIR": 0.001, "AVsc": 0.0005}.items():
        assert found[key] == pytest.approx(float(row[key]), abs=tolerance)


def test_bags(real):
    bags = real("mimlimg", raw=True)
    assert isinstance(bags, MultiInstanceData)
    assert {bag.shape for bag in bags.bags} == {(9, 15)}
    np.testing.assert_array_equal(real("mimlimg").X[7], np.asarray(bags.bags[7]).ravel())
    proteins = real("haloarcula", raw=True)
    assert proteins.Y.shape == (304, 234)
    assert sum(map(len, proteins.bags)) == 950
    counts = zip(proteins.label_names, proteins.Y.sum(axis=0), strict=True)
    assert real("haloarcula").label_names == tuple(label for label, n in counts if n >= 16)

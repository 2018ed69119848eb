import gzip
from dataclasses import replace

import numpy as np
import pytest

from pairmend.datasets import ReadWarning, load_csv, save_csv

TEXT = 'size,hue,code,sea,sun\n2.5,"red, dark",1,1,0\n,blue,2,0,1.0\n?,,1,1,1\n'


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "photos.csv"
    path.write_text(TEXT)
    return path


def test_reads_numbers_categories_and_labels(path):
    data = load_csv(path, labels=["sun", "sea"])
    assert data.label_names == ("sun", "sea")
    assert data.feature_names == ("size", "hue", "code")
    assert data.categories == {1: ("blue", "red, dark")}
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0], [1, 1]])
    np.testing.assert_array_equal(data.X, [[2.5, 1, 1], [np.nan, 0, 2], [np.nan, np.nan, 1]])


def test_numbers_as_categories(path):
    data = load_csv(path, labels=["sea"], categorical=["code"])
    assert data.categories == {1: ("blue", "red, dark"), 2: ("1", "2")}
    assert data.X[:, 2].tolist() == [0, 1, 0]


def test_other_delimiters_encodings_and_compression(tmp_path):
    path = tmp_path / "photos.csv.gz"
    path.write_bytes(gzip.compress("größe;sea;sun\n1,5;1;0\n".encode("latin-1")))
    with pytest.warns(ReadWarning, match="'1,5', is read as a number with decimal commas"):
        data = load_csv(path, labels=["sea", "sun"], delimiter=";", encoding="latin-1")
    assert data.feature_names == ("größe",)
    assert data.X.tolist() == [[1.5]]
    assert data.name == "photos"


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        (TEXT, ["moon"], "no columns named 'moon'"),
        (TEXT, ["sea", "sea"], "a label is named twice"),
        (TEXT.replace("1.0", "١"), ["sun"], "label 'sun' must be 0 or 1, but is '١'"),
        (TEXT, [], "labels must name at least one column"),
        (TEXT, ["size"], "label 'size' must be 0 or 1, but is '2.5' in row 0"),
        (TEXT, ["hue"], "label 'hue' must be 0 or 1, but is 'red, dark' in row 0"),
        (TEXT.replace("1.0", ""), ["sun"], "label 'sun' must be 0 or 1, but is missing in row 1"),
        (TEXT + "1,2\n", ["sea"], "line 5: 2 cells where the header has 5"),
        ("a,a\n1,1\n", ["a"], "line 1: two columns are named 'a'"),
        ("a,b\n", ["a"], "no rows after the header"),
        ("", ["a"], "empty; expected a header"),
        ('a,b\n"1,2\n', ["a"], "line 2: .*close each quote"),
        ("a,b\n\udcff,1\n", ["b"], "not a text file in utf-8-sig"),
    ],
)
def test_broken_files(tmp_path, text, labels, message):
    path = tmp_path / "photos.csv"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(ValueError, match=message) as caught:
        load_csv(path, labels=labels)
    assert "photos.csv" in str(caught.value)


def test_saved_data_is_loaded_unchanged(path, tmp_path):
    data = load_csv(path, labels=["sea", "sun"])
    save_csv(data, tmp_path / "again.csv.gz")
    again = load_csv(tmp_path / "again.csv.gz", labels=["sea", "sun"])
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.Y, data.Y)
    assert again.categories == data.categories


def test_numbers_with_underscores_are_categories(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1_000,1\n2,0\n")
    assert load_csv(path, labels=["b"]).categories == {0: ("1_000", "2")}


@pytest.mark.parametrize("value", ["NA", "", " x", "x\ry", "?"])
def test_texts_that_would_be_read_differently_are_not_saved(path, tmp_path, value):
    data = replace(load_csv(path, labels=["sea"]), categories={1: ("blue", value)})
    with pytest.raises(ValueError, match="a CSV file cannot hold the name or value"):
        save_csv(data, tmp_path / "again.csv")
    assert not (tmp_path / "again.csv").exists()


def test_invalid_options_and_broken_files(path, tmp_path):
    with pytest.raises(ValueError, match="delimiter must be one character"):
        load_csv(path, labels=["sea"], delimiter=";;")
    with pytest.raises(ValueError, match="not a text file in nope"):
        load_csv(path, labels=["sea"], encoding="nope")
    broken = tmp_path / "photos.csv.gz"
    broken.write_bytes(gzip.compress(TEXT.encode())[:20])
    with pytest.raises(ValueError, match="photos.csv.gz: the compressed file is broken"):
        load_csv(broken, labels=["sea"])

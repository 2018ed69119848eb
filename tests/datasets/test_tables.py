"""Files of columns, some of which may be labels."""

from datetime import UTC, date, datetime

import numpy as np
import pytest
from scipy import sparse

from pairmend.datasets import (
    ReadWarning,
    load_file,
    load_table,
    make_hypercubes,
    save_file,
    take_labels,
)
from pairmend.datasets.parquet import write_parquet

CSV = "id,size,hue,sea,sun\n01,2.5,red,1,0\n02,,blue,0,1\n3,1e3,,1,1\n"


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "photos.csv"
    path.write_text(CSV)
    return path


def test_all_columns_are_features_unless_told(csv_file):
    data = load_table(csv_file, categorical=["id", "nowhere"])
    assert data.feature_names == ("id", "size", "hue", "sea", "sun")
    assert data.Y.shape == (3, 0)
    assert data.categories == {0: ("01", "02", "3"), 2: ("blue", "red")}
    np.testing.assert_array_equal(data.X[:, 1], [2.5, np.nan, 1000])


@pytest.mark.parametrize("labels", [["sea", "sun"], 2, "xml"])
def test_labels_by_name_number_or_xml(csv_file, tmp_path, labels):
    if labels == "xml":
        labels = tmp_path / "labels.xml"
        labels.write_text('<labels><label name="sea"/><label name="sun"/></labels>')
    data = load_table(csv_file, labels)
    assert data.label_names == ("sea", "sun")
    assert data.Y.tolist() == [[1, 0], [0, 1], [1, 1]]
    assert data.feature_names == ("id", "size", "hue")
    assert data.categories == {0: ("01", "02", "3"), 2: ("blue", "red")}  # 01 is a code


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_are_found_out(tmp_path, delimiter):
    path = tmp_path / "photos.csv"
    path.write_text(CSV.replace(",", delimiter))
    assert load_table(path, 2).Y.sum() == 4


def test_decimal_commas(tmp_path):
    path = tmp_path / "photos.csv"
    path.write_text("size;text;sea\n2,5;a,b;1\n;c;0\n-1,0e2;1,5;1\n")
    with pytest.warns(ReadWarning, match="'size': 2 texts such as '-1,0e2' are read as numbers"):
        data = load_table(path, ["sea"])
    np.testing.assert_array_equal(data.X[:, 0], [2.5, np.nan, -100])
    assert data.categories == {1: ("1,5", "a,b", "c")}
    assert load_table(path, categorical=["size"]).categories[0] == ("-1,0e2", "2,5")


def test_many_columns_with_decimal_commas_give_one_warning(tmp_path):
    path = tmp_path / "photos.csv"
    path.write_text("a;b;c;d;e\n" + "1,5;2,5;3,5;4,5;5,5\n" * 2)
    message = "'a': 2 texts.*'c': 2 texts.*; 2 further columns"
    with pytest.warns(ReadWarning, match=message) as caught:
        assert load_table(path).X[0].tolist() == [1.5, 2.5, 3.5, 4.5, 5.5]
    assert len(caught) == 1


def test_arff_with_any_columns_as_labels(tmp_path):
    data = make_hypercubes(20, n_labels=3, n_relevant=4, n_irrelevant=1, n_redundant=0,
                           random_state=0)  # fmt: skip
    save_file(data, tmp_path / "cubes.arff", xml=tmp_path / "cubes.xml")
    read = load_table(tmp_path / "cubes.arff", tmp_path / "cubes.xml")
    np.testing.assert_array_equal(read.X, data.X)
    np.testing.assert_array_equal(read.Y, data.Y)
    assert load_table(tmp_path / "cubes.arff").feature_names[-3:] == data.label_names


def test_sparse_arff_stays_sparse(tmp_path):
    path = tmp_path / "words.arff"
    lines = ["@relation words", *(f"@attribute w{i} {{0,1}}" for i in range(5)), "@data"]
    path.write_text("\n".join([*lines, "{0 1, 4 1}", "{1 1}", "{}"]) + "\n")
    data = load_table(path, ["w4", "w0"])
    assert sparse.issparse(data.X)
    assert data.Y.tolist() == [[1, 1], [0, 0], [0, 0]]
    assert data.feature_names == ("w1", "w2", "w3")


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "photos.parquet"
    columns = {
        "size": [1.5, None, 3.0],
        "count": [1, 2, None],
        "hue": ["red", None, "blue"],
        "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
        "taken": [date(1970, 1, 2), None, date(1970, 1, 1)],
        "seen": [datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)] * 3,
        "none": [None] * 3,
        "year": [1999, 2000, 2001],
        "sea": [True, False, True],
        "sun": [0, 1, 1],
    }
    write_parquet(path, columns)
    data = load_table(path, 2, categorical=["year"])
    assert data.Y.tolist() == [[1, 0], [0, 1], [1, 1]]
    assert data.categories == {
        2: ("blue", "red"), 3: ("a", "b"), 4: ("1970-01-01", "1970-01-02"),
        5: ("1970-01-01 00:00:02",), 7: ("1999", "2000", "2001"),
    }  # fmt: skip
    nan = np.nan
    expected = [
        [1.5, 1, 1, 0, 1, 0, nan, 0],
        [nan, 2, nan, 1, nan, 0, nan, 1],
        [3, nan, 0, 0, 0, 0, nan, 2],
    ]
    np.testing.assert_array_equal(data.X, expected)
    assert load_file(path, labels=["sun"]).Y.ravel().tolist() == [0, 1, 1]
    write_parquet(path, {"a": [[1], [2]]})
    with pytest.raises(ValueError, match="column 'a' holds list"):
        load_table(path)
    write_parquet(path, {"a": []})
    with pytest.raises(ValueError, match="no rows"):
        load_table(path)
    path.write_text("not this")
    with pytest.raises(ValueError, match="photos.parquet: not a Parquet file"):
        load_table(path)
    with pytest.raises(FileNotFoundError, match="no such file"):
        load_table(tmp_path / "nowhere.parquet")
    with pytest.raises(ValueError, match="labels must name the columns of the file"):
        load_file(path)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["sea", "fog"], "no columns named 'fog'; it has 'id', 'size'"),
        (["sea", "sea"], "a label is named twice"),
        (["size"], "label 'size' must be 0 or 1, but is '2.5' in row 0"),
        (["hue"], "label 'hue' must be 0 or 1, but is 'red' in row 0"),
        (5, "cannot take the last 5 of 5 columns"),
        (0, "cannot take the last 0 of 5 columns"),
    ],
)
def test_labels_that_cannot_be(csv_file, labels, message):
    with pytest.raises(ValueError, match=message):
        load_table(csv_file, labels)


def test_missing_labels_are_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,0\n2,\n")
    with pytest.raises(ValueError, match="label 'b' must be 0 or 1, but is missing in row 1"):
        load_table(path, ["b"])


def test_suffixes_nobody_knows(tmp_path):
    with pytest.raises(ValueError, match="cannot read .mat; expected .csv, .tsv, .txt"):
        load_table(tmp_path / "a.mat")


def test_labels_add_to_labels(csv_file):
    data = take_labels(load_table(csv_file, ["sun"]), ["sea"])
    assert data.label_names == ("sun", "sea")
    assert data.Y.tolist() == [[0, 1], [1, 0], [1, 1]]

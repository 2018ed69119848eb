"""Files of columns, some of which may be labels."""

import warnings
from dataclasses import replace
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
    text_files,
)
from pairmend.datasets.parquet import write_parquet
from pairmend.datasets.preparation import take_labels

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
    data = load_table(path, ["sea"])
    np.testing.assert_array_equal(data.X[:, 0], [2.5, np.nan, -100])
    assert data.categories == {1: ("1,5", "a,b", "c")}
    assert load_table(path, categorical=["size"]).categories[0] == ("-1,0e2", "2,5")


@pytest.mark.parametrize("notation", [("1,5", "2,25"), ("1,500", "2,250"), ("1 000", "2 000")])
def test_a_notation_is_decided_once_for_a_column(tmp_path, notation):
    """In a second file, whose numbers alone have another meaning or several, too."""
    path = tmp_path / "photos.csv"
    path.write_text("size;sea\n" + "".join(f"{text};1\n" for text in notation))
    if notation[0] == "1,5":
        assert load_table(path, 1).X.ravel().tolist() == [1.5, 2.25]
    else:
        with pytest.raises(ValueError, match="column 'size'.*--decimal SIGN and --thousands SIGN"):
            load_table(path, 1)
    thousands = " " if " " in notation[0] else None
    read = load_table(path, 1, decimal=",", thousands=thousands).X.ravel().tolist()
    assert read == [float(t.replace(",", ".").replace(" ", "")) for t in notation]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("odd", ["red", "007", "True", "1,5"])
def test_a_column_of_texts_keeps_them_wherever_they_begin(tmp_path, monkeypatch, odd, late):
    monkeypatch.setattr(text_files, "_CHUNK_CELLS", 4)
    cells = ["1.50", "2", "30"] * 40
    cells.insert(119 if late else 1, odd)
    path = tmp_path / "photos.csv"
    path.write_text("size;sea\n" + "".join(f"{cell};1\n" for cell in cells))
    if odd == "1,5":
        with pytest.raises(ValueError, match="written in different ways"):
            load_table(path, 1)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        data = load_table(path, 1)
    values = data.categories[0]
    assert [values[int(code)] for code in data.X.ravel()] == cells


def test_numbers_are_read_to_the_last_digit(tmp_path):
    path = tmp_path / "numbers.csv"
    numbers = np.random.RandomState(0).normal(size=1000) ** 9
    path.write_text("a,b\n" + "".join(f"{x!r},{x:.30g}\n" for x in numbers.tolist()))
    np.testing.assert_array_equal(load_table(path).X, np.column_stack([numbers, numbers]))


def test_a_cell_of_a_million_characters_is_not_blamed_on_quotes(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(f"text,sea\n{'x' * 10**6},1\nb,0\n")
    with pytest.raises(ValueError, match="line 2: .*field larger than.*; shorten the cell") as got:
        load_table(path, ["sea"])
    assert "quote" not in str(got.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": ";"}, "decimal must be one of '.' ','"),
        ({"thousands": "__"}, "thousands must be one of '.' ',' \"'\" ' '"),
        ({"decimal": ",", "thousands": ","}, "must differ, got ',' for both"),
        ({"header_row": -1}, "header_row must be at least 0, got -1"),
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"encoding": "nope"}, "not a text file in nope"),
        ({"header_row": 9}, "empty; expected a header"),
    ],
)
def test_invalid_options(csv_file, options, message):
    with pytest.raises(ValueError, match=message):
        load_table(csv_file, **options)


def test_a_saved_csv_file_is_read_unchanged(tmp_path):
    path = tmp_path / "photos.csv"
    path.write_text('size,hue,sea,sun\n2.5,"red, dark",1,0\n,blue,0,1.0\n?,,1,1\n')
    data = load_table(path, labels=["sea", "sun"])
    save_file(data, tmp_path / "again.csv.gz")
    again = load_table(tmp_path / "again.csv.gz", labels=["sea", "sun"])
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.Y, data.Y)
    assert again.categories == data.categories


@pytest.mark.parametrize("value", ["NA", "", " x", "x\ry", "?"])
def test_texts_that_would_be_read_differently_are_not_saved(csv_file, tmp_path, value):
    data = replace(load_table(csv_file, 2), categories={2: ("blue", value)})
    with pytest.raises(ValueError, match="a CSV file cannot hold the name or value"):
        save_file(data, tmp_path / "again.csv")
    assert not (tmp_path / "again.csv").exists()


def test_numbers_with_underscores_and_other_digits_are_categories(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1_000,١\n2000,٢\n")
    assert load_table(path).categories == {0: ("1_000", "2000"), 1: ("١", "٢")}


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

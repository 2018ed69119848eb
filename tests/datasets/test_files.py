"""Files of the formats of Mulan, Meka and of tables, read and written."""

from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pytest
from scipy import sparse

from pairmend.datasets import load_file, save_file

ARFF = """@relation photos
@attribute hue {red,green,blue}
@attribute sea {0,1}
@attribute size numeric
@attribute bright {no,yes}
@attribute sun {0,1}
@data
green,1,2.5,yes,0
?,0,1,no,1
"""
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<!-- in another order than the columns -->
<label name="sun"></label>
<label name="sea"/>
</labels>
"""
CSV = "id,size,hue,sea,sun\n01,2.5,red,1,0\n02,,blue,0,1\n3,1e3,,1,1\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "photos.arff").write_text(ARFF)
    (tmp_path / "photos.xml").write_text(XML)
    return tmp_path / "photos.arff", tmp_path / "photos.xml"


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "photos.csv"
    path.write_text(CSV)
    return path


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


# Mulan


@pytest.mark.parametrize("beside", [True, False])
def test_features_and_labels(files, beside):
    data = load_file(files[0], None if beside else files[1])
    assert data.name == "photos"
    assert data.label_names == ("sun", "sea")
    assert data.feature_names == ("hue", "size", "bright")
    assert data.categories == {0: ("red", "green", "blue"), 2: ("no", "yes")}
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0]])
    np.testing.assert_array_equal(data.X, [[1, 2.5, 1], [np.nan, 1, 0]])
    assert data.source == files
    X, Y = data.to_pandas()
    assert X["hue"].cat.categories.tolist() == ["red", "green", "blue"]
    assert X["hue"].isna().tolist() == [False, True]
    assert Y.columns.tolist() == ["sun", "sea"]


def test_sparse_files_stay_sparse(files):
    files[0].write_text(ARFF.split("@data")[0] + "@data\n{1 1, 2 3}\n{}\n")
    data = load_file(*files)
    assert sparse.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), [[0, 3, 0], [0, 0, 0]])
    np.testing.assert_array_equal(data.Y, [[0, 1], [0, 0]])
    assert load_file(files[0], ["sea"]).feature_names == ("hue", "size", "bright", "sun")


def test_labels_are_read_by_value_not_by_order(files):
    files[0].write_text(ARFF.replace("sea {0,1}", "sea {1,0}"))
    np.testing.assert_array_equal(load_file(*files).Y, [[0, 1], [1, 0]])


@pytest.mark.parametrize("cell", ["?", "2"])
def test_labels_must_be_zero_or_one(files, cell):
    text = ARFF.replace("sea {0,1}", "sea {0,1,2}").replace("green,1,", f"green,{cell},")
    files[0].write_text(text)
    with pytest.raises(ValueError, match="label 'sea' must be 0 or 1, but is .* in row 0"):
        load_file(*files)


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (XML.replace("sea", "moon"), r"photos.arff has no columns named 'moon'"),
        ("<labels>", "not an XML file"),
        ("<html><label name='sea'/></html>", "expected a <labels> element .* got <html>"),
        ("<?xml version='1.0' encoding='foo'?><labels/>", "not an XML file"),
        ('<labels><label name="sea"/><label name="sea"/></labels>', "different names"),
        ("x" * (2**24 + 1), "more than .* cells"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><labels><label name="&a;"/></labels>', "entities"),
        ("<labels><label/></labels>", "with <label name"),
    ],
)
def test_broken_label_files(files, xml, message):
    files[1].write_text(xml)
    with pytest.raises(ValueError, match=message):
        load_file(*files)


# Meka


def meka(tmp_path, relation, *, last=False):
    labels = "@attribute sea {0,1}\n@attribute sun {0,1}\n"
    features = "@attribute size numeric\n@attribute hue {red,blue}\n"
    rows = "2.5,blue,1,0\n?,red,0,1\n" if last else "1,0,2.5,blue\n0,1,?,red\n"
    header = features + labels if last else labels + features
    path = tmp_path / "meka.arff"
    path.write_text(f"@relation {relation}\n{header}@data\n{rows}")
    return path


@pytest.mark.parametrize(
    ("relation", "name"),
    [("'Photos: -C 2 -split-number 1'", "Photos"), ("'Photos: -C -2' %50", "Photos"),
     ("'-C -2'", "meka"), ('"x: -c -2"', "x"), ("'x:-C -2'", "x"), ("'a -C 1: -C 2'", "a -C 1")],
)  # fmt: skip
def test_labels_by_the_relation_name(tmp_path, relation, name):
    data = load_file(meka(tmp_path, relation, last="-2" in relation))
    assert data.name == name
    assert data.label_names == ("sea", "sun")
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(data.X, [[2.5, 1], [np.nan, 0]])
    assert data.categories == {1: ("red", "blue")}


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        ("photos", "nor does the relation name 'photos' have Meka's option '-C n'; name them"),
        ("'photos: -C 5'", "label 'size' must be 0 or 1"),
        ("'photos: -C 0'", "label 'size' must be 0 or 1"),
        ("'photos: -C 3'", "label 'size' must be 0 or 1"),
    ],
)
def test_relation_names_without_valid_option(tmp_path, relation, message):
    with pytest.raises(ValueError, match=message):
        load_file(meka(tmp_path, relation))


# Targets


@pytest.mark.parametrize("labels", [2, ["c", "m"]])
def test_numbers_above_the_threshold_are_labels(tmp_path, labels):
    path = tmp_path / "flares.csv"
    path.write_text("class,area,c,m\nA,1,0,2\nB,2,3,-1\n")
    data = load_file(path, labels, threshold=0)
    assert (data.label_names, data.feature_names) == (("c", "m"), ("class", "area"))
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0]])
    found = load_file(path, labels, threshold=2).Y
    np.testing.assert_array_equal(found, [[0, 0], [1, 0]])
    for name in ("class", "void"):
        path.write_text("class,void,c\nA,,0\nB,2,3\n")
        with pytest.raises(ValueError, match=f"target '{name}' must be a number in every row"):
            load_file(path, [name], threshold=0)


# Tables


@pytest.mark.parametrize("labels", [["sea", "sun"], 2, "xml", ()])
def test_labels_by_name_number_or_xml(csv_file, tmp_path, labels):
    if labels == "xml":
        labels = tmp_path / "labels.xml"
        labels.write_text('<labels><label name="sea"/><label name="sun"/></labels>')
    data = load_file(csv_file, labels, categorical=["size", "nowhere"])
    n_labels = 0 if labels == () else 2
    assert (*data.feature_names, *data.label_names) == ("id", "size", "hue", "sea", "sun")
    assert data.Y.tolist() == [row[:n_labels] for row in ([1, 0], [0, 1], [1, 1])]
    # 01 is a code
    assert data.categories == {0: ("01", "02", "3"), 1: ("1e3", "2.5"), 2: ("blue", "red")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": ";"}, "decimal must be '.' or ','.* got ';' and None"),
        ({"thousands": "__"}, "thousands another one, .* got '.' and '__'"),
        ({"decimal": ",", "thousands": ","}, "thousands another one, .* got ',' and ','"),
        ({"delimiter": ";;"}, "delimiter must be one character"),
        ({"encoding": "nope"}, "not a text in nope"),
        ({"header_row": 9}, "empty; expected a header"),
        ({"sheet": "a"}, "a .csv file takes no sheet; leave it out"),
    ],
)
def test_invalid_options(csv_file, options, message):
    with pytest.raises(ValueError, match=message):
        load_file(csv_file, (), **options)


@pytest.mark.parametrize(("odd", "place"), [("True", 1), ("1_0", 1), ("007", 150_000)])
def test_a_column_of_texts_keeps_them_wherever_they_begin(tmp_path, odd, place):
    cells = ["1.50", "2", "30"] * (place // 3 + 40)
    cells.insert(place, odd)
    path = tmp_path / "photos.csv"
    path.write_text("size;sea\n" + "".join(f"{cell};1\n" for cell in cells))
    data = load_file(path, 1)
    values = data.categories[0]
    assert [values[int(code)] for code in data.X.ravel()] == cells


def test_numbers_are_read_to_the_last_digit(tmp_path):
    path = tmp_path / "numbers.csv"
    numbers = np.random.RandomState(0).normal(size=1000) ** 9
    path.write_text("a,b\n" + "".join(f"{x!r},{x:.30g}\n" for x in numbers.tolist()))
    np.testing.assert_array_equal(load_file(path, ()).X, np.column_stack([numbers, numbers]))


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
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
    parquet.write_table(pa.table(columns), path)
    data = load_file(path, 2, categorical=["year"])
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
    for wrong, message in (({"a": [[1], [2]]}, "column 'a' holds list"), ({"a": []}, "no rows")):
        parquet.write_table(pa.table(wrong), path)
        with pytest.raises(ValueError, match=message):
            load_file(path, ())
    path.write_text("not this")
    with pytest.raises(ValueError, match="photos.parquet: not a Parquet file"):
        load_file(path, ())
    with pytest.raises(FileNotFoundError, match=r"nowhere\.parquet"):
        load_file(tmp_path / "nowhere.parquet", ())


def test_unknown_suffixes(tmp_path, csv_file):
    with pytest.raises(ValueError, match="cannot read .ods; expected .csv, .tsv, .txt"):
        load_file(tmp_path / "set.ods", ())
    with pytest.raises(ValueError, match="cannot read a file without suffix"):
        load_file(tmp_path / "set", ())
    with pytest.raises(ValueError, match="expected .arff or .csv"):
        save_file(load_file(csv_file, ()), tmp_path / "set.xlsx")
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "nowhere.arff")


# Writing


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("name", "xml"),
    [("again.arff", None), ("again.ARFF.xz", None), ("again.arff.bz2", "again.xml"),
     ("again.arff.gz", "names.xml.gz"), ("again.csv", None), ("again.csv.gz", None)],
)  # fmt: skip
def test_what_is_saved_is_loaded(files, tmp_path, name, xml, layout):
    data = load_file(*files)
    path, xml = tmp_path / name, xml and tmp_path / xml
    save_file(replace(data, X=layout(data.X)), path, xml=xml)
    is_csv = ".csv" in name
    again = load_file(path, data.label_names if is_csv else xml)
    assert sparse.issparse(again.X) == (layout is not np.asarray and not is_csv)
    np.testing.assert_array_equal(again.Y, data.Y)
    assert (again.feature_names, again.label_names) == (data.feature_names, data.label_names)
    if is_csv:  # which lists only the values that occur
        assert again.categories == {0: ("green",), 2: ("no", "yes")}
    else:
        np.testing.assert_array_equal(dense(again.X), data.X)
        assert again.categories == data.categories


@pytest.mark.parametrize("name", ["foo -C 1", "x:-c9", "plain", "it's"])
def test_names_are_kept(files, tmp_path, name):
    data = replace(load_file(*files), name=name, label_names=('<b> & "c"', "it's"))
    save_file(data, tmp_path / "a.arff", xml=tmp_path / "a.xml")
    assert load_file(tmp_path / "a.arff").label_names == data.label_names
    save_file(data, tmp_path / "b.arff")
    again = load_file(tmp_path / "b.arff")
    assert (again.name, again.label_names) == (name, data.label_names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label_names": ("a\x01", "b")}, "an XML file cannot hold the label name"),
        ({"feature_names": ("x", "x", "y")}, "two columns are named 'x'"),
        ({"feature_names": ("sun", "b", "c")}, "two columns are named 'sun'"),
        ({"feature_names": ("x\0", "z", "y")}, "the character NUL"),
        ({"X": np.array([[7.0, 1, 0], [0, 1, 0]])}, "'hue' holds 7.0, which is none of its 3"),
    ],
)
def test_a_failed_save_leaves_what_was_there(files, tmp_path, change, message):
    target = tmp_path / "kept.arff"
    target.write_text("precious")
    with pytest.raises(ValueError, match=message):
        save_file(replace(load_file(*files), **change), target, xml=tmp_path / "kept.xml")
    assert target.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept.arff", "photos.arff", "photos.xml"]


def test_saving_needs_both_files(files, tmp_path):
    data = load_file(*files)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save_file(data, files[0], xml=tmp_path / "nowhere" / "a.xml")
    with pytest.raises(ValueError, match="cannot hold both"):
        save_file(data, files[0], xml=files[0])
    assert files[0].read_text() == ARFF
    (tmp_path / "link.arff").symlink_to(files[0])
    save_file(data, tmp_path / "link.arff", xml=tmp_path / "link.xml")
    assert (tmp_path / "link.arff").is_symlink()


@pytest.mark.parametrize("value", ["NA", "", " x", "x\ry", "?"])
def test_texts_that_would_be_read_differently_are_not_saved(csv_file, tmp_path, value):
    data = replace(load_file(csv_file, 2), categories={2: ("blue", value)})
    with pytest.raises(ValueError, match="a CSV file cannot hold the name or value"):
        save_file(data, tmp_path / "again.csv")
    assert not (tmp_path / "again.csv").exists()

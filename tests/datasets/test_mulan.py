import numpy as np
import pytest
from scipy import sparse

from pairmend.datasets import ArffError, load_mulan, one_hot

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


@pytest.fixture
def files(tmp_path):
    (tmp_path / "photos.arff").write_text(ARFF)
    (tmp_path / "photos.xml").write_text(XML)
    return tmp_path / "photos.arff", tmp_path / "photos.xml"


def test_reads_features_and_labels(files):
    data = load_mulan(*files)
    assert data.name == "photos"
    assert data.label_names == ("sun", "sea")
    assert data.feature_names == ("hue", "size", "bright")
    assert data.categories == {0: ("red", "green", "blue"), 2: ("no", "yes")}
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0]])
    np.testing.assert_array_equal(data.X, [[1, 2.5, 1], [np.nan, 1, 0]])
    assert data.source == files


def test_parts_are_joined(files, tmp_path):
    more = tmp_path / "more.arff"
    more.write_text(ARFF)
    assert load_mulan([files[0], more], files[1]).Y.shape == (4, 2)
    more.write_text(ARFF.replace("bright", "dark"))
    with pytest.raises(ArffError, match=r"more.arff.*other attributes"):
        load_mulan([files[0], more], files[1])


def test_sparse_files_stay_sparse(tmp_path, files):
    text = ARFF.split("@data")[0] + "@data\n{1 1, 2 3}\n{}\n"
    files[0].write_text(text)
    data = load_mulan(*files)
    assert sparse.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), [[0, 3, 0], [0, 0, 0]])
    np.testing.assert_array_equal(data.Y, [[0, 1], [0, 0]])


def test_pandas(files):
    X, Y = load_mulan(*files).to_pandas()
    assert X["hue"].cat.categories.tolist() == ["red", "green", "blue"]
    assert X["hue"].tolist()[0] == "green"
    assert X["hue"].isna().tolist() == [False, True]
    assert Y.columns.tolist() == ["sun", "sea"]


def test_one_hot_over_declared_values(files):
    data = one_hot(load_mulan(*files))
    assert data.feature_names == ("hue=red", "hue=green", "hue=blue", "size", "bright")
    np.testing.assert_array_equal(data.X, [[0, 1, 0, 2.5, 1], [0, 0, 0, 1, 0]])
    assert data.categories == {}


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (XML.replace("sea", "moon"), r"labels that .*photos.arff lacks: \['moon'\]"),
        ("<labels>", "not an XML file"),
        ("<labels/>", "expected <label name"),
        ("<labels><label/></labels>", "each with a name"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><labels><label name="&a;"/></labels>', "entities"),
    ],
)
def test_broken_label_files(files, xml, message):
    files[1].write_text(xml)
    with pytest.raises(ValueError, match=message):
        load_mulan(*files)


def test_labels_are_read_by_value_not_by_order(files):
    files[0].write_text(ARFF.replace("sea {0,1}", "sea {1,0}"))
    np.testing.assert_array_equal(load_mulan(*files).Y, [[0, 1], [1, 0]])


@pytest.mark.parametrize("cell", ["?", "2"])
def test_labels_must_be_zero_or_one(files, cell):
    text = ARFF.replace("sea {0,1}", "sea {0,1,2}").replace("green,1,", f"green,{cell},")
    files[0].write_text(text)
    with pytest.raises(ValueError, match="label 'sea' must be 0 or 1 everywhere; data row 1"):
        load_mulan(*files)

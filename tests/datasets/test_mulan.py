import gzip
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from pairmend.datasets import ArffError, load_mulan, one_hot, save_mulan
from pairmend.datasets.data import subset

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
    with pytest.raises(ArffError, match=r"more.arff.*its attributes differ"):
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
        ("<html><label name='sea'/></html>", "expected a <labels> element, got <html>"),
        ("<?xml version='1.0' encoding='foo'?><labels/>", "not an XML file"),
        ('<labels><label name="sea"/><label name="sea"/></labels>', "named twice"),
        ("x" * (2**24 + 1), "too much for a list of labels"),
        ("<labels><label/></labels>", "each with a name"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><labels><label name="&a;"/></labels>', "entities"),
        (
            '<!DOCTYPE x SYSTEM "file:///etc/passwd"><labels><label name="a"/></labels>',
            "document type",
        ),
        (
            '<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
            '<labels><label name="&b;"/></labels>',
            "document type",
        ),
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
    with pytest.raises(
        ValueError, match="label 'sea' must be 0 or 1 everywhere, but is not in row 0"
    ):
        load_mulan(*files)


def test_comments_with_markup_are_no_document_type(files):
    files[1].write_text(XML.replace("in another order", "<!DOCTYPE or so"))
    assert load_mulan(*files).label_names == ("sun", "sea")


def test_no_file_at_all(files):
    with pytest.raises(ValueError, match="at least one ARFF file"):
        load_mulan([], files[1])


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_what_is_saved_is_loaded(files, tmp_path, layout):
    data = load_mulan(*files)
    if layout == "sparse":
        data = replace(data, X=sparse.csr_array(data.X))
    save_mulan(data, tmp_path / "again.arff.bz2", tmp_path / "again.xml.gz")
    again = load_mulan(tmp_path / "again.arff.bz2", tmp_path / "again.xml.gz", name="photos")
    assert sparse.issparse(again.X) == (layout == "sparse")
    dense = again.X.toarray() if layout == "sparse" else again.X
    np.testing.assert_array_equal(dense, load_mulan(*files).X)
    np.testing.assert_array_equal(again.Y, data.Y)
    assert (again.feature_names, again.label_names) == (data.feature_names, data.label_names)
    assert again.categories == data.categories


def test_label_names_are_escaped(files, tmp_path):
    data = replace(load_mulan(*files), label_names=('<b> & "c"', "it's"))
    save_mulan(data, tmp_path / "a.arff", tmp_path / "a.xml")
    assert load_mulan(tmp_path / "a.arff", tmp_path / "a.xml").label_names == data.label_names


def test_a_failed_save_leaves_what_was_there(files, tmp_path):
    target = tmp_path / "kept.arff"
    target.write_text("precious")
    broken = replace(load_mulan(*files), feature_names=("sun", "b", "c"))
    with pytest.raises(ValueError, match="share the names \\['sun'\\]"):
        save_mulan(broken, target, tmp_path / "kept.xml")
    assert target.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept.arff", "photos.arff", "photos.xml"]


def test_instance_weights_travel_along(files, tmp_path):
    files[0].write_text(ARFF.replace("green,1,2.5,yes,0", "green,1,2.5,yes,0,{3}"))
    data = load_mulan(*files)
    assert data.weights.tolist() == [3, 1]
    assert load_mulan([files[0], files[0]], files[1]).weights.tolist() == [3, 1, 3, 1]
    part = subset(data, 1, seed=0)
    row = int(np.flatnonzero((part.Y[0] == data.Y).all(axis=1))[0])
    assert part.weights.tolist() == [data.weights[row]]
    save_mulan(data, tmp_path / "again.arff", tmp_path / "again.xml")
    again = load_mulan(tmp_path / "again.arff", tmp_path / "again.xml")
    assert again.weights.tolist() == [3, 1]


def test_saving_needs_both_files(files, tmp_path):
    data = load_mulan(*files)
    before = files[0].read_text()
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save_mulan(data, files[0], tmp_path / "nowhere" / "a.xml")
    assert files[0].read_text() == before
    with pytest.raises(ValueError, match="cannot hold both"):
        save_mulan(data, files[0], files[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label_names": ("a\x01", "b")}, "an XML file cannot hold the label name"),
        ({"feature_names": ("x", "x", "y")}, "two columns are named 'x'"),
        ({"feature_names": ("x\0", "z", "y")}, "the character NUL"),
        ({"X": np.array([[7.0, 1, 0], [0, 1, 0]])}, "'hue' holds 7.0, which is none of its 3"),
    ],
)
def test_what_could_not_be_read_back_is_not_saved(files, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        save_mulan(replace(load_mulan(*files), **change), tmp_path / "a.arff", tmp_path / "a.xml")
    assert not (tmp_path / "a.arff").exists()
    assert not (tmp_path / "a.xml").exists()


def test_saving_through_a_link_keeps_the_link(files, tmp_path):
    (tmp_path / "link.arff").symlink_to(files[0])
    save_mulan(load_mulan(*files), tmp_path / "link.arff", tmp_path / "link.xml")
    assert (tmp_path / "link.arff").is_symlink()
    assert files[0].read_text().startswith("@relation photos")


def test_broken_compressed_label_files(files, tmp_path):
    broken = tmp_path / "photos.xml.gz"
    broken.write_bytes(gzip.compress(XML.encode())[:40])
    with pytest.raises(ValueError, match=r"photos.xml.gz: the compressed file is broken"):
        load_mulan(files[0], broken)


def test_frames_keep_columns_with_the_same_name(files):
    data = replace(load_mulan(*files), feature_names=("x", "x", "y"))
    assert data.to_pandas()[0].shape == (2, 3)

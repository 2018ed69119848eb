from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from pairmend.datasets import ArffError, load_meka, save_meka

BODY = """
@attribute sea {0,1}
@attribute sun {0,1}
@attribute size numeric
@attribute hue {red,blue}
@data
1,0,2.5,blue
0,1,?,red
"""


def write(tmp_path, relation, body=BODY):
    path = tmp_path / "photos.arff"
    path.write_text(f"@relation {relation}\n{body}")
    return path


def test_labels_first(tmp_path):
    data = load_meka(write(tmp_path, "'Photos: -C 2 -split-number 1'"))
    assert data.name == "Photos"
    assert data.label_names == ("sea", "sun")
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(data.X, [[2.5, 1], [np.nan, 0]])
    assert data.categories == {1: ("red", "blue")}


@pytest.mark.parametrize(
    "relation", ["'Photos: -C -2' %50", "'Photos: -C -2'", "'-C -2'", '"x: -c -2"', "'x:-C -2'"]
)
def test_labels_last(tmp_path, relation):
    body = BODY.replace("@attribute size numeric\n@attribute hue {red,blue}\n", "")
    body = "@attribute size numeric\n@attribute hue {red,blue}" + body
    body = body.replace("1,0,2.5,blue", "2.5,blue,1,0").replace("0,1,?,red", "?,red,0,1")
    data = load_meka(write(tmp_path, relation, body))
    assert data.label_names == ("sea", "sun")
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        ("photos", "lacks Meka's option '-C n'.*load_mulan"),
        ("'photos: -C 5'", "'-C 5' does not fit a file with 4 attributes"),
        ("'photos: -C 0'", "'-C 0' does not fit"),
    ],
)
def test_relation_names_without_valid_option(tmp_path, relation, message):
    with pytest.raises(ArffError, match=message):
        load_meka(write(tmp_path, relation))


def test_labels_must_be_zero_or_one(tmp_path):
    with pytest.raises(ValueError, match="label 'size' must be 0 or 1 everywhere"):
        load_meka(write(tmp_path, "'photos: -C 3'"))


@pytest.mark.parametrize("name", ["foo -C 1", "x:-c9", "plain"])
def test_names_that_look_like_options(tmp_path, name):
    data = replace(load_meka(write(tmp_path, "'Photos: -C 2'")), name=name)
    save_meka(data, tmp_path / "again.arff")
    again = load_meka(tmp_path / "again.arff")
    assert (again.name, again.label_names) == (name, data.label_names)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_saved_data_is_loaded_unchanged(tmp_path, layout):
    data = load_meka(write(tmp_path, "'Photos: -C 2'"))
    save_meka(replace(data, X=layout(data.X)), tmp_path / "again.arff.xz")
    again = load_meka(tmp_path / "again.arff.xz")
    assert again.name == "Photos"
    cells = again.X.toarray() if sparse.issparse(again.X) else again.X
    np.testing.assert_array_equal(cells, data.X)
    np.testing.assert_array_equal(again.Y, data.Y)
    assert (again.feature_names, again.label_names) == (data.feature_names, data.label_names)

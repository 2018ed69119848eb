import numpy as np
import pytest

from pairmend.datasets import load_multitarget

TEXT = """@relation flares
@attribute class {A,B}
@attribute area numeric
@attribute c numeric
@attribute m numeric
@data
A,1,0,2
B,2,3,-1
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "flares.arff"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("targets", [2, ["c", "m"]])
def test_targets_above_the_threshold_are_labels(path, targets):
    data = load_multitarget(path, targets)
    assert data.label_names == ("c", "m")
    assert data.feature_names == ("class", "area")
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0]])
    np.testing.assert_array_equal(load_multitarget(path, targets, threshold=2).Y, [[0, 0], [1, 0]])


def test_targets_by_name_keep_their_order(path):
    assert load_multitarget(path, ["m", "area"]).label_names == ("m", "area")


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (0, "targets=0, but the file has 4 attributes"),
        (4, "targets=4, but the file has 4 attributes"),
        (["x"], r"lacks the targets \['x'\]"),
        (["c", "c"], "a target is named twice"),
        (["class"], "target 'class' is nominal, expected a number"),
    ],
)
def test_targets_that_cannot_be(path, targets, message):
    with pytest.raises(ValueError, match=message):
        load_multitarget(path, targets)


def test_missing_targets(path):
    path.write_text(TEXT.replace("B,2,3,-1", "B,2,?,-1"))
    with pytest.raises(ValueError, match="a target is missing in row 1"):
        load_multitarget(path, 2)

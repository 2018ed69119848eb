import struct

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from pairmend.datasets import load_miml

BAGS = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]]), np.array([[7.0, 8.0]] * 3)]
TARGETS = np.array([[1, -1, 1], [-1, -1, 1]])
INDICATORS = [[1, 0], [0, 0], [1, 1]]


def cell(entries):
    array = np.empty((len(entries), 1), dtype=object)
    for number, entry in enumerate(entries):
        array[number, 0] = entry
    return array


def matlab(path, *, compress=False, **changes):
    """Write a good file with some variables changed; None leaves one out."""
    variables = {"bags": cell(BAGS), "targets": TARGETS, "class_name": cell(["sea", "sun"])}
    variables |= changes
    content = {name: value for name, value in variables.items() if value is not None}
    savemat(path, content, do_compression=compress)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "photos.mat"


@pytest.mark.parametrize("compress", [False, True])
def test_bags_and_targets(path, compress):
    data = load_miml(matlab(path, compress=compress))
    np.testing.assert_equal(data.bags, BAGS)
    np.testing.assert_array_equal(data.Y, INDICATORS)
    assert data.Y.dtype == np.int64
    assert all(array.flags.c_contiguous for array in (data.Y, *data.bags))
    assert (data.label_names, data.feature_names) == (("sea", "sun"), ("0", "1"))
    assert (data.name, data.source) == ("photos", (path,))


@pytest.mark.parametrize(
    "changes",
    [
        {"targets": (TARGETS > 0).astype(np.uint8)},
        {"targets": TARGETS > 0},
        {"targets": TARGETS.astype(float)},
        {"bags": cell(BAGS).T},
        {"bags": cell([bag.astype(np.uint8) for bag in BAGS])},
        {"bags": cell([bag.astype(np.float32) for bag in BAGS])},
        {"class_name": np.array(["sea ", "sun "])},  # a padded character matrix
        {"class_name": None},
        {"more": "than needed"},
        {"more": sparse.csc_array(TARGETS), "also": {"a": 1 + 2j}},
    ],
)
def test_equivalent_forms(path, changes):
    data = load_miml(matlab(path, **changes))
    assert {bag.dtype for bag in data.bags} == {np.dtype(float)}
    np.testing.assert_equal(data.bags, BAGS)
    np.testing.assert_array_equal(data.Y, INDICATORS)
    named = "class_name" not in changes or changes["class_name"] is not None
    assert data.label_names == (("sea", "sun") if named else ("0", "1"))


PARTS = {
    "train_bags": cell(BAGS[:2]),
    "train_target": TARGETS[:, :2],
    "test_bags": cell(BAGS[2:]),
    "test_target": TARGETS[:, 2:],
}


@pytest.mark.parametrize("nest", [lambda s: s, lambda s: {"set": s}, lambda s: {"a": {"b": s}}])
def test_train_and_test_are_joined(path, nest):
    savemat(path, nest(PARTS))
    data = load_miml(path)
    np.testing.assert_equal(data.bags, BAGS)
    np.testing.assert_array_equal(data.Y, INDICATORS)
    savemat(path, nest(PARTS | {"test_target": TARGETS[:1, 2:]}))
    with pytest.raises(ValueError, match=r"photos.mat: .*the same labels"):
        load_miml(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bags": None}, r"holds 0 sets of bags in the variables \['class_name', 'targets'\]"),
        ({"again": {"bags": cell(BAGS), "targets": TARGETS}}, "holds 2 sets of bags"),
        *(({"bags": wrong}, "bag 1 of bags is no") for wrong in (np.ones((3, 2)), "text")),
        *(
            ({"bags": cell([*BAGS[:2], wrong])}, "bag 3 of bags is no full matrix of numbers")
            for wrong in ("text", np.ones((2, 2, 2)), BAGS[2] + 1j, sparse.csc_array(BAGS[2]),
                          np.empty((0, 2)))
        ),
        ({"bags": cell([BAGS[0], np.ones((1, 3)), BAGS[2]])}, "instances of the same width"),
        *(
            ({"targets": wrong}, "targets must be a full matrix of -1 and 1")
            for wrong in (TARGETS[:, :2], TARGETS.T, np.empty((0, 3)), sparse.csc_array(TARGETS),
                          TARGETS * 2, np.array([[1, 0, -1]] * 2), TARGETS * np.nan, cell(BAGS))
        ),
        *(
            ({"class_name": wrong}, "class_name must name each of the 2 labels")
            for wrong in (cell(["sea"]), cell(["sea", ""]), cell(["sea", "sea"]), cell(["sea", 3]))
        ),
    ],
)  # fmt: skip
def test_other_shapes_are_errors(path, changes, message):
    with pytest.raises(ValueError, match=f"photos.mat: .*{message}"):
        load_miml(matlab(path, **changes))


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"@relation r\n" * 50, bytes(1000),
     b"MATLAB 7.3 MAT-file, HDF5".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n" + bytes(500)],
)  # fmt: skip
def test_not_a_matlab_file(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="photos.mat: not a MATLAB file of version 5 .*-v7"):
        load_miml(path)
    with pytest.raises(FileNotFoundError):
        load_miml(path.with_name("nowhere.mat"))


# Files made by hand, element by element, as the format describes them


def element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def array(matlab_class, shape, name, *content, flags=0):
    head = element(6, struct.pack("<II", matlab_class | flags, 0))
    head += element(5, struct.pack(f"<{len(shape)}i", *shape))
    return element(14, head + element(1, name) + b"".join(content))


def numbers(values):
    return element(9, struct.pack(f"<{len(values)}d", *values))


def file_of(*variables):
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    return head + b"".join(variables)


BAG = array(1, (1, 1), b"bags", array(6, (2, 2), b"", numbers([1, 3, 2, 4])))


def test_files_made_by_hand(path):
    path.write_bytes(file_of(BAG, array(6, (2, 1), b"targets", numbers([1, -1]))))
    data = load_miml(path)
    np.testing.assert_equal(data.bags, BAGS[:1])
    np.testing.assert_array_equal(data.Y, [[1, 0]])


NESTED = array(1, (0, 0), b"")
for _ in range(2000):
    NESTED = array(1, (1, 1), b"", NESTED)


@pytest.mark.parametrize(
    "wrong",
    [
        array(6, (1, 1), b"targets", element(200, bytes(8))),
        array(6, (3, 1), b"targets", numbers([1, -1])),
        array(6, (-2, -1), b"targets", numbers([1, -1])),
        array(6, (2,), b"targets", numbers([1, -1])),
        array(6, (2, 1), b"targets"),
        array(6, (1, 1), b"t", numbers([1]), flags=0x800),
        array(1, (2**30, 2**30), b"targets"),
        array(16, (1, 1), b"targets"),
        array(2, (1, 1), b"s", element(5, bytes(4)), element(1, b"ab")),
        array(4, (1, 1), b"text", element(14, b"")),
        element(9, bytes(8)),
        struct.pack("<I", 5 << 16 | 14) + bytes(4),
        element(15, b"not compressed")[:-2],
        NESTED,
    ],
)
def test_parts_that_do_not_fit(path, wrong):
    path.write_bytes(file_of(BAG, wrong))
    with pytest.raises(ValueError, match=r"photos.mat: "):
        load_miml(path)

import bz2
import csv
import struct
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import savemat

from pairmend.datasets import ArffError, load
from pairmend.datasets.characteristics import characteristics
from pairmend.datasets.miml import load_miml

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


def assert_bags_equal(bags, expected):
    assert len(bags) == len(expected)
    for bag, other in zip(bags, expected, strict=True):
        assert bag.dtype == np.float64
        np.testing.assert_array_equal(bag, other)


class TestMatlab:
    @pytest.mark.parametrize("compress", [False, True])
    def test_bags_and_targets(self, path, compress):
        data = load_miml(matlab(path, compress=compress))
        assert_bags_equal(data.bags, BAGS)
        np.testing.assert_array_equal(data.Y, INDICATORS)
        assert data.Y.dtype == np.int64
        assert all(array.flags.c_contiguous for array in (data.Y, *data.bags))
        assert data.label_names == ("sea", "sun")
        assert data.feature_names == ("0", "1")
        assert (data.name, data.source) == ("photos", (path,))
        assert load_miml(str(path), name="mine").name == "mine"

    @pytest.mark.parametrize(
        "changes",
        [
            {"targets": (TARGETS > 0).astype(np.uint8)},
            {"targets": TARGETS > 0},
            {"targets": TARGETS.astype(float)},
            {"bags": cell(BAGS).T},
            {"bags": cell([bag.astype(np.uint8) for bag in BAGS])},
            {"class_name": np.array(["sea ", "sun "])},  # a padded character matrix
            {"more": "than needed"},
        ],
    )
    def test_equivalent_forms(self, path, changes):
        data = load_miml(matlab(path, **changes))
        assert_bags_equal(data.bags, BAGS)
        np.testing.assert_array_equal(data.Y, INDICATORS)
        assert data.label_names == ("sea", "sun")

    def test_labels_without_names_are_numbered(self, path):
        assert load_miml(matlab(path, class_name=None)).label_names == ("0", "1")

    def test_missing_values_stay(self, path):
        bags = [BAGS[0], np.array([[np.nan, 1.0]]), BAGS[2]]
        assert_bags_equal(load_miml(matlab(path, bags=cell(bags))).bags, bags)

    @pytest.mark.parametrize("nest", [lambda s: s, lambda s: {"set": s}, lambda s: {"a": {"b": s}}])
    def test_train_and_test_are_joined(self, path, nest):
        parts = {
            "train_bags": cell(BAGS[:2]),
            "train_target": TARGETS[:, :2],
            "test_bags": cell(BAGS[2:]),
            "test_target": TARGETS[:, 2:],
        }
        savemat(path, nest(parts))
        data = load_miml(path)
        assert_bags_equal(data.bags, BAGS)
        np.testing.assert_array_equal(data.Y, INDICATORS)
        assert data.label_names == ("0", "1")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"bags": None}, r"lacks the variables \['bags'\]; expected"),
            ({"targets": None}, r"lacks the variables \['targets'\]; expected"),
            ({"bags": None, "targets": None}, r"\['class_name'\]; expected the variables bags"),
            ({"bags": np.ones((3, 2))}, r"bags is an array of numbers of shape \(3, 2\); expected"),
            ({"bags": {"a": 1}}, "bags is a struct"),
            ({"bags": "text"}, "bags is text"),
            ({"bags": np.empty((0, 0), dtype=object)}, r"a cell array of shape \(0, 0\)"),
            ({"bags": cell(BAGS * 2).reshape(2, 3)}, r"cell array of shape \(2, 3\)"),
            ({"bags": cell([*BAGS[:2], "text"])}, "bag 3 of bags is text"),
            ({"bags": cell([*BAGS[:2], np.ones((2, 2, 2))])}, r"bag 3 .* shape \(2, 2, 2\)"),
            ({"bags": cell([*BAGS[:2], BAGS[2] + 1j])}, "bag 3 .* complex"),
            ({"bags": cell([*BAGS[:2], sparse.csc_array(BAGS[2])])}, "bag 3 of bags is a sparse"),
            ({"bags": cell([BAGS[0], np.empty((0, 2)), BAGS[2]])}, "bag 2 of bags is empty"),
            ({"bags": cell([BAGS[0], np.ones((1, 3)), BAGS[2]])}, "bag 2 hold 3 .* bag 1 2;"),
            ({"targets": TARGETS[:, :2]}, r"targets is of shape \(2, 2\); .* 3 columns, one a bag"),
            ({"targets": TARGETS.T}, r"shape \(3, 2\); expected a row a label"),
            ({"targets": np.empty((0, 3))}, r"shape \(0, 3\)"),
            ({"targets": sparse.csc_array(TARGETS)}, "targets is a sparse matrix"),
            ({"targets": TARGETS * 2}, "targets holds the values -2, 2; expected -1 and 1"),
            ({"targets": np.arange(6).reshape(2, 3) - 1}, "values -1, 0, 1, 2, 3, 4; expected"),
            ({"targets": np.array([[1, 0, -1]] * 2)}, "values -1, 0, 1; expected"),
            ({"targets": TARGETS * np.nan}, "values nan"),
            ({"targets": cell(BAGS)}, "targets is a cell array"),
            ({"class_name": cell(["sea"])}, "class_name names 1 label, targets has 2"),
            ({"class_name": cell(["sea", ""])}, "must name each label"),
            ({"class_name": cell(["sea", "sea"])}, "each by another string"),
            ({"class_name": cell(["sea", 3])}, "must name each label"),
            ({"class_name": np.ones(2)}, "class_name is an array of numbers"),
            ({"test_bags": cell(BAGS)}, "more than one data set"),
            ({"again": {"bags": cell(BAGS)}}, "more than one data set, in .*'again'"),
        ],
    )
    def test_other_shapes_are_errors(self, path, changes, message):
        matlab(path, **changes)
        with pytest.raises(ValueError, match=message) as caught:
            load_miml(path)
        assert str(caught.value).startswith(f"{path}: ")

    def test_parts_must_fit_together(self, path):
        parts = {
            "train_bags": cell(BAGS),
            "train_target": TARGETS,
            "test_bags": cell(BAGS),
            "test_target": TARGETS[:1],
        }
        savemat(path, parts)
        with pytest.raises(ValueError, match="targets of 2 and 1 labels"):
            load_miml(path)
        savemat(path, parts | {"test_bags": cell([np.ones((1, 5))] * 3), "test_target": TARGETS})
        with pytest.raises(ValueError, match="bag 4 hold 5 numbers, those of bag 1 2"):
            load_miml(path)
        del parts["test_target"]
        savemat(path, parts)
        with pytest.raises(ValueError, match=r"lacks the variables \['test_target'\]"):
            load_miml(path)

    @pytest.mark.parametrize("content", [b"", b"x", b"@relation r\n" * 50, bytes(1000)])
    def test_not_a_matlab_file(self, path, content):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="photos.mat: not a MATLAB file, or a broken one"):
            load_miml(path)

    def test_version_7_3_is_named(self, path):
        # The first 128 bytes of such a file: a text, then version 2.0, little endian.
        text = b"MATLAB 7.3 MAT-file, HDF5".ljust(124)
        path.write_bytes(text + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n" + bytes(500))
        with pytest.raises(ValueError, match=r"photos.mat: a MATLAB 7.3 \(HDF5\) file.*-v7"):
            load_miml(path)

    @pytest.mark.parametrize("compress", [False, True])
    def test_truncated_files(self, path, compress):
        # Without class_name: a cut before it would leave a good file.
        whole = matlab(path, compress=compress, class_name=None).read_bytes()
        for length in range(0, len(whole), 3):
            path.write_bytes(whole[:length])
            with pytest.raises(ValueError, match=r"photos.mat: .*expected"):
                load_miml(path)

    def test_a_missing_file(self, path):
        with pytest.raises(FileNotFoundError, match="photos.mat"):
            load_miml(path)
        matlab(path.with_name("photos.mat.mat"))  # which loadmat would be glad to take
        with pytest.raises(FileNotFoundError):
            load_miml(path)


class TestStructure:
    """Files made by hand, element by element, as the MATLAB 5 format describes them."""

    @staticmethod
    def element(kind, content, order=">"):
        return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)

    def array(self, matlab_class, shape, name, *content, order=">", flags=0):
        head = self.element(6, struct.pack(f"{order}II", matlab_class | flags, 0), order)
        head += self.element(5, struct.pack(f"{order}{len(shape)}i", *shape), order)
        head += self.element(1, name, order)
        return self.element(14, head + b"".join(content), order)

    def numbers(self, values, order=">"):
        return self.element(9, struct.pack(f"{order}{len(values)}d", *values), order)

    def file(self, *variables, order=">"):
        mark = {">": b"MI", "<": b"IM"}[order]
        head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(f"{order}H", 0x0100) + mark
        return head + b"".join(variables)

    def good_bags(self, order=">"):
        bag = self.array(6, (2, 2), b"", self.numbers([1, 3, 2, 4], order), order=order)
        return self.array(1, (1, 1), b"bags", bag, order=order)

    def good_targets(self, order=">"):
        return self.array(6, (2, 1), b"targets", self.numbers([1, -1], order), order=order)

    @pytest.mark.parametrize("order", ["<", ">"])
    def test_either_order_of_bytes(self, path, order):
        path.write_bytes(self.file(self.good_bags(order), self.good_targets(order), order=order))
        data = load_miml(path)
        assert_bags_equal(data.bags, BAGS[:1])
        np.testing.assert_array_equal(data.Y, [[1, 0]])

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda t: t.array(6, (1, 1), b"targets", t.element(200, bytes(8))), "of type 200"),
            (lambda t: t.array(6, (3, 1), b"targets", t.numbers([1, -1])), "16 bytes .* shape"),
            (lambda t: t.array(6, (-2, -1), b"targets", t.numbers([1, -1])), "dimensions"),
            (lambda t: t.array(6, (2,), b"targets", t.numbers([1, -1])), "dimensions"),
            (lambda t: t.array(6, (2, 1), b"targets"), "cut off"),
            (lambda t: t.array(6, (1, 1), b"targets", t.numbers([1]) * 2), "more content"),
            (lambda t: t.array(6, (1, 1), b"t", t.numbers([1]), flags=0x800), "cut off"),
            (lambda t: t.array(1, (2**30, 2**30), b"targets"), "cut off"),
            (lambda t: t.array(16, (1, 1), b"targets"), "class 16: an object or a function"),
            (lambda t: t.array(2, (1, 1), b"s", t.element(5, bytes(4)), t.element(1, b"ab")), "0"),
            (lambda t: t.array(4, (1, 1), b"text", t.element(14, b"")), "characters .* type 14"),
            (lambda t: t.element(9, bytes(8)), "element of type 9"),
            (lambda t: struct.pack(">I", 5 << 16 | 14) + bytes(4), "small element of 5 bytes"),
            (lambda t: t.element(15, b"not compressed")[:-2], "decompressing"),
        ],
    )
    def test_parts_that_do_not_fit(self, path, make, message):
        path.write_bytes(self.file(self.good_bags(), make(self)))
        with pytest.raises(ValueError, match=f"photos.mat: not a MATLAB .*{message}"):
            load_miml(path)

    def test_cells_in_cells_without_end(self, path):
        nested = self.array(1, (0, 0), b"")
        for _ in range(2000):
            nested = self.array(1, (1, 1), b"", nested)
        path.write_bytes(self.file(self.good_bags(), self.good_targets(), nested))
        with pytest.raises(ValueError, match="photos.mat: .*at depth 21"):
            load_miml(path)


ARFF = r"""@relation toy
@attribute id {bag1,bag2}
@attribute bag relational
  @attribute f1 numeric
  @attribute f2 numeric
@end bag
@attribute sea {0,1}
@attribute sun {1,0}
@data
bag1,"42,-198\n41.9,?\n35,14.2",1,0
bag2,'11.25,-98',0,1
"""


def arff(tmp_path, text, name="photos.arff"):
    path = tmp_path / name
    path.write_bytes(bz2.compress(text.encode()) if name.endswith("bz2") else text.encode())
    return path


class TestArff:
    @pytest.mark.parametrize("name", ["photos.arff", "photos.ARFF", "photos.arff.bz2"])
    def test_bags_and_labels(self, tmp_path, name):
        path = arff(tmp_path, ARFF, name)
        data = load_miml(path)
        expected = [np.array([[42, -198], [41.9, np.nan], [35, 14.2]]), np.array([[11.25, -98]])]
        assert_bags_equal(data.bags, expected)
        np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1]])
        assert data.Y.dtype == np.int64
        assert data.feature_names == ("f1", "f2")
        assert data.label_names == ("sea", "sun")
        assert (data.name, data.source) == ("photos", (path,))

    def test_without_identifier_and_with_numeric_labels(self, tmp_path):
        text = ARFF.replace("@attribute id {bag1,bag2}\n", "").replace("{0,1}", "numeric")
        data = load_miml(arff(tmp_path, text.replace("bag1,", "").replace("bag2,", "")))
        assert len(data.bags) == 2
        np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1]])

    def test_sparse_rows_and_instances(self, tmp_path):
        head = ARFF.split('bag1,"')[0]
        text = head + "{1 '{0 42}\\n{1 3}', 2 1}\n{0 bag2, 1 '{0 5, 1 6}', 3 0}\n"
        data = load_miml(arff(tmp_path, text))
        assert_bags_equal(data.bags, [np.array([[42, 0], [0, 3]]), np.array([[5, 6]])])
        # A cell left out is the first declared value: 0 of sea, but 1 of sun.
        np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0]])
        for rows in ("{2 1}\n{0 bag2, 1 '{0 5}'}\n", "{2 1}\n"):
            with pytest.raises(ValueError, match="photos.arff: row 0 has no bag"):
                load_miml(arff(tmp_path, head + rows))

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("bag2,'11.25,-98'", "bag2,?", "row 1 has no bag"),
            ("bag2,'", "bag1,'", "rows 0 and 1 have the same identifier in 'id'"),
            ("f2 numeric", "f2 {-98,-198,14.2}", "attribute 'f2' is nominal; the numbers"),
            ("sea {0,1}", "sea string", "attribute 'sea' is string"),
            (",0,1\n", ",?,1\n", "label 'sea' must be 0 or 1 .* row 1"),
            (",0,1\n", ",0,1,{2}\n", "instance weights"),
        ],
    )
    def test_other_shapes_are_errors(self, tmp_path, old, new, message):
        assert old in ARFF
        path = arff(tmp_path, ARFF.replace(old, new))
        with pytest.raises(ValueError, match=message) as caught:
            load_miml(path)
        assert str(path) in str(caught.value)

    def test_one_relational_attribute_between_identifier_and_labels(self, tmp_path):
        plain = "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@data\n1,0\n"
        with pytest.raises(ValueError, match="photos.arff: 0 relational attributes; expected one"):
            load_miml(arff(tmp_path, plain))
        bag = "@attribute bag relational\n@attribute f numeric\n@end bag\n"
        text = f"@relation r\n{bag}@data\n'1'\n"
        with pytest.raises(ValueError, match="0 attributes before the bags and 0 behind"):
            load_miml(arff(tmp_path, text))
        text = f"@relation r\n@attribute a numeric\n@attribute b numeric\n{bag}"
        text += "@attribute l {0,1}\n@data\n1,2,'1',0\n"
        with pytest.raises(ValueError, match="2 attributes before the bags and 1 behind"):
            load_miml(arff(tmp_path, text))

    def test_identifiers_may_be_texts(self, tmp_path):
        text = ARFF.replace("id {bag1,bag2}", "id string")
        assert len(load_miml(arff(tmp_path, text)).bags) == 2
        with pytest.raises(ValueError, match="same identifier"):
            load_miml(arff(tmp_path, text.replace("bag2,'", "bag1,'")))

    def test_invalid_arff_raises_an_arff_error(self, tmp_path):
        with pytest.raises(ArffError, match="photos.arff, line"):
            load_miml(arff(tmp_path, "hello\n"))


@pytest.mark.parametrize("name", ["photos", "photos.csv", "photos.arff.zip", "photos.gz"])
def test_other_suffixes_are_errors(tmp_path, name):
    with pytest.raises(ValueError, match=rf"{name}: expected a MATLAB file \(.mat\) or an ARFF"):
        load_miml(arff(tmp_path, ARFF, name))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), compress=st.booleans())
def test_damaged_matlab_files_give_our_error_or_bags(tmp_path, data, compress):
    whole = bytearray(matlab(tmp_path / "photos.mat", compress=compress).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.mat"
    path.write_bytes(whole)
    # A changed number passes unnoticed; nothing but our own error may come out.
    with suppress_named(path):
        read = load_miml(path)
        assert len(read.bags) == len(read.Y)


@contextmanager
def suppress_named(path):
    """Swallow the errors that name the file, and no others."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith(f"{path}: "):
            raise


def published(shared, number):
    with (shared / "paper/published_datasets.csv").open(newline="") as file:
        return next(row for row in csv.DictReader(file) if row["set"] == str(number))


def assert_as_published(data, row):
    found = characteristics(data)
    for key in ("N", "d", "L"):
        assert found[key] == int(row[key])
    for key in ("LC", "LD", "avIR", "AVsc"):
        assert f"{found[key]:.3f}" == row[key]


def test_mimlimg_is_the_published_set(shared):
    data = load_miml(shared / "data/mimlimg/miml-image-data.mat")
    assert data.label_names == ("desert", "mountains", "sea", "sunset", "trees")
    assert_as_published(data.flatten(), published(shared, 18))


def test_haloarcula_is_the_published_set(shared):
    """Labels with at least 16 positives and 20 numbers a bag, as in catalogue.json."""
    data = load_miml(shared / "data/haloarcula/MIMLprotein_test.mat")
    assert (len(data.bags), sum(map(len, data.bags))) == (304, 950)
    assert {bag.shape[1] for bag in data.bags} == {216}
    assert len(data.label_names) == 234
    assert_as_published(load("haloarcula", shared / "data"), published(shared, 13))

"""Small files that unpack to much: the limits hold, and memory is in proportion to them."""

import bz2
import gzip
import lzma
import struct
import zlib

import numpy as np
import pytest

from bounded_reading import read_all_bounded, read_bounded
from pairmend.cli import main
from pairmend.datasets import ReadLimitError, ReadLimits, load_file

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

MIB = 2**20
HEAD = b"@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n"
PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
SMALL = {"max_bytes": 6 * MIB, "max_cells": MIB // 2}


def packed(tmp_path, name, head, repeated, size):
    """Write a file whose content is a head and a text repeated up to a size."""
    path = tmp_path / name
    path.write_bytes(PACK[path.suffix](head + repeated * (size // len(repeated))))
    return path


TEXTS = [
    ("rows.arff", HEAD, b"1,2\n"),
    ("sparse.arff", HEAD, b"{0 1,1 5}\n"),
    ("empty.arff", HEAD, b"{}\n"),
    ("blank.arff", HEAD, b"\n"),
    ("comments.arff", b"", b"%\n"),
    ("line.arff", HEAD, b"1,"),
    ("quoted.arff", HEAD, b"'a',"),
    ("columns.arff", b"", b"@attribute a numeric\n"),
    ("values.arff", b"@attribute a {", b"abc,"),
    ("rows.csv", b"a,b\n", b"1,2\n"),
    ("texts.csv", b"a,b\n", b"red,green\n"),
    ("line.csv", b"a,b\n", b"1,"),
    ("header.csv", b"", b"abc,"),
    ("quote.csv", b'a,b\n"', b"abc\n"),
]


@pytest.mark.parametrize("suffix", PACK)
def test_packed_texts(tmp_path, suffix):
    chosen = TEXTS if suffix == ".gz" else TEXTS[:1]
    paths = [packed(tmp_path, name + suffix, head, text, 8 * MIB) for name, head, text in chosen]
    assert all(path.stat().st_size < MIB // 2 for path in paths)
    found = read_all_bounded(paths, memory=256 * MIB, limits=SMALL)
    for path, (outcome, peak, _) in zip(paths, found, strict=True):
        assert outcome.startswith(("ValueError: ", "ReadLimitError: ")), (path, outcome)
        assert str(path) in outcome
        assert peak < 100 * MIB


def test_the_error_names_the_limit_and_how_to_raise_it(tmp_path):
    path = packed(tmp_path, "rows.arff.gz", HEAD, b"1,2\n", MIB)
    with pytest.raises(ReadLimitError, match=r"rows.arff.gz: more than 1000 bytes when unpacked"):
        load_file(path, (), limits=ReadLimits(max_bytes=1000))
    with pytest.raises(ReadLimitError, match=r"ReadLimits\(max_cells=...\), --max-cells"):
        load_file(path, (), limits=ReadLimits(max_cells=1000))
    assert load_file(path, ()).X.shape == (MIB // 4, 2)


@pytest.mark.parametrize(("name", "head"), [("rows.csv.gz", b"a,b\n"), ("rows.arff.gz", HEAD)])
def test_more_rows_than_the_memory_of_the_process_holds(tmp_path, name, head):
    """They are refused early: the limits of the file itself are not reached."""
    path = packed(tmp_path, name, head, b"1,2\n", 80 * MIB)
    outcome, peak, seconds = read_bounded(path, memory=512 * MIB)
    assert outcome.startswith(f"ReadLimitError: {path}: needs more memory than this process may")
    assert peak < 400 * MIB
    assert seconds < 60


def test_many_nominal_values(tmp_path):
    """20 million of them took more than 8 GiB, 430 bytes each."""
    n_values = 250_000
    path = tmp_path / "values.arff"
    values = ",".join(f"v{i}" for i in range(n_values))
    path.write_text(f"@relation r\n@attribute a {{{values}}}\n@data\nv1\n")
    outcome, peak, _ = read_bounded(path, memory=512 * MIB)
    assert outcome == "read"
    assert peak < 400 * n_values
    limits = {"max_cells": 8 * n_values}
    outcome, peak, _ = read_bounded(path, memory=512 * MIB, limits=limits)
    assert outcome.startswith("ReadLimitError")
    assert peak < 200 * n_values


def test_labels_of_empty_sparse_rows(tmp_path):
    """A matrix of labels is dense: 100,000 rows of {} times 10,000 labels."""
    attributes = "".join(f"@attribute a{i} {{0,1}}\n" for i in range(10_000))
    path = tmp_path / "many.arff"
    path.write_text(f"@relation 'r: -C 10000'\n{attributes}@data\n" + "{}\n" * 100_000)
    xml = tmp_path / "labels.xml"
    names = "".join(f'<label name="a{i}"/>' for i in range(10_000))
    xml.write_text(f"<labels>{names}</labels>")
    for labels in (None, 9_999, xml):
        with pytest.raises(ReadLimitError, match="cells"):
            load_file(path, labels)
    path.write_text(path.read_text().replace("{0,1}", "numeric"))
    with pytest.raises(ReadLimitError, match="cells"):
        load_file(path, 9_999, threshold=0)


@pytest.mark.parametrize("n_bags", [1, 30])
def test_matlab(tmp_path, n_bags):
    """A variable of zeros shrinks to a thousandth; many of them are added up."""
    array = b"".join([
        struct.pack("<IIII", 6, 8, 6, 0),
        struct.pack("<IIii", 5, 8, 2**20, 64 // n_bags),
        struct.pack("<II", 1, 8), b"variable",
        struct.pack("<II", 2, 2**20 * (64 // n_bags)), bytes(2**20 * (64 // n_bags)),
    ])  # fmt: skip
    element = zlib.compress(struct.pack("<II", 14, len(array)) + array)
    path = tmp_path / "zeros.mat"
    path.write_bytes(
        b"MATLAB 5.0".ljust(124) + struct.pack("<H", 0x100) + b"IM"
        + (struct.pack("<II", 15, len(element)) + element) * n_bags
    )  # fmt: skip
    for max_bytes, max_cells in ((32 * MIB, 2**40), (2**40, 2**20)):
        limits = {"max_bytes": max_bytes, "max_cells": max_cells}
        outcome, peak, _ = read_bounded(path, memory=512 * MIB, limits=limits)
        assert outcome.startswith("ReadLimitError")
        assert peak < 200 * MIB


ENTITIES = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
LABELS = '<labels><label name="&l11;"/><label>&l11;</label></labels>'
XML = {
    f'<!DOCTYPE labels [<!ENTITY l0 "lol">{ENTITIES}]>{LABELS}': ("entities", 50),
    f'<!DOCTYPE labels [<!ENTITY l11 SYSTEM "file:///etc/passwd">]>{LABELS}': ("entities", 50),
    "<labels>" * 200_000 + "</labels>" * 200_000: ("with <label name=...> elements", 200),
}


@pytest.mark.parametrize("text", XML, ids=["internal entities", "external entity", "deep"])
def test_xml(tmp_path, text):
    """A document type raises an error before any entity is expanded."""
    (tmp_path / "labels.xml").write_text(text)
    arff = tmp_path / "set.arff"
    arff.write_bytes(HEAD + b"1,0\n")
    labels = str(tmp_path / "labels.xml")
    outcome, peak, seconds = read_bounded(arff, memory=512 * MIB, labels=labels, seconds=60)
    message, bound = XML[text]
    assert message in outcome
    assert peak < bound * MIB
    assert seconds < 20


class TestParquet:
    def write(self, tmp_path, columns, **options):
        path = tmp_path / "file.parquet"
        parquet.write_table(pyarrow.table(columns), path, **options)
        return path

    def test_a_long_text_in_many_rows(self, tmp_path):
        """The file stores it once, and so does the reader."""
        text = pyarrow.array(["x" * MIB])
        column = pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(np.zeros(3000, dtype=np.int32)), text
        )
        path = self.write(tmp_path, {"a": column, "b": np.arange(3000)}, store_schema=False)
        assert path.stat().st_size < 3 * MIB
        outcome, peak, _ = read_bounded(path, memory=2048 * MIB)
        assert outcome == "read"
        assert peak < 300 * MIB

    def test_a_long_text_by_its_prefix(self, tmp_path):
        """DELTA_BYTE_ARRAY stores of each text what the one before it lacks."""
        path = self.write(
            tmp_path, {"a": ["x" * MIB] * 150}, use_dictionary=False,
            column_encoding={"a": "DELTA_BYTE_ARRAY"},
        )  # fmt: skip
        outcome, peak, _ = read_bounded(path, memory=512 * MIB)
        assert outcome == "read" or outcome.startswith("ValueError")
        assert peak < 325 * MIB

    def test_cells(self, tmp_path):
        path = self.write(tmp_path, {"a": np.zeros(2 * 10**6), "b": np.zeros(2 * 10**6)})
        assert path.stat().st_size < 100_000
        outcome, peak, _ = read_bounded(path, memory=512 * MIB, limits=SMALL)
        assert outcome.startswith("ReadLimitError")
        assert peak < 50 * MIB


@pytest.mark.parametrize("name", ["set.arff", "set.csv", "set.parquet"])
def test_the_command_line_has_the_limits(tmp_path, capsys, name):
    path = tmp_path / name
    path.write_bytes(HEAD + b"1,0\n" if name == "set.arff" else b"a,b\n1,0\n2,red\n")
    if name == "set.parquet":
        parquet.write_table(pyarrow.table({"a": [1], "b": [2]}), path)
    for option in ("--max-bytes", "--max-cells"):
        words = ["--labels", "b", "--model", str(tmp_path / "m"), option, "3"]
        assert main(["fit", str(path), *words]) == 2
        assert option in capsys.readouterr().err

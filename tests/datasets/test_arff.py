import bz2
import gzip
import lzma
import pickle
import string
from pathlib import Path

import arff as liac
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from pairmend._utils.files import OPENERS
from pairmend.datasets.arff import ArffAttribute, ArffError, ArffFile, read_arff, write_arff
from pairmend.datasets.arff.bulk import BulkParser
from pairmend.datasets.arff.dates import seconds
from pairmend.datasets.arff.digits import NotPlain, parse_table
from pairmend.datasets.arff.rows import RowParser
from pairmend.datasets.arff.tokens import quote, split, unquote
from pairmend.datasets.limits import DEFAULT_LIMITS, CellCount

NO_LIMIT = CellCount(Path("file.arff"), DEFAULT_LIMITS)
HEADER = """% a comment
@RELATION 'some set'

@attribute size numeric
@attribute 'its colour' {red, 'light green', "it's"}
@ATTRIBUTE plain {0,1}
@data
"""


def write(tmp_path, text, name="file.arff"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_dense(tmp_path):
    read = read_arff(
        write(tmp_path, HEADER + "1.5, 'light green', 1\n\n% again\n-2e3,\"it's\",0\n?,?,?\n")
    )
    assert read.relation == "some set"
    assert [a.name for a in read.attributes] == ["size", "its colour", "plain"]
    assert read.attributes[1].values == ("red", "light green", "it's")
    np.testing.assert_array_equal(read.cells, [[1.5, 1, 1], [-2000, 2, 0], [np.nan] * 3])
    assert read.weights is None


def test_comments_behind_the_text_of_a_header_line(tmp_path):
    text = (
        "@relation 'a: -C 2 %' %50\n@attribute '50 %' {x,'%'} % nominal\n"
        "@attribute b numeric%\n@data % now\n'%',1\n"
    )
    read = read_arff(write(tmp_path, text))
    assert read.relation == "a: -C 2 %"
    assert [(a.name, a.values) for a in read.attributes] == [("50 %", ("x", "%")), ("b", ())]
    np.testing.assert_array_equal(read.cells, [[1, 1]])


def test_sparse(tmp_path):
    read = read_arff(write(tmp_path, HEADER + "{0 1.5, 1 'light green'}\n{}\n{ 2 1 }\n{0 ?}\n"))
    assert sparse.issparse(read.cells)
    np.testing.assert_array_equal(
        read.cells.toarray(), [[1.5, 1, 0], [0, 0, 0], [0, 0, 1], [np.nan, 0, 0]]
    )
    # Trees of scikit-learn refuse 64-bit indices.
    assert read.cells.indices.dtype == read.cells.indptr.dtype == np.int32


def test_quoted_commas_and_braces(tmp_path):
    text = "@relation r\n@attribute a {'x,y','{z}'}\n@attribute b numeric\n@data\n"
    dense = read_arff(write(tmp_path, text + "'x,y',1\n'{z}',2\n"))
    np.testing.assert_array_equal(dense.cells, [[0, 1], [1, 2]])
    rows = read_arff(write(tmp_path, text + "{0 '{z}', 1 2}\n{0 'x,y'}\n"))
    np.testing.assert_array_equal(rows.cells.toarray(), [[1, 2], [0, 0]])


def test_instance_weights(tmp_path):
    read = read_arff(write(tmp_path, HEADER + "1,red,0,{2.5}\n2,red,1\n"))
    assert read.weights.tolist() == [2.5, 1.0]
    read = read_arff(write(tmp_path, HEADER + "{0 1}, {3}\n{0 2}\n"))
    assert read.weights.tolist() == [3.0, 1.0]
    np.testing.assert_array_equal(read.cells.toarray()[:, 0], [1, 2])


def test_strings_and_dates(tmp_path):
    text = (
        "@relation r\n@attribute s string\n@attribute d date 'yyyy-MM-dd HH:mm'\n"
        "@attribute e date\n@data\n"
        "'a, b','1970-01-01 01:00',1970-01-01T00:00:10\nplain,?,?\n"
    )
    read = read_arff(write(tmp_path, text))
    assert read.texts == {0: ["a, b", "plain"]}
    np.testing.assert_array_equal(read.cells, [[0, 3600, 10], [1, np.nan, np.nan]])


def test_relations(tmp_path):
    text = (
        "@relation r\n@attribute id {x,y}\n@attribute bag relational\n"
        "  @attribute f1 numeric\n  @attribute f2 {u,v}\n@end bag\n@attribute sea {0,1}\n@data\n"
        "x,\"1,u\\n2.5,v\",1\ny,'3,u',0\n"
    )
    read = read_arff(write(tmp_path, text))
    bags = [bag.cells.tolist() for bag in read.relations[1]]
    assert bags == [[[1, 0], [2.5, 1]], [[3, 0]]]
    np.testing.assert_array_equal(read.cells, [[0, 0, 1], [1, 1, 0]])
    with pytest.raises(ArffError, match="line 10: in bag 2 of 'bag', its line 1: 1 value where 2"):
        read_arff(write(tmp_path, text.replace("3,u", "3")))


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), ("", bytes)],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_compression_encodings_and_windows_line_ends(tmp_path, suffix, compress, encoding):
    text = HEADER.replace("red", "größe").replace("\n", "\r\n") + "1,größe,0\r\n"
    path = tmp_path / f"file.arff{suffix}"
    path.write_bytes(compress(text.encode(encoding)))
    read = read_arff(path)
    assert read.attributes[1].values[0] == "größe"
    np.testing.assert_array_equal(read.cells, [[1, 0, 0]])


def test_progress_is_called_with_shares(tmp_path):
    shares = []
    path = write(tmp_path, HEADER + "1,red,0\n" * 200_000)
    assert read_arff(path, progress=shares.append).cells.shape == (200_000, 3)
    assert shares == sorted(shares)
    assert len(shares) > 3
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "1,red\n", "line 8: 2 values where 3 attributes"),
        (HEADER + "1,red,0\n" * 9 + "1,red,0,7\n", "line 17: 4 values where 3 attributes"),
        (HEADER + "1,blue,0\n", "'its colour': expected one of .*'red'.*got 'blue'"),
        (HEADER + "one,red,0\n", "'size': expected a number, got 'one'"),
        (HEADER + "1_0,red,0\n", "'size': expected a number, got '1_0'"),
        (HEADER + ",red,0\n", "'size': expected a number, got ''"),
        (HEADER + "1,red,01\n", "'plain': expected one of .*got '01'"),
        (HEADER + "1,red,1.0\n", "'plain': expected one of .*got '1.0'"),
        (HEADER + "{2 1.0}\n", "'plain': expected one of .*got '1.0'"),
        (HEADER + "{7 1}\n", "index below 3, got '7 1'"),
        (HEADER + "{99999999999999999999 1}\n", "index below 3"),
        (HEADER + "{2 1, 0 1}\n", "index 0 after 2"),
        (HEADER + "{0 1, 0 1}\n", "index 0 after 0"),
        (HEADER + "{0 1 2, 1}\n", "expected a number, got '1 2'"),
        (HEADER + "{0 1\n", "a sparse row must be"),
        (HEADER + "{0 1},{x}\n", "instance weight"),
        (HEADER + "1,red,0,{-1}\n", "instance weight"),
        (HEADER + "1,red,0,{nan}\n", "instance weight"),
        (HEADER + "１,red,0\n", "'size': expected a number"),
        (HEADER + "{0 ١}\n", "'size': expected a number"),
        (HEADER + "1, 'red\n", "line 8: expected values separated by commas"),
        (HEADER + "1, 'red' dark,0\n", "line 8: expected values separated by commas"),
        (HEADER + "{0 1,}\n", "a comma without a cell"),
        ("@relation r\n@attribute a {x,}\n@data\n", "values of attribute 'a': an empty value"),
        ("@relation r\n@attribute a {}\n@data\n", "values of attribute 'a': an empty value"),
        ("@relation r\n@attribute a relational\n@end a\n@data\nx\n", "has no attributes"),
        (
            "@relation r\n" + "@attribute a relational\n" * 3000,
            "line 3: 'a': relations within relations",
        ),
        ("@relation r\n@attribute a date 'yyyy yyyy'\n@data\n2020\n", "names a part twice"),
        (HEADER + "1,red,0\n{0 1}\n", "line 9: dense and sparse rows"),
        (HEADER + "1,'red,0\n", "line 8: expected values separated by commas"),
        (HEADER, "line 7: no data rows"),
        ("@relation r\n@data\n1\n", "line 2: @data before any @attribute"),
        ("@relation r\n@attribute a numeric\n", "ends before @data"),
        ("hello\n", "expected @relation, @attribute or @data, got 'hello'"),
        ("@relation r\n@attribute a\n@data\n", "expected '@attribute name type'"),
        ("@relation r\n@attribute a fuzzy\n@data\n", "unknown type 'fuzzy'"),
        ("@relation r\n@attribute a {x,x}\n@data\n", "lists the value 'x' twice"),
        ("@relation r\n@attribute a {x,'y}\n@data\n", "line 2: values of attribute 'a'"),
        ("@relation r\n@attribute a {x} y\n@data\n", "behind the values"),
        ("@relation r\n@attribute a {x\n@data\n", "line 2: values of attribute 'a'"),
        (
            "@relation r\n@attribute a real\n@attribute a real\n@data\n1,1\n",
            "line 3: two attributes are named",
        ),
        ("@relation r\n@attribute a date\n@data\nnow\n", "expected a date like .yyyy-MM-dd"),
        ("@relation r\n@attribute a date 'GG'\n@data\n1\n", "cannot read dates with 'GG'"),
        ("@relation r\n@attribute b relational\n@attribute a real\n@data\n", "lacks its @end"),
        ("", "ends before @data"),
        ("\0\0\0binary", "a binary file"),
    ],
)
def test_broken_files(tmp_path, text, message):
    with pytest.raises(ArffError, match=message) as caught:
        read_arff(write(tmp_path, text))
    assert "file.arff, line" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_broken_compressed_files(tmp_path, suffix):
    path = tmp_path / f"file.arff{suffix}"
    path.write_bytes(b"not compressed at all")
    with pytest.raises(ArffError, match="compressed file is broken"):
        read_arff(path)
    compress = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[suffix]
    whole = compress((HEADER + "1,red,0\n" * 5000).encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArffError, match="compressed file is broken"):
        read_arff(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_arff(tmp_path / "nowhere.arff")


def test_long_lines_and_many_blanks_take_no_longer_than_others(tmp_path, monkeypatch):
    # Quadratic work would take minutes here.
    with pytest.raises(ArffError, match="expected values separated by commas"):
        read_arff(write(tmp_path, HEADER + "'q',a,'b" + " " * 200_000 + "\n"))
    wide = "@relation r\n" + "".join(f"@attribute a{i} numeric\n" for i in range(20_000))
    read = read_arff(write(tmp_path, wide + "@data\n" + ",".join(["0.125"] * 20_000) + "\n"))
    assert read.cells.shape == (1, 20_000)
    monkeypatch.setattr("pairmend.datasets.arff.text.MAX_LINE", 1000)
    with pytest.raises(ArffError, match="a line of more than 1000 characters"):
        read_arff(write(tmp_path, HEADER + "1" * 10_000_000))


def test_many_columns_with_values_of_their_own(tmp_path):
    header = "@relation r\n" + "".join(f"@attribute a{i} {{0,{i + 1}}}\n" for i in range(3000))
    dense = read_arff(write(tmp_path, header + "@data\n" + ",".join("0" * 3000) + "\n"))
    assert not dense.cells.any()
    rows = "".join(f"{{{i} {i + 1}}}\n" for i in range(3000))
    found = read_arff(write(tmp_path, header + "@data\n" + rows))
    np.testing.assert_array_equal(found.cells.data, 1)


def test_negative_zero_keeps_its_sign(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n"
    dense = read_arff(write(tmp_path, text + "-0,-0.0\n-0.5,0\n"))
    assert np.signbit(dense.cells).tolist() == [[True, True], [True, False]]
    rows = read_arff(write(tmp_path, text + "{0 -0.0,1 -0.5}\n"))
    assert np.signbit(rows.cells.data).all()


# The fast paths give what the slow one gives, or leave the text to it.

plain_cells = st.one_of(
    st.integers(-(10**17), 10**17).map(str),
    st.decimals(-(10**9), 10**9, places=6, allow_nan=False).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["0", "-0", "1.", ".5", "-.5", "+1", "007", "1e3", "?", "", "-", ".", "x",
                     "--1", "1-1", "1.2.3", " 2", "3 ", "nan"]),
)  # fmt: skip
attributes = (
    ArffAttribute("n", "numeric"),
    ArffAttribute("c", "nominal", values=("0", "1", "10")),
    ArffAttribute("w", "nominal", values=("x", "y z")),
)


def slowly(parse, lines):
    try:
        return [parse(line)[:2] for line in lines]
    except ValueError:
        return None


@settings(max_examples=400)
@given(st.lists(st.tuples(plain_cells, plain_cells, plain_cells), min_size=1, max_size=4))
@example([("1", "10", "x"), ("2.5", "0", "y z")])
def test_fast_dense_rows_equal_slow_ones(rows):
    for columns in ([0], [1], [0, 1], [0, 1, 2]):
        lines = [",".join(row[c] for c in columns).strip() for row in rows]
        chosen = [attributes[c] for c in columns]
        expected = slowly(RowParser(chosen, NO_LIMIT).dense, lines)
        try:
            found = BulkParser(chosen).dense(lines)
        except NotPlain:
            continue
        assert expected is not None, lines
        np.testing.assert_array_equal(found, [values for _, values in expected])


@settings(max_examples=400)
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(["0", "1", "2", "3", "00", "x"]), plain_cells), max_size=4
        ),
        min_size=1,
        max_size=4,
    )
)
@example([[("0", "1.5"), ("1", "10")], [], [("1", "1")]])
def test_fast_sparse_rows_equal_slow_ones(rows):
    lines = ["{" + ",".join(f"{i} {v}" for i, v in row) + "}" for row in rows]
    expected = slowly(RowParser(attributes, NO_LIMIT).sparse, lines)
    try:
        columns, values, counts = BulkParser(attributes).sparse(lines)
    except NotPlain:
        return
    assert expected is not None, lines
    assert counts.tolist() == [len(c) for c, _ in expected]
    assert columns.tolist() == [c for row, _ in expected for c in row]
    np.testing.assert_array_equal(values, [v for _, row in expected for v in row])


@given(st.lists(st.from_regex(r"-?(0|[1-9][0-9]{0,6})(\.[0-9]{1,8})?", fullmatch=True), min_size=1))
def test_plain_numbers_are_the_floats_python_reads(texts):
    values, lengths = parse_table((",".join(texts) + "\n").encode(), len(texts))
    assert values[0].tolist() == [float(text) for text in texts]
    assert lengths[0].tolist() == [len(text) for text in texts]


# Agreement with liac-arff, on generated files and on real ones.

names = st.text(string.ascii_letters + string.digits + " _-é", min_size=1, max_size=8).filter(
    lambda name: name.strip() == name
)
# liac-arff does not read the braces that it writes.
alphabet = "".join(sorted(set(string.printable.strip()) - set("{}"))) + " é"
cell_texts = st.text(alphabet, min_size=1, max_size=8)


@st.composite
def liac_files(draw):
    columns = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    kinds = []
    for _ in columns:
        kind = draw(st.sampled_from(["REAL", "INTEGER", "STRING", "nominal"]))
        values = draw(st.lists(cell_texts, min_size=1, max_size=4, unique=True))
        kinds.append(values if kind == "nominal" else kind)
    strategies = {"REAL": st.floats(allow_nan=False, allow_infinity=False),
                  "INTEGER": st.integers(-999, 999), "STRING": cell_texts}  # fmt: skip
    cells = [
        st.none() | (st.sampled_from(kind) if isinstance(kind, list) else strategies[kind])
        for kind in kinds
    ]
    rows = draw(st.lists(st.tuples(*cells).map(list), min_size=1, max_size=5))
    return {"relation": draw(names), "attributes": list(zip(columns, kinds, strict=True)),
            "data": rows}  # fmt: skip


def cells_of(read):
    """The cells of a file as liac-arff gives them."""
    dense = read.cells.toarray() if sparse.issparse(read.cells) else read.cells
    out = []
    for row in dense:
        cells = []
        for column, (value, attribute) in enumerate(zip(row, read.attributes, strict=True)):
            if np.isnan(value):
                cells.append(None)
            elif attribute.kind == "nominal":
                cells.append(attribute.values[int(value)])
            elif attribute.kind == "string":
                cells.append(read.texts[column][int(value)])
            else:
                cells.append(value)
        out.append(cells)
    return out


@settings(max_examples=500)
@given(liac_files())
def test_agrees_with_liac_arff_on_files_it_writes(tmp_path_factory, content):
    text = liac.dumps(content)
    path = tmp_path_factory.mktemp("liac") / "file.arff"
    path.write_text(text, encoding="utf-8", newline="\n")
    theirs = liac.loads(text)
    ours = read_arff(path)
    assert [a.name for a in ours.attributes] == [name for name, _ in theirs["attributes"]]
    assert ours.relation == theirs["relation"]
    assert cells_of(ours) == theirs["data"]


@settings(max_examples=200)
@given(liac_files(), st.booleans())
def test_written_files_are_read_back(tmp_path_factory, content, as_sparse):
    folder = tmp_path_factory.mktemp("round")
    (folder / "one.arff").write_text(liac.dumps(content), encoding="utf-8", newline="\n")
    first = read_arff(folder / "one.arff")
    if as_sparse and all(a.kind == "numeric" for a in first.attributes):
        first = ArffFile(first.relation, first.attributes, sparse.csr_array(first.cells))
    write_arff(folder / "two.arff.gz", first)
    second = read_arff(folder / "two.arff.gz")
    assert second.attributes == first.attributes
    assert second.relation == first.relation
    assert cells_of(second) == cells_of(first)


@pytest.mark.parametrize(
    "name",
    ["birds/birds-train.arff", "birds/birds-test.arff", "imdb/Imdb.arff.bz2",
     "corel5k/Corel5k-sparse.arff", "emotions/emotions.arff",
     "flags/flags.arff", "flare1/sf1.arff", "flare2/sf2.arff", "genbase/genbase.arff",
     "medical/medical.arff", "tmc2007-500/tmc2007-500.arff", "yeast/yeast.arff",
     "plant/plant978.orig.arff.gz", "arts/Arts1500.orig.arff.gz"],
)  # fmt: skip
def test_agrees_with_liac_arff_on_real_files(shared, name):
    path = shared / "data" / name
    with OPENERS.get(path.suffix, open)(path, "rt") as file:
        text = file.read()
    ours = read_arff(path)
    is_sparse = sparse.issparse(ours.cells)
    theirs = liac.loads(
        text, encode_nominal=True, return_type=liac.LOD if is_sparse else liac.DENSE
    )
    # liac-arff leaves escapes in names of attributes.
    assert [a.name for a in ours.attributes] == [
        name.replace("\\'", "'") for name, _ in theirs["attributes"]
    ]
    if is_sparse:
        rows = [dict(sorted(row.items())) for row in theirs["data"]]
        assert ours.cells.indices.tolist() == [column for row in rows for column in row]
        assert ours.cells.data.tolist() == [float(v) for row in rows for v in row.values()]
        assert np.diff(ours.cells.indptr).tolist() == [len(row) for row in rows]
    else:
        columns = zip(*theirs["data"], strict=True)
        for column, (mine, their) in enumerate(zip(ours.cells.T, columns, strict=True)):
            if ours.attributes[column].kind == "string":
                mine = [ours.texts[column][int(value)] for value in mine]
            assert list(mine) == list(their)


# Pieces.


@given(st.text())
def test_quoting_is_undone(text):
    assert unquote(quote(text)) == text
    assert [unquote(cell) for cell in split(f"{quote(text)},{quote(text)}", 2)] == [text, text]


def test_dates_with_a_zone():
    assert seconds("1970-01-01 01:00 +0100", "yyyy-MM-dd HH:mm Z") == 0.0


@settings(max_examples=500)
@given(st.text(st.sampled_from("@attributedatarelation numeric{}'\"\\,?%\n 01.e-xs"), max_size=120))
def test_any_text_is_read_or_raises_an_arff_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "file.arff"
    for content in (text, HEADER + text, "@relation r\n@attribute a numeric\n@data\n" + text):
        path.write_text(content, encoding="utf-8", newline="")
        try:
            read_arff(path)
        except ArffError:
            continue


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_raise_an_arff_error(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("bytes")
    for name in ("file.arff", "file.arff.gz", "file.arff.bz2", "file.arff.xz"):
        (folder / name).write_bytes(content)
        try:
            read_arff(folder / name)
        except ArffError:
            continue

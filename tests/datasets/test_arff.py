"""ARFF files: compared with parsing cell by cell and with liac-arff."""

import bz2
import gzip
import lzma
import string
from dataclasses import replace

import arff as liac
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from pairmend.datasets import load_file, save_file

HEADER = """% a comment
@RELATION 'some set'

@attribute size numeric
@attribute 'its colour' {red, 'light green', "it's"}
@ATTRIBUTE plain {0,1}
@data
"""


def read(path, text):
    path = path / "file.arff" if path.is_dir() else path
    path.write_text(text, encoding="utf-8", newline="\n")
    return load_file(path, ())


def values_of(data):
    """The cells as texts and floats, None where missing."""
    cells = data.X.toarray() if sparse.issparse(data.X) else data.X
    return [
        [
            None if np.isnan(x) else data.categories[f][int(x)] if f in data.categories else x
            for f, x in enumerate(row)
        ]
        for row in cells
    ]


def test_dense(tmp_path):
    text = HEADER + "1.5, 'light green', 1\n\n% again\n-2e3,\"it's\",0\n?,?,?\n"
    data = read(tmp_path, text)
    assert data.feature_names == ("size", "its colour", "plain")
    assert data.categories == {1: ("red", "light green", "it's"), 2: ("0", "1")}
    np.testing.assert_array_equal(data.X, [[1.5, 1, 1], [-2000, 2, 0], [np.nan] * 3])


def test_comments_behind_the_text_of_a_header_line(tmp_path):
    text = (
        "@relation 'a: -C 1 %' %50\n@attribute '50 %' {1,0} % nominal\n"
        "@attribute b {x,'%'}%\n@data % now\n1,'%'\n"
    )
    read(tmp_path, text)
    data = load_file(tmp_path / "file.arff")
    assert (data.name, data.label_names, data.feature_names) == ("a", ("50 %",), ("b",))
    assert values_of(data) == [["%"]]


def test_sparse(tmp_path):
    data = read(tmp_path, HEADER + "{0 1.5, 1 'light green'}\n{}\n{ 2 1 }\n{0 ?}\n")
    assert sparse.issparse(data.X)
    expected = [[1.5, 1, 0], [0, 0, 0], [0, 0, 1], [np.nan, 0, 0]]
    np.testing.assert_array_equal(data.X.toarray(), expected)
    # Trees of scikit-learn refuse 64-bit indices.
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int32


def test_quoted_commas_and_braces(tmp_path):
    text = "@relation r\n@attribute a {'x,y','{z}'}\n@attribute b numeric\n@data\n"
    np.testing.assert_array_equal(read(tmp_path, text + "'x,y',1\n'{z}',2\n").X, [[0, 1], [1, 2]])
    rows = read(tmp_path, text + "{0 '{z}', 1 2}\n{0 'x,y'}\n")
    np.testing.assert_array_equal(rows.X.toarray(), [[1, 2], [0, 0]])


def test_strings_and_dates_are_texts(tmp_path):
    text = (
        "@relation r\n@attribute s string\n@attribute d date 'yyyy-MM-dd HH:mm'\n@data\n"
        "'a, b','1970-01-01 01:00'\nplain,?\n'a, b',?\n"
    )
    data = read(tmp_path, text)
    assert data.categories == {0: ("a, b", "plain"), 1: ("1970-01-01 01:00",)}
    np.testing.assert_array_equal(data.X, [[0, 0], [1, np.nan], [0, np.nan]])
    with pytest.raises(ValueError, match="texts in a sparse file"):
        read(tmp_path, text.replace("'a, b','1970-01-01 01:00'\nplain,?\n'a, b',?", "{0 x}"))


COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", ["", *COMPRESS])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_compression_encodings_and_windows_line_ends(tmp_path, suffix, encoding):
    text = HEADER.replace("red", "größe").replace("\n", "\r\n") + "1,größe,0\r\n"
    path = tmp_path / f"file.arff{suffix}"
    path.write_bytes(COMPRESS.get(suffix, bytes)(text.encode(encoding)))
    if encoding == "latin-1":
        with pytest.raises(ValueError, match="not a text in utf-8.*encoding=..."):
            load_file(path, ())
    data = load_file(path, (), encoding=encoding if encoding == "latin-1" else None)
    assert data.categories[1][0] == "größe"
    np.testing.assert_array_equal(data.X, [[1, 0, 0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "1,red\n", "line 8: 2 values where 3 attributes"),
        (HEADER + "1,red,0\n" * 9 + "1,red,0,7\n", "17: 4 values where 3 attributes"),
        (HEADER + "1,blue,0\n", "'its colour': expected one of .*'red'.*got 'blue'"),
        (HEADER + "one,red,0\n", "'size': expected a number, got 'one'"),
        (HEADER + "1_0,red,0\n", "'size': expected a number, got '1_0'"),
        (HEADER + "1,red,01\n", "'plain': expected one of .*got '01'"),
        (HEADER + "{2 1.0}\n", "'plain': expected one of .*got '1.0'"),
        (HEADER + "{7 1}\n", "indices below 3, got '7 1'"),
        (HEADER + "{2 1, 0 1}\n", "ascending indices .*got '0 1'"),
        (HEADER + "{0 1 2}\n", "expected a number, got '1 2'"),
        (HEADER + "{0 1\n", "a sparse row must be"),
        (HEADER + "{0 1},{2}\n", "a sparse row must be .* without a weight"),
        ("@relation r\n@attribute a relational\n@data\n1\n", "unknown type 'relational'"),
        (HEADER + "１,red,0\n", "'size': expected a number"),
        (HEADER + "1, 'red\n", "8: expected values separated by commas"),
        (HEADER + "{0 1,}\n", "expected 'index value'"),
        ("@relation r\n@attribute a {}\n@data\n", "attribute 'a' is of the unknown type"),
        (HEADER + "1,red,0\n{0 1}\n", "9: dense and sparse rows"),
        (HEADER, "no data rows"),
        ("@relation r\n@data\n1\n", "2: @data before any @attribute"),
        ("@relation r\n@attribute a numeric\n", "ends before @data"),
        ("hello\n", "expected @relation, @attribute or @data, got 'hello'"),
        ("@relation r\n@attribute a\n@data\n", "expected '@attribute name type'"),
        ("@relation r\n@attribute a {x,x}\n@data\n", "lists a value twice"),
        ("@relation r\n@attribute a {x,'y}\n@data\n", "2: expected values separated"),
        (
            "@relation r\n@attribute a real\n@attribute a real\n@data\n1,1\n",
            "3: two attributes are named",
        ),
        ("\0\0\0binary", "not a text"),
    ],
)
def test_broken_files(tmp_path, text, message):
    with pytest.raises(ValueError, match=f"file.arff(, |: ).*{message}"):
        read(tmp_path, text)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_broken_compressed_files(tmp_path, suffix):
    path = tmp_path / f"file.arff{suffix}"
    whole = COMPRESS[suffix]((HEADER + "1,red,0\n" * 5000).encode())
    for content in (b"not compressed at all", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"file.arff{suffix}: the compressed file is broken"):
            load_file(path, ())


def test_negative_zero_keeps_its_sign(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n"
    dense = read(tmp_path, text + "-0,-0.0\n-0.5,0\n").X
    assert np.signbit(dense).tolist() == [[True, True], [True, False]]
    assert np.signbit(read(tmp_path, text + "{0 -0.0,1 -0.5}\n").X.data).all()


# Rows of plain numbers, which are parsed many at once, are what they are cell by cell.

plain_cells = st.one_of(
    st.integers(-(10**17), 10**17).map(str),
    st.decimals(-(10**9), 10**9, places=6, allow_nan=False).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["0", "-0", "1.", ".5", "-.5", "+1", "007", "1e3", "1e1", "?", "", "-", ".",
                     "x", "--1", "1-1", "1.2.3", " 2", "3 ", "nan", "10", "1e", "1 2"]),
)  # fmt: skip
ATTRIBUTES = ["n numeric", "c {0,1,10}", "w {x,'y z'}"]


def outcome(folder, attributes, rows):
    header = "".join(f"@attribute {each}\n" for each in attributes)
    try:
        X = read(folder, f"@relation r\n{header}@data\n" + "\n".join(rows) + "\n").X
        return X.toarray() if sparse.issparse(X) else X
    except ValueError:
        return None


@settings(max_examples=80)
@given(st.lists(st.tuples(plain_cells, plain_cells, plain_cells), min_size=1, max_size=4))
@example([("1", "10", "x"), ("2.5", "0", "y z")])
def test_many_rows_at_once_equal_single_cells(tmp_path_factory, rows):
    """A quoted string in the last column leaves no row to the fast path."""
    folder = tmp_path_factory.mktemp("dense")
    for columns in ([0], [1], [0, 1], [1, 0, 2]):
        chosen = [ATTRIBUTES[c] for c in columns]
        cells = [[row[c] for c in columns] for row in rows]
        lines = [",".join(row) for row in cells]
        if not all(line.strip() for line in lines):
            continue
        slow = outcome(folder, [*chosen, "s string"], [f"{line},'a'" for line in lines])
        numbered = [",".join(f"{c} {cell}" for c, cell in enumerate(row)) for row in cells]
        has_blanks = not all(cell.strip() for row in cells for cell in row)
        for form in [lines] if has_blanks else [lines, [f"{{{row}}}" for row in numbered]]:
            found = outcome(folder, chosen, form)
            assert (found is None) == (slow is None), form
            if found is not None:
                np.testing.assert_array_equal(found, slow[:, :-1])


# Agreement with liac-arff, on generated files.

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


@settings(max_examples=80)
@given(liac_files(), st.booleans())
def test_files_of_liac_arff_are_read_and_written(tmp_path_factory, content, as_sparse):
    folder, text = tmp_path_factory.mktemp("liac"), liac.dumps(content)
    theirs, first = liac.loads(text), read(folder, text)
    assert list(first.feature_names) == [name for name, _ in theirs["attributes"]]
    assert values_of(first) == theirs["data"]
    if as_sparse and not first.categories:
        first = replace(first, X=sparse.csr_array(first.X))
    first = replace(first, Y=np.eye(len(first.Y), 1, dtype=int), label_names=("the label",))
    save_file(first, folder / "two.arff.gz", xml=folder / "two.xml")
    second = load_file(folder / "two.arff.gz")
    assert second.feature_names == first.feature_names
    assert values_of(second) == values_of(first)
    assert second.Y.tolist() == first.Y.tolist()


@settings(max_examples=80)
@given(st.text(st.sampled_from("@attributedatarelation numeric{}'\"\\,?%\n 01.e-xs"), max_size=120))
def test_any_text_is_read_or_raises_an_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "file.arff"
    for content in (text, HEADER + text, "@relation r\n@attribute a numeric\n@data\n" + text):
        try:
            read(path, content)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017

import gzip

import numpy as np
import pytest
from scipy import sparse

from pairmend.datasets import ArffError
from pairmend.datasets.arff import read_arff

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
    assert [a.name for a in read.attributes] == ["size", "its colour", "plain"]
    assert read.attributes[1].values == ("red", "light green", "it's")
    np.testing.assert_array_equal(read.cells, [[1.5, 1, 1], [-2000, 2, 0], [np.nan] * 3])


def test_sparse(tmp_path):
    read = read_arff(write(tmp_path, HEADER + "{0 1.5, 1 'light green'}\n{}\n{2 1}\n"))
    assert sparse.issparse(read.cells)
    np.testing.assert_array_equal(read.cells.toarray(), [[1.5, 1, 0], [0, 0, 0], [0, 0, 1]])


def test_gzip_byte_order_mark_and_windows_line_ends(tmp_path):
    path = tmp_path / "file.arff.gz"
    text = "\ufeff" + HEADER.replace("\n", "\r\n") + "1,red,0\r\n"
    path.write_bytes(gzip.compress(text.encode()))
    np.testing.assert_array_equal(read_arff(path).cells, [[1, 0, 0]])


def test_escaped_quotes(tmp_path):
    text = "@relation r\n@attribute 'Swainson\\'s Thrush' {0,1}\n@data\n1\n"
    assert read_arff(write(tmp_path, text)).attributes[0].name == "Swainson's Thrush"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "1,red\n", "line 8: 2 values where 3 attributes"),
        (HEADER + "1,blue,0\n", "'its colour': expected one of .*'red'.*got 'blue'"),
        (HEADER + "one,red,0\n", "'size': expected a number, got 'one'"),
        (HEADER + "{7 1}\n", "index below 3, got '7 1'"),
        (HEADER + "{2 1, 0 1}\n", "index 0 after 2"),
        (HEADER + "{0 1, 0 1}\n", "index 0 after 0"),
        (HEADER + "{0 1\n", "must end with"),
        (HEADER + "1,red,0\n{0 1}\n", "dense and sparse rows"),
        (HEADER + "1,'red,0\n", "line 8: cannot tell values apart"),
        (HEADER, "no data rows"),
        ("@relation r\n@data\n1\n", "@data before any @attribute"),
        ("@relation r\n@attribute a numeric\n", "ends before @data"),
        ("hello\n", "expected @relation, @attribute or @data, got 'hello'"),
        ("@relation r\n@attribute a\n@data\n", "expected '@attribute name type'"),
        ("@relation r\n@attribute a date\n@data\n", "of type 'date'"),
        ("", "ends before @data"),
    ],
)
def test_broken_files(tmp_path, text, message):
    with pytest.raises(ArffError, match=message) as caught:
        read_arff(write(tmp_path, text))
    assert "file.arff, line" in str(caught.value)

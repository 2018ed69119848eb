"""Initial inputs of the fuzzer, written by ``python -m soak.seeds``."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pyarrow
from pyarrow import parquet
from scipy.io import savemat

from soak.formats import CORPUS, formats

DENSE = b"""% comment
@relation 'some set: -C 2'
@attribute y {0,1}
@attribute 'its colour' {red,'light green',"it's"}
@attribute size numeric
@attribute when date "yyyy-MM-dd'T'HH:mm"
@attribute note string
@data
1,red,1.5e-3,"2000-01-01T10:30",'a \\'b\\' \\u00e9'
0,?,-2,?,plain,{2.5}
"""
SPARSE = b"""@RELATION r
@ATTRIBUTE a REAL {0.5}
@ATTRIBUTE b INTEGER
@ATTRIBUTE c {no,yes} % which
@DATA
{0 1.5,2 yes}
{}
{1 7},{0.5}
"""
NUMBERS = b"@relation '-C -1'\n@attribute a numeric\n@attribute y {0,1}\n@data\n1,0\n-0.25,1\n3,1\n"
BAGS = rb"""@relation bags
@attribute id string
@attribute bag relational
@attribute hue numeric
@attribute size numeric
@end bag
@attribute y {0,1}
@data
one,"0.5,2\n0.1,3",1
two,"{0 4}",0
"""
CSV = b'size,hue,y\n2.5,"red, dark",1\n,blue,0\n?,NA,1\n'
SEMICOLONS = b'\xef\xbb\xbfsize;hue;y\r\n2,5;red;1\r\n;"a""b";0\r\n'
XML = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="a"/><label name="b &amp; c"><label name="d"/></label>
</labels>
"""


def parquet_files() -> list[bytes]:
    """Return small Parquet files."""
    columns = {
        "number": np.arange(5.0),
        "text": ["a", "b", None, "a", "c"],
        "dictionary": pyarrow.array(["x", "y", "x", "x", "y"]).dictionary_encode(),
        "bool": [True, None, False, True, True],
        "time": pyarrow.array([0, 1, 2, None, 4], pyarrow.timestamp("ms")),
    }
    files = []
    for options in (
        {"compression": "none", "store_schema": False, "write_statistics": False},
        {"compression": "snappy"},
        {"compression": "gzip", "use_dictionary": False, "data_page_version": "2.0"},
    ):
        sink = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), sink, **options)
        files.append(sink.getvalue())
    return files


def matlab_files() -> list[bytes]:
    """Return small MATLAB files."""
    bags = np.empty((1, 3), dtype=object)
    bags[0] = [np.arange(4.0).reshape(2, 2) + i for i in range(3)]
    uneven = np.empty((1, 3), dtype=object)
    uneven[0] = [np.arange(2.0 * (i + 1)).reshape(i + 1, 2) for i in range(3)]
    targets = np.array([[1, -1, 1], [-1, -1, 1]])
    names = np.array(["sea", "sun"], dtype=object)
    parts = {"train_bags": bags, "train_target": targets, "test_bags": bags, "test_target": targets}
    files = []
    for variables, compressed in (
        ({"bags": bags, "targets": targets, "class_name": names}, False),
        ({"bags": uneven, "targets": targets}, True),
        ({"data": parts}, False),
    ):
        sink = io.BytesIO()
        savemat(sink, variables, do_compression=compressed)
        files.append(sink.getvalue())
    return files


def main() -> None:
    """Write the corpus."""
    arff = [DENSE, SPARSE, NUMBERS, BAGS, NUMBERS.decode().encode("utf-16")]
    seeds = {
        "arff": arff,
        "arff-gz": [gzip.compress(text, mtime=0) for text in arff],
        "arff-bz2": [bz2.compress(text) for text in arff],
        "arff-xz": [lzma.compress(text) for text in arff],
        "table": arff,
        "meka": arff,
        "multitarget": [NUMBERS, SPARSE],
        "miml": [BAGS],
        "csv": [CSV, SEMICOLONS],
        "csv-labels": [CSV],
        "parquet": parquet_files(),
        "matlab": matlab_files(),
        "xml": [XML],
    }
    for name, contents in seeds.items():
        folder = CORPUS / name
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(contents):
            prefix = b"\0" if formats()[name].binary else b""
            (folder / f"seed-{number}").write_bytes(prefix + content)


if __name__ == "__main__":
    main()

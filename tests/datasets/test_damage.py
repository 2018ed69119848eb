"""Damaged files raise a ValueError that names them, whatever the damage."""

import bz2
import gzip
import lzma
import random
from functools import partial

import numpy as np
import pytest
from scipy.io import savemat

from pairmend.datasets import load_file, load_miml

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N_FILES = 150


def damaged(content: bytes, random: random.Random) -> bytes:
    """Change some bytes, cut some off, or put some elsewhere."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[random.randrange(len(changed))] = random.randrange(256)
    if random.random() < 0.2:
        del changed[random.randrange(len(changed)) :]
    if random.random() < 0.2:
        start = random.randrange(len(changed) + 1)
        changed[start:start] = changed[: random.randrange(64)]
    return bytes(changed)


def check_damaged(path, content, read):
    outcomes = set()
    for seed in range(N_FILES):
        path.write_bytes(damaged(content, random.Random(seed)))
        try:
            read(path)
            outcomes.add("read")
        except ValueError as error:
            outcomes.add("error")
            assert str(path) in str(error)  # noqa: PT017
    assert "error" in outcomes


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "gzip", "data_page_version": "2.0"},
        {"compression": "none", "use_dictionary": False},
        {"write_page_checksum": True},
    ],
)
def test_parquet(tmp_path, options):
    path = tmp_path / "file.parquet"
    columns = {
        "number": np.arange(50.0),
        "text": [f"x{i % 7}" for i in range(50)],
        "dictionary": pyarrow.array([f"y{i % 3}" for i in range(50)]).dictionary_encode(),
        "bool": [None, True] * 25,
    }
    parquet.write_table(pyarrow.table(columns), path, **options)
    check_damaged(path, path.read_bytes(), partial(load_file, labels=()))


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_arff(tmp_path, suffix):
    path = tmp_path / f"file.arff{suffix}"
    content = b"@relation r\n@attribute a {x,'y z'}\n@attribute b numeric\n@data\n'y z',1\nx,?\n"
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[suffix]
    check_damaged(path, pack(content), partial(load_file, labels=()))


@pytest.mark.parametrize("compressed", [False, True])
def test_matlab(tmp_path, compressed):
    path = tmp_path / "file.mat"
    bags = np.empty((1, 3), dtype=object)
    bags[0] = [np.arange(6.0).reshape(3, 2) + i for i in range(3)]
    savemat(path, {"bags": bags, "targets": np.array([[1, -1, 1]])}, do_compression=compressed)
    check_damaged(path, path.read_bytes(), load_miml)

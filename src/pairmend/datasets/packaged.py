"""yeast and flare2 from the wheel of river, to work with only a package index.

river's tables equal Mulan's files except for the names and the order of the columns.
"""

import csv
import gzip
import hashlib
import io
import zipfile
import zlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from pairmend.datasets.data import MultiLabelData

# The names, values and order of the columns in Mulan's files.
_YEAST_LABELS = (1, 2, 3, 6, 4, 10, 11, 5, 7, 8, 9, 12, 13, 14)
_FLARE_FEATURES = {
    "mod_zurich_class": "ABCDEFH",
    "largest_spot_size": "XRSAHK",
    "spot_distribution": "XOIC",
    "activity": "12",
    "evolution": "123",
    "previous_day_activity": "123",
    "hist_complex": "12",
    "become_hist_complex": "12",
    "area": "12",
    "area_largest": "12",
}
_FLARE_LABELS = ("c-class", "m-class", "x-class")
_FILES = {
    "yeast": (
        "river/datasets/yeast.csv.gz",
        "fd17cb9b53acaaf5e82a9e0795e2667167775915c0e32c1f6fe0fadb0d3bd703",
    ),
    "flare2": (
        "river/datasets/solar-flare.csv.zip",
        "7ae467f9d903b682389150c619417772e7a9b25a8810139a62236d68e736367b",
    ),
}
"""The files of the wheel, and the SHA-256 of their contents."""
_MAX_BYTES = 2**24
"""Bytes that are unpacked at most; the tables have less than 2**21."""


def load_packaged(name: str) -> MultiLabelData | None:
    """Return a set as in Mulan's files; None if river, or this table of it, is not installed.

    river is not imported, which takes seconds.
    """
    if name not in _FILES:
        return None
    file, sha256 = _FILES[name]
    try:
        path = Path(str(distribution("river").locate_file(file)))
        content = _unpacked(path)
    except (PackageNotFoundError, OSError, EOFError, LookupError, zlib.error, zipfile.BadZipFile):
        return None
    if hashlib.sha256(content).hexdigest() != sha256:
        return None
    names, *rows = csv.reader(io.StringIO(content.decode("utf-8")))
    return _yeast(path, names, rows) if name == "yeast" else _flare2(path, rows)


def _unpacked(path: Path) -> bytes:
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return file.read(_MAX_BYTES)
    with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
        return member.read(_MAX_BYTES)


def _yeast(path: Path, names: list[str], rows: list[list[str]]) -> MultiLabelData:
    cells = np.array(rows, dtype=np.float64)
    labels = [names.index(f"Class{number}") for number in _YEAST_LABELS]
    n_features = len(names) - len(labels)
    return MultiLabelData(
        X=cells[:, :n_features],
        Y=cells[:, labels].astype(np.int64),
        feature_names=tuple(names[:n_features]),
        label_names=tuple(names[label] for label in labels),
        categories={},
        name="yeast",
        source=(path,),
    )


def _flare2(path: Path, rows: list[list[str]]) -> MultiLabelData:
    values = [tuple(each) for each in _FLARE_FEATURES.values()]
    codes = [[each.index(cell) for cell, each in zip(row, values, strict=False)] for row in rows]
    targets = np.array([row[len(values) :] for row in rows], dtype=np.float64)
    return MultiLabelData(
        X=np.array(codes, dtype=np.float64),
        Y=(targets > 0).astype(np.int64),
        feature_names=tuple(_FLARE_FEATURES),
        label_names=_FLARE_LABELS,
        categories=dict(enumerate(values)),
        name="flare2",
        source=(path,),
    )

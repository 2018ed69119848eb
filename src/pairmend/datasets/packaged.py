"""Datasets that the wheels of other projects include, for use with only a package index."""

import csv
import gzip
import hashlib
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from pairmend.datasets.bags import MultiInstanceData
from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.miml import load_miml

# river's tables equal Mulan's files except for the names and the order of the columns. These are
# the names, values and order of the labels in Mulan's files.
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
_MAX_BYTES = 2**24
"""Bytes that are unpacked at most; the tables have less than 2**21."""
_FLARE_LABELS = ("c-class", "m-class", "x-class")


class PackagedDataError(LookupError):
    """A wheel that should include a set is not installed, or its table differs."""


@dataclass(frozen=True)
class _Packaged:
    """A file of a distribution that holds a set, and the function that reads it."""

    distribution: str
    file: str
    read: Callable[[Path], MultiLabelData | MultiInstanceData]


def load_packaged(name: str) -> MultiLabelData | MultiInstanceData:
    """Load a real set from the wheel of another project, without network.

    ``pip install 'pairmend[data]'`` installs the wheels. That of river includes yeast and flare2,
    that of mimllearning the multi-instance sets miml-birds and miml-toy. Neither package is
    imported.

    Parameters
    ----------
    name : {"yeast", "flare2", "miml-birds", "miml-toy"}
        Name of the set.

    Returns
    -------
    MultiLabelData or MultiInstanceData
        The set as in the file. Cells and names of yeast and flare2 equal those that
        `load(name, raw=True)` reads from Mulan's files. A multi-instance set has bags.

    Raises
    ------
    PackagedDataError
        If the wheel is not installed or its table differs.

    Examples
    --------
    >>> from pairmend.datasets import load_packaged
    >>> load_packaged("iris")
    Traceback (most recent call last):
    ...
    ValueError: no wheel includes 'iris'; expected one of yeast, flare2, miml-birds, miml-toy
    """
    if name not in _SETS:
        raise ValueError(f"no wheel includes {name!r}; expected one of {', '.join(_SETS)}")
    packaged = _SETS[name]
    return replace(packaged.read(_locate(packaged)), name=name)


def packaged_names() -> tuple[str, ...]:
    """Return the names of the sets that `load_packaged` can load."""
    return tuple(_SETS)


def _locate(packaged: _Packaged) -> Path:
    """Find a file of an installed distribution without importing it, which takes seconds."""
    try:
        path = Path(str(distribution(packaged.distribution).locate_file(packaged.file)))
    except PackageNotFoundError:
        raise PackagedDataError(
            f"this set is in the wheel of {packaged.distribution}, which is not installed: "
            "pip install 'pairmend[data]'"
        ) from None
    if not path.is_file():
        raise PackagedDataError(
            f"the installed {packaged.distribution} lacks the file {path}; "
            "install it again: pip install --force-reinstall 'pairmend[data]'"
        )
    return path


def _read_yeast(path: Path) -> MultiLabelData:
    with _errors_named(path), gzip.open(path) as file:
        content = file.read(_MAX_BYTES)
    table = _checked(
        path,
        content,
        "fd17cb9b53acaaf5e82a9e0795e2667167775915c0e32c1f6fe0fadb0d3bd703",
    )
    names, *rows = csv.reader(io.StringIO(table))
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


def _read_flare2(path: Path) -> MultiLabelData:
    with (
        _errors_named(path),
        zipfile.ZipFile(path) as archive,
        archive.open(archive.namelist()[0]) as file,
    ):
        content = file.read(_MAX_BYTES)
    table = _checked(
        path,
        content,
        "7ae467f9d903b682389150c619417772e7a9b25a8810139a62236d68e736367b",
    )
    _, *rows = csv.reader(io.StringIO(table))
    n_features = len(_FLARE_FEATURES)
    codes = [
        [values.index(cell) for cell, values in zip(row, _FLARE_FEATURES.values(), strict=False)]
        for row in rows
    ]
    targets = np.array([row[n_features:] for row in rows], dtype=np.float64)
    return MultiLabelData(
        X=np.array(codes, dtype=np.float64),
        Y=(targets > 0).astype(np.int64),
        feature_names=tuple(_FLARE_FEATURES),
        label_names=_FLARE_LABELS,
        categories={f: tuple(values) for f, values in enumerate(_FLARE_FEATURES.values())},
        name="flare2",
        source=(path,),
    )


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Turn the errors of a damaged file into a PackagedDataError that names it."""
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, LookupError, RuntimeError) as error:
        raise PackagedDataError(f"{path} cannot be unpacked: {error}") from error


def _checked(path: Path, content: bytes, sha256: str) -> str:
    """Return a table as text if it is the one that was compared with Mulan's."""
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise PackagedDataError(
            f"{path} holds another table than the one that equals the set: the SHA-256 of its "
            f"content is {found}, expected {sha256}"
        )
    return content.decode("utf-8")


_SETS = {
    "yeast": _Packaged("river", "river/datasets/yeast.csv.gz", _read_yeast),
    "flare2": _Packaged("river", "river/datasets/solar-flare.csv.zip", _read_flare2),
    "miml-birds": _Packaged("mimllearning", "miml/datasets/miml_birds.arff", load_miml),
    "miml-toy": _Packaged("mimllearning", "miml/datasets/toy.arff", load_miml),
}

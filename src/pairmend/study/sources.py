"""Sources of the datasets of a study: catalogue, file, function; the cache that workers read."""

import hashlib
import inspect
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy import sparse

from pairmend.datasets import MultiLabelData, ReadLimits, load, load_file, one_hot
from pairmend.datasets.data import subset
from pairmend.datasets.named_sets import CatalogueEntry, find_entry, is_available
from pairmend.study.objects import describe, find, own_file


class Source:
    """Base class of the sources of a data set, and the place of one that is not sent along."""

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Load the set.

        Parameters
        ----------
        data_dir : Path or None
            Folder with sets of the catalogue; None means that of PAIRMEND_DATA, if it is set.
        download : bool
            Whether missing files of the catalogue are downloaded.

        Returns
        -------
        MultiLabelData
        """
        raise ValueError("This set was not sent with the study: it is read from the cache.")

    def missing(self, data_dir: Path | None) -> str:
        """Return why the set cannot be loaded without network, empty if it can.

        Parameters
        ----------
        data_dir : Path or None
            Folder with sets of the catalogue.

        Returns
        -------
        str
        """
        return ""

    def files(self) -> list[Path]:
        """Return the files of the user's own that the contents of the set depend on.

        Returns
        -------
        list of Path
        """
        return []

    def definition(self) -> dict[str, Any]:
        """Return the source as plain data, as in a study file.

        Returns
        -------
        dict
        """
        return {}


@dataclass(frozen=True)
class CatalogueSource(Source):
    """A set of the catalogue, prepared as in the paper.

    Attributes
    ----------
    name : str
        Name in the catalogue.
    rows : int or None
        Number of rows, drawn at random with a fixed seed; None means all.
    one_hot : bool
        Whether categorical features become 0/1 columns, for classifiers that need numbers.

    Examples
    --------
    >>> CatalogueSource("simplehc", rows=20).load(None, download=False).X.shape[0]
    20
    >>> CatalogueSource("azotobacter").missing(None)
    'no public copy was found'
    """

    name: str
    rows: int | None = None
    one_hot: bool = False

    @property
    def entry(self) -> CatalogueEntry:
        """Its entry in the catalogue."""
        return find_entry(self.name)

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Load the set."""
        data = load(self.name, data_dir, download=download)
        data = data if self.rows is None else subset(data, self.rows, seed=0)
        return one_hot(data) if self.one_hot else data

    def missing(self, data_dir: Path | None) -> str:
        """Return why the set cannot be loaded without network, empty if it can."""
        if self.entry.status == "not found":
            return "no public copy was found"
        return "" if is_available(self.name, data_dir) else "its files are missing"

    def definition(self) -> dict[str, Any]:
        """Return the source as plain data, as in a study file."""
        parts = {"catalogue": self.name, "rows": self.rows, "one_hot": self.one_hot or None}
        return {key: value for key, value in parts.items() if value is not None}


@dataclass(frozen=True)
class FileSource(Source):
    """A file in any format that `pairmend.datasets.load_file` reads.

    Attributes
    ----------
    file : Path
        The file.
    xml : Path or None
        Mulan's XML file with the names of the labels.
    labels : tuple of str or None
        Names of the labels.
    targets : int or None
        Number of label columns, as in `load_file`.
    one_hot : bool
        Whether categorical features become 0/1 columns, for classifiers that need numbers.
    max_bytes, max_cells : int or None
        As in `pairmend.datasets.ReadLimits`; None means their defaults.

    Examples
    --------
    >>> FileSource(Path("absent.arff")).missing(None)
    'there is no file absent.arff'
    >>> sorted(FileSource(Path("mine.csv"), labels=("a", "b")).definition())
    ['file', 'labels']
    """

    file: Path
    xml: Path | None = None
    labels: tuple[str, ...] | None = None
    targets: int | None = None
    one_hot: bool = False
    max_bytes: int | None = None
    max_cells: int | None = None

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Load the set."""
        limits = {"max_bytes": self.max_bytes, "max_cells": self.max_cells}
        data = load_file(
            self.file,
            xml=self.xml,
            labels=self.labels,
            targets=self.targets,
            limits=ReadLimits(**{name: n for name, n in limits.items() if n is not None}),
        )
        return one_hot(data) if self.one_hot else data

    def missing(self, data_dir: Path | None) -> str:
        """Return why the set cannot be loaded without network, empty if it can."""
        absent = [str(path) for path in self.files() if not path.is_file()]
        return f"there is no file {' and no '.join(absent)}" if absent else ""

    def files(self) -> list[Path]:
        """Return the files of the user's own that the contents of the set depend on."""
        return [self.file, *([] if self.xml is None else [self.xml])]

    def definition(self) -> dict[str, Any]:
        """Return the source as plain data, as in a study file."""
        parts = {**vars(self), "labels": list(self.labels) if self.labels else None}
        for key, path in (("file", self.file), ("xml", self.xml)):
            parts[key] = path and str(path.absolute())
        return {key: value for key, value in parts.items() if value not in (None, False)}


@dataclass(frozen=True)
class FunctionSource(Source):
    """A function that returns `MultiLabelData` or a pair of X and Y.

    Attributes
    ----------
    function : str
        Its import path.
    params : mapping
        Arguments. If the function has a ``random_state`` that is not given, it is 0, so that the
        set is the same in each call.

    Examples
    --------
    >>> make = "sklearn.datasets.make_multilabel_classification"
    >>> FunctionSource(make, {"n_samples": 30}).load(None, download=False).X.shape
    (30, 20)
    """

    function: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Load the set."""
        function = find(self.function)
        takes_seed = "random_state" in inspect.signature(function).parameters
        seed = {"random_state": 0} if takes_seed else {}
        return as_data(function(**{**seed, **self.params}))

    def missing(self, data_dir: Path | None) -> str:
        """Return why the set cannot be loaded without network, empty if it can."""
        try:
            find(self.function)
        except ImportError as error:
            return str(error)
        return ""

    def files(self) -> list[Path]:
        """Return the files of the user's own that the contents of the set depend on."""
        try:
            path = own_file(find(self.function).__module__)
        except (ImportError, AttributeError):
            return []
        return [] if path is None else [path]

    def definition(self) -> dict[str, Any]:
        """Return the source as plain data, as in a study file."""
        return {"function": self.function, "params": describe(dict(self.params))}


@dataclass(frozen=True)
class GivenSource(Source):
    """A data set in memory."""

    data: MultiLabelData

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Return the data."""
        return self.data

    def definition(self) -> dict[str, Any]:
        """Return the source as plain data, from which it cannot be loaded."""
        return {"opaque": "given data", "hash": data_hash(self.data)}


@dataclass(frozen=True)
class SubsetSource(Source):
    """Some rows of another source, always the same."""

    source: Source
    rows: int

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Load the set, and return a random part of its rows."""
        data = as_data(self.source.load(data_dir, download))
        return data if len(data.Y) <= self.rows else subset(data, self.rows, seed=0)

    def missing(self, data_dir: Path | None) -> str:
        """Return why the set cannot be loaded without network, empty if it can."""
        return self.source.missing(data_dir)


def as_data(given: Any) -> MultiLabelData:
    """Return X (array, CSR or pandas frame) and Y as a data set."""
    if isinstance(given, MultiLabelData):
        return _checked(given)
    try:
        X, target = given
    except (TypeError, ValueError):
        raise TypeError(
            f"a set must be MultiLabelData or a pair of X and Y, got {type(given).__name__}"
        ) from None
    Y = np.asarray(target.toarray() if sparse.issparse(target) else target)
    if Y.ndim != 2 or not np.isin(Y, (0, 1)).all():
        raise ValueError(f"Y must hold label indicators, 0 or 1, in 2 dimensions; got {Y.shape}")
    categories: dict[int, tuple[str, ...]] = {}
    names = getattr(X, "columns", None)
    if names is not None:
        X, categories = _from_frame(X)
    elif sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64)
    else:
        X = np.asarray(X, dtype=np.float64)
    data = MultiLabelData(
        X=X,
        Y=Y.astype(np.int64),
        feature_names=tuple(map(str, names))
        if names is not None
        else tuple(f"f{i}" for i in range(X.shape[1])),
        label_names=tuple(map(str, getattr(target, "columns", range(Y.shape[1])))),
        categories=categories,
        name="",
        source=(),
    )
    return _checked(data)


def _checked(data: MultiLabelData) -> MultiLabelData:
    """Check that X and Y have the same rows; convert sparse X to CSR."""
    X = sparse.csr_array(data.X) if sparse.issparse(data.X) else data.X
    if X.ndim != 2 or X.shape[0] != len(data.Y):
        raise ValueError(f"X must have a row for each of the {len(data.Y)} of Y, got {X.shape}")
    return replace(data, X=X)


def _from_frame(frame: Any) -> tuple[Any, dict[int, tuple[str, ...]]]:
    columns, categories = [], {}
    for place, (_, column) in enumerate(frame.items()):
        if column.dtype.name == "category":
            categories[place] = tuple(map(str, column.cat.categories))
            codes = column.cat.codes.to_numpy().astype(np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
        else:
            columns.append(column.to_numpy(dtype=np.float64))
    return np.column_stack(columns), categories


def with_name(data: MultiLabelData, name: str) -> MultiLabelData:
    """Return the data with another name."""
    return replace(data, name=name)


def data_hash(data: MultiLabelData) -> str:
    """Return the SHA-256 of X, Y and categories."""
    digest = hashlib.sha256()
    X = data.X
    for part in ([X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]) + [data.Y]:
        # The integers of a sparse matrix differ in width between machines, not in value.
        array = np.ascontiguousarray(part, dtype=np.int64 if part.dtype.kind in "iu" else None)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    digest.update(repr(sorted(data.categories.items())).encode())
    return digest.hexdigest()


class CachedSet(NamedTuple):
    """X (a frame if features are categorical), Y, and the fold of each row in each repeat."""

    X: Any
    Y: Any
    fold_of: Any


def put_into_cache(data: MultiLabelData, fold_of: Any, folder: Path) -> Path:
    """Write a set for `open_cached_set`, and return its file."""
    X = data.to_pandas()[0] if data.categories else data.X
    try:
        # A new name: Windows does not remove files that a process of an earlier run maps.
        path = Path(tempfile.mkdtemp(dir=folder)) / ("frame" if data.categories else "arrays")
        joblib.dump(CachedSet(X, data.Y, fold_of), path)
    except OSError as error:
        raise OSError(
            f"cannot write the set {data.name!r} to {folder}: {error}. Finished tasks are stored. "
            "Remove the cause (is the disk full?) or choose another folder (--out), and run the "
            "study again to continue."
        ) from error
    return path


def open_cached_set(path: Path, *, mapped: bool = True) -> CachedSet:
    """Read a set of the cache; all processes share its arrays if they are mapped into memory."""
    return joblib.load(path, mmap_mode="r" if mapped and path.name == "arrays" else None)

"""Where the sets of a study come from."""

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from pairmend.datasets import (
    MultiLabelData,
    ReadLimits,
    find_entry,
    is_available,
    load,
    load_file,
    one_hot,
    subset,
)
from pairmend.study.objects import describe, find


class Source(Protocol):
    """Something that gives a data set."""

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Load it; `data_dir` is the user's folder."""
        ...

    def missing(self, data_dir: Path | None) -> str:
        """Say why it cannot be loaded without network; empty if it can."""
        ...

    def definition(self) -> dict[str, Any]:
        """Return it as plain data."""
        ...


@dataclass(frozen=True)
class CatalogueSource:
    """A set of the catalogue, prepared as in the paper.

    Attributes
    ----------
    name : str
        Its name.
    rows : int or None
        How many of its rows to take, drawn at random, always the same; None means all.
    one_hot : bool
        Whether categorical features become 0/1 columns: for classifiers that take numbers only.
    """

    name: str
    rows: int | None = None
    one_hot: bool = False

    @property
    def can_be_downloaded(self) -> bool:
        """Whether there is a public copy of its files."""
        return find_entry(self.name).status == "files"

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Load it, from the network only if allowed."""
        data = load(self.name, data_dir, download=download)
        data = data if self.rows is None else subset(data, self.rows, seed=0)
        return one_hot(data) if self.one_hot else data

    def missing(self, data_dir: Path | None) -> str:
        """Say why it cannot be loaded without network; empty if it can."""
        entry = find_entry(self.name)
        if entry.status == "not found":
            return "no public copy was found"
        return "" if is_available(self.name, data_dir) else "its files are not at hand"

    def definition(self) -> dict[str, Any]:
        """Return it as plain data."""
        parts = {"catalogue": self.name, "rows": self.rows, "one_hot": self.one_hot or None}
        return {key: value for key, value in parts.items() if value is not None}


@dataclass(frozen=True)
class FileSource:
    """A file of one's own, of any kind that `load_file` reads.

    `max_bytes` and `max_cells` are those of `ReadLimits`; None means their defaults.
    """

    file: Path
    xml: Path | None = None
    labels: tuple[str, ...] | None = None
    targets: int | None = None
    one_hot: bool = False
    max_bytes: int | None = None
    max_cells: int | None = None

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Read the file."""
        data = load_file(
            self.file,
            xml=self.xml,
            labels=self.labels,
            targets=self.targets,
            limits=ReadLimits(**self._limits()),
        )
        return one_hot(data) if self.one_hot else data

    def missing(self, data_dir: Path | None) -> str:
        """Say why it cannot be loaded; empty if it can."""
        absent = [str(p) for p in (self.file, self.xml) if p is not None and not p.is_file()]
        return f"there is no file {' and no '.join(absent)}" if absent else ""

    def definition(self) -> dict[str, Any]:
        """Return it as plain data."""
        parts = {
            "file": str(self.file.absolute()),
            "xml": str(self.xml.absolute()) if self.xml else None,
            "labels": list(self.labels) if self.labels else None,
            "targets": self.targets,
            "one_hot": self.one_hot or None,
            **self._limits(),
        }
        return {key: value for key, value in parts.items() if value is not None}

    def _limits(self) -> dict[str, int]:
        limits = {"max_bytes": self.max_bytes, "max_cells": self.max_cells}
        return {name: value for name, value in limits.items() if value is not None}


@dataclass(frozen=True)
class FunctionSource:
    """What a function gives: MultiLabelData, or X and Y.

    Its ``random_state``, if it takes one and none is given, is 0: a set must stay the same.
    """

    function: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Call the function."""
        function = find(self.function)
        takes_seed = "random_state" in inspect.signature(function).parameters
        seed = {"random_state": 0} if takes_seed else {}
        return as_data(function(**{**seed, **self.params}))

    def missing(self, data_dir: Path | None) -> str:
        """Say why it cannot be called; empty if it can."""
        try:
            find(self.function)
        except ImportError as error:
            return str(error)
        return ""

    def definition(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"function": self.function, "params": describe(dict(self.params))}


@dataclass(frozen=True)
class GivenSource:
    """Data that are there already."""

    data: MultiLabelData

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Return the data."""
        return self.data

    def missing(self, data_dir: Path | None) -> str:
        """Nothing is missing."""
        return ""

    def definition(self) -> dict[str, Any]:
        """Return it as plain data, which cannot be loaded again."""
        return {"opaque": "given data", "hash": data_hash(self.data)}


def as_data(given: Any) -> MultiLabelData:
    """Turn X and Y into a data set.

    Parameters
    ----------
    given : MultiLabelData or (X, Y)
        X is an array, CSR or a pandas frame whose columns of category dtype are categorical.

    Returns
    -------
    MultiLabelData

    Examples
    --------
    >>> import numpy as np
    >>> as_data((np.zeros((2, 3)), np.array([[1, 0], [0, 1]]))).feature_names
    ('f0', 'f1', 'f2')
    """
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
    """Refuse data that do not fit together; sparse X becomes CSR, of whatever kind it was."""
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
    """Return the data under the name the study gives them."""
    return replace(data, name=name)


def data_hash(data: MultiLabelData) -> str:
    """Return the SHA-256 of what a classifier sees of a set."""
    digest = hashlib.sha256()
    X = data.X
    for part in ([X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]) + [data.Y]:
        # The integers of a sparse matrix differ in width between machines, not in value.
        array = np.ascontiguousarray(part, dtype=np.int64 if part.dtype.kind in "iu" else None)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    digest.update(repr(sorted(data.categories.items())).encode())
    return digest.hexdigest()

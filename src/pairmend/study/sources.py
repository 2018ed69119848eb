"""Sets of a study, which are tables of study files or data; and the rows that workers receive."""

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pairmend._utils.sklearn_private import Interval, validate_parameter_constraints
from pairmend._utils.training import check_indicators
from pairmend.datasets import MultiLabelData, ReadLimits, load, load_file, one_hot
from pairmend.datasets.data import subset
from pairmend.datasets.named_sets import CatalogueEntry, find_entry, is_available
from pairmend.study.objects import find, own_file

KEYS: dict[str, Any] = {
    "catalogue": {"catalogue": [str]},
    "file": {"file": [str], "xml": [str], "labels": [list, Integral], "threshold": [Real]}
    | {"max_bytes": [Integral], "max_cells": [Integral]},
    "function": {"function": [str], "params": [dict]},
}
"""What is allowed in a table, by the key that determines its kind."""
KEYS_OF_ALL: dict[str, list[Any]] = {
    "rows": [Interval(Integral, 1, None, closed="left")],
    "one_hot": ["boolean"],
}


@dataclass(frozen=True)
class Source:
    """Where a set comes from: a table as in study files, or given data."""

    table: Mapping[str, Any]
    data: MultiLabelData | None = None
    most_rows: int | None = None

    @classmethod
    def of(cls, name: str, given: Any, folder: Path = Path()) -> "Source":
        """Return the source of a table, whose paths start from a folder, or of data."""
        if isinstance(given, Source):
            return given
        if not isinstance(given, Mapping):
            data = replace(as_data(given), name=name)
            return cls({"given": data_hash(data)}, data)
        place = f"sets.{name}"
        kind = next((kind for kind in KEYS if kind in given), "catalogue")
        allowed = {**KEYS[kind], **KEYS_OF_ALL}
        if unknown := sorted(set(given) - set(allowed)):
            raise ValueError(f"{place} has unknown keys {unknown}; expected {', '.join(allowed)}")
        validate_parameter_constraints(allowed, dict(given), caller_name=place)
        table = {key: value for key, value in given.items() if value is not False}
        if kind == "catalogue":
            table["catalogue"] = find_entry(given.get("catalogue", name)).name
        for key in {"file", "xml"} & set(table):
            table[key] = str((folder / table[key]).absolute())
        return cls(table)

    @property
    def entry(self) -> CatalogueEntry | None:
        """The entry in the catalogue, if it is one of its sets."""
        return find_entry(self.table["catalogue"]) if "catalogue" in self.table else None

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Load the set."""
        table, data = self.table, self.data
        if "catalogue" in table:
            data = load(table["catalogue"], data_dir, download=download)
        elif "file" in table:
            limits = {key: table[key] for key in ("max_bytes", "max_cells") if key in table}
            labels = table.get("xml", table.get("labels"))
            data = load_file(
                table["file"], labels, threshold=table.get("threshold"), limits=ReadLimits(**limits)
            )
        elif "function" in table:
            function = find(table["function"])
            takes_seed = "random_state" in inspect.signature(function).parameters
            seed = {"random_state": 0} if takes_seed else {}
            data = function(**{**seed, **table.get("params", {})})
        data = as_data(data)
        data = subset(data, table["rows"], seed=0) if "rows" in table else data
        if self.most_rows is not None and self.most_rows < len(data.Y):
            data = subset(data, self.most_rows, seed=0)
        return one_hot(data) if table.get("one_hot") else data

    def missing(self, data_dir: Path | None) -> str:
        """Return why the set cannot be loaded without network, empty if it can."""
        if self.entry:
            if self.entry.status == "not found":
                return "no public copy was found"
            return "" if is_available(self.entry.name, data_dir) else "its files are missing"
        try:
            absent = [str(path) for path in self.files().values() if not path.is_file()]
        except ImportError as error:
            return str(error)
        return f"there is no file {' and no '.join(absent)}" if absent else ""

    def files(self) -> dict[str, Path]:
        """Return the files of the user's own that the contents of the set depend on, by name."""
        paths = [Path(self.table[key]) for key in ("file", "xml") if key in self.table]
        if "function" in self.table:
            path = own_file(getattr(find(self.table["function"]), "__module__", ""))
            paths += [path] if path else []
        return {path.name: path for path in paths}


def as_data(given: Any) -> MultiLabelData:
    """Return X (array, sparse or pandas frame) and Y as a data set."""
    if not isinstance(given, MultiLabelData):
        try:
            X, target = given
        except (TypeError, ValueError):
            raise TypeError(
                f"a set must be MultiLabelData or a pair of X and Y, got {type(given).__name__}"
            ) from None
        given = _paired(X, target)
    # Without a copy if it is CSR.
    X = sparse.csr_array(given.X) if sparse.issparse(given.X) else given.X
    if X.ndim != 2 or X.shape[0] != len(given.Y):
        raise ValueError(f"X must have a row for each of the {len(given.Y)} of Y, got {X.shape}")
    return replace(given, X=X)


def _paired(X: Any, target: Any) -> MultiLabelData:
    Y, categories = check_indicators(target).astype(np.int64), {}
    names = getattr(X, "columns", None)
    if names is not None:
        columns = [column for _, column in X.items()]
        for place, column in enumerate(columns):
            if column.dtype.name == "category":
                categories[place] = tuple(map(str, column.cat.categories))
                columns[place] = column.cat.codes.replace(-1, np.nan)
        X = np.column_stack([column.to_numpy(dtype=np.float64) for column in columns])
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=np.float64)
    features = (f"f{i}" for i in range(X.shape[-1])) if names is None else map(str, names)
    labels = map(str, getattr(target, "columns", range(Y.shape[1])))
    return MultiLabelData(X, Y, tuple(features), tuple(labels), categories, name="", source=())


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


class Rows(NamedTuple):
    """X (a frame if features are categorical), Y, and the fold of each row in each repeat."""

    X: Any
    Y: Any
    fold_of: Any

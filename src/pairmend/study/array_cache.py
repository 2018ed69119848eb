"""Cache of datasets on disk, which all worker processes map into memory."""

import errno
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pairmend._utils.typing import IntArray
from pairmend.datasets import MultiLabelData


class ArrayCache:
    """Folder of sets as plain arrays, which is emptied first and removed by `clear`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clear()
        folder.mkdir(exist_ok=True)

    def put(self, data: MultiLabelData, fold_of: IntArray) -> Path:
        """Write a set and its fold numbers, of shape (n, n_repeats), and return their folder."""
        try:
            # A new name: Windows does not remove files that a process of an earlier run maps.
            folder = Path(tempfile.mkdtemp(dir=self.folder))
            self._write(data, fold_of, folder)
        except OSError as error:
            raise _write_error(error, data, self.folder) from error
        return folder

    def _write(self, data: MultiLabelData, fold_of: IntArray, folder: Path) -> None:
        np.save(folder / "Y.npy", data.Y)
        np.save(folder / "fold_of.npy", fold_of)
        if sparse.issparse(data.X):
            for part in ("data", "indices", "indptr"):
                np.save(folder / f"{part}.npy", getattr(data.X, part))
        else:
            np.save(folder / "X.npy", data.X)
        about = {
            "shape": data.X.shape,
            "categories": list(data.categories.items()),
            "feature_names": data.feature_names,
        }
        (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")

    def clear(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _write_error(error: OSError, data: MultiLabelData, cache: Path) -> OSError:
    """Return an error that names the set, and the space needed if the disk is full."""
    arrays = (
        [data.X.data, data.X.indices, data.X.indptr] if sparse.issparse(data.X) else [data.X]
    ) + [data.Y]
    needed, free = sum(array.nbytes for array in arrays), shutil.disk_usage(cache).free
    # numpy's error has no errno when only a part could be written.
    full = error.errno in (errno.ENOSPC, errno.EDQUOT) or (error.errno is None and free < needed)
    reason = (
        f"the disk is full: {needed / 1e6:.1f} MB are needed, {free / 1e6:.1f} MB are free"
        if full
        else str(error)
    )
    return OSError(
        f"cannot write the set {data.name!r} to {cache}: {reason}. Finished tasks are "
        "stored. Remove the cause or choose another folder, and run the study again to continue."
    )


class CachedSource:
    """Source of a set that is in the cache, in the study that is sent to workers."""

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Raise an error: workers use `open_cached_set`."""
        raise ValueError("this set is in the cache; open it with open_cached_set")

    def missing(self, data_dir: Path | None) -> str:
        """Nothing is missing."""
        return ""

    def files(self) -> list[Path]:
        """Return no files."""
        return []

    def definition(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"opaque": "cached set"}


class CachedSet(NamedTuple):
    """A set of the cache: X (a frame if features are categorical), Y, and the fold of each row."""

    X: Any
    Y: Any
    fold_of: Any


def open_cached_set(folder: Path) -> CachedSet:
    """Map a set of the cache into memory."""

    def array(part: str) -> Any:
        return np.load(folder / f"{part}.npy", mmap_mode="r", allow_pickle=False)

    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    Y = array("Y")
    if (folder / "X.npy").exists():
        X: Any = array("X")
    else:
        parts = (array("data"), array("indices"), array("indptr"))
        X = sparse.csr_array(parts, shape=tuple(about["shape"]), copy=False)
    categories = {feature: tuple(values) for feature, values in about["categories"]}
    if categories:
        features, labels = tuple(about["feature_names"]), tuple(map(str, range(Y.shape[1])))
        X = MultiLabelData(X, Y, features, labels, categories, "", ()).to_pandas()[0]
    return CachedSet(X, Y, array("fold_of"))

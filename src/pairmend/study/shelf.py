"""A shelf of data sets on disk, from which all workers read the same memory."""

import errno
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pairmend._utils.typing import IntArray
from pairmend.datasets import MultiLabelData


class Shelf:
    """Keeps sets as plain arrays that are mapped into memory, not copied.

    Parameters
    ----------
    folder : Path
        Is emptied when the shelf is made, and removed by `clear`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clear()
        folder.mkdir()
        self._n_sets = 0

    def put(self, data: MultiLabelData, fold_of: IntArray) -> Path:
        """Put a set on the shelf and return its place.

        Parameters
        ----------
        data : MultiLabelData
            The set.
        fold_of : ndarray of int, shape (n, n_repeats)
            The fold each row is tested in, in each repeat.

        Returns
        -------
        Path
        """
        place = self.folder / str(self._n_sets)
        self._n_sets += 1
        try:
            self._write(data, fold_of, place)
        except OSError as error:
            raise _explained(error, data, place) from error
        return place

    def _write(self, data: MultiLabelData, fold_of: IntArray, place: Path) -> None:
        place.mkdir()
        np.save(place / "Y.npy", data.Y)
        np.save(place / "fold_of.npy", fold_of)
        if sparse.issparse(data.X):
            for part in ("data", "indices", "indptr"):
                np.save(place / f"{part}.npy", getattr(data.X, part))
        else:
            np.save(place / "X.npy", data.X)
        about = {
            "shape": data.X.shape,
            "categories": list(data.categories.items()),
            "feature_names": data.feature_names,
        }
        (place / "about.json").write_text(json.dumps(about), encoding="utf-8")

    def clear(self) -> None:
        """Take everything off the shelf, and the shelf away."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _explained(error: OSError, data: MultiLabelData, place: Path) -> OSError:
    """Return an error that names the set, and the disk if it is full."""
    arrays = (
        [data.X.data, data.X.indices, data.X.indptr] if sparse.issparse(data.X) else [data.X]
    ) + [data.Y]
    needed, free = sum(array.nbytes for array in arrays), shutil.disk_usage(place.parent).free
    # numpy does not pass on why not all could be written.
    full = error.errno in (errno.ENOSPC, errno.EDQUOT) or (error.errno is None and free < needed)
    reason = (
        f"the disk is full: {needed / 1e6:.1f} MB are needed, {free / 1e6:.1f} MB are free"
        if full
        else str(error)
    )
    return OSError(
        f"cannot write the set {data.name!r} to {place.parent}: {reason}. What was finished "
        "before is kept; mend the cause or choose another folder, and start again to go on."
    )


class OnShelf:
    """The source of a set that lies on the shelf already: all that a worker needs to know."""

    def load(self, data_dir: Path | None, download: bool) -> MultiLabelData:
        """Refuse: workers open sets by their place."""
        raise ValueError("this set lies on a shelf; open it with open_set")

    def missing(self, data_dir: Path | None) -> str:
        """Nothing is missing."""
        return ""

    def definition(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"opaque": "on the shelf"}


class ShelvedSet(NamedTuple):
    """A set as it lies on the shelf: X, a frame if features are categorical, Y, and the folds."""

    X: Any
    Y: Any
    fold_of: Any


def open_set(place: Path) -> ShelvedSet:
    """Return a set on the shelf."""

    def array(part: str) -> Any:
        return np.load(place / f"{part}.npy", mmap_mode="r", allow_pickle=False)

    about = json.loads((place / "about.json").read_text(encoding="utf-8"))
    Y = array("Y")
    if (place / "X.npy").exists():
        X: Any = array("X")
    else:
        parts = (array("data"), array("indices"), array("indptr"))
        X = sparse.csr_array(parts, shape=tuple(about["shape"]), copy=False)
    categories = {feature: tuple(values) for feature, values in about["categories"]}
    if categories:
        features, labels = tuple(about["feature_names"]), tuple(map(str, range(Y.shape[1])))
        X = MultiLabelData(X, Y, features, labels, categories, "", ()).to_pandas()[0]
    return ShelvedSet(X, Y, array("fold_of"))

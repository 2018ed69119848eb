"""A shelf of data sets on disk, from which all workers read the same memory."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

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

    def put(self, data: MultiLabelData) -> Path:
        """Put a set on the shelf and return its place."""
        place = self.folder / str(self._n_sets)
        self._n_sets += 1
        place.mkdir()
        np.save(place / "Y.npy", data.Y)
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
        return place

    def clear(self) -> None:
        """Take everything off the shelf, and the shelf away."""
        shutil.rmtree(self.folder, ignore_errors=True)


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


def open_set(place: Path) -> tuple[Any, Any]:
    """Return X and Y of a set on the shelf; a set with categorical features is a frame."""

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
    return X, Y

"""Reading multi-instance multi-label data from MATLAB files."""

from pathlib import Path

import numpy as np
from scipy.io import loadmat

from pairmend.datasets.data import MultiLabelData


def load_miml(path: str | Path, *, name: str | None = None) -> MultiLabelData:
    """Read bags of instances and flatten them, a bag a row.

    Parameters
    ----------
    path : path
        A MATLAB file with the cell array ``bags``, of matrices of one size, instances in
        rows, and the matrix ``targets`` of -1 and 1, labels in rows. ``class_name``, if
        there, names the labels.
    name : str, default=None
        Name of the set; the stem of the file if None.

    Returns
    -------
    MultiLabelData
    """
    path = Path(path)
    content = loadmat(path)
    if missing := {"bags", "targets"} - set(content):
        raise ValueError(f"{path}: lacks the variables {sorted(missing)}")
    bags = list(content["bags"].ravel())
    if len(shapes := {bag.shape for bag in bags}) != 1:
        raise ValueError(f"{path}: bags of different sizes cannot be flattened: {sorted(shapes)}")
    targets = content["targets"]
    if targets.shape[1] != len(bags):
        raise ValueError(f"{path}: {len(bags)} bags, but targets for {targets.shape[1]}")
    n_labels = targets.shape[0]
    names = [str(cell.item()) for cell in content.get("class_name", np.empty(0)).ravel()]
    n_instances, n_numbers = bags[0].shape
    return MultiLabelData(
        X=np.array([bag.ravel() for bag in bags], dtype=np.float64),
        Y=(targets.T == 1).astype(np.int64),
        feature_names=tuple(f"i{i}_{f}" for i in range(n_instances) for f in range(n_numbers)),
        label_names=tuple(names if len(names) == n_labels else map(str, range(n_labels))),
        categories={},
        name=name or path.stem,
        source=(path,),
    )

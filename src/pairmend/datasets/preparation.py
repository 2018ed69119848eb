"""Preparing data sets as the study needs them."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from pairmend.datasets.data import MultiLabelData


def one_hot(data: MultiLabelData) -> MultiLabelData:
    """Replace categorical features by one 0/1 column for each declared value.

    A feature with at most two values stays one column. A missing value is 0 in all columns of
    its feature, and stays missing where there is one.

    Parameters
    ----------
    data : MultiLabelData
        With dense X.

    Returns
    -------
    MultiLabelData
        The same set without categorical features.
    """
    if sparse.issparse(data.X):
        raise ValueError(f"{data.name}: one-hot encoding is for dense data")
    columns, names = [], []
    for f, feature in enumerate(data.feature_names):
        values = data.categories.get(f, ())
        if len(values) <= 2:
            columns.append(data.X[:, f])
            names.append(feature)
        else:
            columns += [data.X[:, f] == code for code in range(len(values))]
            names += [f"{feature}={value}" for value in values]
    X = np.column_stack(columns).astype(np.float64)
    return replace(data, X=X, feature_names=tuple(names), categories={})

"""Characteristics of a dataset: cardinality, density, imbalance, concurrence, missing values."""

import math
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.typing import FloatArray, IntArray
from pairmend.datasets.data import MultiLabelData


def characteristics(data: MultiLabelData) -> dict[str, int | float]:
    """Compute the characteristics of a set.

    Parameters
    ----------
    data : MultiLabelData
        The set.

    Returns
    -------
    dict
        By name, ints where counted and floats otherwise:

        - ``N``: rows. ``d``: features *and* labels, as the paper counts. ``L``: labels.
        - ``LC``: label cardinality, the mean number of labels per row. ``LD``: label density,
          LC / L.
        - ``avIR``: mean imbalance of the labels: rows of the most frequent label by those of a
          label, 0 for a label that never occurs [1]_.
        - ``AVsc``: SCUMBLE, the mean over rows of one minus the geometric by the arithmetic mean
          of the imbalances of the row's labels [2]_.
        - ``label_sets``: number of distinct label sets, the empty one included.
        - ``TCS``: theoretical complexity score, the natural logarithm of features times labels
          times distinct label sets [3]_; -inf for a set without features.
        - ``X_density``: share of the cells of a sparse X that are not zero; 1 for a dense X.
          ``missing``: number of cells of X that are NaN.

    References
    ----------
    .. [1] Charte, Rivera, del Jesus and Herrera (2015): Addressing imbalance in multilabel
       classification: measures and random resampling algorithms. Neurocomputing 163, 3-16.
    .. [2] Charte, Rivera, del Jesus and Herrera (2014): Concurrence among imbalanced labels and
       its influence on multilabel resampling algorithms. HAIS 2014, 110-121.
    .. [3] Charte, Rivera, del Jesus and Herrera (2016): On the impact of dataset complexity and
       sampling strategy in multilabel classifiers performance. LNCS 9648; computed as in
       the R package mldr.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import MultiLabelData, characteristics
    >>> X = np.array([[0.1, 2.0], [0.3, np.nan], [0.2, 1.0], [0.9, 0.0]])
    >>> Y = np.array([[1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 0, 0]])
    >>> found = characteristics(MultiLabelData(X, Y, (), (), {}, "photos", ()))
    >>> [found[name] for name in ("N", "d", "L", "LC", "label_sets", "avIR", "missing")]
    [4, 5, 3, 1.5, 3, 3.0, 1]
    """
    X, labels, is_sparse = data.X, data.Y, sparse.issparse(data.X)
    (n_rows, n_labels), n_features = labels.shape, X.shape[1]
    cardinality, imbalance = float(labels.sum() / n_rows), _imbalance(labels)
    # Eight labels in a byte: sets of hundreds of labels are sorted several times faster.
    n_sets = len(np.unique(np.packbits(labels.astype(bool), axis=1), axis=0))
    complexity = n_features * n_labels * n_sets
    return {
        "N": n_rows,
        "d": n_features + n_labels,
        "L": n_labels,
        "LC": cardinality,
        "LD": cardinality / n_labels,
        "avIR": float(imbalance.mean()),
        "AVsc": float(_row_concurrence(labels, imbalance).mean()),
        "label_sets": n_sets,
        "TCS": math.log(complexity) if complexity else -math.inf,
        "X_density": X.copy().count_nonzero() / max(1, n_rows * n_features) if is_sparse else 1.0,
        "missing": int(np.isnan(X.data if is_sparse else X).sum()),
    }


def describe(data: MultiLabelData) -> dict[str, Any]:
    """Describe a set: its characteristics, labels, and labels that occur together.

    Parameters
    ----------
    data : MultiLabelData
        The set.

    Returns
    -------
    dict of DataFrame
        - ``characteristics``: value of each of the :func:`characteristics`.
        - ``labels``: a row for each label, the most frequent first: the rows that have it, their
          share, the imbalance (rows of the most frequent label by its own) and the concurrence
          (SCUMBLE of the label [1]_).
        - ``labels_per_row``: number of rows with 0, 1, 2, ... labels.
        - ``co_occurrence``: number of rows that have both labels; the diagonal holds those of
          single labels.

    References
    ----------
    .. [1] Charte, Rivera, del Jesus and Herrera (2019): Dealing with difficult minority labels in
       imbalanced mutilabel data sets. Neurocomputing 326-327, 39-53.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import MultiLabelData, describe
    >>> data = MultiLabelData(
    ...     X=np.array([[0.5], [1.5], [2.5]]), Y=np.array([[1, 0], [1, 1], [0, 0]]),
    ...     feature_names=("size",), label_names=("sea", "sun"), categories={}, name="photos",
    ...     source=(),
    ... )
    >>> describe(data)["labels"][["rows", "imbalance"]]
           rows  imbalance
    label
    sea       2        1.0
    sun       1        2.0
    """
    import pandas as pd

    names = pd.Index(data.label_names, name="label")
    labels = sparse.csr_array(data.Y, dtype=np.int64)  # most of Y is 0 with many labels
    rows = data.Y.sum(axis=0)
    imbalance = _imbalance(data.Y)
    columns = {
        "rows": rows,
        "share": rows / len(data.Y),
        "imbalance": imbalance,
        "concurrence": (_row_concurrence(data.Y, imbalance) @ data.Y) / np.maximum(rows, 1),
    }
    per_row = pd.DataFrame({"rows": np.bincount(data.Y.sum(axis=1))})
    frame = pd.DataFrame(columns, index=names).sort_values("rows", ascending=False, kind="stable")
    return {
        "characteristics": pd.Series(characteristics(data), dtype=object).to_frame("value"),
        "labels": frame,
        "labels_per_row": per_row.rename_axis("labels"),
        "co_occurrence": pd.DataFrame((labels.T @ labels).toarray(), index=names, columns=names),
    }


def _imbalance(labels: IntArray) -> FloatArray:
    """Divide the largest label count by each label's own (IRLbl, Charte et al. 2015).

    A label that never occurs has 0, not infinity, so that a mean over labels exists; avIR includes
    that 0, as in the study.
    """
    counts = labels.sum(axis=0)
    return np.divide(np.max(counts), counts, out=np.zeros(len(counts)), where=counts > 0)


def _row_concurrence(labels: IntArray, imbalance: FloatArray) -> FloatArray:
    """Return SCUMBLE of each row: how far frequent and rare labels occur together in it.

    One minus the geometric by the arithmetic mean of the imbalances of the row's labels: 0 where
    all are equally frequent or the row has no labels, towards 1 where a very rare label occurs
    with a very frequent one. The mean over rows is AVsc (Charte et al. 2014).
    """
    # A label that never occurs is in no row, so its logarithm is not used; 1 avoids a warning.
    logarithm = np.log(np.where(imbalance > 0, imbalance, 1.0))
    per_row = labels.sum(axis=1)
    divisor = np.maximum(per_row, 1)
    geometric = np.exp(labels @ logarithm / divisor)
    arithmetic = labels @ imbalance / divisor
    ratio = np.divide(geometric, arithmetic, out=np.ones(len(labels)), where=per_row > 1)
    # Without clip, rounding could make a row of equally frequent labels slightly negative.
    return np.clip(1 - ratio, 0.0, 1.0)

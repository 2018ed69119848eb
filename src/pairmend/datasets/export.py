"""From a dataset to the content of an ARFF file."""

from collections import Counter

import numpy as np
from scipy import sparse

from pairmend._utils.typing import Matrix
from pairmend.datasets.arff import ArffAttribute, ArffFile
from pairmend.datasets.data import MultiLabelData

LABEL_VALUES = ("0", "1")


def as_arff(
    data: MultiLabelData, *, labels_first: bool = False, relation: str | None = None
) -> ArffFile:
    """Turn a data set into the content of an ARFF file; None keeps the name of the set."""
    features = [
        ArffAttribute(name, "nominal", values=data.categories[f])
        if f in data.categories
        else ArffAttribute(name, "numeric")
        for f, name in enumerate(data.feature_names)
    ]
    labels = [ArffAttribute(name, "nominal", values=LABEL_VALUES) for name in data.label_names]
    for names in (data.feature_names, data.label_names):
        if len(set(names)) != len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise ValueError(f"{data.name}: two columns are named {twice!r}; rename one of them")
    if shared := set(data.feature_names) & set(data.label_names):
        raise ValueError(f"{data.name}: features and labels share the names {sorted(shared)}")
    order = (labels, features) if labels_first else (features, labels)
    matrices = (data.Y, data.X) if labels_first else (data.X, data.Y)
    cells: Matrix
    if sparse.issparse(data.X):
        cells = sparse.hstack([sparse.csr_array(m) for m in matrices], format="csr")
        cells.sum_duplicates()
    else:
        cells = np.hstack(matrices)
    attributes = (*order[0], *order[1])
    return ArffFile(data.name if relation is None else relation, attributes, cells, data.weights)

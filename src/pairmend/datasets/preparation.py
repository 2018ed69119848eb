"""Columns of a table as labels."""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from pairmend._utils.typing import FloatArray, Matrix
from pairmend.datasets.data import (
    MultiLabelData,
    column_values,
    drop_features,
    quoted,
    source_name,
)
from pairmend.datasets.label_columns import indicators, label_error
from pairmend.datasets.warning import ReadWarning


def take_labels(data: MultiLabelData, names: Sequence[str]) -> MultiLabelData:
    """Turn features into labels, in addition to the labels of the set.

    Cells are 0 and 1, or texts that stand for them. Empty cells of a text column are 0 if all its
    other cells stand for 1, as x does.
    """
    places = {name: place for place, name in enumerate(data.feature_names)}
    if missing := [name for name in names if name not in places]:
        raise ValueError(
            f"{source_name(data)} has no columns named {quoted(missing)}; it has "
            f"{quoted(data.feature_names)}"
        )
    if len(set(names)) != len(names):
        raise ValueError(f"{source_name(data)}: a label is named twice: {list(names)}")
    cells = data.X.tocsc() if sparse.issparse(data.X) else data.X
    columns = [_indicator(data, cells, places[name]) for name in names]
    if blank := [name for name, (_, is_blank) in zip(names, columns, strict=True) if is_blank]:
        warnings.warn(
            f"{source_name(data)}: empty cells of the labels {quoted(blank)} are read as 0, "
            "because their other cells all stand for 1",
            ReadWarning,
            stacklevel=2,
        )
    rest = drop_features(data, names)
    Y = np.column_stack([data.Y, *(column for column, _ in columns)]).astype(np.int64)
    return replace(rest, Y=Y, label_names=(*data.label_names, *names))


def _indicator(data: MultiLabelData, cells: Matrix, place: int) -> tuple[FloatArray, bool]:
    """Return a column as 0 and 1, and whether its empty cells are 0."""
    column, name = column_values(cells, place), data.feature_names[place]
    values = data.categories.get(place)
    if values is not None:
        return indicators(column, values, source_name(data), name)
    wrong = np.flatnonzero(~np.isin(column, (0, 1)))
    if len(wrong):
        raise ValueError(label_error(source_name(data), name, column, None, int(wrong[0])))
    return column, False

"""Preparing datasets: one-hot, selection of rows, features and labels."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy import sparse

from pairmend._utils.text import counted
from pairmend._utils.typing import FloatArray, Matrix
from pairmend.datasets.assembly import column_values
from pairmend.datasets.data import MultiLabelData, source_name
from pairmend.datasets.label_columns import indicators, label_error
from pairmend.datasets.warning import ReadWarning


def one_hot(
    data: MultiLabelData, *, values: Literal["declared", "occurring"] = "declared"
) -> MultiLabelData:
    """Replace categorical features by a 0/1 column for each value.

    Parameters
    ----------
    data : MultiLabelData
        The set.
    values : {"declared", "occurring"}, default="declared"
        "declared" gives values that never occur a column, too; "occurring" does not.

    Returns
    -------
    MultiLabelData
        Without categorical features. One with two values becomes one column, 1 for the second,
        in which a missing value stays missing; in the columns of others it is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import MultiLabelData, one_hot
    >>> data = MultiLabelData(
    ...     X=np.array([[0.5, 0.0], [np.nan, 2.0], [2.5, 0.0]]),
    ...     Y=np.array([[1, 0], [1, 1], [1, 0]]),
    ...     feature_names=("size", "hue"), label_names=("sea", "sun"),
    ...     categories={1: ("blue", "green", "red")}, name="photos", source=(),
    ... )
    >>> one_hot(data).feature_names
    ('size', 'hue=blue', 'hue=green', 'hue=red')
    >>> one_hot(data, values="occurring").feature_names
    ('size', 'hue')
    """
    if values not in ("declared", "occurring"):
        raise ValueError(f"values must be 'declared' or 'occurring', got {values!r}")
    if not data.feature_names:
        return data
    cells = data.X.tocsc() if sparse.issparse(data.X) else data.X
    columns: list[Any] = []
    names: list[str] = []
    as_they_are: list[int] = []

    def flush() -> None:
        if as_they_are:
            columns.append(cells[:, as_they_are])
            as_they_are.clear()

    for f, feature in enumerate(data.feature_names):
        declared = data.categories.get(f, ())
        if len(declared) <= 2:
            as_they_are.append(f)
            names.append(feature)
            continue
        flush()
        column = column_values(cells, f)
        codes = list(range(len(declared)))
        if values == "occurring":
            codes = np.unique(column[~np.isnan(column)]).astype(int).tolist()
        if len(codes) <= 2:
            second = np.where(np.isnan(column), np.nan, column == max(codes, default=0))
            columns.append(second[:, np.newaxis])
            names.append(feature)
        else:
            columns += [(column == code)[:, np.newaxis].astype(float) for code in codes]
            names += [f"{feature}={declared[code]}" for code in codes]
    flush()
    X: Matrix
    if sparse.issparse(data.X):
        X = sparse.hstack([sparse.csr_array(column) for column in columns], format="csr")
    else:
        X = np.hstack(columns)
    return replace(data, X=X, feature_names=tuple(names), categories={})


def drop_features(data: MultiLabelData, names: Sequence[str]) -> MultiLabelData:
    """Remove features."""
    if missing := [name for name in names if name not in set(data.feature_names)]:
        raise ValueError(
            f"{data.name} has no features named {_quoted(missing)}; it has "
            f"{_quoted(data.feature_names)}"
        )
    left_out = set(names)
    kept = [f for f, name in enumerate(data.feature_names) if name not in left_out]
    if not kept:
        raise ValueError(
            f"{source_name(data)} would be left without any feature; keep or add a column that is "
            "neither a label nor a list of tags"
        )
    return replace(
        data,
        X=data.X[:, kept],
        feature_names=tuple(data.feature_names[f] for f in kept),
        categories={
            place: data.categories[f] for place, f in enumerate(kept) if f in data.categories
        },
    )


def take_labels(data: MultiLabelData, names: Sequence[str]) -> MultiLabelData:
    """Turn features into labels, in addition to the labels of the set.

    Cells are 0 and 1, or texts that stand for them. Empty cells of a text column are 0 if all its
    other cells stand for 1, as x does.
    """
    places = {name: place for place, name in enumerate(data.feature_names)}
    if missing := [name for name in names if name not in places]:
        raise ValueError(
            f"{source_name(data)} has no columns named {_quoted(missing)}; it has "
            f"{_quoted(data.feature_names)}"
        )
    if len(set(names)) != len(names):
        raise ValueError(f"{source_name(data)}: a label is named twice: {list(names)}")
    cells = data.X.tocsc() if sparse.issparse(data.X) else data.X
    columns = [_indicator(data, cells, places[name]) for name in names]
    if blank := [name for name, (_, is_blank) in zip(names, columns, strict=True) if is_blank]:
        warnings.warn(
            f"{source_name(data)}: empty cells of the labels {_quoted(blank)} are read as 0, "
            "because their other cells all stand for 1",
            ReadWarning,
            stacklevel=2,
        )
    rest = drop_features(data, names)
    Y = np.column_stack([data.Y, *(column for column, _ in columns)]).astype(np.int64)
    return replace(rest, Y=Y, label_names=(*data.label_names, *names))


def _quoted(names: Sequence[str]) -> str:
    """List up to ten names."""
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")


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


def subset(data: MultiLabelData, size: float | int, *, seed: int) -> MultiLabelData:
    """Select a random part of the rows.

    Parameters
    ----------
    data : MultiLabelData
        The set.
    size : float or int
        A share of the rows in (0, 1), rounded, or their number.
    seed : int
        Seed of the random choice; the rows keep their order.

    Returns
    -------
    MultiLabelData

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import MultiLabelData, subset
    >>> data = MultiLabelData(
    ...     X=np.array([[0.5, 0.0], [np.nan, 2.0], [2.5, 0.0]]),
    ...     Y=np.array([[1, 0], [1, 1], [1, 0]]),
    ...     feature_names=("size", "hue"), label_names=("sea", "sun"),
    ...     categories={1: ("blue", "green", "red")}, name="photos", source=(),
    ... )
    >>> subset(data, 2, seed=0).Y.tolist()
    [[1, 1], [1, 0]]
    """
    n_rows = len(data.Y)
    if not isinstance(size, Integral) and not 0 < size < 1:
        raise ValueError(f"size must be a share between 0 and 1 or a number of rows, got {size}")
    n_kept = int(size) if isinstance(size, Integral) else int(np.floor(size * n_rows + 0.5))
    if not 0 < n_kept <= n_rows:
        raise ValueError(f"{data.name} has {counted(n_rows, 'row')}; cannot take {n_kept} of them")
    rows = np.sort(np.random.RandomState(seed).permutation(n_rows)[:n_kept])
    weights = None if data.weights is None else data.weights[rows]
    return replace(data, X=data.X[rows], Y=data.Y[rows], weights=weights)

"""MultiLabelData, which every reader returns, and what is done with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from pairmend._utils.text import counted
from pairmend._utils.typing import FloatArray, IntArray, Matrix


@dataclass(frozen=True)
class MultiLabelData:
    """A multi-label data set.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, d)
        Features. Categorical ones hold the number of their value in `categories`; a missing
        value is NaN.
    Y : ndarray of int, shape (n, L)
        Label indicators.
    feature_names, label_names : tuple of str
        Names of the columns of X and Y.
    categories : dict
        Values of the categorical features by feature number.
    name : str
        Name of the set.
    source : tuple of Path
        Files it was read from.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import MultiLabelData
    >>> data = MultiLabelData(
    ...     X=np.array([[0.5, 1.0], [1.5, 0.0]]), Y=np.array([[1, 0], [1, 1]]),
    ...     feature_names=("size", "hue"), label_names=("sea", "sun"),
    ...     categories={1: ("blue", "red")}, name="photos", source=(),
    ... )
    >>> X, Y = data.to_pandas()
    >>> X.hue.tolist()
    ['red', 'blue']
    """

    X: Any
    Y: IntArray
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    categories: dict[int, tuple[str, ...]]
    name: str
    source: tuple[Path, ...]

    def to_pandas(self) -> tuple[Any, Any]:
        """Return X and Y as pandas frames, categorical features of category dtype.

        Returns
        -------
        X, Y : DataFrame

        Examples
        --------
        >>> from pairmend.datasets import make_shapes
        >>> X, Y = make_shapes(5, n_labels=2, random_state=0).to_pandas()
        >>> Y.columns.tolist()
        ['label_0', 'label_1']
        """
        import pandas as pd

        dense = self.X if isinstance(self.X, np.ndarray) else self.X.toarray()
        X = pd.DataFrame(
            {
                f: pd.Categorical.from_codes(
                    np.nan_to_num(column, nan=-1).astype(int), categories=self.categories[f]
                )
                if f in self.categories
                else column
                for f, column in enumerate(dense.T)
            },
            index=range(len(self.Y)),
        )
        X.columns = list(self.feature_names)
        return X, pd.DataFrame(self.Y, columns=list(self.label_names))


def source_name(data: MultiLabelData) -> str:
    """Return the file of a set for messages, or its name if it was not read from a file."""
    return str(data.source[0]) if data.source else data.name


def check_finite(data: MultiLabelData) -> None:
    """Raise an error for an infinite cell."""
    cells = data.X if isinstance(data.X, np.ndarray) else data.X.data
    if np.isinf(cells).any():
        coo = sparse.coo_array(data.X)
        row, place = (axis[np.isinf(coo.data)][0] for axis in coo.coords)
        raise ValueError(
            f"{source_name(data)}: column {data.feature_names[place]!r} is infinite in row {row}; "
            "write a number there, or empty the cell if the value is missing"
        )


def column_values(cells: Matrix, column: int) -> FloatArray:
    """Return one column as a dense array, a copy."""
    values = cells[:, [column]]
    dense = values.toarray() if sparse.issparse(values) else values
    return np.array(dense, dtype=float).ravel()


def quoted(names: Sequence[str]) -> str:
    """List up to ten names, for messages."""
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")


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
    if max(map(len, data.categories.values()), default=0) <= 2:
        return replace(data, categories={})
    cells = data.X.tocsc() if sparse.issparse(data.X) else data.X
    columns: list[Any] = []
    names: list[str] = []
    for f, feature in enumerate(data.feature_names):
        declared = data.categories.get(f, ())
        if len(declared) <= 2:
            columns.append(cells[:, [f]])
            names.append(feature)
            continue
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
    if sparse.issparse(data.X):
        X: Matrix = sparse.hstack([sparse.csr_array(column) for column in columns], format="csr")
    else:
        X = np.hstack(columns)
    return replace(data, X=X, feature_names=tuple(names), categories={})


def set_name(path: Path) -> str:
    """Name a set after its file."""
    return path.name.split(".")[0]


def all_features(
    path: Path, X: Matrix, names: Sequence[str], categories: dict[int, tuple[str, ...]]
) -> MultiLabelData:
    """Return the columns of a file as a set without labels."""
    Y = np.empty((X.shape[0], 0), dtype=np.int64)
    return MultiLabelData(X, Y, tuple(names), (), categories, set_name(path), (path,))


def places_of(data: MultiLabelData, names: Sequence[str]) -> list[int]:
    """Return the places of features."""
    places = {name: place for place, name in enumerate(data.feature_names)}
    if missing := [name for name in names if name not in places]:
        raise ValueError(
            f"{source_name(data)} has no columns named {quoted(missing)}; it has "
            f"{quoted(data.feature_names)}"
        )
    return [places[name] for name in names]


def drop_features(data: MultiLabelData, names: Sequence[str]) -> MultiLabelData:
    """Remove features."""
    dropped = set(places_of(data, names))
    kept = [f for f in range(len(data.feature_names)) if f not in dropped]
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


def subset(data: MultiLabelData, n_rows: int, *, seed: int) -> MultiLabelData:
    """Select rows at random; they keep their order."""
    if not 0 < n_rows <= len(data.Y):
        raise ValueError(
            f"{data.name} has {counted(len(data.Y), 'row')}; cannot take {n_rows} of them"
        )
    rows = np.sort(np.random.RandomState(seed).permutation(len(data.Y))[:n_rows])
    return replace(data, X=data.X[rows], Y=data.Y[rows])

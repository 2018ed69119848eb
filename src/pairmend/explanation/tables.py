"""Names and values of features, for frames of any library, arrays, sparse matrices and texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.arrays import TextTable, frame_columns, is_frame, is_pandas, is_texts
from pairmend._utils.text import is_missing
from pairmend._utils.typing import MatrixLike
from pairmend.explanation.data import Value


def names_of(X: MatrixLike, given: Sequence[str] = ()) -> list[str]:
    """Return the names of features: those of a frame, else the given ones, else numbers."""
    if is_frame(X) or is_texts(X):
        return [str(name) for name in frame_columns(X if is_frame(X) else TextTable(X))]
    n_features = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 1
    names = [str(name) for name in given]
    return names if len(names) == n_features else [f"feature {k}" for k in range(n_features)]


def names_after(transformer: Any, names: Sequence[str]) -> list[str] | None:
    """Return the names of the columns that a transformer returns; None if it does not say."""
    for given in (np.array(names, dtype=object), None):
        try:
            return [str(name) for name in transformer.get_feature_names_out(given)]
        except (AttributeError, TypeError, ValueError):
            continue
    return None


def values_of(X: MatrixLike, given: Sequence[str] = ()) -> list[dict[str, Value]]:
    """Return the values of rows by feature; of sparse rows, those that are not 0 everywhere."""
    names = names_of(X, given)
    if is_pandas(X):
        columns = [X.iloc[:, place].tolist() for place in range(len(names))]
    elif is_frame(X):
        cells = X.to_dict(as_series=False) if hasattr(X, "to_series") else X.to_pydict()
        columns = list(cells.values())
    elif sparse.issparse(X):
        used = np.unique(X.nonzero()[1]).tolist()
        columns = X.tocsc()[:, used].toarray().T.tolist()
        names = [names[place] for place in used]
    else:
        is_matrix = not is_texts(X) and np.ndim(X) == 2
        columns = np.asarray(X).T.tolist() if is_matrix else [list(X)]
    values = zip(*([_value(cell) for cell in column] for column in columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]


def _value(cell: Any) -> Value:
    if is_missing(cell):
        return None
    return float(cell) if isinstance(cell, int | float) else str(cell)


def index_of(X: MatrixLike, row: int) -> int | str | None:
    """Return the index of a row of a pandas frame; None for other rows."""
    if not is_pandas(X):
        return None
    value = X.index[row]
    return int(value) if isinstance(value, int | np.integer) else str(value)


def with_texts(X: MatrixLike, place: int, texts: list[str]) -> MatrixLike:
    """Return rows with other texts in a column."""
    if is_texts(X):
        return texts
    if is_pandas(X):
        X = X.copy()
        X.isetitem(place, texts)
        return X
    if hasattr(X, "to_series"):
        series = X.to_series(place)
        return X.with_columns(type(series)(series.name, texts))
    return X.set_column(place, X.column_names[place], [texts])

"""Frames with categorical columns, as numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._typing import BoolArray, FloatArray, MatrixLike


def is_frame(X: MatrixLike) -> bool:
    """Tell whether X is a pandas frame, without importing pandas."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def has_categories(column: Any) -> bool:
    """Tell whether a frame's column is of pandas' category dtype."""
    return hasattr(column.dtype, "categories")


@dataclass(frozen=True)
class FrameEncoder:
    """Turns a frame into an array: numbers as they are, categories as their codes.

    Attributes
    ----------
    categories : tuple
        For each column the index of its categories, None for a column of numbers.
    """

    categories: tuple[Any, ...]

    def __getstate__(self) -> dict[str, Any]:
        # As arrays, which safe model files can hold; an index of pandas they cannot.
        return {"categories": tuple(c if c is None else c.to_numpy() for c in self.categories)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if any(values is not None for values in state["categories"]):
            import pandas as pd  # whoever learnt categories of a frame needs it to use them

            indices = tuple(v if v is None else pd.Index(v) for v in state["categories"])
            state = {"categories": indices}
        self.__dict__.update(state)

    @property
    def has_categories(self) -> bool:
        """Whether any column is categorical."""
        return any(categories is not None for categories in self.categories)

    @classmethod
    def learn(cls, X: MatrixLike, declared: BoolArray | None = None) -> "FrameEncoder":
        """Note the categories of a frame's columns.

        Parameters
        ----------
        X : DataFrame
            Columns of category dtype are categorical with all their declared categories.
        declared : ndarray of bool, shape (n_columns,), default=None
            Further columns to be taken as categorical, with the values they hold.
        """
        columns = (X.iloc[:, position] for position in range(X.shape[1]))
        if declared is None:
            declared = np.zeros(X.shape[1], dtype=bool)
        return cls(tuple(map(_categories, columns, declared)))

    def encode(self, X: MatrixLike, advice: str) -> FloatArray:
        """Encode a frame.

        Parameters
        ----------
        X : DataFrame
            With the columns of the one learnt from.
        advice : str
            What to do about a column that is neither numbers nor categories; ends the
            error message.

        Returns
        -------
        ndarray of shape (n, d)
            A missing value is NaN; a category that was not there when the categories were
            noted gets a code one beyond the last.
        """
        encoded = np.empty(X.shape)
        for position, categories in enumerate(self.categories):
            column = X.iloc[:, position]
            encoded[:, position] = (
                _numbers(column, advice) if categories is None else _codes(column, categories)
            )
        return encoded


def _categories(column: Any, declared: bool) -> Any:
    if has_categories(column):
        return column.cat.categories
    return column.dropna().astype("category").cat.categories if declared else None


def _codes(column: Any, categories: Any) -> FloatArray:
    codes = categories.get_indexer(column)
    missing = column.isna().to_numpy()
    return np.where(missing, np.nan, np.where(codes < 0, len(categories), codes))


def _numbers(column: Any, advice: str) -> FloatArray:
    if column.dtype.kind in "iufb":
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    values = column.to_numpy(dtype=object, na_value=np.nan)
    if column.dtype.kind == "O" and not any(isinstance(value, str) for value in values):
        try:
            return values.astype(float)
        except (TypeError, ValueError):
            pass
    raise ValueError(f"Column {column.name!r} holds {column.dtype}, not numbers. {advice}")


def pack_frame(frame: Any) -> dict[str, Any]:
    """Write a pandas frame, but for its index, as arrays.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.5, 2], "colour": pd.Categorical(["red", None])})
    >>> bool(unpack_frame(pack_frame(frame)).equals(frame))
    True
    """
    columns = [frame.iloc[:, number] for number in range(frame.shape[1])]
    kinds = [column.dtype if has_categories(column) else None for column in columns]
    return {
        "names": frame.columns.to_numpy(),
        "columns": [
            column.to_numpy() if kind is None else column.cat.codes.to_numpy()
            for column, kind in zip(columns, kinds, strict=True)
        ],
        "categories": [kind if kind is None else kind.categories.to_numpy() for kind in kinds],
        "ordered": [kind is not None and bool(kind.ordered) for kind in kinds],
    }


def unpack_frame(packed: dict[str, Any]) -> Any:
    """Return the frame that :func:`pack_frame` has written."""
    import pandas as pd  # whoever had a frame needs it to go on

    parts = zip(packed["columns"], packed["categories"], packed["ordered"], strict=True)
    columns = [
        values
        if categories is None
        else pd.Categorical.from_codes(values, categories=pd.Index(categories), ordered=ordered)
        for values, categories, ordered in parts
    ]
    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = packed["names"]
    return frame

"""Frames of pandas, polars and pyarrow, recognised without importing any, and encoded frames."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._utils.typing import FloatArray, MatrixLike


def is_frame(X: MatrixLike) -> bool:
    """Return whether X is a frame of pandas or polars or a table of pyarrow; imports none."""
    if hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_series")):
        return True
    return hasattr(X, "column_names") and hasattr(X, "column")


def frame_columns(X: MatrixLike) -> list[Any]:
    """Return the names of the columns of a frame."""
    return list(X.columns if hasattr(X, "to_series") or hasattr(X, "iloc") else X.column_names)


def is_pandas(X: MatrixLike) -> bool:
    """Return whether X is a pandas frame, without importing pandas."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def has_categories(column: Any) -> bool:
    """Return whether a column has pandas' category dtype."""
    return hasattr(column.dtype, "categories")


@dataclass(frozen=True)
class EncodedFrame:
    """Rows of a frame as numbers, together with the fitted FrameEncoder.

    Rows can be selected as those of an array. The shape is that of the frame.
    """

    values: FloatArray
    encoder: Any

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns of the frame."""
        return len(self.values), self.encoder.n_features_in_

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> "EncodedFrame":
        return EncodedFrame(self.values[rows], self.encoder)

    @property
    def numbers(self) -> FloatArray:
        """Columns of numbers, NaN where missing."""
        return self._selected(self.encoder.n_categories_ == 0)

    @property
    def codes(self) -> FloatArray:
        """Columns of codes of categories, NaN where missing."""
        return self._selected(self.encoder.n_categories_ > 0)

    @property
    def components(self) -> FloatArray:
        """Columns of components of texts and dates."""
        return self._selected(self.encoder.n_categories_ < 0)

    def _selected(self, columns: Any) -> FloatArray:
        # C order: sums are then added in the same order as those of arrays.
        return self.values if columns.all() else np.ascontiguousarray(self.values[:, columns])

    def coordinates(self) -> FloatArray:
        """Return coordinates of categories, texts and dates for distances.

        Two rows with different categories are at distance 1. Each category, and one more for those
        that did not occur in fit, has its own axis. A missing value is at the origin.
        """
        parts = [np.empty((len(self), 0))]
        for column, n_categories in enumerate(self.encoder.n_categories_):
            factor, values = self.encoder.distance_factor_[column], self.values[:, [column]]
            if n_categories > 0:
                parts.append((values == np.arange(n_categories + 1)) * factor)
            elif n_categories < 0 and factor > 0:
                parts.append(values * factor)
        return np.hstack(parts)


def pack_frame(frame: Any) -> dict[str, Any]:
    """Convert a pandas frame, without its index, to arrays."""
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
    """Return the frame that :func:`pack_frame` converted."""
    import pandas as pd

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

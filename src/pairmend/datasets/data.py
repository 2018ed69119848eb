"""MultiLabelData, which every reader returns."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairmend._utils.typing import FloatArray


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
    weights : ndarray of shape (n,) or None
        Instance weights, if the file has any.

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
    Y: NDArray[np.int64]
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    categories: dict[int, tuple[str, ...]]
    name: str
    source: tuple[Path, ...]
    weights: FloatArray | None = None

    def to_pandas(self) -> tuple[Any, Any]:
        """Return X and Y as pandas frames, categorical features of category dtype.

        Returns
        -------
        X, Y : DataFrame

        Examples
        --------
        >>> from pairmend.datasets import make_hypercubes
        >>> X, Y = make_hypercubes(5, n_labels=2, random_state=0).to_pandas()
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
    if not np.isinf(cells).any():
        return
    if isinstance(data.X, np.ndarray):
        rows, places = np.nonzero(np.isinf(cells))
    else:
        coo = data.X.tocoo()
        rows, places = (each[np.isinf(coo.data)] for each in (coo.row, coo.col))
    row, place = int(rows[0]), int(places[0])
    raise ValueError(
        f"{source_name(data)}: column {data.feature_names[place]!r} is infinite in row {row}; "
        "write a number there, or empty the cell if the value is missing"
    )


def category(values: tuple[str, ...], code: Any, feature: str) -> str:
    """Return the value of a categorical feature with some code."""
    if code != int(code) or not 0 <= code < len(values):
        raise ValueError(
            f"feature {feature!r} holds {code}, which is none of its {len(values)} categories"
        )
    return values[int(code)]

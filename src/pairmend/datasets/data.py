"""What every reader returns."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
    """

    X: Any
    Y: NDArray[np.int64]
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
        """
        import pandas as pd

        dense = self.X if isinstance(self.X, np.ndarray) else self.X.toarray()
        columns = {
            feature: pd.Categorical.from_codes(
                np.nan_to_num(dense[:, f], nan=-1).astype(int), categories=self.categories[f]
            )
            if f in self.categories
            else dense[:, f]
            for f, feature in enumerate(self.feature_names)
        }
        return pd.DataFrame(columns), pd.DataFrame(self.Y, columns=list(self.label_names))

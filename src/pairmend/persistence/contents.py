"""One line on what a model file holds of the data that the model was fitted on."""

from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.text import counted
from pairmend.persistence.structures import reachable

SCALED_ROWS = ("points_", "rows_")
"""Attributes with rows that were scaled: of neighbourhoods and of the kernel ridge."""
GIVEN_ROWS = ("_fit_X", "X_fit_", "X_train_", "support_vectors_")
"""Attributes with rows as they were given: of nearest neighbours and of kernels."""


def describe_contents(model: Any, n_labels: int, *, updates: bool) -> str:
    """Return how many rows, names of categories and words the file of a model holds.

    Parameters and sums of base classifiers, which every model holds, are not listed.
    """
    rows: dict[str, dict[int, int]] = {"scaled": {}, "as they were given": {}}
    categories: set[str] = set()
    words: set[str] = set()
    state = ""
    for value in reachable(model):
        own = getattr(value, "__dict__", {})
        for how, names in zip(rows, (SCALED_ROWS, GIVEN_ROWS), strict=True):
            for held in (own[name] for name in names if _is_matrix(own.get(name))):
                n_rows, n_columns = held.shape
                rows[how][n_rows] = max(n_columns, rows[how].get(n_rows, 0))
        words |= set(own.get("vocabulary_", ()))
        for listed in (own.get("keys"), *own.get("categories_", ())):
            named = listed if isinstance(listed, np.ndarray | list | tuple) else ()
            categories |= {str(each) for each in named if isinstance(each, str)}
        if updates and type(value).__name__ == "IncrementalState":
            state = f"{counted(len(value.Y), 'row')} as given for partial_fit"
    parts = [
        f"{counted(n_rows, 'row')} of {counted(n_columns, 'feature')} {how}, with labels"
        for how, sizes in rows.items()
        for n_rows, n_columns in sizes.items()
    ]
    parts += [state] if state else []
    parts += [counted(len(categories), "name") + " of categories"] if categories else []
    parts += [counted(len(words), "word")] if words else []
    return "; ".join([*(parts or ["no rows"]), counted(n_labels, "name") + " of labels"])


def _is_matrix(value: Any) -> bool:
    return (isinstance(value, np.ndarray) and value.ndim == 2) or sparse.issparse(value)

"""Matching the columns of data with the features that a model was fitted on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairmend._utils.text import counted
from pairmend._utils.typing import FloatArray
from pairmend.datasets import MultiLabelData
from pairmend.datasets.assembly import column_values
from pairmend.persistence.rows import as_numbers, find_value, plain_text


@dataclass(frozen=True)
class Matched:
    """Data with the features of a model.

    `unused` are features of the data that the model lacks. `unknown` are values of categorical
    features that did not occur in training, by feature; they count as missing.
    """

    data: MultiLabelData
    unused: tuple[str, ...]
    unknown: dict[str, tuple[str, ...]]


def match_features(
    data: MultiLabelData,
    feature_names: Sequence[str],
    categories: Mapping[int, tuple[str, ...]],
) -> Matched:
    """Select the features of a model by name, and translate categories to its codes."""
    check_names(data.name, data.feature_names, feature_names)
    places = {name: place for place, name in enumerate(data.feature_names)}
    order = [places[name] for name in feature_names]
    X = (data.X.tocsc() if sparse.issparse(data.X) else data.X)[:, order]
    changed: dict[int, FloatArray] = {}
    unknown: dict[str, tuple[str, ...]] = {}
    for f, (name, place) in enumerate(zip(feature_names, order, strict=True)):
        own, expected = data.categories.get(place), categories.get(f)
        if own == expected:
            continue
        column = column_values(X, f)
        if expected is None:
            changed[f] = as_numbers(_texts(column, own or ()), data.name, name)
        else:
            changed[f], new_texts = _codes(column, own, expected)
            if new_texts:
                unknown[name] = new_texts
    if sparse.issparse(X):
        parts = [
            sparse.csc_array(changed[f][:, np.newaxis]) if f in changed else X[:, [f]]
            for f in range(X.shape[1])
        ]
        X = (sparse.hstack(parts, format="csr") if changed else X).tocsr()
    elif changed:
        X = X.copy()
        for f, column in changed.items():
            X[:, f] = column
    used = set(feature_names)
    return Matched(
        replace(data, X=X, feature_names=tuple(feature_names), categories=dict(categories)),
        tuple(name for name in data.feature_names if name not in used),
        unknown,
    )


def check_names(source: str, found: Collection[str], expected: Sequence[str]) -> None:
    """Raise an error for rows that lack a column of a model."""
    present = set(found)
    if missing := [name for name in expected if name not in present]:
        shown = ", ".join(map(repr, missing[:10])) + (", ..." if len(missing) > 10 else "")
        raise ValueError(
            f"{source} lacks {len(missing)} of the {counted(len(expected), 'column')} that the "
            f"model needs: {shown}; {_found(found)}"
        )


def _found(names: Collection[str]) -> str:
    """Describe the columns that rows have, and how to name those of a file without names."""
    if names and all(name == f"column_{place}" for place, name in enumerate(names, start=1)):
        return (
            "columns are found by name, but the first line holds none. Add a first line with the "
            "names of the columns"
        )
    return f"it has {', '.join(map(repr, list(names)[:10]))}{', ...' if len(names) > 10 else ''}"


def _codes(
    column: FloatArray, own: tuple[str, ...] | None, expected: tuple[str, ...]
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the codes of a model for a column, and the texts that it has no codes for."""
    present, inverse = np.unique(column, return_inverse=True)
    find = find_value(expected)
    codes = np.full(len(present), np.nan)
    unknown = []
    for place, value in enumerate(present.tolist()):
        if np.isnan(value):
            continue
        text = own[int(value)] if own is not None else plain_text(value)
        code = find(text)
        if code is None:
            unknown.append(text)
        else:
            codes[place] = code
    return codes[inverse], tuple(unknown)


def _texts(column: FloatArray, own: tuple[str, ...]) -> NDArray[Any]:
    values = np.array([*own, None], dtype=object)
    return values[np.where(np.isnan(column), len(own), column).astype(int)]

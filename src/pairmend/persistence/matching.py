"""Bringing data to the features a model was fitted on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairmend._utils.typing import FloatArray
from pairmend.datasets import MultiLabelData
from pairmend.datasets.assembly import column_values
from pairmend.persistence.rows import as_numbers, find_value, plain_text


@dataclass(frozen=True)
class Matched:
    """Data with the features of a model.

    Attributes
    ----------
    data : MultiLabelData
        The features the model knows, in its order and with its categories.
    unused : tuple of str
        Features of the data that the model does not know.
    unknown : dict
        Values of categorical features that the model has never seen, by feature; they count
        as missing.
    """

    data: MultiLabelData
    unused: tuple[str, ...]
    unknown: dict[str, tuple[str, ...]]


def match_features(
    data: MultiLabelData,
    feature_names: Sequence[str],
    categories: Mapping[int, tuple[str, ...]],
) -> Matched:
    """Give data the features of a model, found by name.

    Parameters
    ----------
    data : MultiLabelData
        The data, its features in any order and with further ones.
    feature_names : sequence of str
        The model's features.
    categories : mapping
        Values of its categorical features by feature number.

    Returns
    -------
    Matched

    Raises
    ------
    ValueError
        If a feature is not there, or holds texts where the model knows numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import MultiLabelData
    >>> nothing = np.empty((2, 0), dtype=np.int64)
    >>> X, hues = np.array([[0, 3.5], [1, 7]]), ("mauve", "red")
    >>> data = MultiLabelData(X, nothing, ("hue", "size"), (), {0: hues}, "photos", ())
    >>> matched = match_features(data, ["size", "hue"], {1: ("blue", "red")})
    >>> matched.data.X.tolist(), matched.unknown
    ([[3.5, nan], [7.0, 1.0]], {'hue': ('mauve',)})
    """
    check_names(data.name, data.feature_names, feature_names)
    places = {name: place for place, name in enumerate(data.feature_names)}
    order = [places[name] for name in feature_names]
    X = (data.X.tocsc() if sparse.issparse(data.X) else data.X)[:, order]
    changed: dict[int, FloatArray] = {}
    unknown: dict[str, tuple[str, ...]] = {}
    for f, (name, place) in enumerate(zip(feature_names, order, strict=True)):
        here, there = data.categories.get(place), categories.get(f)
        if here == there:
            continue
        column = column_values(X, f)
        if there is None:
            changed[f] = as_numbers(_texts(column, here or ()), data.name, name)
        else:
            changed[f], strange = _codes(column, here, there)
            if strange:
                unknown[name] = strange
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
    wanted = set(feature_names)
    return Matched(
        replace(data, X=X, feature_names=tuple(feature_names), categories=dict(categories)),
        tuple(name for name in data.feature_names if name not in wanted),
        unknown,
    )


def check_names(source: str, found: Iterable[str], wanted: Sequence[str]) -> None:
    """Refuse rows that lack a column of a model."""
    there = set(found)
    if missing := [name for name in wanted if name not in there]:
        shown = ", ".join(map(repr, missing[:10])) + (", ..." if len(missing) > 10 else "")
        raise ValueError(
            f"{source} lacks {len(missing)} of the {len(wanted)} columns that the model needs: "
            f"{shown}"
        )


def _codes(
    column: FloatArray, here: tuple[str, ...] | None, there: tuple[str, ...]
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the codes of a model for a column, and texts it does not know."""
    present, inverse = np.unique(column, return_inverse=True)
    find = find_value(there)
    codes = np.full(len(present), np.nan)
    strange = []
    for place, value in enumerate(present.tolist()):
        if np.isnan(value):
            continue
        text = here[int(value)] if here is not None else plain_text(value)
        code = find(text)
        if code is None:
            strange.append(text)
        else:
            codes[place] = code
    return codes[inverse], tuple(strange)


def _texts(column: FloatArray, here: tuple[str, ...]) -> NDArray[Any]:
    values = np.array([*here, None], dtype=object)
    return values[np.where(np.isnan(column), len(here), column).astype(int)]

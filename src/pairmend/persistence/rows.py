"""Rows given as dicts, as a table or as a frame: the input that an estimator was fitted on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from pairmend._utils.arrays import frame_columns, is_frame
from pairmend._utils.text import is_missing
from pairmend.datasets import MultiLabelData
from pairmend.frames.kinds import plain_number


def prepared(rows: Any, names: Sequence[str], kinds: Sequence[str] | None) -> Any:
    """Return rows as an estimator needs them that was fitted on columns of these kinds.

    Arrays, and frames for an estimator that was fitted on a frame, are returned as they are. Other
    columns than those of fit are an error, or another order; keys of dicts have no order.
    """
    are_dicts = isinstance(rows, list | tuple) and len(rows) > 0 and isinstance(rows[0], Mapping)
    if not (are_dicts or isinstance(rows, MultiLabelData) or (is_frame(rows) and kinds is None)):
        return rows
    if not names:
        raise ValueError(
            "the model has no feature names; pass feature_names to save_model, or predict an array"
        )
    source, table = "X", rows
    if are_dicts:
        known = set(names)
        for number, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise ValueError(f"row {number} is a {type(row).__name__}; expected a dict")
            if row.keys() != known:
                check_names(f"row {number}", list(row), names)
        table = {name: [row[name] for row in rows] for name in names}
    elif is_frame(rows):
        check_names(source, frame_columns(rows), names)
    else:
        source, rows = rows.name, without_codes(rows)
        check_names(source, rows.feature_names, names)
        if kinds is None and not rows.categories:
            return rows.X
        table, _ = rows.to_pandas()
    made = {
        name: converted(table[name], kind, f"{source}: column {name!r}")
        for name, kind in zip(names, kinds or ["number"] * len(names), strict=True)
    }
    if kinds is None:
        return np.column_stack(list(made.values()))
    import pandas as pd  # not needed for arrays

    return pd.DataFrame(made)


def without_codes(data: MultiLabelData) -> MultiLabelData:
    """Return a table in which categories that equal their codes, 0, 1, ..., are numbers."""
    texts = {f: v for f, v in data.categories.items() if v != tuple(map(str, range(len(v))))}
    return replace(data, categories=texts)


def check_names(source: str, found: Sequence[Any], expected: Sequence[str]) -> None:
    """Raise an error for other columns than those of fit, or another order."""
    if list(found) == list(expected):
        return
    missing = [name for name in expected if name not in found]
    further = [name for name in found if name not in expected]
    named = {"missing": missing, "not known": further}
    wrong = ", ".join(f"{what}: {names[:10]}" for what, names in named.items() if names)
    raise ValueError(
        f"{source} must have the columns that the model was fitted on, in the same order; "
        f"{wrong or 'the order differs'}; found {list(found)[:10]}, expected {list(expected)[:10]}"
    )


def converted(column: Any, kind: str, described: str) -> Any:
    """Return a column of a kind; missing values are NaN, NaT or None.

    Anything that is not of the kind is an error, which names the column, the row and the value.
    """
    if kind == "number" and not isinstance(column, list) and np.asarray(column).dtype == float:
        return np.asarray(column)
    convert, expected = KINDS[kind]
    values: list[Any] = []
    for row, value in enumerate(column):
        try:
            is_blank = isinstance(value, str) and not value.strip()
            values.append(None if is_blank or is_missing(value) else convert(value))
        except (AttributeError, TypeError, ValueError, KeyError, OverflowError):
            raise ValueError(
                f"{described}, row {row} is {value!r}; expected {expected}, as when the model was "
                "fitted"
            ) from None
    if kind in ("number", "boolean"):
        is_boolean = kind == "boolean" and None not in values
        return np.array(values, dtype=bool if is_boolean else float)
    import pandas as pd  # not needed for arrays

    if kind == "date":
        # The unit of dates that pandas parses: older versions of scikit-learn compare units.
        unit = pd.to_datetime(["2024-01-01"]).dtype
        return np.array(values, dtype="datetime64[us]").astype(unit)
    if kind == "category":
        return pd.Categorical(values)
    return pd.Series([np.nan if value is None else value for value in values], dtype=object)


NUMBERS = (bool, int, float, np.integer, np.floating, np.bool_, Decimal)
BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "1.0"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "0.0"), False),
}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, NUMBERS) else plain_number(value)


def _date(value: Any) -> Any:
    """Return a date without a time zone; one with a time zone is converted to UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    elif not isinstance(value, date | np.datetime64):
        raise TypeError
    is_local = getattr(value, "tzinfo", None) is not None
    return np.datetime64(value.astimezone(UTC).replace(tzinfo=None) if is_local else value, "us")


KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "number": (_number, "a number, in a text with a decimal point, such as 1.5 or 2e3"),
    "boolean": (
        lambda value: BOOLEANS[str(value).strip().lower()],
        "true or false, t or f, yes or no, y or n, 1 or 0",
    ),
    "date": (_date, "a date, in a text in ISO 8601, such as 2024-12-31 or 2024-12-31T23:59:59"),
    **dict.fromkeys(("text", "category", "other"), (lambda value: value, "")),
}
"""How a cell of each kind of column is converted, and what is expected."""

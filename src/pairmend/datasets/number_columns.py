"""Columns of texts that are numbers with decimal commas or separators of thousands."""

import warnings
from collections.abc import Set
from dataclasses import replace

import numpy as np

from pairmend._utils.number_texts import PLAIN, form_note, number_forms, parse_number
from pairmend.datasets.data import MultiLabelData, source_name
from pairmend.datasets.warning import ReadWarning


def decode_numbers(data: MultiLabelData, kept: Set[str]) -> MultiLabelData:
    """Replace texts that are numbers with separators by numbers; `kept` columns stay texts."""
    X, categories = data.X, dict(data.categories)
    for place, values in data.categories.items():
        forms = number_forms(values) if values and data.feature_names[place] not in kept else []
        if not forms or forms[0] == PLAIN:
            continue
        numbers = np.array([*(parse_number(value, forms[0]) for value in values), np.nan])
        X = X.copy() if X is data.X else X
        codes = X[:, place]
        X[:, place] = numbers[np.where(np.isnan(codes), len(values), codes).astype(int)]
        del categories[place]
        column = data.feature_names[place]
        warnings.warn(
            f"{source_name(data)}: column {column!r}: {form_note(values, forms)}",
            ReadWarning,
            stacklevel=3,
        )
    return replace(data, X=X, categories=categories)

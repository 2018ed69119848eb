"""Columns of texts that are numbers with separators or signs, or missing."""

import warnings
from collections.abc import Sequence, Set
from dataclasses import replace

import numpy as np

from pairmend._utils.number_texts import format_note, number_formats
from pairmend._utils.text import counted
from pairmend.datasets.data import MultiLabelData, check_finite, source_name
from pairmend.datasets.warning import ReadWarning

MAX_NOTES = 3
"""Columns that a warning describes; of further ones it has the number."""


def decode_numbers(data: MultiLabelData, kept: Set[str]) -> MultiLabelData:
    """Replace texts that are numbers with separators or signs; `kept` columns stay texts."""
    X, categories = data.X, dict(data.categories)
    notes = []
    for place, values in data.categories.items():
        column = data.feature_names[place]
        formats = [] if column in kept else number_formats(values)
        note = format_note(values, formats) if formats else ""
        if not note:
            continue
        numbers = np.array([*formats[0].parse_all(values), np.nan])
        X = X.copy() if X is data.X else X
        codes = X[:, place]
        X[:, place] = numbers[np.where(np.isnan(codes), len(values), codes).astype(int)]
        del categories[place]
        notes.append(f"column {column!r}: {note}")
    if notes:
        warnings.warn(f"{source_name(data)}: {joined_notes(notes)}", ReadWarning, stacklevel=3)
    data = replace(data, X=X, categories=categories)
    if notes:
        check_finite(data)  # a text such as 1,5e999 is infinite
    return data


def joined_notes(notes: Sequence[str]) -> str:
    """Join notes on columns; of more than MAX_NOTES, the first and the number of the others."""
    shown = "; ".join(notes[:MAX_NOTES])
    if len(notes) > MAX_NOTES:
        shown += f"; {counted(len(notes) - MAX_NOTES, 'further column')} in similar ways"
    return shown

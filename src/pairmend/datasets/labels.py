"""Labels: columns of 0 and 1, a column that lists the tags of each row, Mulan's XML files."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from pairmend._utils.text import counted, is_missing_text
from pairmend._utils.typing import FloatArray, Matrix
from pairmend.datasets.data import (
    MultiLabelData,
    column_values,
    drop_features,
    places_of,
    quoted,
    source_name,
)
from pairmend.datasets.limits import TEXT_CELLS, ReadLimits, ReadWarning, unpacked

ChosenLabels = Sequence[str] | int
"""Names of label columns, or how many of the last columns."""

_INDICATOR_OF = {
    **dict.fromkeys((
        "1", "1.0", "yes", "y", "true", "t", "on", "x", "+", "✓", "✔", "☑", "present", "positive",
        "ja", "j", "wahr", "oui", "vrai", "sí", "si", "sim",
    ), 1.0),
    **dict.fromkeys((
        "0", "0.0", "no", "n", "false", "f", "off", "-", "✗", "✘", "☐", "absent", "negative",
        "nein", "nee", "falsch", "non", "faux", "não",
    ), 0.0),
}  # fmt: skip
"""1 and 0 by the texts that stand for them, in lower case."""
_SEPARATORS = ";|,/\n"
"""Separators of tags that need no option where a column has one of them only."""


def find_labels(path: Path, names: Sequence[str], labels: ChosenLabels) -> tuple[str, ...]:
    """Return the names of the label columns among the columns of a table."""
    if isinstance(labels, int):
        if not 0 < labels < len(names):
            raise ValueError(
                f"{path}: cannot take the last {labels} of {counted(len(names), 'column')} as "
                "labels; give the delimiter (--delimiter) or the line of the names (--header-row)"
            )
        return tuple(names[-labels:])
    if len(set(labels)) != len(labels):
        raise ValueError(f"{path}: a label is named twice: {list(labels)}")
    return tuple(labels)


def take_labels(
    data: MultiLabelData,
    names: Sequence[str],
    limits: ReadLimits,
    threshold: float | None = None,
    *,
    allow_empty: bool = False,
) -> MultiLabelData:
    """Turn features into labels, in addition to the labels of the set.

    Cells are 0 and 1, or texts that stand for them; numbers above a threshold if there is one.
    Where it is allowed, empty cells are 0 if all other cells of the label stand for 1.
    """
    places = places_of(data, names)
    limits.check_cells(Path(source_name(data)), data.X.shape[0] * len(names))
    cells = data.X.tocsc() if sparse.issparse(data.X) else data.X
    columns = [_indicator(data, cells, place, threshold, allow_empty) for place in places]
    Y = np.column_stack([data.Y, *columns]).astype(np.int64)
    rest = drop_features(data, names)
    return replace(rest, Y=Y, label_names=(*data.label_names, *names))


def _indicator(
    data: MultiLabelData, cells: Matrix, place: int, threshold: float | None, allow_empty: bool
) -> FloatArray:
    """Return a column as 0 and 1."""
    found, name = column_values(cells, place), data.feature_names[place]
    values, source = data.categories.get(place, ()), source_name(data)
    missing = np.isnan(found)
    if threshold is not None:
        if values or missing.any():
            raise ValueError(f"{source}: target {name!r} must be a number in every row")
        return np.asarray(found > threshold, dtype=float)
    numbers = np.where(np.isin(found, (0, 1)), found, np.nan)
    if values:
        meaning = [_INDICATOR_OF.get(value.strip().lower(), np.nan) for value in values]
        numbers = np.array([*meaning, np.nan])[np.where(missing, -1, found).astype(int)]
        if allow_empty and missing.any() and (numbers[~missing] == 1).all():
            numbers[missing] = 0.0
            warnings.warn(
                f"{source}: empty cells of the label {name!r} are read as 0, because its other "
                "cells all stand for 1",
                ReadWarning,
                stacklevel=4,
            )
    wrong = np.flatnonzero(np.isnan(numbers))
    if len(wrong):
        cell = found[wrong[0]]
        text = repr(values[int(cell)]) if values and not np.isnan(cell) else f"{cell:g}"
        raise ValueError(
            f"{source}: label {name!r} must be 0 or 1, but is "
            f"{'missing' if np.isnan(cell) else text} in row {wrong[0]}. Write 0 and 1, yes and "
            "no, or x and empty cells; remove such rows or the label; or read a column that lists "
            f"the tags of each row by --tags {name}, in Python tags={name!r}"
        )
    return numbers


def take_tags(
    data: MultiLabelData, column: str, separator: str | None, limits: ReadLimits
) -> MultiLabelData:
    """Replace a column of tags by a label for each; rows without tags have no label."""
    source, (place,) = source_name(data), places_of(data, [column])
    codes, texts = column_values(data.X, place), data.categories.get(place, ())
    separator = separator or _find_separator(source, column, texts)
    tags = [[] if is_missing_text(text) else _split(text, separator) for text in texts]
    names = sorted(set().union(*tags))
    if not names:
        raise ValueError(f"{source}: column {column!r} has no tags in any row")
    limits.check_cells(Path(source), (len(codes) + len(texts)) * len(names))
    by_text = MultiLabelBinarizer(classes=names).fit_transform([*tags, []])
    Y = by_text[np.where(np.isnan(codes), -1, codes).astype(int)].astype(np.int64)
    rest = drop_features(data, [column])
    return replace(rest, Y=np.hstack([data.Y, Y]), label_names=(*data.label_names, *names))


def _find_separator(source: str, column: str, texts: Sequence[str]) -> str:
    """Return the only separator of tags that a column has, the semicolon if it has none."""
    found = [each for each in _SEPARATORS if any(each in text for text in texts)]
    if len(found) > 1:
        raise ValueError(
            f"{source}: the tags in column {column!r} may be separated by {quoted(found)}; give "
            "the separator: --separator TEXT, in Python separator=..."
        )
    return found[0] if found else ";"


def _split(text: str, separator: str) -> list[str]:
    """Return the different tags of a cell, without the brackets and quotes of a list."""
    text = text.strip()
    if text[:1] in ("[", "{", "(") and text[-1:] in ("]", "}", ")"):
        text = text[1:-1]
    tags = (tag.strip() for tag in text.split(separator))
    bare = (t[1:-1].strip() if len(t) > 1 and t[0] == t[-1] in "'\"" else t for t in tags)
    return list(dict.fromkeys(tag for tag in bare if tag))


_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read_label_names(path: Path, limits: ReadLimits) -> list[str]:
    """Read the names of the labels from Mulan's XML file, plain or compressed."""
    text = unpacked(path, limits)
    limits.check_cells(path, TEXT_CELLS * len(text))  # an element of few bytes is a large object
    # Encodings in which this could be hidden are none that expat reads, or have bytes 0.
    if b"<!DOCTYPE" in text or b"\0" in text:
        raise ValueError(
            f"{path}: not in UTF-8, or declares a document type or entities, which a list of "
            "labels must not"
        )
    try:
        root = ElementTree.XML(text)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise ValueError(f"{path}: not an XML file: {error}") from error
    elements = [each for each in root.iter() if each.tag.split("}")[-1] == "label"]
    names = [name for each in elements if (name := each.get("name")) is not None]
    if root.tag.split("}")[-1] != "labels" or not names or len(names) != len(elements):
        raise ValueError(
            f"{path}: expected a <labels> element with <label name=...> elements, got <{root.tag}>"
        )
    if len(set(names)) != len(names):
        raise ValueError(f"{path}: a label is named twice")
    return names


def write_label_names(file: IO[str], names: Sequence[str]) -> None:
    """Write Mulan's XML file."""
    for name in names:
        if _NOT_XML.search(name):
            raise ValueError(f"an XML file cannot hold the label name {name!r}")
    file.write('<?xml version="1.0" encoding="utf-8"?>\n')
    file.write('<labels xmlns="http://mulan.sourceforge.net/labels">\n')
    file.writelines(f"<label name={quoteattr(name)}/>\n" for name in names)
    file.write("</labels>\n")

"""MultiLabelData, which every reader returns, its labels, and what is done with it."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from pairmend._utils.text import counted, is_missing_text, quoted
from pairmend._utils.typing import FloatArray, IntArray, Matrix
from pairmend.datasets.limits import TEXT_CELLS, ReadLimits, ReadWarning, unpacked

ChosenLabels = Sequence[str] | int
"""Names of label columns, or how many of the last columns."""

_INDICATOR_OF = {
    **dict.fromkeys(("1", "1.0", "yes", "y", "true", "t", "on", "x", "+", "✓", "✔"), 1.0),
    **dict.fromkeys(("0", "0.0", "no", "n", "false", "f", "off", "-", "✗", "✘"), 0.0),
}
"""1 and 0 by the texts that stand for them, in lower case."""
_SEPARATORS = ";|,/\n"
"""Separators of tags that need no option where a column has one of them only."""


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
    Y: IntArray
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

        Examples
        --------
        >>> from pairmend.datasets import make_shapes
        >>> X, Y = make_shapes(5, n_labels=2, random_state=0).to_pandas()
        >>> Y.columns.tolist()
        ['label_0', 'label_1']
        """
        import pandas as pd

        dense = self.X if isinstance(self.X, np.ndarray) else self.X.toarray()
        X = pd.DataFrame(dense, copy=True)
        for place, values in self.categories.items():
            codes = np.nan_to_num(dense[:, place], nan=-1).astype(int)
            X.isetitem(place, pd.Categorical.from_codes(codes, values))
        X.columns = list(self.feature_names)
        return X, pd.DataFrame(self.Y, columns=list(self.label_names))


def source_name(data: MultiLabelData) -> str:
    """Return the file of a set for messages, or its name if it was not read from a file."""
    return str(data.source[0]) if data.source else data.name


def column_values(cells: Matrix, column: int) -> FloatArray:
    """Return one column as a dense array, a copy."""
    values = cells[:, [column]]
    dense = values.toarray() if sparse.issparse(values) else values
    return np.array(dense, dtype=float).ravel()


def one_hot(
    data: MultiLabelData, *, values: Literal["declared", "occurring"] = "declared"
) -> MultiLabelData:
    """Replace categorical features by a 0/1 column for each value.

    Parameters
    ----------
    data : MultiLabelData
        The set.
    values : {"declared", "occurring"}, default="declared"
        "declared" gives values that never occur a column, too; "occurring" does not.

    Returns
    -------
    MultiLabelData
        Without categorical features. One with two values becomes one column, 1 for the second,
        in which a missing value stays missing; in the columns of others it is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import MultiLabelData, one_hot
    >>> data = MultiLabelData(
    ...     X=np.array([[0.5, 0.0], [np.nan, 2.0], [2.5, 0.0]]),
    ...     Y=np.array([[1, 0], [1, 1], [1, 0]]),
    ...     feature_names=("size", "hue"), label_names=("sea", "sun"),
    ...     categories={1: ("blue", "green", "red")}, name="photos", source=(),
    ... )
    >>> one_hot(data).feature_names
    ('size', 'hue=blue', 'hue=green', 'hue=red')
    >>> one_hot(data, values="occurring").feature_names
    ('size', 'hue')
    """
    if values not in ("declared", "occurring"):
        raise ValueError(f"values must be 'declared' or 'occurring', got {values!r}")
    import pandas as pd

    pieces = []
    for place, (_, column) in enumerate(data.to_pandas()[0].items()):
        feature, n_declared = data.feature_names[place], len(data.categories.get(place, ()))
        if values == "occurring" and n_declared > 2:
            column = column.cat.remove_unused_categories()
        if n_declared and len(column.cat.categories) > 2:
            pieces.append(pd.get_dummies(column, prefix=feature, prefix_sep="=", dtype=float))
        else:
            codes = column.cat.codes.replace(-1, np.nan) if n_declared else column
            pieces.append(codes.rename(feature).to_frame())
    frame = pd.concat(pieces, axis=1)
    X = frame.to_numpy(float)
    X = sparse.csr_array(X) if sparse.issparse(data.X) else X
    return replace(data, X=X, feature_names=tuple(frame), categories={})


def set_name(path: Path) -> str:
    """Name a set after its file."""
    return path.name.split(".")[0]


def all_features(
    path: Path, X: Matrix, names: Sequence[str], categories: dict[int, tuple[str, ...]]
) -> MultiLabelData:
    """Return the columns of a file as a set without labels."""
    Y = np.empty((X.shape[0], 0), dtype=np.int64)
    return MultiLabelData(X, Y, tuple(names), (), categories, set_name(path), (path,))


def places_of(data: MultiLabelData, names: Sequence[str]) -> list[int]:
    """Return the places of features."""
    places = {name: place for place, name in enumerate(data.feature_names)}
    if missing := [name for name in names if name not in places]:
        raise ValueError(
            f"{source_name(data)} has no columns named {quoted(missing)}; it has "
            f"{quoted(data.feature_names)}"
        )
    return [places[name] for name in names]


def drop_features(data: MultiLabelData, names: Sequence[str]) -> MultiLabelData:
    """Remove features."""
    dropped = set(places_of(data, names))
    kept = [f for f in range(len(data.feature_names)) if f not in dropped]
    if not kept:
        raise ValueError(f"{source_name(data)} would be left without any feature; add a column")
    return replace(
        data,
        X=data.X[:, kept],
        feature_names=tuple(data.feature_names[f] for f in kept),
        categories={
            place: data.categories[f] for place, f in enumerate(kept) if f in data.categories
        },
    )


def subset(data: MultiLabelData, n_rows: int, *, seed: int) -> MultiLabelData:
    """Select rows at random; they keep their order."""
    if not 0 < n_rows <= len(data.Y):
        raise ValueError(
            f"{data.name} has {counted(len(data.Y), 'row')}; cannot take {n_rows} of them"
        )
    rows = np.sort(np.random.RandomState(seed).permutation(len(data.Y))[:n_rows])
    return replace(data, X=data.X[rows], Y=data.Y[rows])


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
    threshold: float | None,
    *,
    allow_empty: bool,
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
        text = "missing" if np.isnan(cell) else repr(values[int(cell)]) if values else f"{cell:g}"
        raise ValueError(
            f"{source}: label {name!r} must be 0 or 1, but is {text} in row {wrong[0]}. Write 0 "
            "and 1, yes and no, or x and empty cells; remove such rows or the label; or read a "
            f"column that lists the tags of each row by --tags {name}, in Python tags={name!r}"
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
            f"{path}: a list of labels must be in UTF-8, without document type and entities"
        )
    try:
        root = ElementTree.XML(text)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise ValueError(f"{path}: not an XML file: {error}") from error
    names = [each.get("name", "") for each in root.findall(".//{*}label")]
    is_valid = root.tag.split("}")[-1] == "labels" and names and all(names)
    if not is_valid or len(set(names)) != len(names):
        raise ValueError(
            f"{path}: expected a <labels> element with <label name=...> elements of different "
            f"names, got <{root.tag}>"
        )
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

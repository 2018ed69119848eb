"""From the columns of an ARFF file to features and 0/1 labels."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairmend._utils.typing import Matrix
from pairmend.datasets.arff import ArffAttribute, ArffError, ArffFile
from pairmend.datasets.data import MultiLabelData, column_values


def assemble(
    content: ArffFile,
    labels: Sequence[int],
    indicators: NDArray[np.int64],
    *,
    name: str,
    source: tuple[Path, ...],
) -> MultiLabelData:
    """Make a data set of the columns of an ARFF file; `labels` are the columns of the labels.

    String attributes become categorical features, with the values in the order of appearance.
    """
    attributes = content.attributes
    taken = set(labels)
    features = [column for column in range(len(attributes)) if column not in taken]
    for column in features:
        if attributes[column].kind == "relational":
            raise ValueError(
                f"{source[0]}: attribute {attributes[column].name!r} holds bags of instances; "
                "read the file with load_miml"
            )
    X: Matrix = content.cells.tocsc() if sparse.issparse(content.cells) else content.cells
    X = X[:, features]
    categories = {}
    for place, column in enumerate(features):
        if attributes[column].kind == "nominal":
            categories[place] = attributes[column].values
        elif attributes[column].kind == "string":
            if sparse.issparse(X):
                raise ValueError(
                    f"{source[0]}: attribute {attributes[column].name!r} is a string, which is not "
                    "read from sparse files"
                )
            categories[place] = tuple(content.texts[column])
    return MultiLabelData(
        X=X.tocsr() if sparse.issparse(X) else X,
        Y=indicators,
        feature_names=tuple(attributes[column].name for column in features),
        label_names=tuple(attributes[column].name for column in labels),
        categories=categories,
        name=name,
        source=source,
        weights=content.weights,
    )


def join(parts: Sequence[ArffFile], paths: Sequence[Path]) -> ArffFile:
    """Concatenate the rows of files with the same attributes."""
    first = parts[0]
    if len(parts) == 1:
        return first
    for path, part in zip(paths, parts, strict=True):
        if part.attributes != first.attributes:
            raise ArffError(path, 1, f"its attributes differ from those of {paths[0]}")
        if part.texts:
            raise ArffError(path, 1, "files with string attributes cannot be joined")
    if any(sparse.issparse(part.cells) for part in parts):
        blocks = [sparse.csr_array(part.cells) for part in parts]
        cells: Matrix = sparse.vstack(blocks, format="csr")
    else:
        cells = np.vstack([part.cells for part in parts])
    weights = None
    if any(part.weights is not None for part in parts):
        weights = np.concatenate(
            [np.ones(p.cells.shape[0]) if p.weights is None else p.weights for p in parts]
        )
    return ArffFile(first.relation, first.attributes, cells, weights)


def label_indicator(content: ArffFile, column: int, path: Path) -> NDArray[np.int64]:
    """Read a label column as 0 and 1, by its values and not by their order."""
    attribute: ArffAttribute = content.attributes[column]
    cells = column_values(content.cells, column)
    present = ~np.isnan(cells)
    values = cells
    if attribute.kind == "nominal":
        numbers = np.array([float(v) if v in ("0", "1") else np.nan for v in attribute.values])
        values = np.where(present, numbers[np.where(present, cells, 0).astype(int)], np.nan)
    wrong = ~np.isin(values, (0, 1)) | (attribute.kind not in ("numeric", "nominal"))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{path}: label {attribute.name!r} must be 0 or 1 everywhere, but is not in row {row}"
        )
    return values.astype(np.int64)


def set_name(path: Path) -> str:
    """Name a set after its file."""
    return path.name.split(".")[0]

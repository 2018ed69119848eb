"""Reading Mulan's pairs of files: ARFF for the data, XML for the names of the labels."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairmend._typing import Matrix
from pairmend.datasets.arff import ArffError, Attribute, read_arff
from pairmend.datasets.data import MultiLabelData


def load_mulan(
    arff: str | Path | Sequence[str | Path], xml: str | Path, *, name: str | None = None
) -> MultiLabelData:
    """Read a Mulan data set.

    Parameters
    ----------
    arff : path or list of paths
        The ARFF file, plain or gzipped; a list of parts with the same header is joined.
    xml : path
        The file that names the labels, plain or gzipped.
    name : str, default=None
        Name of the set; the stem of the first file if None.

    Returns
    -------
    MultiLabelData
    """
    paths = [Path(arff)] if isinstance(arff, str | Path) else [Path(part) for part in arff]
    parts = [read_arff(path) for path in paths]
    attributes = parts[0].attributes
    for path, part in zip(paths, parts, strict=True):
        if part.attributes != attributes:
            raise ArffError(path, 1, f"other attributes than those of {paths[0]}")
    cells: Matrix = (
        sparse.vstack([part.cells for part in parts], format="csc")
        if sparse.issparse(parts[0].cells)
        else np.vstack([part.cells for part in parts])
    )
    label_names = _read_label_names(Path(xml))
    places = {attribute.name: place for place, attribute in enumerate(attributes)}
    if missing := [label for label in label_names if label not in places]:
        raise ValueError(f"{xml}: names labels that {paths[0]} lacks: {missing}")
    labels = [places[label] for label in label_names]
    features = sorted(set(range(len(attributes))) - set(labels))
    X = cells[:, features]
    Y = np.column_stack([_indicator(cells[:, [f]], attributes[f], paths[0]) for f in labels])
    return MultiLabelData(
        X=X.tocsr() if sparse.issparse(X) else X,
        Y=Y,
        feature_names=tuple(attributes[f].name for f in features),
        label_names=tuple(label_names),
        categories={
            place: values
            for place, f in enumerate(features)
            if (values := attributes[f].values) is not None
        },
        name=name or paths[0].name.split(".")[0],
        source=(*paths, Path(xml)),
    )


def _indicator(column: Matrix, attribute: Attribute, path: Path) -> NDArray[np.int64]:
    """Turn the column of a label into 0 and 1, by its values and not by their order."""
    cells = np.asarray(column.toarray() if sparse.issparse(column) else column).ravel()
    known = ~np.isnan(cells)
    values = cells
    if attribute.values is not None:
        numbers = np.array([float(v) if v in ("0", "1") else np.nan for v in attribute.values])
        values = np.where(known, numbers[np.where(known, cells, 0).astype(int)], np.nan)
    if not np.isin(values, (0, 1)).all():
        row = int(np.flatnonzero(~np.isin(values, (0, 1)))[0])
        raise ValueError(
            f"{path}: label {attribute.name!r} must be 0 or 1 everywhere; data row {row + 1} is not"
        )
    return values.astype(np.int64)


def _read_label_names(path: Path) -> list[str]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if b"<!" in text.replace(b"<!--", b""):
        raise ValueError(f"{path}: a label file must not declare document types or entities")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: not an XML file: {error}") from error
    names = [element.get("name") for element in root.iter() if element.tag.endswith("label")]
    if not names or None in names:
        raise ValueError(f"{path}: expected <label name=...> elements, each with a name")
    return [name for name in names if name is not None]

"""Reading Mulan's pairs of files: ARFF for the data, XML for the names of the labels."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy import sparse

from pairmend._typing import Matrix
from pairmend.datasets.arff import ArffError, read_arff
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
    X, Y = cells[:, features], cells[:, labels]
    return MultiLabelData(
        X=X.tocsr() if sparse.issparse(X) else X,
        Y=(Y.toarray() if sparse.issparse(Y) else Y).astype(np.int64),
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

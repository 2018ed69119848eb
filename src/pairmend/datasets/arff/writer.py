"""write_arff: writes dense and sparse ARFF files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.files import written
from pairmend.datasets.arff.model import ArffAttribute, ArffFile
from pairmend.datasets.arff.tokens import quote
from pairmend.datasets.data import category


def write_arff(path: str | Path, content: ArffFile) -> None:
    """Write an ARFF file, sparse if the cells are; gz, bz2 and xz by the suffix.

    Parameters
    ----------
    path : str or Path
        The file; replaced as a whole once everything is written.
    content : ArffFile
        Its content, with numeric, nominal and string attributes only.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from pairmend.datasets import ArffAttribute, ArffFile, write_arff
    >>> content = ArffFile("photos", (ArffAttribute("sea", "nominal", values=("no", "yes")),),
    ...                    np.array([[1.0], [0.0]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.arff")
    ...     write_arff(path, content)
    ...     print(path.read_text())
    @relation photos
    <BLANKLINE>
    @attribute sea {no,yes}
    <BLANKLINE>
    @data
    yes
    no
    <BLANKLINE>
    """
    for attribute in content.attributes:
        if attribute.kind not in ("numeric", "nominal", "string"):
            raise ValueError(
                f"attribute {attribute.name!r} is {attribute.kind}; only numeric, nominal and "
                "string attributes can be written"
            )
        if any("\0" in text for text in (attribute.name, *attribute.values)):
            raise ValueError(f"{attribute.name!r}: a name or value holds the character NUL")
    with written(path) as file:
        file.write(f"@relation {quote(content.relation)}\n\n")
        for attribute in content.attributes:
            file.write(f"@attribute {quote(attribute.name)} {_type(attribute)}\n")
        file.write("\n@data\n")
        file.writelines(_rows(content))


def _type(attribute: ArffAttribute) -> str:
    if attribute.kind == "nominal":
        return f"{{{','.join(quote(value) for value in attribute.values)}}}"
    return attribute.kind


def _rows(content: ArffFile) -> Iterator[str]:
    cells = content.cells
    weights = [""] * cells.shape[0]
    if content.weights is not None:
        weights = [f",{{{float(weight)!r}}}" for weight in content.weights]
    if sparse.issparse(cells):
        for row, weight in enumerate(weights):
            inside = slice(cells.indptr[row], cells.indptr[row + 1])
            columns, values = cells.indices[inside], cells.data[inside]
            order = np.argsort(columns)
            texts = (
                f"{column} {_cell(content, column, value)}"
                for column, value in zip(columns[order], values[order], strict=True)
                if value != 0 or content.attributes[column].kind == "string"
            )
            yield f"{{{','.join(texts)}}}{weight}\n"
    else:
        for line, weight in zip(cells, weights, strict=True):
            texts = (_cell(content, column, value) for column, value in enumerate(line))
            yield f"{','.join(texts)}{weight}\n"


def _cell(content: ArffFile, column: int, value: Any) -> str:
    if np.isnan(value):
        return "?"
    attribute = content.attributes[column]
    if attribute.kind == "nominal":
        return quote(category(attribute.values, value, attribute.name))
    if attribute.kind == "string":
        return quote(content.texts[column][int(value)])
    return (
        str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
    )

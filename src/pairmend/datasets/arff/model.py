"""ArffFile, the content of an ARFF file; ArffError."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pairmend._utils.typing import FloatArray, Matrix

Kind = Literal["numeric", "nominal", "string", "date", "relational"]


class ArffError(ValueError):
    """A file that is not valid ARFF; the message names the file and the line.

    Parameters
    ----------
    path : Path
        The file.
    line : int
        Number of the line, from 1.
    problem : str
        What was found and what was expected.

    Examples
    --------
    >>> from pathlib import Path
    >>> from pairmend.datasets import ArffError
    >>> print(ArffError(Path("photos.arff"), 3, "the file ends before @data"))
    photos.arff, line 3: the file ends before @data
    """

    def __init__(self, path: Path, line: int, problem: str):
        super().__init__(f"{path}, line {line}: {problem}")
        self.path, self.line, self.problem = path, line, problem

    def __reduce__(self) -> tuple[type["ArffError"], tuple[Path, int, str]]:
        return type(self), (self.path, self.line, self.problem)


@dataclass(frozen=True, slots=True)
class ArffAttribute:
    """One attribute of an ARFF file.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"numeric", "nominal", "string", "date", "relational"}
        Its type; real and integer are numeric.
    values : tuple of str
        Values of a nominal attribute.
    attributes : tuple of ArffAttribute
        Attributes of a relational one.
    date_format : str
        Format of a date, in Java's notation.

    Examples
    --------
    >>> from pairmend.datasets import ArffAttribute
    >>> ArffAttribute("sea", "nominal", values=("no", "yes")).values
    ('no', 'yes')
    """

    name: str
    kind: Kind
    values: tuple[str, ...] = ()
    attributes: tuple["ArffAttribute", ...] = ()
    date_format: str = ""


@dataclass(frozen=True)
class ArffFile:
    """The content of an ARFF file.

    Attributes
    ----------
    relation : str
        Name of the relation.
    attributes : tuple of ArffAttribute
        The columns.
    cells : ndarray or CSR of shape (n_rows, n_attributes)
        Numbers; the place of a nominal value among the values of its attribute; the seconds
        since 1970 of a date; the place of a string in `texts`, and of a nested relation in
        `relations`. NaN where a value is missing. CSR if the file is sparse.
    weights : ndarray of shape (n_rows,) or None
        Instance weights, if the file has any.
    texts : dict
        The different strings of each string column, in the order of appearance.
    relations : dict
        Nested relations by column, one ArffFile a row.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import ArffAttribute, ArffFile
    >>> photos = ArffFile("photos", (ArffAttribute("size", "numeric"),), np.array([[2.5]]))
    >>> photos.attributes[0].name
    'size'
    """

    relation: str
    attributes: tuple[ArffAttribute, ...]
    cells: Matrix
    weights: FloatArray | None = None
    texts: dict[int, list[str]] = field(default_factory=dict)
    relations: dict[int, list["ArffFile"]] = field(default_factory=dict)

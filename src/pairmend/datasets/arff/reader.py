"""Reading ARFF files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._typing import Matrix
from pairmend.datasets.arff.bulk import BulkParser
from pairmend.datasets.arff.digits import NotPlain
from pairmend.datasets.arff.header import read_header
from pairmend.datasets.arff.model import ArffError, ArffFile, Attribute
from pairmend.datasets.arff.rows import RowParser
from pairmend.datasets.arff.text import Progress, candidate_encodings, line_batches


def read_arff(
    path: str | Path, *, encoding: str | None = None, progress: Progress | None = None
) -> ArffFile:
    r"""Read an ARFF file: dense or sparse, plain or compressed.

    Parameters
    ----------
    path : str or Path
        The file; gz, bz2 and xz are known by their suffix.
    encoding : str, default=None
        Its encoding. None goes by the byte order mark, else by whether it is UTF-8, and takes
        Latin-1 if it is not.
    progress : callable, default=None
        Is told the share of the file that has been read, from 0 to 1.

    Returns
    -------
    ArffFile

    Raises
    ------
    ArffError
        If the file is not as it should be. Nothing is returned of a file with an error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.arff")
    ...     _ = path.write_text("@relation photos\n@attribute size numeric\n"
    ...                         "@attribute sea {no,yes}\n@data\n2.5,yes\n?,no\n")
    ...     photos = read_arff(path)
    >>> [attribute.name for attribute in photos.attributes]
    ['size', 'sea']
    >>> photos.cells
    array([[2.5, 1. ],
           [nan, 0. ]])
    """
    path = Path(path)
    candidates = [encoding] if encoding else candidate_encodings(path)
    for candidate in candidates:
        try:
            return _read(path, candidate, progress)
        except UnicodeDecodeError as error:
            if candidate == candidates[-1]:
                raise ArffError(path, 1, f"not a text in {candidate}: {error.reason}") from error
    raise AssertionError("there is always a candidate")


def _read(path: Path, encoding: str, progress: Progress | None) -> ArffFile:
    batches = _Batches(line_batches(path, encoding, progress))
    relation, attributes = read_header(path, batches.lines())
    body = _Body(path, attributes)
    for numbers, lines in batches.rest():
        body.add(numbers, lines)
    cells, weights = body.finish(batches.number)
    return ArffFile(
        relation, attributes, cells, weights, body.rows.texts, _nested(path, attributes, body.rows)
    )


class _Batches:
    """Lines one by one for the header, then whole batches for the data."""

    def __init__(self, batches: Iterator[tuple[int, list[str]]]):
        self._batches = batches
        self._left: list[tuple[int, str]] = []
        self.number = 1

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield lines that say something, for as long as they are asked for."""
        for first, batch in self._batches:
            self._left = _telling(first, batch)[::-1]
            while self._left:
                self.number, line = self._left.pop()
                yield self.number, line

    def rest(self) -> Iterator[tuple[list[int], list[str]]]:
        """Yield the numbers and texts of the lines that are left."""
        yield self._unzip(self._left[::-1])
        for first, batch in self._batches:
            yield self._unzip(_telling(first, batch))

    def _unzip(self, numbered: list[tuple[int, str]]) -> tuple[list[int], list[str]]:
        if numbered:
            self.number = numbered[-1][0]
        return [number for number, _ in numbered], [line for _, line in numbered]


def _telling(first: int, lines: list[str]) -> list[tuple[int, str]]:
    stripped = ((number, line.strip()) for number, line in enumerate(lines, start=first))
    return [(number, line) for number, line in stripped if line and not line.startswith("%")]


class _Body:
    """Collects the data rows of a file."""

    def __init__(self, path: Path, attributes: Sequence[Attribute]):
        self.path = path
        self.n_columns = len(attributes)
        self.bulk, self.rows = BulkParser(attributes), RowParser(attributes)
        self.is_sparse: bool | None = None
        self.blocks: list[Any] = []
        self.weights: list[tuple[int, float]] = []
        self.n_rows = 0

    def add(self, numbers: list[int], lines: list[str]) -> None:
        if not lines:
            return
        if self.is_sparse is None:
            self.is_sparse = lines[0].startswith("{")
        for number, line in zip(numbers, lines, strict=True):
            if line.startswith("{") != self.is_sparse:
                raise ArffError(self.path, number, "dense and sparse rows in one file")
        try:
            parse = self.bulk.sparse if self.is_sparse else self.bulk.dense
            self.blocks.append(parse(lines))
        except NotPlain:
            self.blocks.append(self._one_by_one(numbers, lines))
        self.n_rows += len(lines)

    def _one_by_one(self, numbers: list[int], lines: list[str]) -> Any:
        parse = self.rows.sparse if self.is_sparse else self.rows.dense
        columns: list[int] = []
        values: list[float] = []
        counts: list[int] = []
        for row, (number, line) in enumerate(zip(numbers, lines, strict=True), self.n_rows):
            self.rows.line = number
            try:
                row_columns, row_values, weight = parse(line)
            except ValueError as error:
                raise ArffError(self.path, number, str(error)) from None
            columns += row_columns
            values += row_values
            counts.append(len(row_values))
            if weight is not None:
                self.weights.append((row, weight))
        if self.is_sparse:
            return np.array(columns, dtype=np.int64), np.array(values), np.array(counts)
        return np.array(values).reshape(len(lines), self.n_columns)

    def finish(self, number: int) -> tuple[Matrix, Any]:
        if self.is_sparse is None:
            raise ArffError(self.path, number, "no data rows behind @data")
        weights = None
        if self.weights:
            weights = np.ones(self.n_rows)
            for row, weight in self.weights:
                weights[row] = weight
        if not self.is_sparse:
            return np.concatenate(self.blocks), weights
        columns, values, counts = (np.concatenate(part) for part in zip(*self.blocks, strict=True))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        shape = (self.n_rows, self.n_columns)
        return sparse.csr_array((values, columns.astype(np.int32), indptr), shape=shape), weights


def _nested(
    path: Path, attributes: tuple[Attribute, ...], rows: RowParser
) -> dict[int, list[ArffFile]]:
    """Parse the nested relations, each a text with a row a line."""
    relations = {}
    for column, bags in rows.bags.items():
        attribute = attributes[column]
        parsed: list[ArffFile] = []
        for line, bag in bags:
            body = _Body(path, attribute.attributes)
            numbered = _telling(1, bag.split("\n"))
            try:
                body.add([number for number, _ in numbered], [line for _, line in numbered])
                cells, weights = body.finish(1)
            except ArffError as error:
                raise ArffError(
                    path,
                    line,
                    f"in bag {len(parsed) + 1} of {attribute.name!r}, its line {error.line}: "
                    f"{error.problem}",
                ) from None
            parsed.append(
                ArffFile(attribute.name, attribute.attributes, cells, weights, body.rows.texts)
            )
        relations[column] = parsed
    return relations

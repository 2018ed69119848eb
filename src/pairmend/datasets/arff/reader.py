"""read_arff: reads the header, then rows in batches."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.typing import FloatArray, Matrix
from pairmend.datasets.arff.bulk import BulkParser
from pairmend.datasets.arff.digits import NotPlain
from pairmend.datasets.arff.header import read_header
from pairmend.datasets.arff.model import ArffAttribute, ArffError, ArffFile
from pairmend.datasets.arff.rows import RowParser
from pairmend.datasets.arff.text import Progress, candidate_encodings, line_batches
from pairmend.datasets.limits import DEFAULT_LIMITS, CellCount, ReadLimitError, ReadLimits


def read_arff(
    path: str | Path,
    *,
    encoding: str | None = None,
    progress: Progress | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> ArffFile:
    r"""Read an ARFF file: dense or sparse, plain or compressed.

    Parameters
    ----------
    path : str or Path
        The file; gz, bz2 and xz are decompressed by their suffix.
    encoding : str, default=None
        Its encoding. None means that of the byte order mark, else UTF-8, or Latin-1 if the file
        is not valid UTF-8.
    progress : callable, default=None
        Called with the share of the file that has been read, from 0 to 1.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    ArffFile

    Raises
    ------
    ArffError
        If the file is not valid ARFF.
    ReadLimitError
        If the file holds more than `limits` allow.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import read_arff
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
            return _read(path, candidate, progress, limits)
        except UnicodeDecodeError as error:
            if candidate == candidates[-1]:
                raise ArffError(path, 1, f"not a text in {candidate}: {error.reason}") from error
    raise AssertionError("there is at least one candidate")


def _read(path: Path, encoding: str, progress: Progress | None, limits: ReadLimits) -> ArffFile:
    count = CellCount(path, limits)
    batches = _Batches(line_batches(path, encoding, progress, limits))
    relation, attributes = read_header(path, batches.lines(), count)
    body = _Body(path, BulkParser(attributes), RowParser(attributes, count))
    for numbers, lines in batches.rest():
        body.add(numbers, lines)
    cells, weights = body.finish(batches.number)
    nested = _nested(path, attributes, body.rows)
    texts: dict[int, list[str]] = {
        column: [] for column, attribute in enumerate(attributes) if attribute.kind == "string"
    }
    return ArffFile(relation, attributes, cells, weights, texts | _texts(body.rows), nested)


def _texts(rows: RowParser) -> dict[int, list[str]]:
    return {column: list(texts) for column, texts in rows.texts.items()}


class _Batches:
    """Lines one by one for the header, then whole batches for the data."""

    def __init__(self, batches: Iterator[tuple[int, list[str]]]):
        self._batches = batches
        self._left: list[tuple[int, str]] = []
        self.number = 1

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield lines that are neither empty nor comments."""
        for first, batch in self._batches:
            self._left = _significant(first, batch)[::-1]
            while self._left:
                self.number, line = self._left.pop()
                yield self.number, line

    def rest(self) -> Iterator[tuple[list[int], list[str]]]:
        """Yield the numbers and texts of the lines that are left."""
        yield self._unzip(self._left[::-1])
        for first, batch in self._batches:
            yield self._unzip(_significant(first, batch))

    def _unzip(self, numbered: list[tuple[int, str]]) -> tuple[list[int], list[str]]:
        if numbered:
            self.number = numbered[-1][0]
        return [number for number, _ in numbered], [line for _, line in numbered]


def _significant(first: int, lines: list[str]) -> list[tuple[int, str]]:
    if not any(lines):
        return []
    stripped = ((number, line.strip()) for number, line in enumerate(lines, start=first))
    return [(number, line) for number, line in stripped if line and not line.startswith("%")]


class _Body:
    """Collects the data rows of a file."""

    def __init__(self, path: Path, bulk: BulkParser, rows: RowParser):
        self.path = path
        self.n_columns = len(rows.attributes)
        self.bulk, self.rows = bulk, rows
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
            block: Any = parse(lines)
        except NotPlain:
            block = self._one_by_one(numbers, lines)
        if self.is_sparse:
            columns, values, counts = block
            self.rows.count.add(2 * len(values) + len(counts))
            block = columns.astype(np.int32), values, counts
        else:
            self.rows.count.add(block.size)
        self.blocks.append(block)
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
            except ReadLimitError:
                raise
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
            raise ArffError(self.path, number, "no data rows after @data")
        weights = None
        if self.weights:
            weights = np.ones(self.n_rows)
            for row, weight in self.weights:
                weights[row] = weight
        shape = (self.n_rows, self.n_columns)
        if not self.is_sparse:
            return _join_blocks(self.blocks, *shape), weights
        columns, values, counts = (np.concatenate(part) for part in zip(*self.blocks, strict=True))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        # Trees of scikit-learn accept 32-bit indices only.
        dtype = np.int32 if max(len(columns), *shape) <= np.iinfo(np.int32).max else np.int64
        cells = values, columns.astype(dtype, copy=False), indptr.astype(dtype, copy=False)
        return sparse.csr_array(cells, shape=shape), weights


def _nested(
    path: Path, attributes: tuple[ArffAttribute, ...], rows: RowParser
) -> dict[int, list[ArffFile]]:
    """Parse the nested relations, each a text with a row a line."""
    relations = {}
    for column, bags in rows.bags.items():
        attribute = attributes[column]
        parsed: list[ArffFile] = []
        bulk = BulkParser(attribute.attributes)
        nested_rows = RowParser(attribute.attributes, rows.count)
        _ = nested_rows.places  # made once and shared by all bags
        for line, bag in bags:
            body = _Body(path, bulk, nested_rows.for_bag())
            numbered = _significant(1, bag.split("\n"))
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
                ArffFile(attribute.name, attribute.attributes, cells, weights, _texts(body.rows))
            )
        relations[column] = parsed
    return relations


def _join_blocks(blocks: list[FloatArray], n_rows: int, n_columns: int) -> FloatArray:
    """Move blocks of rows into one array; each block is freed as soon as it is copied."""
    cells = np.empty((n_rows, n_columns))
    while blocks:
        block = blocks.pop()
        cells[n_rows - len(block) : n_rows] = block
        n_rows -= len(block)
    return cells

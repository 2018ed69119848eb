"""Feature values of explained rows and of their neighbours, and the differences between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from scipy import sparse

from pairmend._utils.arrays import frame_columns, is_frame, is_pandas
from pairmend._utils.typing import FloatArray, IntArray
from pairmend.explanation.data import Explanation, FeatureExplanation, Value


def add_features(
    explanations: Sequence[Explanation],
    X: Any,
    training: Any = None,
    *,
    names: Sequence[str] = (),
    typed: tuple[Any, Any] | None = None,
) -> list[Explanation]:
    """Add index and feature values of the rows; with the training rows, those of neighbours too.

    Parameters
    ----------
    explanations : sequence of Explanation
        One for each row of X.
    X : frame, array, sparse matrix, mapping of arrays, or list
        The explained rows.
    training : same as X, default=None
        The rows given to fit, in the same order.
    names : sequence of str, default=()
        Names of the features, for arrays.
    typed : tuple of two frames, default=None
        X and training with the column types of fit, where those of X and training differ. Strings
        that are numbers or dates by these types are compared as numbers.

    Returns
    -------
    list of Explanation
    """
    rows = read_table(X, names)
    known = None if training is None else read_table(training, names)
    if known is not None and rows.names != known.names:
        raise ValueError(
            f"training has the features {_some(known.names)}; expected those of X, "
            f"{_some(rows.names)}."
        )
    _read_numbers(rows, known, typed or (X, training))
    return [_described(explanation, rows, known) for explanation in explanations]


def _read_numbers(rows: "_Table", training: "_Table | None", typed: tuple[Any, Any]) -> None:
    """Set the numbers of columns of strings that are numbers or dates."""
    if not isinstance(rows, _Columns) or not isinstance(training, _Columns):
        return
    if all(map(is_frame, typed)):
        from pairmend.frames.kinds import numbers_to_compare  # needs scikit-learn

        for place, numbers in numbers_to_compare(*typed).items():
            if training.numbers[place] is None:
                rows.numbers[place], training.numbers[place] = numbers


def _described(explanation: Explanation, rows: "_Table", training: "_Table | None") -> Explanation:
    index = rows.index_of(explanation.row)
    if training is None:
        return replace(explanation, index=index)
    neighbours = explanation.training_rows
    if missing := [each.row for each in neighbours if each.row >= training.n_rows]:
        raise ValueError(
            f"training has {training.n_rows} rows, but row {missing[0]} is a neighbour; expected "
            "the rows given to fit, in the same order."
        )
    columns = np.unique(
        np.concatenate(
            [rows.used(explanation.row), *(training.used(each.row) for each in neighbours)]
        )
    )
    own = rows.cells(explanation.row, columns)
    same = tuple(training.equal_rows(rows, explanation.row).tolist())
    cells = [training.cells(each.row, columns) for each in neighbours]
    # The row itself has no difference, and would hide those of its neighbours.
    others = [k for k, each in enumerate(neighbours) if each.row not in same]
    shares = np.array([neighbours[k].share for k in others])
    differences: list[float | None] = [None] * len(columns)
    if shares.sum() > 0:
        spans = training.spans(columns)
        differences = [
            float(
                np.average([_difference(own[f], cells[k][f], span) for k in others], weights=shares)
            )
            for f, span in enumerate(spans)
        ]
    return replace(
        explanation,
        index=index,
        same_rows=same,
        training_rows=tuple(
            replace(
                each,
                index=training.index_of(each.row),
                values=tuple(cell.value for cell in values),
            )
            for each, values in zip(neighbours, cells, strict=True)
        ),
        features=tuple(
            FeatureExplanation(rows.names[f], cell.value, difference)
            for f, cell, difference in zip(columns.tolist(), own, differences, strict=True)
        ),
    )


@dataclass(frozen=True)
class _Cell:
    """A feature value, and the number by which it is compared, NaN if it is missing or a text."""

    value: Value
    number: float


def _difference(first: _Cell, second: _Cell, span: float) -> float:
    """Return Gower's difference: of numbers by the span of the feature, of texts 0 or 1."""
    if first.value is None or second.value is None:
        return float(first.value is not second.value)
    distance = abs(first.number - second.number)
    if np.isnan(span) or np.isnan(distance):
        return float(first.value != second.value)
    return distance / span if span > 0 else float(distance > 0)


class _Columns:
    """Rows of a frame or an array as columns of numbers or texts."""

    def __init__(self, columns: Mapping[str, Any], index: Sequence[Any] | None = None):
        self.names = tuple(columns)
        self.index = index
        self.numbers: list[FloatArray | None] = []
        self.texts: list[Any] = []
        for column in columns.values():
            numbers, texts = _split(column)
            self.numbers.append(numbers)
            self.texts.append(texts)
        first: Any = self.texts[0] if self.numbers[0] is None else self.numbers[0]
        self.n_rows = len(first)

    def index_of(self, row: int) -> int | str | None:
        if self.index is None:
            return None
        value = self.index[row]
        return int(value) if isinstance(value, int | np.integer) else str(value)

    def used(self, row: int) -> IntArray:
        return np.arange(len(self.names))

    def cells(self, row: int, columns: IntArray) -> list[_Cell]:
        return [self._cell(row, column) for column in columns.tolist()]

    def _cell(self, row: int, column: int) -> _Cell:
        numbers, texts = self.numbers[column], self.texts[column]
        number = np.nan if numbers is None else float(numbers[row])
        if texts is not None:
            return _Cell(texts[row], number)
        return _Cell(None if np.isnan(number) else number, number)

    def spans(self, columns: IntArray) -> list[float]:
        """Return the range of each column of numbers, NaN for texts."""
        return [_span(self.numbers[column]) for column in columns.tolist()]

    def equal_rows(self, other: "_Table", row: int) -> IntArray:
        """Return the rows with the same values as a row of another table."""
        found = np.arange(self.n_rows)
        for column, cell in enumerate(other.cells(row, np.arange(len(self.names)))):
            numbers, texts = self.numbers[column], self.texts[column]
            if texts is not None and (numbers is None or np.isnan(cell.number)):
                equal = np.array([texts[k] == cell.value for k in found], dtype=bool)
            else:
                values: Any = numbers[found] if numbers is not None else found
                equal = np.isnan(values) if cell.value is None else values == cell.number
            found = found[equal]
        return found


class _SparseRows:
    """Rows of a sparse matrix; only the columns that are not zero are used."""

    index = None

    def __init__(self, matrix: Any, names: tuple[str, ...]):
        self.matrix, self.names = matrix.tocsr(), names
        self.n_rows = int(matrix.shape[0])

    def index_of(self, row: int) -> int | str | None:
        return None

    def used(self, row: int) -> IntArray:
        return np.asarray(self.matrix[[row]].nonzero()[1])

    def cells(self, row: int, columns: IntArray) -> list[_Cell]:
        numbers = self.matrix[[row]][:, columns].toarray()[0].tolist()
        return [_Cell(None if np.isnan(number) else number, number) for number in numbers]

    def spans(self, columns: IntArray) -> list[float]:
        """Return the range of each column."""
        chosen = self.matrix[:, columns]
        return (chosen.max(axis=0).toarray() - chosen.min(axis=0).toarray()).ravel().tolist()

    def equal_rows(self, other: "_Table", row: int) -> IntArray:
        """Return the rows with the same values as a row of another table."""
        columns = other.used(row)
        own = np.array([cell.number for cell in other.cells(row, columns)])
        columns, own = columns[own != 0], own[own != 0]
        # As many columns that are not zero, and the same values in those of the row.
        counts = np.bincount(self.matrix.nonzero()[0], minlength=self.n_rows)
        found = np.flatnonzero(counts == len(columns))
        values = self.matrix[found][:, columns].toarray()
        return np.asarray(found[(values == own).all(axis=1)])


_Table = _Columns | _SparseRows


def read_table(X: Any, names: Sequence[str] = ()) -> _Table:
    """Return rows with names of features and the index of a pandas frame.

    A list of texts is one feature.
    """
    if isinstance(X, Mapping):
        return _Columns(X)
    if is_frame(X):
        labels = [str(name) for name in frame_columns(X)]
        if is_pandas(X):
            found = [X.iloc[:, place] for place in range(len(labels))]
            return _Columns(dict(zip(labels, found, strict=True)), X.index)
        get = X.get_column if hasattr(X, "get_column") else X.column
        return _Columns({str(name): get(name) for name in frame_columns(X)})
    if sparse.issparse(X):
        return _SparseRows(X, _names(names, X.shape[1]))
    array = np.asarray(X) if not isinstance(X, list | tuple) else _as_array(X)
    if array.ndim == 1:
        return _Columns({"X": array})
    array = array.reshape(len(array), -1)
    return _Columns(dict(zip(_names(names, array.shape[1]), array.T, strict=True)))


def _names(names: Sequence[str], n_features: int) -> tuple[str, ...]:
    return tuple(map(str, names)) or tuple(f"feature {k}" for k in range(n_features))


def _as_array(rows: Sequence[Any]) -> Any:
    """Return rows of numbers as an array, others as texts."""
    try:
        array = np.asarray(rows)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf" and array.ndim > 1:
        return array
    texts = np.empty(len(rows), dtype=object)
    texts[:] = [str(row) for row in rows]
    return texts


def _split(column: Any) -> tuple[FloatArray | None, Any]:
    """Return a column as numbers, or as texts, or a column of dates as both."""
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if isinstance(column, np.ndarray) and kind in "biuf":
        return column.astype(np.float64, copy=False), None
    if not isinstance(column, np.ndarray) and hasattr(column, "dtype"):
        is_polars = hasattr(column.dtype, "is_numeric")
        if column.dtype.is_numeric() if is_polars else kind in "iuf":
            to_numpy = {"dtype": np.float64, "na_value": np.nan} if hasattr(column, "iloc") else {}
            return np.asarray(column.to_numpy(**to_numpy), dtype=np.float64), None
    cells = _cells(column)
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, int | float) and not isinstance(cell, bool)
                       for cell in present):  # fmt: skip
        return np.array([np.nan if cell is None else float(cell) for cell in cells]), None
    texts = np.empty(len(cells), dtype=object)
    if present and all(isinstance(cell, datetime) for cell in present):
        texts[:] = [None if cell is None else cell.isoformat(sep=" ") for cell in cells]
        seconds = [np.nan if cell is None else cell.timestamp() for cell in cells]
        return np.array(seconds), texts
    texts[:] = [None if cell is None else str(cell) for cell in cells]
    return None, texts


def _cells(column: Any) -> list[Any]:
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(column, name):
            found = getattr(column, name)()
            break
    else:
        found = list(column)
    return [None if _is_missing(cell) else cell for cell in found]


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float) and cell != cell


def _span(numbers: FloatArray | None) -> float:
    if numbers is None:
        return float("nan")
    present = numbers[~np.isnan(numbers)]
    return float(present.max() - present.min()) if len(present) else 0.0


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more

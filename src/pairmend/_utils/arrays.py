"""Rows of features: arrays, sparse matrices and frames of any library; their checks and forms."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from pairmend._utils import sklearn_private
from pairmend._utils.computing import budget
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix, MatrixLike

Array: TypeAlias = Any
"""An array of any library that has the functions of the array API."""

CONVERT = "Convert X, for example with X.cpu().numpy()."
"""What to do with arrays of torch where only those of numpy are taken."""


@dataclass(frozen=True)
class Namespace:
    """The functions of an array library, and a device.

    Attributes
    ----------
    xp : module
        Functions of the array API.
    device : object
        The device, as the library names it.
    """

    xp: Any
    device: Any

    @classmethod
    def of(cls, array: Array) -> "Namespace":
        """Return the namespace and the device of an array."""
        return cls(sklearn_private.get_namespace(array)[0], sklearn_private.device_of(array))

    @property
    def library(self) -> str:
        """The name of the array library."""
        return str(self.xp.__name__.rsplit(".", maxsplit=1)[-1])

    @property
    def float64(self) -> Any:
        """Double precision, or the most precise dtype of the device."""
        return sklearn_private.most_precise_float(self.xp, self.device)

    def asarray(self, values: Any, dtype: Any = None) -> Array:
        """Return an array of numpy, or of this library, on the device."""
        values = np.asarray(values) if isinstance(values, np.generic | list) else values
        if isinstance(values, np.ndarray):
            values = np.ascontiguousarray(values)
            if values.dtype == np.float64 and dtype is None:
                dtype = self.float64
        return self.xp.asarray(values, dtype=dtype, device=self.device)

    def numpy(self, array: Array) -> np.ndarray[Any, Any]:
        """Return an array of numpy."""
        return np.asarray(sklearn_private.to_numpy(array, self.xp))

    def take(self, array: Array, indices: Array, axis: int = 0) -> Array:
        """Select along an axis by an array of indices of any shape."""
        flat = self.xp.take(array, self.xp.reshape(indices, (-1,)), axis=axis)
        return self.xp.reshape(
            flat, (*array.shape[:axis], *indices.shape, *array.shape[axis + 1 :])
        )

    @property
    def max_bytes(self) -> int:
        """Largest size of the arrays of a chunk."""
        return budget()


def foreign_namespace(X: Any) -> Namespace | None:
    """Return the namespace of an array of another library than numpy, if scikit-learn dispatches.

    None without ``sklearn.config_context(array_api_dispatch=True)``, before scikit-learn 1.9, and
    for all other input.
    """
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack__"):
        return None
    if not (sklearn_private.HAS_ARRAY_API and get_config()["array_api_dispatch"]):
        return None
    if "sparse" in str(getattr(X, "layout", "")):
        raise ValueError(
            "A sparse tensor was passed, and dense ones are expected. Pass X.to_dense(), or a "
            "sparse matrix of scipy to compute on the CPU."
        )
    namespace = Namespace.of(X)
    return None if namespace.xp.__name__.endswith("numpy") else namespace


def check_device_rows(X: Array, namespace: Namespace, estimator: Any = None) -> Array:
    """Return rows as floats; complex, missing and infinite values are an error."""
    xp = namespace.xp
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: X is of {X.dtype}. Pass real numbers.")
    return check_array(
        X, dtype=[namespace.float64, xp.float32], estimator=estimator, input_name="X"
    )


def warn_of_n_jobs(estimator: Any, namespace: Namespace) -> None:
    """Warn that `n_jobs` has no effect on a fit on a device."""
    if estimator.n_jobs is not None:
        warnings.warn(
            f"n_jobs={estimator.n_jobs} has no effect on arrays of {namespace.library}, whose "
            "device computes one fit after the other. Set n_jobs=None.",
            stacklevel=5,
        )


def as_numpy(value: Any) -> Any:
    """Return an array of any library as numpy's, anything else as it is."""
    namespace = foreign_namespace(value)
    return value if namespace is None else namespace.numpy(value)


def like_rows(values: np.ndarray[Any, Any], X: Any) -> Any:
    """Return values on the device of rows, if these are of another array library than numpy."""
    namespace = foreign_namespace(X)
    if namespace is None or values.dtype.kind not in "biuf":  # only numpy has texts
        return values
    return namespace.asarray(values)


def refuse_arrays(X: Any, method: str, remedy: str = CONVERT) -> None:
    """Raise an error for arrays of another library than numpy in a method without support."""
    if (namespace := foreign_namespace(X)) is not None:
        raise ValueError(
            f"{method} takes arrays of numpy, and X is of {namespace.library}. {remedy}"
        )


def check_same_namespace(X: Any, estimator: Any, *, attribute: str, method: str) -> None:
    """Raise an error if X is not of the array library and device of a fitted attribute."""
    fitted = getattr(estimator, attribute, None)
    is_numpy = fitted is None or isinstance(fitted, np.ndarray)
    if is_numpy and foreign_namespace(X) is None:
        return
    check_is_fitted(estimator)
    if not get_config()["array_api_dispatch"]:
        kind = type(fitted).__module__.split(".", maxsplit=1)[0]
        raise ValueError(
            f"This {type(estimator).__name__} was fitted on arrays of {kind}. Call {method} within "
            "sklearn.config_context(array_api_dispatch=True), or move the estimator to numpy with "
            "sklearn.utils._array_api.move_estimator_to."
        )
    sklearn_private.compare_namespaces(X, estimator, attribute=attribute, method=method)


def with_numpy_arrays(estimator: Any) -> Any:
    """Return a fitted classifier of the library with arrays of numpy, for use on any machine."""
    attribute = getattr(estimator, "_array_attribute", None)
    if isinstance(getattr(estimator, attribute or "", None), np.ndarray | None):
        return estimator
    with config_context(array_api_dispatch=True):
        return sklearn_private.move_estimator(estimator, np, "cpu")


Convert: TypeAlias = Callable[[Array], Array]
"""Moves an array to another library or device."""


SPARSE_SHARE = 0.15
"""Share of stored cells above which a sparse matrix is made dense: it is faster by far."""
MOSTLY_ZEROS = 0.05
"""Share of cells that are not 0 up to which a dense matrix is made sparse.

In naive Bayes of all pairs and in distances of 500 features, both forms take the same time at
about this share. Matrices between the two shares keep their form.
"""


def by_density(X: Matrix) -> Matrix:
    """Convert a dense matrix of mostly zeros to CSR, and a sparse one with many cells to dense.

    NaN is not 0. An array of other than two dimensions, or of a dtype that sparse matrices do not
    support, is returned unchanged.
    """
    if sparse.issparse(X):
        return densify(X)
    if not can_be_sparse(X):
        return X
    is_stored = X != 0
    n_nonzero = int(np.count_nonzero(is_stored))
    return _to_csr(X, is_stored) if is_mostly_zeros(n_nonzero, X.size) else X


def can_be_sparse(X: FloatArray) -> bool:
    """Return whether an array has two dimensions and a dtype that sparse matrices support."""
    return X.ndim == 2 and X.dtype.kind in "biuf" and X.dtype != np.float16


def is_mostly_zeros(n_nonzero: int, n_cells: int) -> bool:
    """Return whether a dense matrix with this many cells that are not 0 is made sparse."""
    return n_nonzero <= MOSTLY_ZEROS * n_cells


def to_csr(X: Matrix) -> Matrix:
    """Convert a matrix to CSR: as ``scipy.sparse.csr_array`` does, but several times faster."""
    return sparse.csr_array(X) if sparse.issparse(X) else _to_csr(X, X != 0)


def densify(X: Matrix) -> Matrix:
    """Convert a sparse matrix that stores many of its cells to a dense one."""
    if sparse.issparse(X) and X.nnz > SPARSE_SHARE * X.shape[0] * X.shape[1]:
        return X.toarray()
    return X


def _to_csr(X: FloatArray, is_stored: BoolArray) -> Matrix:
    """Convert the cells of a dense matrix that a mask selects to CSR."""
    row, column = np.divmod(np.flatnonzero(is_stored), X.shape[1])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(X)))])
    largest = max(len(row), X.shape[1])
    index = np.int32 if largest <= np.iinfo(np.int32).max else np.int64  # as scipy chooses
    cells = X[row, column], column.astype(index), indptr.astype(index)
    return sparse.csr_array(cells, shape=X.shape)


def is_frame(X: MatrixLike) -> bool:
    """Return whether X is a frame of pandas or polars or a table of pyarrow; imports none."""
    if hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_series")):
        return True
    return hasattr(X, "column_names") and hasattr(X, "column")


def frame_columns(X: MatrixLike) -> list[Any]:
    """Return the names of the columns of a frame."""
    return list(X.columns if hasattr(X, "to_series") or hasattr(X, "iloc") else X.column_names)


class TextTable:
    """A list of texts as a table with one column, which is read as one of pyarrow."""

    column_names = ("text",)

    def __init__(self, texts: Any):
        self.texts = list(texts)
        self.shape = (len(self.texts), 1)

    def column(self, position: int) -> "TextTable":
        """Return the only column."""
        return self

    def to_pylist(self) -> list[str | None]:
        """Return the texts."""
        return self.texts


def is_texts(X: Any) -> bool:
    """Return whether X is a list of strings, of which any may be missing."""
    if not isinstance(X, list | tuple) or not X:
        return False
    return all(text is None or isinstance(text, str) for text in X)


def _texts_of(X: Any) -> list[Any] | None:
    """Return the texts of a 1-D array or a series as a list, None for anything else."""
    is_series = hasattr(X, "to_list") and not is_frame(X)
    if not is_series and not (isinstance(X, np.ndarray) and X.ndim == 1):
        return None
    if getattr(X.dtype, "kind", "O") not in "OUT":  # numbers may all be missing, too
        return None
    cells = X.to_list() if is_series else X.tolist()
    texts = [c if isinstance(c, str) or str(c) not in ("nan", "<NA>") else None for c in cells]
    return texts if is_texts(texts) else None


def is_pandas(X: MatrixLike) -> bool:
    """Return whether X is a pandas frame, without importing pandas."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def has_categories(column: Any) -> bool:
    """Return whether a column has pandas' category dtype."""
    return hasattr(column.dtype, "categories")


@dataclass(frozen=True)
class EncodedFrame:
    """Rows of a frame as numbers, together with the fitted FrameEncoder.

    Rows can be selected as those of an array. The shape is that of the frame.
    """

    values: FloatArray
    encoder: Any
    words: Any = None
    """TF-IDF of the words of texts whose components are in `values`, CSR; None without any."""

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns of the frame."""
        return len(self.values), self.encoder.n_features_in_

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> "EncodedFrame":
        words = None if self.words is None else self.words[rows]
        return EncodedFrame(self.values[rows], self.encoder, words)

    @property
    def numbers(self) -> FloatArray:
        """Columns of numbers, NaN where missing."""
        return self._selected(self.encoder.n_categories_ == 0)

    @property
    def codes(self) -> FloatArray:
        """Columns of codes of categories, NaN where missing."""
        return self._selected(self.encoder.n_categories_ > 0)

    @property
    def components(self) -> FloatArray:
        """Columns of components of texts and dates."""
        return self._selected(self.encoder.n_categories_ < 0)

    @property
    def not_in_words(self) -> FloatArray:
        """Columns of components that `words` does not hold in full."""
        return self._selected(self.encoder.n_categories_ == -1)

    def _selected(self, columns: Any) -> FloatArray:
        # C order: sums are then added in the same order as those of arrays.
        return self.values if columns.all() else np.ascontiguousarray(self.values[:, columns])

    def coordinates(self) -> FloatArray:
        """Return coordinates of categories, texts and dates for distances.

        Two rows with different categories are at distance 1. Each category, and one more for those
        that did not occur in fit, has its own axis. A missing value is at the origin.
        """
        parts = [np.empty((len(self), 0))]
        for column, n_categories in enumerate(self.encoder.n_categories_):
            factor, values = self.encoder.distance_factor_[column], self.values[:, [column]]
            if n_categories > 0:
                parts.append((values == np.arange(n_categories + 1)) * factor)
            elif n_categories < 0 and factor > 0:
                parts.append(values * factor)
        return np.hstack(parts)


def stack_rows(parts: Sequence[MatrixLike]) -> MatrixLike:
    """Concatenate rows: arrays, CSR matrices, frames or encoded frames."""
    if isinstance(parts[0], EncodedFrame):
        values = np.concatenate([part.values for part in parts])
        words = [part.words for part in parts if part.words is not None]
        found = sparse.vstack(words, format="csr") if words else None
        return replace(parts[0], values=values, words=found)
    if hasattr(parts[0], "columns"):
        import pandas as pd

        return pd.concat(parts)
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


LARGEST = {"float64": 1e100, "float32": 1e15}
"""Largest magnitude of a feature value by precision: products of larger values overflow."""


def check_rows(X: MatrixLike) -> MatrixLike:
    """Make rows of X selectable, without a check of the cells.

    A sparse matrix becomes CSR in which each cell is stored once, in the order of the columns.
    The base classifier may be a pipeline for texts, frames or missing values.
    """
    if isinstance(X, str):
        raise ValueError(f"X is one text, {X[:40]!r}; expected a list of texts. Pass [X].")
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    elif (texts := _texts_of(X)) is not None:
        X = texts
    elif isinstance(X, list | tuple):
        with suppress(ValueError):  # rows of different lengths, which a pipeline may accept
            array = np.asarray(X)
            X = array if array.dtype.kind in "biufc" else X  # texts stay as they are
    elif not hasattr(X, "__getitem__") or (
        not isinstance(X, np.ndarray) and hasattr(X, "__dlpack__") and foreign_namespace(X) is None
    ):  # also an array of another library that scikit-learn does not dispatch
        X = np.asarray(X)
    if sklearn_private.count_rows(X) == 0:
        raise ValueError("X has 0 sample(s), while a minimum of 1 is required.")
    return X


def check_training_rows(X: MatrixLike) -> MatrixLike:
    """Check rows as :func:`check_rows` does, and that variances and distances do not overflow."""
    X = check_rows(X)
    check_magnitude(X)
    return X


def check_magnitude(X: MatrixLike) -> None:
    """Raise an error for finite values of which products overflow in double precision.

    Single precision is converted before. NaN and infinity are left to other checks.
    """
    # Some sparse formats have no `data`, and are converted later.
    limit, values = LARGEST["float64"], getattr(X, "data", None) if sparse.issparse(X) else X
    if (namespace := foreign_namespace(X)) is not None:
        if X.dtype != namespace.xp.float64 or 0 in X.shape:
            return
        largest = float(namespace.xp.max(namespace.xp.abs(X)))
    elif type(values) is not np.ndarray or values.dtype != np.float64 or _is_moderate(values):
        return
    else:
        largest = np.max(np.abs(values), where=np.isfinite(values), initial=0.0)
    if limit < largest < np.inf:
        raise ValueError(
            f"X holds a value of magnitude {largest:.3g}; expected at most {limit:g}, because "
            "products of larger values overflow. Scale the features, for example with "
            "sklearn.preprocessing.MaxAbsScaler, and replace codes of missing values by NaN."
        )


def _is_moderate(values: FloatArray) -> bool:
    """Return whether all values are finite, and their products, too."""
    limit = LARGEST["float64"]
    return values.size == 0 or bool(values.min() >= -limit and values.max() <= limit)


def check_features(estimator: BaseEstimator, X: MatrixLike) -> MatrixLike:
    """Check X at prediction against the features seen in fit."""
    X = check_rows(X)
    if getattr(X, "ndim", 2) == 1 and hasattr(estimator, "n_features_in_"):
        raise ValueError(
            f"Expected a 2D array, got a 1D array of shape {X.shape}. Reshape your data: "
            "X.reshape(1, -1) if it is a single sample, X.reshape(-1, 1) if it is a single "
            "feature."
        )
    if isinstance(X, list | tuple):  # texts or tokens, not features
        if isinstance(X[0], dict) and hasattr(estimator, "n_features_in_"):
            raise ValueError("X is a list of dicts; expected a table. Pass pandas.DataFrame(X).")
        return X
    check_magnitude(X)
    return check_columns(estimator, X)


def check_columns(estimator: BaseEstimator, X: MatrixLike) -> MatrixLike:
    """Check number and names of the columns of X, which may have no rows, at prediction."""
    if isinstance(X, EncodedFrame) or _has_columns(estimator, X):  # an encoder checks its frames
        return X
    # scikit-learn compares names only if all are strings. If one of two frames has these, it warns.
    fitted: Any = getattr(estimator, "_other_names", None)
    found = frame_columns(X) if fitted and is_frame(X) else fitted
    if found and found != fitted and not all(isinstance(name, str) for name in found):
        raise ValueError(
            "The feature names should match those that were passed during fit, and must be in the "
            f"same order as they were in fit.\nNames seen in fit: {fitted[:5]}. Names of X: "
            f"{found[:5]}.\n"
        )
    return validate_data(estimator, X, reset=False, skip_check_array=True)


def is_valid(estimator: BaseEstimator, X: MatrixLike) -> bool:
    """Return whether X is a plain matrix with the columns seen in fit: no check can fail."""
    return _has_columns(estimator, X) and is_plain(X)


def _has_columns(estimator: BaseEstimator, X: MatrixLike) -> bool:
    """Return whether X is a matrix with as many columns as seen in fit, without names."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def set_feature_attributes(estimator: BaseEstimator, X: MatrixLike) -> None:
    """Set ``n_features_in_`` and ``feature_names_in_`` from the rows of fit."""
    for name in ("n_features_in_", "feature_names_in_", "_other_names"):
        if hasattr(estimator, name):
            delattr(estimator, name)
    if isinstance(X, EncodedFrame):
        estimator.n_features_in_ = X.encoder.n_features_in_
        if hasattr(X.encoder, "feature_names_in_"):
            estimator.feature_names_in_ = X.encoder.feature_names_in_
    elif not isinstance(X, list | tuple):
        validate_data(estimator, X, skip_check_array=True)
        if is_frame(X) and not hasattr(estimator, "feature_names_in_"):
            estimator._other_names = frame_columns(X)


def is_plain(X: Any) -> bool:
    """Return whether X is a matrix of finite floats, which needs no further check."""
    plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size > 0
    return plain and _is_moderate(X)


def take_rows(X: MatrixLike, rows: IntArray | slice) -> MatrixLike:
    """Select rows of an array, a frame, a CSR matrix or a list."""
    if type(X) in (np.ndarray, EncodedFrame):
        if type(X) is EncodedFrame or isinstance(rows, slice) or rows.dtype.kind != "i":
            return X[rows]
        return np.take(X, rows, axis=0)  # faster than an index
    if (namespace := foreign_namespace(X)) is None:
        return sklearn_private.safe_indexing(X, rows)
    if isinstance(rows, slice):
        return X[rows, ...]
    return namespace.xp.take(X, namespace.asarray(rows), axis=0)

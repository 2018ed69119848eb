"""Multi-instance data: MATLAB files of version 5 to 7.2, Hausdorff distances, bags as rows.

scipy's loadmat checks neither type numbers nor sizes: of 4,000 files with a few changed bytes, 111
ended the process (scipy 1.17). What bags need is little: numbers, texts, cells and structs.
"""

import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.sklearn_private import Interval, fit_context
from pairmend._utils.typing import FloatArray, IntArray
from pairmend.datasets.data import MultiLabelData, set_name
from pairmend.datasets.limits import (
    COLUMN_CELLS,
    DEFAULT_LIMITS,
    CellCount,
    ReadLimitError,
    ReadLimits,
    unpacked,
)

Bags: TypeAlias = Any
"""A list or object array of 2-D arrays, or a 3-D array: bags of instances in rows."""


_SMALLEST_EIGENVALUE = 1e-12
"""Share of the largest eigenvalue below which an eigenvalue is a rounding error."""
# Numbers of the format: types of elements, then classes of arrays.
_MATRIX, _COMPRESSED = 14, 15
_INTEGERS, _BYTES = (5, 6), (1, 2, 16)
_DTYPES = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8",
           12: "<i8", 13: "<u8"}  # fmt: skip
_CODECS = {1: "latin-1", 2: "latin-1", 4: "utf-16-le", 16: "utf-8", 17: "utf-16-le",
           18: "utf-32-le"}  # fmt: skip
_CELL, _STRUCT, _CHAR = 1, 2, 4
_NUMERIC = range(6, 16)
_DEEPEST = 20
"""Deepest level of nested cells and structs that is read."""


@dataclass(frozen=True)
class MultiInstanceData:
    """A multi-instance multi-label data set.

    Attributes
    ----------
    bags : list of ndarray of shape (instances of the bag, d)
        The bags, instances in rows.
    Y : ndarray of int, shape (n, L)
        Label indicators of the bags.
    feature_names, label_names : tuple of str
        Names of the features of an instance, and of the columns of Y.
    name : str
        Name of the set.
    source : tuple of Path
        Files it was read from.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import MultiInstanceData
    >>> bags = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])]
    >>> data = MultiInstanceData(bags, np.array([[1], [0]]), ("x", "y"), ("sea",), "toy", ())
    >>> data.flatten().X.tolist()
    [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
    """

    bags: list[FloatArray]
    Y: IntArray
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    name: str
    source: tuple[Path, ...]

    def flatten(self) -> MultiLabelData:
        """Put the instances of each bag side by side, a bag a row.

        Returns
        -------
        MultiLabelData
            Feature ``i2_hue`` is feature ``hue`` of instance 2, counted from 0.

        Raises
        ------
        ValueError
            If the bags are not all of one size.

        Examples
        --------
        >>> import numpy as np
        >>> from pairmend.datasets import MultiInstanceData
        >>> bags = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])]
        >>> data = MultiInstanceData(bags, np.array([[1], [0]]), ("x", "y"), ("sea",), "toy", ())
        >>> data.flatten().feature_names
        ('i0_x', 'i0_y', 'i1_x', 'i1_y')
        """
        sizes = sorted({len(bag) for bag in self.bags})
        if len(sizes) != 1:
            raise ValueError(
                f"{self.name}: flattening needs bags of one size, but they hold {sizes[:10]} "
                "instances. Use embed or BagEmbedding instead."
            )
        names = tuple(f"i{i}_{feature}" for i in range(sizes[0]) for feature in self.feature_names)
        return self._with_rows(np.stack(self.bags).reshape(len(self.bags), -1), names)

    def embed(self, n_components: int = 20) -> MultiLabelData:
        """Turn all bags into rows by their Hausdorff distances, as the paper does.

        The distances are those of all bags, test bags included. In an evaluation, put
        :class:`BagEmbedding` into the pipeline instead.

        Parameters
        ----------
        n_components : int, default=20
            As for :class:`BagEmbedding`.

        Returns
        -------
        MultiLabelData

        Examples
        --------
        >>> import numpy as np
        >>> from pairmend.datasets import MultiInstanceData
        >>> bags = [np.array([[0.0]]), np.array([[3.0], [4.0]])]
        >>> data = MultiInstanceData(bags, np.array([[1], [0]]), ("x",), ("sea",), "toy", ())
        >>> data.embed(n_components=1).X.tolist()
        [[2.0], [-2.0]]
        """
        embedding = BagEmbedding(n_components)
        X = embedding.fit_transform(self.bags)
        return self._with_rows(X, tuple(map(str, embedding.get_feature_names_out())))

    def _with_rows(self, X: FloatArray, names: tuple[str, ...]) -> MultiLabelData:
        return MultiLabelData(X, self.Y, names, self.label_names, {}, self.name, self.source)


def _check_bags(bags: Bags) -> list[FloatArray]:
    """Return copies of bags as arrays."""
    try:
        arrays = [
            check_array(bag, dtype=np.float64, copy=True, input_name=f"bag {number}")
            for number, bag in enumerate(bags)
        ]
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must be a list of bags, 2-D arrays of numbers: {error}") from error
    if len({array.shape[1] for array in arrays}) != 1:
        raise ValueError(
            "X is empty, or has instances of different numbers of features; expected at least one "
            "bag, and the same number in all"
        )
    return arrays


def hausdorff_distances(rows: list[FloatArray], columns: list[FloatArray]) -> FloatArray:
    """Compute the Hausdorff distances between bags, exactly symmetric if both are the same list.

    Distances between instances are sums of squared differences, not expanded products: that loses
    no digits where instances are near each other and far from 0.
    """
    there = _directed(rows, columns)
    back = there if rows is columns else _directed(columns, rows)
    distances = np.maximum(there, back.T)
    if not np.isfinite(distances).all():
        raise ValueError("The distances overflow; scale the numbers of the instances first.")
    return distances


def _directed(rows: list[FloatArray], columns: list[FloatArray]) -> FloatArray:
    """Return the largest distance from an instance of each bag to the nearest of another bag."""
    instances, starts = np.concatenate(rows), np.cumsum([0, *map(len, rows[:-1])])
    nearest = (cdist(instances, bag, "sqeuclidean").min(axis=1) for bag in columns)
    return np.column_stack([np.sqrt(np.maximum.reduceat(each, starts)) for each in nearest])


class BagEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turn bags of instances into rows, by Hausdorff distance and classical scaling.

    The Hausdorff distance of two bags is the largest distance from an instance of either to the
    nearest one of the other. Classical multi-dimensional scaling finds rows whose Euclidean
    distances come close to the Hausdorff distances of the training bags. The row of a new bag is
    computed from its distances to the training bags (Gower, 1968), which changes no other row.

    Parameters
    ----------
    n_components : int, default=20
        Largest number of columns; 20 in the paper.

    Attributes
    ----------
    n_components_ : int
        Number of columns: fewer than `n_components` where the distances of the training bags
        have fewer dimensions (positive eigenvalues).
    eigenvalues_ : ndarray of shape (`n_components_`,)
        Eigenvalues of the doubly centred squared distances, descending.
    n_features_in_ : int
        Number of features of an instance.

    See Also
    --------
    MultiInstanceData.flatten : Rows from bags of one size, without distances.

    Notes
    -----
    The sign of a column is free; it is chosen such that the training bag farthest from 0 has a
    positive number, the first of them in a tie.

    References
    ----------
    Gower, J. C. (1968). Adding a point to vector diagrams in multivariate analysis. Biometrika
    55(3), 582-585.

    Zhou, Z.-H., Zhang, M.-L., Huang, S.-J., Li, Y.-F. (2012). Multi-instance multi-label
    learning. Artificial Intelligence 176(1), 2291-2320.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import BagEmbedding
    >>> bags = [np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[4.0, 0.0]]), np.array([[8.0, 0.0]])]
    >>> embedding = BagEmbedding(n_components=1).fit(bags)
    >>> embedding.transform(bags).round(2).tolist()
    [[4.05], [-0.04], [-4.01]]
    >>> embedding.transform([np.array([[6.0, 0.0]])]).round(2).tolist()
    [[-2.03]]
    """

    n_components_: int
    eigenvalues_: FloatArray
    n_features_in_: int
    _training: list[FloatArray]
    _squared_means: FloatArray
    _projection: FloatArray

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(self, n_components: int = 20):
        self.n_components = n_components

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Bags, y: Any = None) -> Self:
        """Find the rows of the training bags.

        Parameters
        ----------
        X : list or object array of ndarray of shape (instances, d), or 3-D array
            Bags.
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> from pairmend.datasets import BagEmbedding
        >>> bags = [[[0.0], [1.0]], [[4.0]], [[8.0]]]
        >>> BagEmbedding(n_components=1).fit(bags).n_features_in_
        1
        """
        self.fit_transform(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Bags, y: Any = None) -> FloatArray:
        """Find the rows of the training bags and return them.

        Parameters
        ----------
        X : list or object array of ndarray of shape (instances, d), or 3-D array
            Bags.
        y : ignored

        Returns
        -------
        ndarray of shape (n, `n_components_`)

        Examples
        --------
        >>> from pairmend.datasets import BagEmbedding
        >>> bags = [[[0.0], [1.0]], [[4.0]], [[8.0]]]
        >>> BagEmbedding(n_components=1).fit_transform(bags).shape
        (3, 1)
        """
        training = _check_bags(X)
        squared = hausdorff_distances(training, training) ** 2
        means = squared.mean(axis=0)
        n = len(training)
        values, vectors = eigh(
            -0.5 * (squared - means - means[:, np.newaxis] + means.mean()),
            subset_by_index=[max(0, n - self.n_components), n - 1],
            overwrite_a=True,
        )
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = (values > _SMALLEST_EIGENVALUE * values[0]) & (values > 0)
        if not kept.any():
            raise ValueError(
                f"The distances between the {n} training bags are all 0, so there is nothing "
                "to embed; at least two different bags are needed."
            )
        self.eigenvalues_ = values[kept]
        self.n_components_ = len(self.eigenvalues_)
        self.n_features_in_ = training[0].shape[1]
        self._training = training
        self._squared_means = means
        self._projection = _with_fixed_signs(vectors[:, kept]) / np.sqrt(self.eigenvalues_)
        return self._project(squared)

    def transform(self, X: Bags) -> FloatArray:
        """Place bags among the training bags.

        Parameters
        ----------
        X : list or object array of ndarray of shape (instances, d), or 3-D array
            Bags.

        Returns
        -------
        ndarray of shape (n, `n_components_`)
            Training bags have the same rows as in ``fit``.

        Examples
        --------
        >>> from pairmend.datasets import BagEmbedding
        >>> bags = [[[0.0], [1.0]], [[4.0]], [[8.0]]]
        >>> BagEmbedding(n_components=1).fit(bags).transform([[[8.0]]]).shape
        (1, 1)
        """
        check_is_fitted(self)
        bags = _check_bags(X)
        return self._project(hausdorff_distances(bags, self._training) ** 2)

    def _project(self, squared: FloatArray) -> FloatArray:
        """Turn squared distances to the training bags into rows (Gower's formula)."""
        centred = squared - squared.mean(axis=1, keepdims=True)
        centred -= self._squared_means - self._squared_means.mean()
        return (-0.5 * centred) @ self._projection

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        return tags


def _with_fixed_signs(vectors: FloatArray) -> FloatArray:
    """Turn columns such that the first of their largest entries is positive."""
    sizes = np.abs(vectors)
    # Entries that differ by rounding only count as equal, or the sign would depend on rounding.
    first = (sizes >= (1 - 1e-6) * sizes.max(axis=0)).argmax(axis=0)
    return vectors * np.sign(vectors[first, np.arange(vectors.shape[1])])


def _load_variables(path: Path, limits: ReadLimits) -> dict[str, Any]:
    """Read the variables of a MATLAB file.

    Numbers are arrays of floats, cells lists, structs dicts, lines of characters texts; None stands
    for anything else.
    """
    content, count, variables = unpacked(path, limits), CellCount(path, limits), {}
    n_bytes = len(content)
    try:
        if content[124:128] != b"\0\1IM":
            raise ValueError("no header of version 5; MATLAB saves it by save(..., '-v7')")
        elements = _Elements(memoryview(content)[128:])
        while elements.content:
            kind, part = elements.next(_MATRIX, _COMPRESSED)
            if kind == _COMPRESSED:
                left = limits.max_bytes - n_bytes
                inner = zlib.decompressobj().decompress(part, left + 1)
                n_bytes += len(inner)
                limits.check_bytes(path, n_bytes)
                _, part = _Elements(memoryview(inner)).next(_MATRIX)
            name, variables[name] = _read_matrix(part, 0, count)
    except ReadLimitError:
        raise
    except (ValueError, LookupError, struct.error, zlib.error) as error:
        raise ValueError(
            f"{path}: not a MATLAB file of version 5 to 7.2, or a broken one ({error})"
        ) from error
    return variables


class _Elements:
    """The elements of a MATLAB file, or of a matrix in it; `content` is what is left."""

    def __init__(self, content: memoryview):
        self.content = content

    def next(self, *kinds: int) -> tuple[int, memoryview]:
        """Return the type number and the content of the next element, which is of some types."""
        kind, size = struct.unpack("<II", self.content[:8])
        start, step = 8, 8 + size + (0 if kind == _COMPRESSED else -size % 8)
        if kind >> 16:  # a small element: type, size and content in eight bytes
            kind, size, start, step = kind & 0xFFFF, kind >> 16, 4, 8
        part = self.content[start : start + size]
        if len(part) < size or (start == 4 and size > 4) or kind not in kinds:
            raise ValueError(f"an element of type {kind} and {size} bytes")
        self.content = self.content[step:]
        return kind, part

    def integers(self) -> list[int]:
        """Return the numbers of the next element."""
        return np.frombuffer(self.next(*_INTEGERS)[1], dtype="<i4").tolist()

    def text(self) -> str:
        """Return the characters of the next element."""
        return bytes(self.next(*_BYTES)[1]).decode("latin-1")


def _read_matrix(part: memoryview, depth: int, count: CellCount) -> tuple[str, Any]:
    """Return the name and the value of an array."""
    count.add(0, columns=1)  # an array takes about as much memory as a column
    if depth > _DEEPEST or not part:  # nothing stands for an empty cell
        return "", None
    elements = _Elements(part)
    flag, _ = elements.integers()
    dimensions, name = elements.integers(), elements.text()
    size, kind = math.prod(dimensions), flag & 0xFF
    if len(dimensions) < 2 or min(dimensions) < 0:
        raise ValueError(f"dimensions {dimensions}")
    if kind in (_CELL, _STRUCT):
        fields = [""]
        if kind == _STRUCT:
            length, names = max(elements.integers()[0], 1), elements.text()
            starts = range(0, len(names), length)
            fields = [names[start : start + length].partition("\0")[0] for start in starts]
        n_parts = size * len(fields)
        if 8 * n_parts > len(part):
            raise ValueError(f"an array of shape {dimensions} in {len(part)} bytes")
        inner = (elements.next(_MATRIX)[1] for _ in range(n_parts))
        values = [_read_matrix(each, depth + 1, count)[1] for each in inner]
        if kind == _STRUCT:
            return name, dict(zip(fields, values, strict=True)) if size == 1 else None
        return name, values
    if flag & 0x800 or (kind != _CHAR and kind not in _NUMERIC):
        return name, None  # complex, sparse, an object or a function
    count.add(size)
    if kind == _CHAR:
        if not size:
            return name, ""
        codec, data = elements.next(*_CODECS)
        characters = np.array(list(bytes(data).decode(_CODECS[codec])), dtype="U1")
        rows = characters.reshape(dimensions, order="F").reshape(dimensions[0], -1)
        lines = ["".join(row) for row in rows.tolist()]
        return name, lines[0] if len(lines) == 1 else lines
    number, data = elements.next(*_DTYPES)
    numbers = np.frombuffer(data, dtype=_DTYPES[number])
    return name, numbers.astype(np.float64).reshape(dimensions, order="F")


_LAYOUTS = ((("bags", "targets"),), (("train_bags", "train_target"), ("test_bags", "test_target")))
"""Accepted names of variables: the parts of a set, each with its bags and its targets."""


def load_miml(path: str | Path, *, limits: ReadLimits = DEFAULT_LIMITS) -> MultiInstanceData:
    r"""Read bags of instances and the labels of each bag.

    Parameters
    ----------
    path : path
        A MATLAB file (.mat, version 5 to 7.2): a cell array ``bags`` of matrices, instances in
        rows, and a matrix ``targets`` of -1 and 1, or of 0 and 1, with a row a label and a column a
        bag; a cell array ``class_name``, if there, names the labels, else they are numbered from
        0. Or the four ``train_bags``, ``train_target``, ``test_bags``, ``test_target``, joined in
        this order. All may be fields of a struct.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiInstanceData
        Its methods ``flatten`` and ``embed``, and :class:`~pairmend.datasets.BagEmbedding`, turn
        bags into rows.

    Raises
    ------
    ValueError
        If the file is not as described.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from pairmend.datasets import load_miml
    >>> bags = np.empty((1, 2), dtype=object)
    >>> bags[0] = [np.array([[0.5, 2.0], [0.1, 3.0]]), np.array([[0.9, 4.0]])]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.mat")
    ...     savemat(path, {"bags": bags, "targets": np.array([[1, 1], [0, 1]])})
    ...     photos = load_miml(path)
    >>> [bag.tolist() for bag in photos.bags]
    [[[0.5, 2.0], [0.1, 3.0]], [[0.9, 4.0]]]
    >>> photos.Y.tolist()
    [[1, 0], [1, 1]]
    """
    path = Path(path)
    variables = _load_variables(path, limits)
    found = [
        (layout, scope)
        for scope in _scopes(variables)
        for layout in _LAYOUTS
        if all(variable in scope for part in layout for variable in part)
    ]
    if len(found) != 1:
        raise ValueError(
            f"{path}: holds {len(found)} sets of bags in the variables {sorted(variables)}; "
            "expected one: bags and targets, or train_bags, train_target, test_bags and "
            "test_target, perhaps in a struct"
        )
    layout, scope = found[0]
    bags, parts = [], []
    for bags_name, targets_name in layout:
        own, Y = _read_part(path, scope, bags_name, targets_name)
        parts.append(Y)
        bags += own
    if len({each.shape[1] for each in bags}) != 1 or len({each.shape[1] for each in parts}) != 1:
        raise ValueError(f"{path}: expected instances of the same width, and the same labels")
    Y, width = np.concatenate(parts), bags[0].shape[1]
    names = scope.get("class_name", list(map(str, range(Y.shape[1]))))
    labels = [name.strip() for name in names or () if isinstance(name, str) and name.strip()]
    if len(set(labels)) != Y.shape[1]:
        raise ValueError(
            f"{path}: class_name must name each of the {Y.shape[1]} labels, each by another text; "
            f"found {names!r:.200}"
        )
    limits.check_cells(path, (width + Y.shape[1]) * COLUMN_CELLS)
    features = tuple(map(str, range(width)))
    return MultiInstanceData(bags, Y, features, tuple(labels), set_name(path), (path,))


def _scopes(variables: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the variables, and the fields of each struct."""
    yield variables
    for value in variables.values():
        if isinstance(value, dict):
            yield from _scopes(value)


def _read_part(
    path: Path, scope: Mapping[str, Any], bags_name: str, targets_name: str
) -> tuple[list[FloatArray], IntArray]:
    """Return the bags of a part, and their indicators, a row a bag."""
    bags, targets = scope[bags_name], scope[targets_name]
    bags = bags if isinstance(bags, list) else [None]
    full = list(map(_is_full, bags))
    if not full or not all(full):
        raise ValueError(
            f"{path}: bag {[*full, False].index(False) + 1} of {bags_name} is no full matrix of "
            "numbers; expected a cell array with a matrix a bag, with at least one instance each"
        )
    # In a matrix with both -1 and 0, 0 may mean "unknown".
    if (
        not _is_full(targets)
        or targets.shape[1] != len(bags)
        or not any(np.isin(targets, (absent, 1)).all() for absent in (-1, 0))
    ):
        raise ValueError(
            f"{path}: {targets_name} must be a full matrix of -1 and 1, or of 0 and 1, with a row "
            f"a label and {len(bags)} columns, one a bag"
        )
    contiguous = [np.ascontiguousarray(bag) for bag in bags]
    return contiguous, (targets.T == 1).astype(np.int64, order="C")


def _is_full(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.size > 0

"""Multi-instance data: bags of instances, Hausdorff distances, conversion of bags to rows."""

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
from pairmend.datasets.data import MultiLabelData

Bags: TypeAlias = Any
"""A list or object array of 2-D arrays, or a 3-D array: bags of instances in rows."""


_SMALLEST_EIGENVALUE = 1e-12
"""Share of the largest eigenvalue below which an eigenvalue is a rounding error."""


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


def _read_bags(bags: Bags) -> list[FloatArray]:
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
        "n_components": [Interval(Integral, 1, None, closed="left")],
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
        training = _read_bags(X)
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
        bags = _read_bags(X)
        if bags[0].shape[1] != self.n_features_in_:
            raise ValueError(
                f"The instances of X hold {bags[0].shape[1]} numbers, but BagEmbedding was "
                f"fitted on instances of {self.n_features_in_}."
            )
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
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.three_d_array = True
        return tags


def _with_fixed_signs(vectors: FloatArray) -> FloatArray:
    """Turn columns such that the first of their largest entries is positive."""
    sizes = np.abs(vectors)
    # Entries that differ by rounding only count as equal, or the sign would depend on rounding.
    first = (sizes >= (1 - 1e-6) * sizes.max(axis=0)).argmax(axis=0)
    return vectors * np.sign(vectors[first, np.arange(vectors.shape[1])])

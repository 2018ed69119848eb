"""Dense or sparse, chosen by density."""

import numpy as np
import pytest
from scipy import sparse

from pairmend._utils.arrays import MOSTLY_ZEROS, SPARSE_SHARE, by_density, densify, to_csr


def matrix(rng, density, shape=(40, 50)):
    X = np.zeros(shape)
    n_stored = round(density * X.size)
    X.ravel()[rng.permutation(X.size)[:n_stored]] = rng.rand(n_stored) - 2
    return X


def assert_equal_csr(found, expected):
    assert sparse.issparse(found)
    assert found.format == "csr"
    assert found.has_canonical_format
    assert found.dtype == expected.dtype
    assert found.indices.dtype == found.indptr.dtype == np.int32
    for name in ("shape", "data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_conversion_equals_that_of_scipy(rng, dtype, order):
    X = np.asarray(matrix(rng, 0.04), dtype=dtype, order=order)
    X[3] = 0
    assert_equal_csr(by_density(X), sparse.csr_array(X))
    assert_equal_csr(to_csr(X), sparse.csr_array(X))
    assert_equal_csr(to_csr(X[::2, 5:]), sparse.csr_array(X[::2, 5:]))
    many = np.asarray(matrix(rng, 0.5), dtype=dtype, order=order)
    assert_equal_csr(to_csr(many), sparse.csr_array(many))


def test_missing_values_are_stored_and_negative_zeros_are_not(rng):
    X = matrix(rng, 0.02)
    X[0, 0], X[1, 1] = np.nan, -0.0
    found = by_density(X)
    assert_equal_csr(found, sparse.csr_array(X))
    assert np.isnan(found[0, 0])
    X[:, :3] = np.nan  # 6 % of the cells
    assert by_density(X) is X


def test_density_decides(rng):
    assert sparse.issparse(by_density(matrix(rng, MOSTLY_ZEROS)))
    above = matrix(rng, MOSTLY_ZEROS + 0.001)
    assert by_density(above) is above
    assert sparse.issparse(by_density(sparse.csr_array(matrix(rng, SPARSE_SHARE))))
    many = matrix(rng, SPARSE_SHARE + 0.001)
    for function in (by_density, densify):
        np.testing.assert_array_equal(function(sparse.csr_array(many)), many)


def test_matrices_without_cells_and_other_arrays():
    assert by_density(np.zeros((3, 4))).nnz == 0
    assert by_density(np.zeros((0, 4))).shape == (0, 4)
    assert to_csr(np.zeros((2, 0))).shape == (2, 0)
    for X in (np.zeros(4), np.zeros((2, 3, 4)), np.zeros((2, 3), dtype=object),
              np.zeros((2, 3), dtype=np.float16), np.full((2, 3), "")):  # fmt: skip
        assert by_density(X) is X

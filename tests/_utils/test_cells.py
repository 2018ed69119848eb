"""Dense or sparse, chosen by density."""

import numpy as np
import pytest
from scipy import sparse

from pairmend._utils.arrays import MOSTLY_ZEROS, SPARSE_SHARE, by_density, densify, to_csr


def matrix(rng, density, dtype=np.float64, order="C"):
    X = np.zeros((40, 50))
    n_stored = round(density * X.size)
    X.ravel()[rng.permutation(X.size)[:n_stored]] = rng.rand(n_stored) - 2
    return np.asarray(X, dtype=dtype, order=order)


def assert_equal_csr(found, expected):
    assert (found.format, found.shape) == ("csr", expected.shape)
    for name in ("data", "indices", "indptr"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_conversion_equals_that_of_scipy(rng, dtype, order):
    X = matrix(rng, 0.04, dtype, order)
    X[3] = 0
    assert_equal_csr(by_density(X), sparse.csr_array(X))
    for rows in (X, X[::2, 5:], matrix(rng, 0.5, dtype, order)):
        assert_equal_csr(to_csr(rows), sparse.csr_array(rows))


def test_density_decides(rng):
    assert sparse.issparse(by_density(matrix(rng, MOSTLY_ZEROS)))
    above = matrix(rng, MOSTLY_ZEROS + 0.001)
    assert by_density(above) is above
    assert sparse.issparse(by_density(sparse.csr_array(matrix(rng, SPARSE_SHARE))))
    many = matrix(rng, SPARSE_SHARE + 0.001)
    for function in (by_density, densify):
        np.testing.assert_array_equal(function(sparse.csr_array(many)), many)
    few = matrix(rng, 0.02)
    few[0, 0], few[1, 1] = np.nan, -0.0  # NaN is stored, a negative zero is not
    assert_equal_csr(by_density(few), sparse.csr_array(few))
    assert by_density(np.zeros((0, 4))).shape == (0, 4)
    for X in (np.zeros(4), np.zeros((2, 3), dtype=object), np.zeros((2, 3), dtype=np.float16)):
        assert by_density(X) is X

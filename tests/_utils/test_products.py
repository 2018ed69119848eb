"""Products in blocks."""

import math
import threading
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend._utils import products
from pairmend._utils.products import DEPTH, LARGEST, LONGEST, multiply, sum_squares

sizes = st.sampled_from([1, 2, 47, 300, DEPTH, DEPTH + 1])


@given(sizes, sizes, sizes, st.sampled_from(["float64", "float32"]), st.booleans())
def test_equals_numpy(m, k, n, dtype, turned):
    rng = np.random.default_rng(0)
    a, b = rng.random((m, k)).astype(dtype), rng.random((k, n)).astype(dtype)
    if turned:
        a, b = np.asfortranarray(a), np.asfortranarray(b)
    product = multiply(a, b)
    assert product.dtype == dtype
    np.testing.assert_allclose(
        product, a.astype(float) @ b, rtol=1e-12 if dtype[-1] == "4" else 1e-5
    )
    out = np.empty((m, 2 * n), dtype=dtype)[:, ::2]
    assert multiply(a, b, out=out) is out
    np.testing.assert_allclose(out, product, rtol=1e-5)


@pytest.mark.parametrize("shape", [(0,), (3, 2), (LONGEST,), (3, LONGEST + 1), (7, 5, 1000)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sum_of_squares(shape, dtype, rng):
    values = rng.normal(size=shape).astype(dtype)
    expected = np.sum(values.astype(float) ** 2)
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    for form in (values, values.T, values[::-1]):
        assert sum_squares(form) == pytest.approx(expected, rel=tolerance)
    for odd in (np.nan, np.inf):
        if values.size:
            values.flat[-1] = odd
            assert not np.isfinite(sum_squares(values))


def test_stacks_of_matrices():
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 90, 1500)), rng.random((3, 1500, 60))
    np.testing.assert_allclose(multiply(a, b), a @ b)
    np.testing.assert_allclose(multiply(a[0], b), a[0] @ b)


@pytest.mark.parametrize(
    "shape", [(500, 1000, 700), (1, 10**5, 9), (10**5, 3, 2), (64, 64, 65), (48, 5000, 48)]
)
def test_no_block_is_large_enough_for_threads_of_blas(shape):
    m, k, n = shape
    sizes, numbers = [], []

    def recording(a, b, **options):
        sizes.append(a.shape[-2] * a.shape[-1] * b.shape[-1])
        numbers.append(math.prod(a.shape[:-2]))
        return matmul(a, b, **options)

    matmul = np.matmul
    with mock.patch.object(products.np, "matmul", recording):
        multiply(np.ones((m, k)), np.ones((k, n)))
    assert np.dot(sizes, numbers) == m * k * n
    assert max(sizes) <= LARGEST


def test_products_in_several_threads_are_the_same():
    rng = np.random.default_rng(0)
    a, b = rng.random((200, 300)), rng.random((300, 100))
    found = []
    threads = [threading.Thread(target=lambda: found.append(multiply(a, b))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for product in found:
        np.testing.assert_array_equal(product, found[0])
    np.testing.assert_allclose(found[0], a @ b)

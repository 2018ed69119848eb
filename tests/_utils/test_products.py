"""Products in blocks."""

import math
import threading
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend._utils import compilation, products
from pairmend._utils.products import DEPTH, LARGEST, LONGEST, multiply, sum_squares
from pairmend.kernels.confusion import ValidationDecisions, confusion_sums
from pairmend.kernels.logistic import folded_mean_logistic, mean_logistic
from pairmend.kernels.pairs import LabelRows
from pairmend.naive_bayes import support_loops

needs_numba = pytest.mark.skipif(
    not compilation.has_numba(), reason="needs pip install 'pairmend[fast]'"
)
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


@needs_numba
@pytest.mark.parametrize(
    ("n_rows", "n_classes", "width"), [(300, 91, 42), (70, 40, 600), (5, 3, 2)]
)
def test_compiled_supports_in_blocks(n_rows, n_classes, width):
    rng = np.random.default_rng(0)
    n_subspaces, n_columns = 3, 2 * width
    stack = rng.normal(size=(n_columns, n_rows))
    weights = rng.normal(size=(n_columns, n_classes)) / width**0.5
    table = np.array([rng.choice(n_columns, width, replace=False) for _ in range(n_subspaces)])
    expected = np.stack([weights[columns].T @ stack[columns] for columns in table])
    out = np.empty((n_subspaces, n_classes, n_rows))
    rows = np.arange(n_rows)
    support_loops.score(stack, table, rows, weights, table, out)
    np.testing.assert_allclose(out, expected, atol=1e-12)
    out = np.empty((n_classes, n_rows))
    for folded, mean in ((False, mean_logistic), (True, folded_mean_logistic)):
        support_loops.mean_supports(stack, table, rows, weights, table, folded, out)
        np.testing.assert_allclose(out, mean(expected.copy()), atol=1e-12)


@needs_numba
@pytest.mark.parametrize(
    ("n_rows", "n_classes", "width"), [(256, 91, 42), (256, 1000, 600), (9, 1, 1)]
)
def test_sizes_of_compiled_blocks(n_rows, n_classes, width):
    from pairmend.naive_bayes.support_loops import _block_sizes

    rows, classes = _block_sizes(n_rows, n_classes, width)
    assert rows * classes * width <= LARGEST
    assert 1 <= rows <= n_rows
    assert 1 <= classes <= n_classes


@needs_numba
@pytest.mark.parametrize("labels", [slice(0, 3), slice(2, 29)])
def test_compiled_confusion_in_blocks(labels, rng):
    """More rows, pairs and points than one block holds."""
    n_rows, n_labels, n_points = 300, 30, 130
    Y = rng.rand(n_rows, n_labels) < 0.7
    label_rows = LabelRows.of(Y)
    decisions = ValidationDecisions(
        label_rows, Y, rng.uniform(-0.5, 0.5, (len(label_rows.rows), n_labels))
    )
    weights = rng.rand(n_rows, n_points)
    found = []
    for worthwhile in (np.inf, 0):  # numpy, compiled
        with mock.patch.object(compilation, "WORTHWHILE", worthwhile):
            found.append(confusion_sums(weights, decisions, labels, shared=True))
    plain, compiled = found
    np.testing.assert_array_equal(compiled.shared_pairs, plain.shared_pairs)
    np.testing.assert_allclose(compiled.exclusive, plain.exclusive, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(compiled.shared, plain.shared, rtol=1e-12, atol=1e-12)


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

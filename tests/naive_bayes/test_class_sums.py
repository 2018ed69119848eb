"""Sums over the rows of each class, in parts and at once."""

from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse

from pairmend import RandomSubspaceNB
from pairmend._utils.cells import Cells
from pairmend.naive_bayes.class_sums import ClassSums


@pytest.mark.parametrize("is_sparse", [False, True])
def test_sums_of_parts_equal_sums_of_all_rows(is_sparse):
    rng = np.random.RandomState(0)
    X = rng.normal(3, 1, size=(60, 4)) * (rng.uniform(size=(60, 4)) < 0.5)
    X[:, 1] = X[:, 1] > 0
    X[:40, 2] = np.nan  # without a value in some parts
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    codes, weights = rng.randint(3, size=60), rng.uniform(1, 2, size=60)
    codes[:20] = 0  # one class only
    statistics = RandomSubspaceNB().feature_statistics(X)

    def sums(rows):
        part = sparse.csr_array(X[rows]) if is_sparse else X[rows]
        return ClassSums.over(Cells.of(part), codes[rows], weights[rows], 3, statistics)

    rows = np.arange(60)
    together = sums(rows[:20]).plus(sums(rows[20:21])).plus(sums(rows[21:]))
    for field in fields(ClassSums):
        found, expected = (getattr(each, field.name) for each in (together, sums(rows)))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    # A loop over classes and features.
    for c in range(3):
        for f in range(4):
            present = (codes == c) & ~np.isnan(X[:, f])
            values, mass = X[present, f], weights[present]
            mean = np.average(values, weights=mass)
            np.testing.assert_allclose(together.count[c, f], mass.sum())
            np.testing.assert_allclose(together.mean[c, f], mean)
            np.testing.assert_allclose(together.squares[c, f], mass @ (values - mean) ** 2)

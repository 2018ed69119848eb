"""On Dask arrays, rows have the form, dense or CSR, and the means that a local fit gives them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from pairmend import MendedClassifier, RandomSubspaceNB

da = pytest.importorskip("dask.array", reason="needs pip install 'pairmend[dask]'")

from pairmend import distributed  # noqa: E402
from pairmend.distributed import rows  # noqa: E402

CHUNKS = (0, 30, 7, 1, 42)  # of the 80 rows
N_ROWS, N_FEATURES = sum(CHUNKS), 40
SPLITS = list(KFold(3, shuffle=True, random_state=1).split(np.empty((N_ROWS, 1))))
NAIVE_BAYES = RandomSubspaceNB(5, random_state=0)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Cut the 80 rows into several blocks."""
    monkeypatch.setattr(rows, "MAX_ROWS", 30)


def labels():
    return np.random.RandomState(7).rand(N_ROWS, 3) < 0.4


def mostly_zeros(shares, n_missing=0):
    """Return rows in which these shares of cells are not 0, some NaN."""
    rng = np.random.RandomState(0)
    values = rng.rand(N_ROWS, N_FEATURES) + 3 * labels()[:, rng.randint(3, size=N_FEATURES)]
    X = np.where(rng.rand(N_ROWS, N_FEATURES) < np.reshape(shares, (-1, 1)), values, 0)
    stored = np.flatnonzero(X)
    X.ravel()[rng.choice(stored, n_missing, replace=False)] = np.nan
    return X


def with_missing():
    """Return rows of large numbers, 20 % of them NaN."""
    X = mostly_zeros(1)[:, :6] + 100
    X[np.random.RandomState(2).rand(*X.shape) < 0.2] = np.nan
    return X


def in_chunks(array):
    return da.from_array(array, chunks=(CHUNKS, *array.shape[1:]))


EARLY_SPARSE = np.where(np.arange(N_ROWS) < 38, 0.02, 0.12)  # more than 5 % in all
LATE_DENSE = np.where(np.arange(N_ROWS) < 70, 0.02, 0.12)  # less than 5 % in all


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("X", "base", "scaling"),
    [
        pytest.param(with_missing(), NAIVE_BAYES, "range", id="missing"),
        pytest.param(mostly_zeros(0.04), NAIVE_BAYES, "auto", id="mostly zeros"),
        pytest.param(mostly_zeros(0.04, n_missing=40), NAIVE_BAYES, "unit", id="zeros and missing"),
        pytest.param(
            mostly_zeros(EARLY_SPARSE), NAIVE_BAYES, "auto", id="dense with sparse blocks"
        ),
        pytest.param(mostly_zeros(LATE_DENSE), NAIVE_BAYES, "auto", id="sparse with dense blocks"),
    ],
)
def test_mended_equals_local_fit(X, base, scaling, weighted):
    clf = MendedClassifier(base, cv=SPLITS, scaling=scaling, max_landmarks=30, random_state=0)
    weights = np.random.RandomState(3).choice([0, 1.0, 2.5], N_ROWS)
    params = {"sample_weight": weights} if weighted else {}
    Y = labels().astype(int)
    local = clone(clf).fit(X, Y, **params)
    ours = distributed.fit(clf, in_chunks(X), in_chunks(Y), **params)
    np.testing.assert_allclose(ours.predict_proba(X), local.predict_proba(X), rtol=0, atol=1e-9)
    assert (ours._row_encoder.means is None) == (local._row_encoder.means is None)
    assert ours._row_encoder.for_base == local._row_encoder.for_base

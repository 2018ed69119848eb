"""All ways to compute the scores of pairwise classifiers have the same result on real data.

Ways are numpy, sparse rows, and arrays of other libraries. Of some sets, few rows
and labels are taken. The order of the rows of imdb and medical is one with validation rows whose
decisions all have probabilities of about 1e-32: scores then depend on all their digits.
"""

from functools import lru_cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from array_libraries import LIBRARIES, Library, dispatched
from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
from pairmend.datasets import load

ROWS = {
    "arts": 800, "birds": 645, "corel5k": 300, "emotions": 593, "flags": 194, "flare1": 323,
    "flare2": 1066, "genbase": 662, "haloarcula": 304, "imdb": 2500, "medical": 978,
    "mimlimg": 800, "plant": 978, "tmc2007-500": 800, "yeast": 800,
}  # fmt: skip
"""Number of rows of each set."""
SEEDS = {"medical": 18}
"""Seeds of the order of rows, other than 0."""
CLASSIFIERS = [
    PairwiseClassifier(random_state=0),
    CorrectedPairwiseClassifier(overlap=0.5, random_state=0),
]


@lru_cache
def rows_of(name, folder):
    """Return training rows, their labels, and other rows. Labels of corel5k with few rows go."""
    data = load(name, folder)
    order = np.random.RandomState(SEEDS.get(name, 0)).permutation(data.X.shape[0])[: ROWS[name]]
    X, Y = data.X[order], np.asarray(data.Y)[order].astype(int)
    Y = Y[:, Y.sum(axis=0) > 5] if name == "corel5k" else Y
    X = X.toarray() if sparse.issparse(X) else X
    cut = int(0.9 * len(X))
    return X[:cut], Y[:cut], X[cut:]


@lru_cache
def computed(name, folder):
    """Return the scores of all classifiers by numpy."""
    X, Y, queries = rows_of(name, folder)
    return [clone(clf).fit(X, Y).predict_proba(queries) for clf in CLASSIFIERS]


def assert_equal_scores(found, expected, atol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
    differing = (found > 0.5) != (expected > 0.5)
    assert (np.abs(expected[differing] - 0.5) <= atol).all()


@pytest.mark.parametrize("name", ROWS)
def test_sparse_rows(name, shared):
    expected = computed(name, shared / "data")
    X, Y, queries = rows_of(name, shared / "data")
    for clf, scores in zip(CLASSIFIERS, expected, strict=True):
        of_sparse = clone(clf).fit(sparse.csr_array(X), Y)
        assert_equal_scores(of_sparse.predict_proba(sparse.csr_array(queries)), scores)


@pytest.mark.parametrize("library_name", LIBRARIES)
@pytest.mark.parametrize(
    ("name", "dtype", "atol"),
    [
        *((name, "float64", 1e-9) for name in ROWS),
        *((name, "float32", 1e-4) for name in ("birds", "emotions", "plant", "yeast")),
    ],
)
def test_arrays_of_other_libraries(name, dtype, atol, library_name, shared):
    library, (X, Y, queries) = Library(library_name, dtype), rows_of(name, shared / "data")
    with dispatched():
        clf = clone(CLASSIFIERS[1]).fit(library(X), library(Y))
        found = library.numpy(clf.predict_proba(library(queries)))
    assert_equal_scores(found, computed(name, shared / "data")[1], atol)

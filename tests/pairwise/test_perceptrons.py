"""Perceptrons of all pairs against scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

import references
from pairmend.pairwise import PairwisePerceptrons

PLAIN = PairwisePerceptrons(shuffle=False)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_every_pair_equals_scikit_learn(small_set, average, layout):
    X, Y = np.round(small_set[0] / 10), small_set[1]  # margins of exactly 0 occur
    weights = np.random.RandomState(0).randint(1, 3, size=80).astype(float)
    clf = clone(PLAIN).set_params(max_iter=3, average=average)
    clf.fit(layout(X), Y, sample_weight=weights)
    for (i, j), w, b in zip(clf.pairs_, clf.coef_, clf.intercept_, strict=True):
        rows = np.arange(len(Y)) if j == 4 else np.flatnonzero(Y[:, i] != Y[:, j])
        theirs = SGDClassifier(
            "perceptron", learning_rate="constant", eta0=1, penalty=None, max_iter=3, tol=None,
            shuffle=False, average=average,
        ).fit(X[rows], Y[rows, i], sample_weight=weights[rows])  # fmt: skip
        np.testing.assert_allclose(w, theirs.coef_[0], atol=1e-10)
        np.testing.assert_allclose(b, theirs.intercept_[0], atol=1e-10)


def test_votes_go_to_the_side_of_the_hyperplane(small_set):
    X, Y = small_set
    clf = clone(PLAIN).fit(X, Y)
    margins = X @ clf.coef_.T + clf.intercept_
    support = clf.pair_support(X)
    np.testing.assert_array_equal(np.sign(support - 0.5), np.sign(margins))
    rows = np.column_stack([X, np.ones(len(X))])
    weights = np.column_stack([clf.coef_, clf.intercept_])
    length = np.linalg.norm(rows, axis=1)[:, None] * np.linalg.norm(weights, axis=1)
    np.testing.assert_allclose(support, (1 + margins / length) / 2, atol=1e-12)
    votes = references.scores((margins > 0) * 1.0, 5)
    np.testing.assert_array_equal(clf.predict(X), votes[:, :4] > votes[:, 4:])
    with pytest.raises(ValueError, match="pairs need at least two"):
        clf.set_params(calibration_label=False).fit(X, Y[:, :1])


@pytest.mark.parametrize(("average", "layouts"), [(False, (1, 0)), (True, (0, 0))])
def test_partial_fits_go_on(small_set, average, layouts):
    X, Y = small_set
    once = clone(PLAIN).set_params(max_iter=1, average=average).fit(X, Y)
    parts = clone(PLAIN).set_params(average=average)
    for number, start in enumerate(range(0, 80, 16)):
        layout = [np.asarray, sparse.csr_array][layouts[number % 2]]
        parts.partial_fit(layout(X[start : start + 16]), Y[start : start + 16])
    np.testing.assert_array_equal(parts.coef_, once.coef_)
    np.testing.assert_array_equal(parts.predict_proba(X), once.predict_proba(X))
    again = clone(PLAIN).set_params(max_iter=2, average=average).fit(X, Y)
    np.testing.assert_array_equal(parts.partial_fit(X, Y).coef_, again.coef_)

"""Confusion matrices and reference classifiers of several classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.integrate import quad
from scipy.special import betainc
from scipy.stats import beta

import references
from pairmend.kernels.confusion import (
    class_confusion,
    correct,
    correct_classes,
    label_cells,
    label_confusion,
)
from pairmend.kernels.rrc import (
    CLASS_REFERENCES,
    beta_class_reference,
    beta_reference,
    crisp_class_reference,
    decide,
    fold,
    unfold,
)


def probability(supports, c):
    """Integrate the definition by adaptive quadrature; the density of c must be finite."""
    n = len(supports)

    def integrand(x):
        others = [
            betainc(n * s, n - n * s, x) if s else 1 for k, s in enumerate(supports) if k != c
        ]
        return beta.pdf(x, n * supports[c], n - n * supports[c]) * np.prod(others)

    middles = np.clip(supports, 1e-6, 1 - 1e-6)
    return quad(integrand, 0, 1, points=middles, limit=200, epsabs=1e-13, epsrel=1e-12)[0]


@pytest.mark.parametrize(
    "supports",
    [
        [0.5, 0.3, 0.2],
        [0.98, 0.015, 0.005],
        [0.5, 0.5, 0.0],
        [1 / 3] * 3,
        [0.4, 0.3, 0.2, 0.1],
        [0.7, 0.1, 0.1, 0.05, 0.05],
        [0.3, 0.25, 0.15, 0.1, 0.1, 0.05, 0.03, 0.02],
    ],
)
def test_beta_reference_equals_the_integral(supports):
    found = beta_class_reference(np.array([supports]))[0]
    for c in np.flatnonzero(supports):
        expected = probability(supports, c) if c else 1 - found[1:].sum()
        assert found[c] == pytest.approx(expected, abs=1e-11)
    assert found.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("n_classes", [3, 7, 30])
def test_beta_reference_equals_the_frequency_of_random_decisions(n_classes, rng):
    supports = rng.dirichlet(np.ones(n_classes))
    drawn = rng.beta(n_classes * supports, n_classes * (1 - supports), size=(40000, n_classes))
    share = np.bincount(drawn.argmax(axis=1), minlength=n_classes) / len(drawn)
    found = beta_class_reference(supports[np.newaxis])[0]
    np.testing.assert_allclose(found, share, atol=4 * np.sqrt(0.25 / len(drawn)))


@pytest.mark.parametrize("n_classes", [3, 4, 10, 20, 50, 100])
def test_equal_supports_have_equal_probabilities(n_classes):
    equal = np.full((1, n_classes), 1 / n_classes)
    np.testing.assert_allclose(beta_class_reference(equal), equal, atol=1e-10)
    two = np.zeros((1, n_classes))
    two[0, [0, n_classes - 1]] = 0.5
    np.testing.assert_allclose(beta_class_reference(two), two, atol=1e-10)


def test_two_classes_equal_the_closed_form():
    s = np.array([0.0, 1e-3, 0.1, 0.3, 0.5, 0.7, 1.0])
    found = beta_class_reference(np.column_stack([s, 1 - s]))
    np.testing.assert_allclose(found[:, 0], beta_reference(s), atol=1e-15)
    np.testing.assert_allclose(found.sum(axis=1), 1)


@given(
    st.lists(st.floats(0, 1).map(lambda s: s if s > 1e-12 else 0.0), min_size=3, max_size=8).filter(
        lambda s: sum(s) > 1e-6
    )
)
def test_references_return_distributions_in_any_class_order(supports):
    s = np.array([supports]) / np.sum(supports)
    order = np.argsort(supports, kind="stable")
    for name, reference in CLASS_REFERENCES.items():
        found = reference(s)
        assert found.min() >= 0
        np.testing.assert_allclose(found.sum(), 1, atol=1e-12)
        np.testing.assert_allclose(reference(s[:, order]), found[:, order], atol=1e-11)
        if name != "identity":  # probabilities increase with the supports
            assert (np.diff(found[0, order]) >= -1e-11).all()


def test_crisp_reference_shares_ties():
    supports = np.array([[0.2, 0.5, 0.3], [1 / 3, 1 / 3, 1 - 2 / 3]])
    np.testing.assert_allclose(crisp_class_reference(supports), [[0, 1, 0], [1 / 3] * 3])


def slow_correction(p, e):
    n = len(p)
    out = [0.0] * n
    for h in range(n):
        total = sum(e[i][h] for i in range(n))
        for i in range(n):
            out[i] += p[h] * (e[i][h] / total if total else float(i == h))
    return out


def test_confusion_and_correction_equal_loops(rng):
    n_rows, n_points, n_classes = 30, 4, 5
    truth = rng.randint(n_classes - 1, size=n_rows)  # the last class has no row
    Y = truth[:, np.newaxis] == np.arange(n_classes)
    p_decide = rng.dirichlet(np.ones(n_classes), size=n_rows)
    p_decide[:, 2] = 0  # no row decides for this class
    weights = rng.rand(n_points, n_rows)
    found = class_confusion(weights, Y, p_decide)
    expected = np.zeros((n_points, n_classes, n_classes))
    for t in range(n_points):
        for k in range(n_rows):
            expected[t, truth[k]] += weights[t, k] * p_decide[k]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(class_confusion(sparse.csr_array(weights), Y, p_decide), expected)
    queries = rng.dirichlet(np.ones(n_classes), size=n_points)
    corrected = correct_classes(queries, found)
    np.testing.assert_allclose(
        corrected, [slow_correction(p, e) for p, e in zip(queries, expected, strict=True)]
    )
    np.testing.assert_allclose(corrected.sum(axis=1), 1)


def test_two_classes_and_one_label_against_the_rest_equal_a_pair(rng):
    truth, support = rng.rand(20) < 0.4, rng.rand(20)
    weights, p = rng.rand(3, 20), rng.rand(3)
    both = np.column_stack([truth, ~truth])
    p_decide = np.column_stack([beta_reference(support), 1 - beta_reference(support)])
    by_class = class_confusion(weights, both, p_decide)
    cells = label_cells(truth[:, np.newaxis], decide(fold(support[:, np.newaxis]), beta_reference))
    by_label = label_confusion(weights, cells)[:, 0]
    for t in range(3):
        slow = references.confusion(weights, both, p_decide[:, :1])[t, 0]
        np.testing.assert_allclose(by_class[t], slow)
        np.testing.assert_allclose(by_label[t], slow)
    np.testing.assert_allclose(
        correct_classes(np.column_stack([p, 1 - p]), by_class)[:, 0], correct(p, by_class)
    )


def test_small_probabilities_keep_their_digits():
    p_decide = decide(np.array([[1e-9], [-1e-9]]), beta_reference)
    cells = label_cells(np.array([[True], [True]]), p_decide)
    first, second = unfold(p_decide)
    np.testing.assert_array_equal(cells[:, 0], first[:, 0])
    np.testing.assert_array_equal(cells[:, 1], second[:, 0])
    assert 0 < cells[1, 1] < 1e-15

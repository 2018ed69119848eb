"""Randomized reference classifiers against quadrature; two probabilities as one number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.special import betainc, expit, zeta
from scipy.stats import beta

import references
from pairmend.kernels.rrc import (
    CLASS_REFERENCES,
    REFERENCES,
    beta_class_reference,
    beta_reference,
    decide,
    fold,
    fold_rounded,
    unfold,
)
from pairmend.naive_bayes.likelihood import SMALLEST, folded_mean_logistic

every_reference = pytest.mark.parametrize("name", REFERENCES)


@every_reference
def test_references_equal_their_definitions(name):
    reference = REFERENCES[name]
    for support in (0.0, 1e-6, 0.02, 0.1, 0.249, 0.25, 0.251, 0.3, 0.49, 0.5, 0.8, 0.999, 1.0):
        expected = references.RRC[name](support)
        assert reference(np.array(support)) == pytest.approx(expected, abs=1e-10)
    support = np.linspace(0, 1, 1001)
    support.flags.writeable = False
    p = reference(support)
    assert (np.diff(p) >= -1e-15).all()
    assert (np.sign(p - 0.5) == np.sign(support - 0.5)).all()
    np.testing.assert_allclose(p + reference(1 - support), 1, atol=1e-12)
    single = reference(support.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, p, atol=2e-6)


def test_the_polynomial_equals_the_closed_form():
    q = np.linspace(1e-3, 0.5, 2001)[:-1]
    sinc, sine = np.sinc(1 - 2 * q), np.sin(2 * np.pi * q) / np.pi
    closed = (2 * q - 0.5) * sinc**2 + sine**2 * zeta(2, 2 - 2 * q)
    np.testing.assert_allclose(beta_reference(q.reshape(50, 40).T).T.ravel(), closed, rtol=1e-11)


@pytest.mark.parametrize("q", [1e-3, 1e-10, 1e-35])
def test_small_supports_keep_their_digits(q):
    # Expanding the closed form around 0: p(q) = 4 q^2 (pi^2/6 - 3/2) + O(q^3).
    leading = 4 * q**2 * (np.pi**2 / 6 - 1.5)
    assert beta_reference(np.array(q)) == pytest.approx(leading, rel=10 * q + 1e-12)


@given(st.floats(0, 1))
def test_folded_probabilities_do_not_depend_on_their_order(probability):
    first, second = unfold(fold(np.array(probability)))
    assert (first, second) == (probability, 1 - probability)
    rounded = fold_rounded(np.array([probability, 1 - probability]))
    for folded in (rounded, decide(rounded, beta_reference)):
        (first, swapped_first), (second, swapped_second) = unfold(folded)
        assert first == pytest.approx(swapped_second, rel=1e-9)
        assert second == pytest.approx(swapped_first, rel=1e-9)
        assert first + second == pytest.approx(1, abs=1e-12)
    assert unfold(rounded)[0][0] == pytest.approx(probability, abs=1e-16)


def probability(supports, c):
    """Integrate the definition by adaptive quadrature; the density of c must be finite."""
    n, others = len(supports), np.delete(supports, c)
    others = n * others[others > 0]

    def integrand(x):
        own = beta.pdf(x, n * supports[c], n - n * supports[c])
        return own * betainc(others, n - others, x).prod()

    middles = np.clip(supports, 1e-6, 1 - 1e-6)
    return quad(integrand, 0, 1, points=middles, limit=500, epsabs=1e-13, epsrel=1e-12)[0]


@pytest.mark.parametrize(
    "supports",
    [
        [0.98, 0.015, 0.005],
        [0.5, 0.5, 0.0],
        [1 / 3] * 3,
        [0.7, 0.1, 0.1, 0.05, 0.05],
        [0.3, 0.25, 0.15, 0.1, 0.1, 0.05, 0.03, 0.02],
        *(np.random.RandomState(0).dirichlet(np.ones(n)).tolist() for n in (30, 200)),
        *([1 / n] * n for n in (30, 200)),
        [0.5, *[0.0] * 198, 0.5],
    ],
    ids=len,
)
def test_beta_reference_of_classes_equals_the_integral(supports):
    found = beta_class_reference(np.array([supports]))[0]
    largest = np.argsort(supports)[-8:]
    for c in largest[np.take(supports, largest) > 0]:
        expected = probability(supports, c) if c else 1 - found[1:].sum()
        assert found[c] == pytest.approx(expected, abs=1e-11 if len(supports) < 30 else 1e-10)
    assert found.sum() == pytest.approx(1, abs=1e-14)


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


def test_two_classes_and_ties():
    s = np.array([0.0, 1e-3, 0.1, 0.3, 0.5, 0.7, 1.0])
    found = beta_class_reference(np.column_stack([s, 1 - s]))
    np.testing.assert_allclose(found, np.column_stack([beta_reference(s), beta_reference(1 - s)]))
    supports = np.array([[0.2, 0.5, 0.3], [1 / 3, 1 / 3, 1 - 2 / 3]])
    crisp = CLASS_REFERENCES["crisp"](supports)
    np.testing.assert_allclose(crisp, [[0, 1, 0], [1 / 3] * 3])


@given(arrays(float, (4, 3, 2), elements=st.floats(-1e4, 1e4)))
def test_both_means_of_logistic_functions_keep_their_digits(against):
    first, second = (np.mean(expit(sign * against), axis=0) for sign in (-1, 1))
    for turned, pair in ((against, (first, second)), (-against, (second, first))):
        for found, expected in zip(unfold(folded_mean_logistic(turned.copy())), pair, strict=True):
            np.testing.assert_allclose(found, np.maximum(expected, SMALLEST), rtol=1e-14)

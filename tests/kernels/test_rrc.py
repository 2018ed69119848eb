import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import zeta

import references
from pairmend.kernels.rrc import (
    REFERENCES,
    beta_reference,
    constrained_reference,
    decide,
    fold_rounded,
    unfold,
)

# From the derivation of the closed form; checked there against adaptive quadrature.
GOLDEN = {
    0.1: 0.009389349014,
    0.3: 0.151248368107,
    0.45: 0.400880100316,
    0.5: 0.5,
    0.7: 0.848751631893,
}


@pytest.mark.parametrize(("support", "expected"), GOLDEN.items())
def test_golden_values(support, expected):
    assert beta_reference(np.array(support)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("support", [0.0, 0.02, 0.1, 0.249, 0.25, 0.251, 0.4, 0.49, 0.8, 0.97, 1.0])
def test_closed_form_equals_quadrature(support):
    assert beta_reference(np.array(support)) == pytest.approx(references.rrc(support), abs=1e-10)


def test_polynomial_equals_the_closed_form():
    q = np.linspace(1e-3, 0.5, 2001)[:-1]
    sinc, sine = np.sinc(1 - 2 * q), np.sin(2 * np.pi * q) / np.pi
    closed = (2 * q - 0.5) * sinc**2 + sine**2 * zeta(2, 2 - 2 * q)
    np.testing.assert_allclose(beta_reference(q), closed, rtol=1e-11)
    np.testing.assert_allclose(beta_reference(q.reshape(50, 40).T).T.ravel(), closed, rtol=1e-11)


@pytest.mark.parametrize("q", [1e-3, 1e-6, 1e-10, 1e-15, 1e-35])
def test_small_supports_keep_their_digits(q):
    # Expanding the closed form around 0: p(q) = 4 q^2 (pi^2/6 - 3/2) + O(q^3).
    leading = 4 * q**2 * (np.pi**2 / 6 - 1.5)
    assert beta_reference(np.array(q)) == pytest.approx(leading, rel=10 * q + 1e-12)


@pytest.mark.parametrize("support", [0.0, 1e-6, 0.02, 0.3, 0.5, 0.8, 0.999, 1.0])
@pytest.mark.parametrize("name", REFERENCES)
def test_every_reference_equals_its_definition(name, support):
    expected = references.RRC[name](support)
    assert REFERENCES[name](np.array(support)) == pytest.approx(expected, abs=1e-10)


def test_constrained_value():
    # About 0.7625 by the method's description.
    assert constrained_reference(np.array(0.7)) == pytest.approx(0.7625, abs=5e-5)


@given(st.floats(0, 1))
def test_decisions_do_not_depend_on_which_label_comes_first(support):
    folded = fold_rounded(np.array([support, 1 - support]))
    (first, swapped_first), (second, swapped_second) = unfold(decide(folded, beta_reference))
    assert first == pytest.approx(swapped_second, rel=1e-9)
    assert second == pytest.approx(swapped_first, rel=1e-9)
    assert first + second == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("smaller", [0.0, 1e-35, 1e-6, 0.3, 0.5])
@pytest.mark.parametrize("name", REFERENCES)
def test_decisions_of_either_label_are_equal(name, smaller):
    decided = decide(np.array([smaller, -smaller]), REFERENCES[name])
    first, second = unfold(decided)
    assert first[0] == second[1] == REFERENCES[name](np.array([smaller]))[0]
    assert second[0] == first[1] == 1 - first[0]


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=REFERENCES)
class TestEveryReference:
    @given(support=st.floats(0, 1))
    def test_result_is_a_symmetric_probability(self, reference, support):
        p, q = reference(np.array(support)), reference(np.array(1 - support))
        assert 0 <= p <= 1
        assert p + q == pytest.approx(1, abs=1e-12)

    def test_result_is_monotone_and_keeps_the_decision(self, reference):
        support = np.linspace(0, 1, 1001)
        p = reference(support)
        assert (np.diff(p) >= -1e-15).all()
        assert (p[support < 0.5] < 0.5).all()
        assert (p[support > 0.5] > 0.5).all()
        assert reference(np.array(0.5)) == 0.5
        assert reference(np.array([0.0, 1.0])).tolist() == [0, 1]

    def test_float32(self, reference):
        support = np.linspace(0, 1, 101)
        single = reference(support.astype(np.float32))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, reference(support), atol=2e-6)

    def test_input_is_not_modified(self, reference):
        support = np.linspace(0, 1, 11)
        support.flags.writeable = False
        assert reference(support).shape == (11,)

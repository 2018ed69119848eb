import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import references
from pairmend.kernels.confusion import correct, p_true_given_decision

unit = st.floats(0, 1)
matrices = arrays(float, (5, 2, 2), elements=st.just(0.0) | st.floats(1e-3, 1e3))
supports = arrays(float, 5, elements=unit)


@given(supports, matrices)
def test_correction_equals_a_loop(p, e):
    expected = [references.correct(*case) for case in zip(p, e, strict=True)]
    np.testing.assert_allclose(correct(p, e), expected, atol=1e-10)


@given(supports, matrices)
def test_corrected_support_is_a_probability(p, e):
    corrected = correct(p, e)
    assert ((corrected >= 0) & (corrected <= 1)).all()


@given(supports, matrices)
def test_swapping_the_labels_flips_the_support(p, e):
    np.testing.assert_allclose(correct(1 - p, e[:, ::-1, ::-1]), 1 - correct(p, e), atol=1e-12)


@given(supports, matrices, st.floats(1e-2, 1e2))
def test_scale_of_the_matrix_does_not_matter(p, e, factor):
    np.testing.assert_allclose(correct(p, factor * e), correct(p, e), atol=1e-12)


@given(supports, arrays(float, (5, 2), elements=unit))
def test_diagonal_matrix_changes_nothing(p, diagonal):
    e = diagonal[:, :, np.newaxis] * np.eye(2)
    np.testing.assert_allclose(correct(p, e), p, atol=1e-12)


def test_empty_matrix_changes_nothing():
    assert correct(np.array([0.3]), np.zeros((1, 2, 2))).tolist() == [0.3]


def test_support_of_an_always_wrong_classifier_is_inverted():
    e = np.array([[0.0, 2.0], [3.0, 0.0]])
    assert correct(np.array(0.8), e) == pytest.approx(0.2)


def test_decision_without_validation_rows_is_assumed_true():
    # No validation row was decided for the second label.
    given_first, given_second = p_true_given_decision(np.array([[1.0, 0.0], [3.0, 0.0]]))
    assert (given_first, given_second) == (0.25, 0.0)


def test_float32():
    assert correct(np.float32([0.5]), np.ones((1, 2, 2), np.float32)).dtype == np.float32

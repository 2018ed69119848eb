import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import references
from pairmend.kernels.confusion import ValidationDecisions, balance_weights
from pairmend.kernels.pairs import LabelRows
from pairmend.kernels.rrc import fold

unit = st.floats(0, 1)


@st.composite
def problems(draw):
    n, labels, points = draw(st.integers(1, 8)), draw(st.integers(2, 4)), draw(st.integers(1, 3))
    n_pairs = labels * (labels - 1) // 2
    return (
        draw(arrays(float, (points, n), elements=unit)),
        draw(arrays(bool, (n, labels))),
        draw(arrays(float, (n, n_pairs), elements=unit)),
        draw(unit),
    )


def sums(weights, Y, p_decide, overlap, blocks=None):
    """Confusion matrices of all pairs, from decisions (n, P) for first labels."""
    n_labels = Y.shape[1]
    label_rows = LabelRows.of(Y)
    r = np.full((len(Y), n_labels, n_labels), 0.5)
    for m, (i, j) in enumerate(references.pairs(n_labels)):
        r[:, i, j], r[:, j, i] = p_decide[:, m], 1 - p_decide[:, m]
    own = r[label_rows.rows, label_rows.label]
    decisions = ValidationDecisions(label_rows, Y, fold(own))
    parts = [
        decisions.confusion(weights.T, labels, overlap=overlap)
        for labels in blocks or [slice(0, n_labels - 1)]
    ]
    return np.concatenate(parts, axis=1)


@given(problems())
def test_blocks_of_labels_do_not_change_the_sums(problem):
    n_labels = problem[1].shape[1]
    singly = sums(*problem, blocks=[slice(i, i + 1) for i in range(n_labels - 1)])
    np.testing.assert_allclose(singly, sums(*problem), atol=1e-12)
    if n_labels > 3:
        two = sums(*problem, blocks=[slice(0, 1), slice(1, 3)])
        np.testing.assert_allclose(two, sums(*problem), atol=1e-12)


@given(problems())
def test_sums_equal_a_loop(problem):
    weights, Y, p_decide, overlap = problem
    expected = references.confusion(weights, Y, p_decide, overlap=overlap)
    np.testing.assert_allclose(sums(*problem), expected, atol=1e-10)


@given(problems())
def test_sums_are_linear_in_the_weights(problem):
    weights, Y, p_decide, overlap = problem
    np.testing.assert_allclose(
        sums(3 * weights, Y, p_decide, overlap), 3 * sums(*problem), atol=1e-12
    )


def test_sum_of_decisions_that_never_occur_is_exactly_zero(rng):
    # Crisp decisions: without a decision for a label the sum must be 0, not rounding.
    Y = rng.rand(50, 3) < 0.5
    p_decide = np.zeros((50, 3))
    e = sums(rng.rand(4, 50), Y, p_decide, 0.5)
    assert (e[..., 0] == 0).all()
    assert (e[..., 1] > 0).all()


def test_pairs_without_rows_have_zero_sums():
    Y = np.zeros((3, 3), dtype=bool)
    Y[1, 2] = True
    e = sums(np.ones((2, 3)), Y, np.full((3, 3), 0.25), 0.0)
    assert e[:, 0].tolist() == np.zeros((2, 2, 2)).tolist()
    assert e[0, 1].tolist() == [[0, 0], [0.25, 0.75]]


@given(st.integers(0, 9), st.integers(0, 9))
def test_balance_equalises_the_classes(n_first, n_second):
    w_first, w_second = balance_weights(np.array([n_first]), np.array([n_second]))
    assert w_first * n_first == pytest.approx(w_second * n_second)
    assert max(w_first, w_second) == 1

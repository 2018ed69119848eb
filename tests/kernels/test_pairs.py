"""Pairs of labels, their confusion matrices and votes, against loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import references
from pairmend.kernels import pairs as kernels
from pairmend.kernels.pairs import LabelRows, correct, sum_supports
from pairmend.kernels.rrc import beta_reference, decide, fold, unfold, vote

unit = st.floats(0, 1)


@st.composite
def problems(draw):
    n, labels, points = draw(st.integers(1, 8)), draw(st.integers(2, 4)), draw(st.integers(1, 3))
    return (
        draw(arrays(float, (points, n), elements=unit)),
        draw(arrays(bool, (n, labels))),
        draw(arrays(float, (n, labels * (labels - 1) // 2), elements=unit)),
        draw(unit),
    )


def sums(weights, Y, p_decide, overlap, blocks=None):
    """Confusion matrices of all pairs, from decisions (n, P) for first labels."""
    n_labels, label_rows = Y.shape[1], LabelRows.of(Y)
    r = np.full((len(Y), n_labels, n_labels), 0.5)
    for m, (i, j) in enumerate(references.pairs(n_labels)):
        r[:, i, j], r[:, j, i] = p_decide[:, m], 1 - p_decide[:, m]
    own = r[label_rows.rows, label_rows.label]
    decisions = kernels.ValidationDecisions(label_rows, Y, fold(own))
    blocks = blocks or [slice(0, n_labels - 1)]
    parts = [decisions.confusion(weights.T, labels, overlap=overlap) for labels in blocks]
    return np.concatenate(parts, axis=1)


@given(problems())
def test_confusion_matrices_equal_a_loop_in_any_blocks(problem):
    weights, Y, p_decide, overlap = problem
    expected = references.confusion(weights, Y, p_decide, overlap=overlap)
    np.testing.assert_allclose(sums(*problem), expected, atol=1e-10)
    singly = sums(*problem, blocks=[slice(i, i + 1) for i in range(Y.shape[1] - 1)])
    np.testing.assert_allclose(singly, expected, atol=1e-10)


def test_sum_of_decisions_that_never_occur_is_exactly_zero(rng):
    # Crisp decisions: without a decision for a label the sum must be 0, not rounding.
    e = sums(rng.rand(4, 50), rng.rand(50, 3) < 0.5, np.zeros((50, 3)), 0.5)
    assert (e[..., 0] == 0).all()
    assert (e[..., 1] > 0).all()


def test_corrections_by_hand():
    assert correct(np.array([0.3]), np.zeros((1, 2, 2))).tolist() == [0.3]
    assert correct(np.array(0.8), np.array([[0.0, 2.0], [3.0, 0.0]])) == pytest.approx(0.2)
    assert kernels.information(np.zeros((2, 2))) == 0
    # No validation row was decided for the second label.
    given = kernels.p_true_given_decision(np.array([[1.0, 0.0], [3.0, 0.0]]))
    assert given == (0.25, 0.0)
    assert correct(np.float32([0.5]), np.ones((1, 2, 2), np.float32)).dtype == np.float32


def test_ties_thresholds_and_single_precision():
    votes = vote(np.array([[0.5, 0.9, 0.1]]))
    assert sum_supports(votes, slice(0, 2), 3).tolist() == [[1.5, 0.5, 1.0]]
    assert vote(np.array([0.5 - 1e-16, 0.5 + 1e-13, 0.5 + 1e-9])).tolist() == [0.5, 0.5, 1.0]
    # The sum of a thousand float32 values must not lose digits.
    many = np.full((1, 999), 0.1, dtype=np.float32)
    assert vote(many).dtype == np.float32
    assert sum_supports(many, slice(0, 1), 1000)[0, 0] == pytest.approx(99.9, rel=2e-8)
    assert kernels.accept(np.array([[0.5, np.nextafter(0.5, 1)]]), 0.5).tolist() == [[0, 1]]


def test_confusion_and_correction_of_classes_equal_loops(rng):
    n_rows, n_points, n_classes = 30, 4, 5
    truth = rng.randint(n_classes - 1, size=n_rows)  # the last class has no row
    Y = truth[:, np.newaxis] == np.arange(n_classes)
    p_decide = rng.dirichlet(np.ones(n_classes), size=n_rows)
    p_decide[:, 2] = 0  # no row decides for this class
    weights = rng.rand(n_points, n_rows)
    expected = np.zeros((n_points, n_classes, n_classes))
    for t in range(n_points):
        for k in range(n_rows):
            expected[t, truth[k]] += weights[t, k] * p_decide[k]
    for given_weights in (weights, sparse.csr_array(weights)):
        found = kernels.class_confusion(given_weights, Y, p_decide)
        np.testing.assert_allclose(found, expected)
    queries = rng.dirichlet(np.ones(n_classes), size=n_points)
    corrected = kernels.correct_classes(queries, found)
    total = found.sum(axis=1, keepdims=True)
    p_true = np.where(total > 0, found / np.where(total > 0, total, 1), np.eye(n_classes))
    slow = [p_true[t] @ queries[t] for t in range(n_points)]
    np.testing.assert_allclose(corrected, slow)


def test_cells_of_small_decisions_keep_their_digits():
    p_decide = decide(np.array([[1e-9], [-1e-9]]), beta_reference)
    cells = kernels.label_cells(np.array([[True], [True]]), p_decide)
    np.testing.assert_array_equal(cells[:, :2], np.hstack(unfold(p_decide)))
    assert 0 < cells[1, 1] < 1e-15

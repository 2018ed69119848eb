"""Pairs of labels, their confusion matrices and votes, against loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.stats import entropy

import references
from pairmend.kernels import pairs as kernels
from pairmend.kernels.pairs import LabelRows, correct, label_pairs, pairs_of, sum_supports
from pairmend.kernels.rrc import beta_reference, decide, fold, unfold, vote

unit = st.floats(0, 1)
indicators = st.tuples(st.integers(1, 12), st.integers(2, 6)).flatmap(lambda s: arrays(bool, s))
matrices = arrays(float, (5, 2, 2), elements=st.just(0.0) | st.floats(1e-3, 1e3))
supports_of_rows = arrays(float, 5, elements=unit)


@given(st.integers(2, 9), st.data())
def test_pairs_of_consecutive_first_labels(n_labels, data):
    start = data.draw(st.integers(0, n_labels - 2))
    stop = data.draw(st.integers(start + 1, n_labels - 1))
    found = label_pairs(n_labels)[pairs_of(slice(start, stop), n_labels)].tolist()
    assert found == [list(pair) for pair in references.pairs(n_labels) if start <= pair[0] < stop]


@given(indicators, st.randoms(use_true_random=False))
def test_rows_of_labels_and_among_some_rows(Y, random):
    whole = LabelRows.of(Y)
    for i in range(Y.shape[1]):
        entries = whole.entries(i)
        assert whole.rows[entries].tolist() == [k for k, y in enumerate(Y) if y[i]]
        assert set(whole.label[entries]) <= {i}
    rows = np.array(sorted(random.sample(range(len(Y)), random.randint(1, len(Y)))))
    kept, chosen = whole.among(rows, len(Y))
    expected = LabelRows.of(Y[rows])
    np.testing.assert_array_equal(kept.indptr, expected.indptr)
    np.testing.assert_array_equal(kept.rows, expected.rows)
    np.testing.assert_array_equal(chosen, np.isin(whole.rows, rows))


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


@given(st.integers(0, 9), st.integers(0, 9))
def test_balance_equalises_the_classes(n_first, n_second):
    w_first, w_second = kernels.balance_weights(np.array([n_first]), np.array([n_second]))
    assert w_first * n_first == pytest.approx(w_second * n_second)
    assert max(w_first, w_second) == 1


@given(supports_of_rows, matrices, st.floats(1e-2, 1e2))
def test_correction_equals_a_loop(p, e, factor):
    corrected = correct(p, e)
    expected = [references.correct(*case) for case in zip(p, e, strict=True)]
    np.testing.assert_allclose(corrected, expected, atol=1e-10)
    np.testing.assert_allclose(correct(1 - p, e[:, ::-1, ::-1]), 1 - corrected, atol=1e-12)
    np.testing.assert_allclose(correct(p, factor * e), corrected, atol=1e-12)
    np.testing.assert_allclose(correct(p, e * np.eye(2)), p, atol=1e-12)


def test_corrections_by_hand():
    assert correct(np.array([0.3]), np.zeros((1, 2, 2))).tolist() == [0.3]
    assert correct(np.array(0.8), np.array([[0.0, 2.0], [3.0, 0.0]])) == pytest.approx(0.2)
    # No validation row was decided for the second label.
    given = kernels.p_true_given_decision(np.array([[1.0, 0.0], [3.0, 0.0]]))
    assert given == (0.25, 0.0)
    assert correct(np.float32([0.5]), np.ones((1, 2, 2), np.float32)).dtype == np.float32


@given(arrays(np.int64, (2, 2), elements=st.integers(0, 50)).filter(lambda table: table.any()))
def test_information_is_one_less_the_conditional_entropy(table):
    sizes = table.sum(axis=0)
    left = sum(entropy(table[:, h], base=2) * sizes[h] for h in range(2) if sizes[h]) / sizes.sum()
    # Scale, order of labels, and order of decisions do not matter.
    for same in (table * 0.3, table[::-1], table[:, ::-1]):
        assert kernels.information(same) == pytest.approx(1 - left, abs=1e-12)
    assert kernels.information(np.zeros((2, 2))) == 0


@given(arrays(float, (6,), elements=unit), arrays(float, (6,), elements=unit))
def test_sum_of_weighted_votes_decides_as_the_weighted_mean(votes, weights):
    weighed = kernels.weigh(votes, weights)
    assert weighed.mean() - 0.5 == pytest.approx(weights @ (votes - 0.5) / 6, abs=1e-15)
    # Votes for the other label of each pair are complements.
    np.testing.assert_allclose(kernels.weigh(1 - votes, weights), 1 - weighed, atol=1e-15)


@given(
    st.integers(2, 6).flatmap(lambda n: arrays(float, (3, n * (n - 1) // 2), elements=unit)),
)
def test_scores_equal_a_loop(supports):
    n_labels = round((1 + np.sqrt(1 + 8 * supports.shape[1])) / 2)
    scores = sum_supports(supports, slice(0, n_labels - 1), n_labels) / (n_labels - 1)
    np.testing.assert_allclose(scores, references.scores(supports, n_labels), atol=1e-10)
    blocks = [slice(i, i + 1) for i in range(n_labels - 1)]
    parts = [sum_supports(supports[:, pairs_of(b, n_labels)], b, n_labels) for b in blocks]
    np.testing.assert_allclose(sum(parts) / (n_labels - 1), scores)


def test_ties_thresholds_and_single_precision():
    votes = vote(np.array([[0.5, 0.9, 0.1]]))
    assert sum_supports(votes, slice(0, 2), 3).tolist() == [[1.5, 0.5, 1.0]]
    assert vote(np.array([0.5 - 1e-16, 0.5 + 1e-13, 0.5 + 1e-9])).tolist() == [0.5, 0.5, 1.0]
    # The sum of a thousand float32 values must not lose digits.
    many = np.full((1, 999), 0.1, dtype=np.float32)
    assert vote(many).dtype == np.float32
    assert sum_supports(many, slice(0, 1), 1000)[0, 0] == pytest.approx(99.9, rel=2e-8)
    assert kernels.accept(np.array([[0.5, np.nextafter(0.5, 1)]]), 0.5).tolist() == [[0, 1]]


def slow_correction(p, e):
    out = np.zeros(len(p))
    for h in range(len(p)):
        total = e[:, h].sum()
        for i in range(len(p)):
            out[i] += p[h] * (e[i][h] / total if total else float(i == h))
    return out


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
    slow = [slow_correction(p, e) for p, e in zip(queries, expected, strict=True)]
    np.testing.assert_allclose(corrected, slow)


def test_two_classes_and_one_label_against_the_rest_equal_a_pair(rng):
    truth, support = rng.rand(20) < 0.4, rng.rand(20)
    weights, p = rng.rand(3, 20), rng.rand(3)
    both = np.column_stack([truth, ~truth])
    p_decide = np.column_stack([beta_reference(support), 1 - beta_reference(support)])
    by_class = kernels.class_confusion(weights, both, p_decide)
    folded = decide(fold(support[:, np.newaxis]), beta_reference)
    by_label = kernels.label_confusion(weights, kernels.label_cells(truth[:, np.newaxis], folded))
    for t, slow in enumerate(references.confusion(weights, both, p_decide[:, :1])):
        np.testing.assert_allclose(by_class[t], slow[0])
        np.testing.assert_allclose(by_label[t, 0], slow[0])
    corrected = kernels.correct_classes(np.column_stack([p, 1 - p]), by_class)
    np.testing.assert_allclose(corrected[:, 0], correct(p, by_class))
    # Small probabilities keep their digits.
    p_decide = decide(np.array([[1e-9], [-1e-9]]), beta_reference)
    cells = kernels.label_cells(np.array([[True], [True]]), p_decide)
    np.testing.assert_array_equal(cells[:, :2], np.hstack(unfold(p_decide)))
    assert 0 < cells[1, 1] < 1e-15

"""Explanations against predictions, and their matrices against loops."""

import json
import sys
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import references
from pairmend import (
    AdaptiveNeighbourhood,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
    PairwiseClassifier,
)
from pairmend.explanation import Explanation, LabelExplanation, explain_problem

BASE = LogisticRegression(C=0.5)
SETTINGS = [
    {},
    {"balance": "pairs", "overlap": 0.5},
    {"balance": "labels", "overlap": 0.25, "validation": 3},
    {"voting": "votes", "threshold": 0.4},
    {"reference": "identity", "validation": 0.3, "neighbourhood": AdaptiveNeighbourhood(k=4)},
    {"reference": "crisp", "neighbourhood": GlobalNeighbourhood()},
    {"neighbourhood": GaussianNeighbourhood(2.0), "voting": "votes"},
    {"neighbourhood": GaussianNeighbourhood(3000.0)},
]
all_settings = pytest.mark.parametrize("parameters", SETTINGS, ids=str)


def fitted(X, Y, weights=None, **parameters):
    fit_params = {} if weights is None else {"sample_weight": weights}
    return CorrectedPairwiseClassifier(BASE, random_state=4, **parameters).fit(X, Y, **fit_params)


def masses_by_loops(clf, X, Y, queries, weights=None):
    """Confusion sums (t, P, 2, 2), with supports of classifiers trained once more."""
    V, rng = clf.validation_indices_, np.random.RandomState(clf.random_state)
    rng.randint(np.iinfo(np.int32).max)  # the seed of the base classifiers comes first
    supports = np.empty((len(V), len(clf.pairs_)))
    folds = [(clf.train_indices_, np.arange(len(V)))]
    if isinstance(clf.validation, int):
        folds = [
            (V[rest], fold)
            for rest, fold in KFold(clf.validation, shuffle=True, random_state=rng).split(V)
        ]
    for rest, fold in folds:
        params = {} if weights is None else {"sample_weight": weights[rest]}
        plain = PairwiseClassifier(BASE).fit(X[rest], Y[rest], **params)
        supports[fold] = plain.pair_support(X[V[fold]])
    around = clf.neighbourhood_.weights(queries)
    return references.confusion(
        around.toarray() if sparse.issparse(around) else around,
        Y[V],
        np.vectorize(references.RRC[clf.reference], otypes=[float])(supports),
        overlap=clf.overlap,
        how=clf.balance,
        row_weights=None if weights is None else weights[V],
    )


@all_settings
@pytest.mark.parametrize("weighted", [False, True])
def test_confusion_matrices_equal_the_loops(small_set, parameters, weighted):
    X, Y = small_set
    weights = np.random.RandomState(0).randint(0, 3, len(Y)) * 0.7 if weighted else None
    clf = fitted(X, Y, weights, **parameters)
    expected = masses_by_loops(clf, X, Y, X[:6], weights)
    for explanation, masses in zip(clf.explain(X[:6]), expected, strict=True):
        assert [problem.labels for problem in explanation.problems] == references.pairs(4)
        for problem, matrix in zip(explanation.problems, masses, strict=True):
            np.testing.assert_allclose(problem.masses, matrix, rtol=1e-8, atol=1e-12)
            after = references.correct(problem.p_decide, matrix)
            assert problem.after == pytest.approx(after, abs=1e-8)


@all_settings
def test_numbers_add_up_to_the_prediction(small_set, parameters):
    X, Y = small_set
    clf = fitted(X, Y, **parameters)
    T = clf.train_indices_
    plain = PairwiseClassifier(BASE, voting=clf.voting, threshold=clf.threshold).fit(X[T], Y[T])
    explanations = clf.explain(X)
    for k, explanation in enumerate(explanations):
        assert explanation.row == k
        for label in explanation.labels:
            assert label.steps[-1].total_after == pytest.approx(label.after, abs=1e-12)
            assert label.steps[-1].total_before == pytest.approx(label.before, abs=1e-12)
            added = sum(step.after for step in label.steps)
            assert added == pytest.approx(label.after, abs=1e-12)
            assert [step.against for step in label.steps] == [
                other for other in range(4) if other != label.label
            ]
            assert label.threshold == clf.threshold

    def of_labels(name):
        return np.array([[getattr(label, name) for label in e.labels] for e in explanations])

    def of_problems(name):
        return np.array([[getattr(p, name) for p in e.problems] for e in explanations])

    np.testing.assert_array_equal(of_labels("after"), clf.predict_proba(X))
    np.testing.assert_array_equal(of_labels("accepted"), clf.predict(X) == 1)
    np.testing.assert_array_equal(of_labels("before"), plain.predict_proba(X))
    np.testing.assert_array_equal(of_labels("accepted_before"), plain.predict(X) == 1)
    np.testing.assert_array_equal(of_problems("before"), clf.pair_support(X))
    np.testing.assert_array_equal(of_problems("after"), clf.pair_corrected(X))
    turned = (clf.pair_support(X) > 0.5) != (clf.pair_corrected(X) > 0.5)
    assert turned.any() or clf.reference == "crisp"  # the same everywhere turns no vote here
    np.testing.assert_array_equal(of_problems("changed"), turned)
    assert [e.n_changed for e in explanations] == turned.sum(axis=1).tolist()


@all_settings
@pytest.mark.parametrize("weighted", [False, True])
def test_neighbours_are_rows_of_the_data_given_to_fit(small_set, parameters, weighted):
    X, Y = small_set
    weights = np.random.RandomState(0).randint(0, 3, len(Y)) * 0.7 if weighted else None
    frame = pd.DataFrame(X, index=np.arange(len(X))[::-1] + 1000)
    clf = fitted(frame, Y, weights, **parameters)
    around = clf.neighbourhood_.weights(frame[:3])
    around = around.toarray() if sparse.issparse(around) else around
    place = {row: k for k, row in enumerate(clf.validation_indices_.tolist())}
    for z, explanation in enumerate(clf.explain(frame[:3], n_neighbors=len(X))):
        for problem in explanation.problems:
            shares = [neighbour.share for neighbour in problem.neighbours]
            assert shares == sorted(shares, reverse=True)
            assert sum(shares) == pytest.approx(1 if problem.mass else 0)
            if shares:
                assert problem.n_effective == pytest.approx(1 / np.sum(np.square(shares)))
            assert len({n.row for n in problem.neighbours}) == len(shares)
            for neighbour in problem.neighbours:
                assert neighbour.truth == tuple(Y[neighbour.row, problem.labels] == 1)
                own = 1.0 if weights is None else weights[neighbour.row]
                assert neighbour.weight == pytest.approx(around[z, place[neighbour.row]] * own)


def test_a_row_is_its_own_nearest_neighbour(small_set):
    X, Y = small_set
    clf = fitted(X, Y, validation=5, neighbourhood=GaussianNeighbourhood(1e6))
    for row, explanation in enumerate(clf.explain(X[:20], n_neighbors=1)):
        for problem in explanation.problems:
            if Y[row, problem.labels].sum() == 1:
                assert [neighbour.row for neighbour in problem.neighbours] == [row]


def test_fewer_neighbours_are_the_heaviest_ones(small_set):
    clf = fitted(*small_set, overlap=0.5)
    few, many = (clf.explain(small_set[0][:2], n_neighbors=n) for n in (2, 50))
    for one, other in zip(few[1].problems, many[1].problems, strict=True):
        assert one.neighbours == other.neighbours[:2]
        assert one.n_effective == other.n_effective


def test_sparse_rows_and_lists_give_the_same(small_set):
    X, Y = small_set
    plain = fitted(X, Y).explain(X[:3])
    spare = fitted(sparse.csr_array(X), Y).explain(sparse.csr_array(X[:3]))
    lists = fitted(X, Y).explain(X[:3].tolist())
    for other, close in ((spare, 1e-8), (lists, 1e-12)):
        for one, two in zip(plain, other, strict=True):
            for a, b in zip(one.problems, two.problems, strict=True):
                assert b.after == pytest.approx(a.after, abs=close)
                np.testing.assert_allclose(b.masses, a.masses, atol=close)
                assert [n.row for n in a.neighbours] == [n.row for n in b.neighbours]


def test_classes_instead_of_labels(small_set):
    X, Y = small_set
    y = np.array(["ant", "bee", "cat"])[Y[:, 0] + Y[:, 1]]
    clf = fitted(X, y)
    explanations = clf.explain(X)
    T = clf.train_indices_
    before = PairwiseClassifier(BASE).fit(X[T], y[T]).predict(X)
    for e, scores, winner, loser in zip(
        explanations, clf.predict_proba(X), clf.predict(X), before, strict=True
    ):
        assert [label.name for label in e.labels if label.accepted] == [winner]
        assert [label.name for label in e.labels if label.accepted_before] == [loser]
        assert [label.steps[-1].total_after for label in e.labels] == pytest.approx(scores)
        assert [label.after for label in e.labels] == scores.tolist()
        assert {label.threshold for label in e.labels} == {None}
        assert "above" not in str(e)


def test_problems_can_be_limited_to_those_that_changed_most(small_set):
    X, Y = small_set
    clf = fitted(X, Y)
    for all_of_them, some in zip(clf.explain(X), clf.explain(X, n_problems=2), strict=True):
        ranked = all_of_them.most_changed()
        assert len(ranked) == all_of_them.n_problems == some.n_problems == 6
        assert all(a.changed or not b.changed for a, b in pairwise(ranked))
        assert set(some.problems) == set(ranked[:2]) == set(all_of_them.most_changed(2))
        assert [p.labels for p in some.problems] == sorted(p.labels for p in some.problems)
        assert some.labels == all_of_them.labels
        assert some.n_changed == all_of_them.n_changed == sum(p.changed for p in ranked)


@pytest.mark.parametrize("name", ["n_neighbors", "n_problems"])
@pytest.mark.parametrize("value", [-1, 2.5, True])
def test_numbers_are_checked(small_set, name, value):
    clf = fitted(*small_set)
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 0, got"):
        clf.explain(small_set[0][:1], **{name: value})


def test_explanations_are_plain_data(small_set):
    clf = fitted(*small_set)
    one, again = clf.explain(small_set[0][:1]), clf.explain(small_set[0][:1])
    assert one == again
    assert hash(one[0]) == hash(again[0])
    assert json.loads(json.dumps(asdict(one[0])))["problems"][0]["labels"] == [0, 1]


def test_frames(small_set):
    X, Y = small_set
    clf = fitted(X, pd.DataFrame(Y, columns=["a", "b", "c", "d"]))
    (explanation,) = clf.explain(X[:1], n_neighbors=2)
    problems = explanation.to_frame()
    assert problems[["first", "second"]].to_numpy().tolist()[:2] == [["a", "b"], ["a", "c"]]
    corrected = problems.p_decide * problems.c_ii + (1 - problems.p_decide) * problems.c_ij
    np.testing.assert_allclose(corrected, problems.after)
    np.testing.assert_allclose(corrected, clf.pair_corrected(X[:1])[0])
    labels = explanation.to_frame("labels").set_index("label")
    steps = explanation.to_frame("steps").groupby("label")[["before", "after"]].sum()
    np.testing.assert_allclose(steps, labels[["before", "after"]])
    neighbours = explanation.to_frame("neighbours")
    assert neighbours.groupby(["first", "second"]).size().tolist() == [2] * 6
    (empty,) = clf.explain(X[:1], n_problems=0)
    assert empty.to_frame("neighbours").columns.tolist() == neighbours.columns.tolist()
    with pytest.raises(
        ValueError, match="of='rows' is no part .* choose one of problems, neighbours, labels"
    ):
        explanation.to_frame("rows")


def test_missing_pandas_is_named(small_set, monkeypatch):
    (explanation,) = fitted(*small_set).explain(small_set[0][:1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'pairmend\[study\]'"):
        explanation.to_frame()


unit = st.floats(0, 1)
rows_of_a_problem = st.lists(st.tuples(unit, st.booleans(), st.booleans(), unit), max_size=8)


@given(rows_of_a_problem, unit, unit, st.tuples(unit, unit), st.lists(unit, min_size=4, max_size=4))
def test_any_problem_equals_the_loops(rows, p_decide, overlap, class_weights, shrinkage):
    expected = np.reshape(shrinkage, (2, 2)).copy()
    for weight, is_first, is_second, r in rows:
        memberships = references.class_memberships((is_first, is_second), 0, 1, overlap)
        for truth in (0, 1):
            mass = weight * memberships[truth] * class_weights[truth]
            expected[truth] += mass * r, mass * (1 - r)
    problem = explain_problem(
        (3, None),
        ("a", "not a"),
        before=0.5,
        p_decide=p_decide,
        weights=np.array([row[0] for row in rows]),
        truth=np.array([row[1:3] for row in rows], dtype=bool).reshape(-1, 2),
        decisions=np.array([row[3] for row in rows]),
        rows=np.arange(len(rows)) + 7,
        overlap=overlap,
        class_weights=class_weights,
        shrinkage=np.reshape(shrinkage, (2, 2)),
    )
    np.testing.assert_allclose(problem.masses, expected, atol=1e-12)
    assert problem.after == pytest.approx(references.correct(p_decide, problem.masses))
    assert problem.shrinkage == pytest.approx(sum(shrinkage))
    assert all(7 <= neighbour.row < 7 + len(rows) for neighbour in problem.neighbours)
    assert sum(n.share for n in problem.neighbours) <= 1 + 1e-12
    assert 0 <= problem.n_effective <= len(rows) + 1e-9
    if problem.mass:
        assert np.sum(problem.shares) == pytest.approx(1)
        sums = expected.sum(axis=1)
        np.testing.assert_allclose(
            np.sum(problem.given_truth, axis=1), sums > 0, atol=1e-6 if sums.min() < 1e-9 else 1e-9
        )


def test_nothing_known_leaves_the_decision():
    problem = explain_problem(
        (0, 1), ("a", "b"), before=0.3, p_decide=0.2, weights=np.zeros(2),
        truth=np.eye(2, dtype=bool), decisions=np.ones(2),
    )  # fmt: skip
    assert (problem.after, problem.mass, problem.n_effective) == (0.2, 0, 0)
    assert problem.p_true_given_decision == (1, 0)
    assert problem.neighbours == ()
    assert problem.shares == problem.given_truth == ((0, 0), (0, 0))


def make_problem(first="sea", second="beach", **given):
    default = {
        "before": 0.4,
        "p_decide": 0.25,
        "weights": np.array([1.0, 0.5, 0.5]),
        "truth": np.array([[1, 0], [0, 1], [1, 1]], dtype=bool),
        "decisions": np.array([0.0, 0.5, 1.0]),
        "rows": np.array([12, 40, 7]),
        "overlap": 0.5,
    }
    return explain_problem((0, 1), (first, second), **{**default, **given})


def make_label(number, name, before, after, n_others=1):
    against = [(None, f"other {k}") for k in range(n_others)]
    return LabelExplanation.of(
        number, name, against, [before / n_others] * n_others, [after / n_others] * n_others,
        scores=(before, after), accepted=(before > 0.5, after > 0.5), threshold=0.5,
    )  # fmt: skip


def test_text_tells_what_changed_first():
    labels = (make_label(0, "sea", 0.4, 0.71), make_label(1, "beach", 0.6, 0.55))
    explanation = Explanation(3, labels, (make_problem(),), 1, 1)
    assert str(explanation) == explanation.text()
    assert str(explanation).splitlines() == [
        "Row 3: the correction changed the prediction of 1 of 2 labels.",
        "  label  before  after  predicted",
        "  sea      0.40   0.71  yes, was no",
        "  beach    0.60   0.55  yes",
        "A label is predicted when its score is above 0.50.",
        "",
        "1 of 1 binary problems changed its vote. Largest changes:",
        "",
        "sea or beach: from beach to sea.",
        "  The support for sea is 40 %.",
        "  The reference classifier decides for sea with probability 25 %.",
        "  Near this row, sea is true in 33 % of decisions for sea.",
        "  Near this row, sea is true in 80 % of decisions for beach.",
        "  The corrected support for sea is 68 % (0.25 x 0.33 + 0.75 x 0.80).",
        "  Validation rows of largest weight:",
        "    row 12: 50 % of the weight; true sea; decision beach (100 %)",
        "    row 7: 25 % of the weight; true sea and beach; decision sea (100 %)",
        "    row 40: 25 % of the weight; true beach; decision tie",
        "",
        "Steps of the score of sea, before and after:",
        "  against other 0   0.400  0.710",
        "  score             0.400  0.710",
    ]


def test_text_of_many_labels_is_short():
    labels = tuple(make_label(k, f"label {k}", 0.2, 0.9 - 0.001 * k, 99) for k in range(100))
    problems = (make_problem(),) * 4950
    text = Explanation(0, labels, problems, 4950, 4950).text()
    assert len(text.splitlines()) < 70
    assert "and 90 more, 90 of them predicted" in text
    assert "94 others" in text
    moved_most = "Steps of the score of label 0"
    assert moved_most in text
    turned = Explanation(0, labels[::-1], problems, 4950, 4950).text(n_scores=1)
    assert moved_most in turned
    brief = Explanation(0, labels, problems, 4950, 4950).text(n_labels=0, n_problems=0, n_scores=0)
    assert len(brief.splitlines()) == 4


def test_text_of_special_cases():
    def explained(**given):
        return Explanation(0, (make_label(0, "sea", 0.4, 0.45),), (make_problem(**given),), 1, 0)

    assert "the correction changed no prediction of 1 labels" in str(explained())
    assert "No validation row of the two classes has a weight" in str(
        explained(weights=np.zeros(3))
    )
    assert "Near this row there is no decision for sea" in str(explained(decisions=np.zeros(3)))
    assert "33 % of the confusion matrix is prior mass" in str(
        explained(shrinkage=[[0.25, 0.25], [0.25, 0.25]])
    )
    assert "from beach to tie" in str(explained(after=0.5))
    assert "still beach" in str(explained(after=0.4))
    assert "0.25 x" not in str(explained(after=0.4))  # not what the matrix gives
    assert "reference classifier decides" not in str(explained(p_decide=0.4))
    assert "is under 1 %" in str(explained(before=1e-9))
    assert "is over 99 %" in str(explained(before=1 - 1e-9))
    nasty = str(explained(first="a\nb\x1b[31m", second="x" * 50))
    assert "a b [31m or " + "x" * 27 + "…:" in nasty
    assert "\x1b" not in nasty

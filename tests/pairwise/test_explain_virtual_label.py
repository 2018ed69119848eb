"""Explanations with a virtual label: its pairs, and its part of every score."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import references
from pairmend import CalibratedLabelRanking, CorrectedPairwiseClassifier, GaussianNeighbourhood
from pairmend.plots import plot_explanation

BASE = LogisticRegression(C=0.5)
SETTINGS = [
    {},
    {"balance": "pairs", "overlap": 0.5, "validation": 3},
    {"balance": "labels", "voting": "votes", "threshold": 0.4},
    {"neighbourhood": GaussianNeighbourhood(100.0), "reference": "identity"},
]
all_settings = pytest.mark.parametrize("parameters", SETTINGS, ids=str)


def fitted(X, Y, weights=None, **parameters):
    fit_params = {} if weights is None else {"sample_weight": weights}
    clf = CorrectedPairwiseClassifier(BASE, calibration_label=True, random_state=4, **parameters)
    return clf.fit(X, Y, **fit_params)


def masses_by_loops(clf, X, Y, queries, weights):
    """Confusion sums (t, P, 2, 2), with supports of classifiers trained once more."""
    V, rng = clf.validation_indices_, np.random.RandomState(clf.random_state)
    rng.randint(np.iinfo(np.int32).max)  # the seed of the base classifiers comes first
    folds = [(clf.train_indices_, np.arange(len(V)))]
    if isinstance(clf.validation, int):
        folds = [
            (V[rest], fold)
            for rest, fold in KFold(clf.validation, shuffle=True, random_state=rng).split(V)
        ]
    supports = np.empty((len(V), len(clf.pairs_)))
    for rest, fold in folds:
        ranking = CalibratedLabelRanking(BASE).fit(X[rest], Y[rest], sample_weight=weights[rest])
        supports[fold] = ranking.pair_support(X[V[fold]])
    return references.confusion(
        clf.neighbourhood_.weights(queries),
        Y[V],
        np.vectorize(references.RRC[clf.reference], otypes=[float])(supports),
        overlap=clf.overlap,
        how=clf.balance,
        row_weights=weights[V],
        virtual=True,
    )


@all_settings
def test_confusion_matrices_equal_the_loops(small_set, parameters):
    X, Y = small_set
    weights = np.random.RandomState(0).randint(0, 3, len(Y)) * 0.7
    clf = fitted(X, Y, weights, **parameters)
    expected = masses_by_loops(clf, X, Y, X[:4], weights)
    pairs = [(i, None if j == 4 else j) for i, j in references.pairs(5)]
    for explanation, masses in zip(clf.explain(X[:4]), expected, strict=True):
        assert [problem.labels for problem in explanation.problems] == pairs
        for problem, matrix in zip(explanation.problems, masses, strict=True):
            np.testing.assert_allclose(problem.masses, matrix, rtol=1e-8, atol=1e-12)
            after = references.correct(problem.p_decide, matrix)
            assert problem.after == pytest.approx(after, abs=1e-8)


@all_settings
def test_steps_add_up_to_the_score(small_set, parameters):
    X, Y = small_set
    clf = fitted(X, Y, **parameters)
    T = clf.train_indices_
    ranking = CalibratedLabelRanking(BASE, voting=clf.voting).fit(X[T], Y[T])
    explanations = clf.explain(X)
    votes = clf.pair_corrected(X)
    if clf.voting == "votes":
        votes = np.vectorize(references.crisp_rrc)(np.round(votes, 12))
    against_virtual = votes[:, clf.pairs_[:, 1] == 4]
    for explanation, supports in zip(explanations, against_virtual, strict=True):
        for label in explanation.labels:
            others = [other for other in range(4) if other != label.label]
            assert [step.against for step in label.steps] == [*others, None, 4]
            assert label.steps[-2].name == f"not {label.name}"
            assert label.steps[-1].name == "the virtual label"
            # A pair brings its part of eight: four pairs of a label, half of the scale each.
            assert label.steps[-2].after == pytest.approx(supports[label.label] / 8)
            assert label.steps[-1].after == pytest.approx(supports.sum() / 8)
            for when in ("before", "after"):
                added = sum(getattr(step, when) for step in label.steps)
                assert added == pytest.approx(getattr(label, when), abs=1e-12)
                total = getattr(label.steps[-1], f"total_{when}")
                assert total == pytest.approx(getattr(label, when), abs=1e-12)

    def of_labels(name):
        return np.array([[getattr(label, name) for label in e.labels] for e in explanations])

    np.testing.assert_array_equal(of_labels("after"), clf.predict_proba(X))
    np.testing.assert_array_equal(of_labels("accepted"), clf.predict(X) == 1)
    np.testing.assert_allclose(of_labels("before"), ranking.predict_proba(X), atol=1e-12)
    accepted = ranking.predict_proba(X) > clf.threshold
    np.testing.assert_array_equal(of_labels("accepted_before"), accepted)


def test_neighbours_belong_to_the_label_or_to_its_absence(small_set):
    X, Y = small_set
    clf = fitted(X, Y, overlap=0.5, balance="labels")
    for explanation in clf.explain(X[:3], n_neighbors=len(X)):
        for problem in explanation.problems:
            first, second = problem.labels
            if second is not None:
                continue
            assert problem.names == (str(first), f"not {first}")
            rows = [neighbour.row for neighbour in problem.neighbours]
            assert sorted(rows) == clf.validation_indices_.tolist()
            assert sum(n.share for n in problem.neighbours) == pytest.approx(1)
            for neighbour in problem.neighbours:
                has_label = Y[neighbour.row, first] == 1
                assert neighbour.truth == (has_label, not has_label)


def test_a_single_label(small_set):
    X, Y = small_set
    clf = fitted(X, Y[:, :1])
    for explanation, score in zip(clf.explain(X), clf.predict_proba(X)[:, 0], strict=True):
        (label,), (problem,) = explanation.labels, explanation.problems
        assert problem.labels == (0, None)
        assert problem.after == pytest.approx(score, abs=1e-12)
        assert [step.after for step in label.steps] == pytest.approx([score / 2] * 2, abs=1e-12)


def test_classes_instead_of_labels(small_set):
    X, Y = small_set
    y = np.array(["ant", "bee", "cat"])[Y[:, 0] + Y[:, 1]]
    clf = fitted(X, y)
    for e, scores, winner in zip(clf.explain(X), clf.predict_proba(X), clf.predict(X), strict=True):
        assert [label.name for label in e.labels if label.accepted] == [winner]
        assert [label.after for label in e.labels] == scores.tolist()
        assert [label.steps[-1].total_after for label in e.labels] == pytest.approx(scores)
        assert [label.steps[-1].total_before for label in e.labels] == pytest.approx(
            [label.before for label in e.labels]
        )
        assert {step.against for step in e.labels[0].steps} == {1, 2, None}


def test_as_text_frames_data_and_figure(small_set):
    X, Y = small_set
    clf = fitted(X, pd.DataFrame(Y, columns=["sea", "sun", "rain", "snow"]))
    explanations = clf.explain(X, n_neighbors=2)
    explanation = next(e for e in explanations if e.labels[0].changed)
    text = explanation.text(n_problems=10)
    assert "sea or not sea:" in text
    assert "against not sea" in text
    assert "against the virtual label" in text
    steps = explanation.to_frame("steps").groupby("label")[["before", "after"]].sum()
    labels = explanation.to_frame("labels").set_index("label")
    np.testing.assert_allclose(steps.loc[labels.index], labels[["before", "after"]], atol=1e-12)
    assert "not rain" in set(explanation.to_frame()["second"])
    assert json.loads(json.dumps(asdict(explanation)))["problems"][3]["labels"] == [0, None]
    assert len(plot_explanation(explanation, n_problems=10).axes) == 21

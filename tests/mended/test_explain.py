"""Explanations of MendedClassifier against its predictions and against loops."""

import json
from dataclasses import asdict
from functools import cache
from itertools import accumulate

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logit
from sklearn import config_context
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import references
from pairmend import MendedClassifier
from pairmend.baselines import BinaryRelevance
from pairmend.thresholds import (
    BatchF1Thresholds,
    CardinalityThreshold,
    F1Thresholds,
    NeverEmpty,
    TopLabels,
)
from slow_label_sets import local_lift

SETTINGS = [
    {},
    {"decision": "sets", "criterion": "zero_one", "scaling": "range", "shrinkage": 2.0},
    {"decision": "labels", "threshold": F1Thresholds("micro"), "beta": 50.0, "shrinkage": 0.0},
    {"decision": "labels", "threshold": CardinalityThreshold(), "scaling": "unit", "beta": 3.0},
    {"decision": "labels", "threshold": 0.3, "scaling": "log_odds", "criterion": "macro_f1"},
]


@pytest.fixture(scope="module")
def rings():
    """Labels that are not linearly separable, one of them rare."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(160, 3))
    centres = rng.uniform(-0.6, 0.6, size=(4, 3))
    Y = np.linalg.norm(X[:, np.newaxis] - centres, axis=2) < [0.9, 0.8, 0.7, 0.4]
    return X, Y.astype(int)


def fitted(X, Y, weights=None, **parameters):
    fit_params = {} if weights is None else {"sample_weight": weights}
    clf = MendedClassifier(LogisticRegression(), random_state=0, **parameters)
    return clf.fit(X, Y, **fit_params)


def of_labels(explanations, name):
    return np.array([[getattr(label, name) for label in e.labels] for e in explanations])


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
def test_steps_add_up_to_the_prediction(rings, parameters):
    X, Y = rings
    clf = fitted(X, Y, **parameters)
    explanations = clf.explain(X[:25])
    np.testing.assert_array_equal(of_labels(explanations, "after"), clf.predict_proba(X[:25]))
    np.testing.assert_array_equal(of_labels(explanations, "accepted"), clf.predict(X[:25]))
    base = BinaryRelevance(LogisticRegression()).fit(X, Y).predict_proba(X[:25])
    np.testing.assert_allclose(of_labels(explanations, "before"), base)
    weights = {"uncorrected": clf.stacking_weights_.get("uncorrected", 0)}
    for name, weight in clf.stacking_weights_.items():
        if weight > 0 and name != "uncorrected":
            weights["global correction" if name == "global" else f"neighbours ({name})"] = weight
    for k, explanation in enumerate(explanations):
        assert explanation.row == k
        for label in explanation.labels:
            for when in ("before", "after"):
                added = [getattr(step, when) for step in label.steps]
                totals = [getattr(step, f"total_{when}") for step in label.steps]
                assert totals == list(accumulate(added))
                assert totals[-1] == pytest.approx(getattr(label, when), abs=1e-15)
            terms = {step.name: step for step in label.steps if step.kind == "term"}
            assert {name: step.weight for name, step in terms.items()} == weights
            first = label.steps[0]
            assert (first.name, first.before) == ("uncorrected", label.before)
            assert first.after == first.weight * label.before
            for problem in explanation.problems:
                if problem.labels == (label.label, None):
                    step = terms[problem.correction]
                    assert step.after == step.weight * problem.after


def test_rare_labels_and_label_sets_are_steps_of_the_sum(rings):
    X, Y = rings
    Y = np.column_stack([Y[:, :3], 1 - Y[:, 3]])
    Y = np.column_stack([Y, 1 - Y[:, 0]])  # never true together with the first
    clf = fitted(X, Y)
    assert clf.label_set_weights_["sets"] > 0
    rarer = np.minimum(Y.sum(axis=0), len(Y) - Y.sum(axis=0))
    for explanation in clf.explain(X[:8]):
        for label, count in zip(explanation.labels, rarer, strict=True):
            *terms, shrinkage, sets = label.steps
            assert (shrinkage.name, sets.name) == ("shrinkage of rare labels", "label sets")
            assert shrinkage.kind == sets.kind == "change"
            stacked = terms[-1].total_after
            expected = 10 / (count + 10) * (label.before - stacked)
            assert shrinkage.after == pytest.approx(expected, abs=1e-12)
            by_label = shrinkage.total_after
            assert sets.total_after == pytest.approx(label.after, abs=1e-15)
            assert sets.after == pytest.approx(label.after - by_label, abs=1e-15)


@pytest.mark.parametrize(
    ("parameters", "weighted"), [(each, k % 2 == 1) for k, each in enumerate(SETTINGS)], ids=str
)
def test_confusion_matrices_equal_the_loops(rings, parameters, weighted):
    X, Y = (each[:70] for each in rings)
    weights = np.random.RandomState(1).randint(1, 4, len(Y)) * 0.5 if weighted else None
    clf = fitted(X, Y, weights, **parameters)
    own = np.ones(len(Y)) if weights is None else weights / 0.5  # the lightest weight is one row
    corrector, V = clf._corrector.by_label, clf.validation_indices_
    base = clf.estimator_.predict_proba(X[:2])
    slow_references = {name: cache(slow) for name, slow in references.RRC.items()}
    for z, explanation in enumerate(clf.explain(X[:2], n_neighbors=len(X))):
        assert explanation.n_problems == len(explanation.problems) == 4 * len(corrector.scalings)
        for problem in explanation.problems:
            name = problem.correction.removeprefix("neighbours (").removesuffix(")")
            correction = corrector.corrections[name]
            assert problem.reference == correction.reference
            label = problem.labels[0]
            r = slow_references[correction.reference]
            around = corrector.scalings[name].neighbourhood.weights(
                X[[z]] if name != "log_odds" else logit(np.clip(base[[z]], 1e-3, 1 - 1e-3))
            )[0] * own[V]  # fmt: skip
            around /= (around / own[V] * np.minimum(own[V], 1)).max()
            local, everywhere = np.zeros((2, 2)), np.zeros((2, 2))
            share = np.average(Y[V, label], weights=own[V])
            proba = corrector.landmarks.proba[:, label].tolist()
            for k, row in enumerate(V.tolist()):
                p_decide = r(proba[k])
                truth = 0 if Y[row, label] else 1
                local[truth] += around[k] * np.array([p_decide, 1 - p_decide])
                everywhere[truth] += own[row] * np.array([p_decide, 1 - p_decide])
            everywhere += np.array([[share], [1 - share]])
            towards = everywhere / everywhere.sum(axis=0)
            mass = correction.shrinkage
            np.testing.assert_allclose(problem.masses, local + mass * towards, atol=1e-9)
            assert problem.shrinkage == pytest.approx(2 * mass)
            assert problem.before == base[z, label]
            assert problem.p_decide == pytest.approx(r(base[z, label]))
            after = references.correct(problem.p_decide, problem.masses)
            assert problem.after == pytest.approx(after, abs=1e-8)
            rows = [neighbour.row for neighbour in problem.neighbours]
            place = {row: k for k, row in enumerate(V.tolist())}
            found = [neighbour.weight for neighbour in problem.neighbours]
            assert found == sorted(found, reverse=True)
            assert len(found) == np.count_nonzero(around)
            np.testing.assert_allclose(found, around[[place[row] for row in rows]], rtol=1e-9)
            truths = [neighbour.truth for neighbour in problem.neighbours]
            assert truths == [(bool(Y[row, label]), not Y[row, label]) for row in rows]


def test_the_most_likely_sets_are_listed(rings):
    X, Y = rings
    clf = fitted(X, Y, decision="sets")
    seen, counts = np.unique(Y, axis=0, return_counts=True)
    shares = (Y.sum(axis=0) + 1) / (len(Y) + 2)

    def product(p):
        return np.array([np.prod(np.where(each == 1, p, 1 - p)) for each in seen])

    best = np.argmin(clf.decisions_["loss"])
    exponent, local_exponent = (
        clf.decisions_[name][best] for name in ("lift_exponent", "local_exponent")
    )
    local = clf._corrector.label_sets.local

    def likely(p):
        found = product(p) * (counts / len(Y) / product(shares)) ** exponent
        found *= local_lift(local, p) ** local_exponent
        return found / found.sum()

    predicted, base = clf.predict(X[:40]), clf.estimator_.predict_proba(X[:40])
    n_changed = 0
    for explanation, labels, p in zip(clf.explain(X[:40]), predicted, base, strict=True):
        by_label = np.array([label.steps[-2].total_after for label in explanation.labels])
        before, after = likely(p), likely(by_label)
        sets = explanation.sets
        assert sets[0].accepted
        assert not any(each.accepted for each in sets[1:])
        assert np.flatnonzero(labels).tolist() == list(sets[0].labels)
        assert [each.accepted_before for each in sets].count(True) == 1
        order = np.argsort(-after)
        for each, number in zip(sets, order[:2], strict=False):
            assert list(each.labels) == np.flatnonzero(seen[number]).tolist()
            assert each.before == pytest.approx(before[number], rel=1e-6, abs=1e-9)
            assert each.after == pytest.approx(after[number], rel=1e-6, abs=1e-9)
        (first,) = [each for each in sets if each.accepted_before]
        assert list(first.labels) == np.flatnonzero(seen[np.argmax(before)]).tolist()
        for label in explanation.labels:
            assert label.accepted_before == (label.label in first.labels)
            assert label.threshold is None
        n_changed += first is not sets[0]
    assert n_changed
    text = str(explanation)
    assert "Of the label sets seen in training the most likely is predicted:" in text
    assert "above" not in text


@pytest.mark.parametrize(
    ("threshold", "cuts"),
    [
        (0.35, [0.35] * 4),
        (F1Thresholds(), "thresholds_"),
        (BatchF1Thresholds(), "thresholds_"),
        (CardinalityThreshold(), "threshold_"),
        (TopLabels(2), [None] * 4),
        (NeverEmpty(), [None] * 4),
    ],
)
def test_thresholds_are_listed_where_they_are_numbers(rings, threshold, cuts):
    clf = fitted(*rings, decision="labels", threshold=threshold)
    if isinstance(cuts, str):
        cuts = np.broadcast_to(getattr(clf.threshold_, cuts), 4).tolist()
    (explanation,) = clf.explain(rings[0][:1])
    assert [label.threshold for label in explanation.labels] == cuts
    several, single = len(set(cuts)) > 1, len(set(cuts)) == 1 and cuts[0] is not None
    assert ("  threshold  " in str(explanation)) == several
    assert ("is above" in str(explanation)) == single


def test_thresholds_of_labels_that_never_or_always_occur_are_valid_json(rings):
    X, Y = rings
    Y = np.column_stack([Y, np.zeros(len(Y), dtype=int), np.ones(len(Y), dtype=int)])
    clf = fitted(X, Y, decision="labels", threshold=F1Thresholds())
    (explanation,) = clf.explain(X[:1])
    never, always = explanation.labels[-2:]
    assert (never.threshold, never.accepted, always.accepted) == (1, False, True)
    assert -1e-9 < always.threshold < 0  # exceeded by every probability, 0 among them
    assert "-0.00" not in str(explanation)
    assert (explanation.sets, explanation.to_frame("sets").empty) == ((), True)
    assert "label sets" not in str(explanation)
    read = json.loads(json.dumps(asdict(explanation), allow_nan=False))
    expected = [one.threshold for one in explanation.labels]
    assert [one["threshold"] for one in read["labels"]] == expected


def test_classes_instead_of_labels(rings):
    X, Y = rings
    y = np.array(["ant", "bee", "cat"])[Y[:, 0] + Y[:, 1]]
    clf = MendedClassifier(GaussianNB(), cv=StratifiedKFold(3), random_state=0).fit(X, y)
    base = BinaryRelevance(GaussianNB()).fit(X, np.eye(3, dtype=int)[Y[:, 0] + Y[:, 1]])
    base = base.predict_proba(X)
    explanations = clf.explain(X)
    np.testing.assert_array_equal(of_labels(explanations, "after"), clf.predict_proba(X))
    np.testing.assert_allclose(
        of_labels(explanations, "before"), base / base.sum(axis=1, keepdims=True)
    )
    for e, winner, proba in zip(explanations, clf.predict(X), base, strict=True):
        assert [label.name for label in e.labels if label.accepted] == [winner]
        assert [label.label for label in e.labels if label.accepted_before] == [np.argmax(proba)]
        for label in e.labels:
            assert label.steps[-1].name == "classes sum to 1"
            assert label.steps[-1].total_after == pytest.approx(label.after, abs=1e-15)
            assert label.steps[-1].total_before == pytest.approx(label.before, abs=1e-15)
            assert label.threshold is None
    assert "above" not in str(explanations[0])


def test_sparse_rows_and_texts(rings):
    X, Y = rings
    clf = fitted(sparse.csr_array(np.abs(X)), Y)
    explanations = clf.explain(sparse.csr_array(np.abs(X[:3])))
    after = clf.predict_proba(sparse.csr_array(np.abs(X[:3])))
    np.testing.assert_array_equal(of_labels(explanations, "after"), after)
    texts = ["sea and sand", "sea", "sand", "rain", "sand and rain"] * 8
    Y = np.array([[1, 1], [1, 0], [0, 1], [0, 0], [0, 1]] * 8)
    clf = MendedClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), random_state=0)
    (explanation,) = clf.fit(texts, Y).explain(["sea"])
    after = clf.predict_proba(["sea"])[0].tolist()
    assert [label.after for label in explanation.labels] == after


def test_problems_can_be_limited_and_chunks_change_nothing(rings):
    X, Y = rings
    clf = fitted(X, Y)
    with config_context(working_memory=0.02):  # a few rows at a time
        pieces = clf.explain(X[:20], n_problems=2)
    for every, some in zip(clf.explain(X[:20]), pieces, strict=True):
        assert every.row == some.row
        largest = sorted(each.labels for each in every.most_changed(2))
        assert sorted(each.labels for each in some.problems) == largest
        n_changed = sum(each.changed for each in every.problems)
        assert (some.n_problems, some.n_changed) == (len(every.problems), n_changed)
        after = [label.after for label in every.labels]
        assert [label.after for label in some.labels] == pytest.approx(after, abs=1e-12)
    for name in ("n_neighbors", "n_problems"):
        for value in (-1, 2.5, True):
            with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 0"):
                clf.explain(X[:1], **{name: value})


def test_text_and_frames_name_the_corrections(rings):
    X, Y = rings
    clf = fitted(X, pd.DataFrame(Y, columns=["a", "b", "c", "d"]))
    explanation = max(clf.explain(X), key=lambda e: sum(label.changed for label in e.labels))
    text = str(explanation)
    (scaling, *_) = clf._corrector.by_label.scalings
    assert f"a or not a, by neighbours ({scaling}):" in explanation.text(n_problems=99)
    label = next(lb for lb in explanation.most_changed_labels() if lb.changed)
    assert f"Steps of the score of {label.name}, before and after:" in text
    step = next(s for s in label.steps if s.name == f"neighbours ({scaling})")
    line = f"neighbours ({scaling}), {100 * step.weight:.0f} % of {step.after / step.weight:.3f}"
    assert line in text
    assert "against" not in text
    steps = explanation.to_frame("steps")
    sums = steps.groupby("label")["after"].sum()
    labels = explanation.to_frame("labels").set_index("label")
    np.testing.assert_allclose(sums, labels["after"])
    assert set(steps["step"]) >= {"uncorrected", "shrinkage of rare labels"}
    problems = explanation.to_frame()
    assert set(problems["correction"]) == {
        f"neighbours ({name})" for name in clf._corrector.by_label.scalings
    }
    assert set(explanation.to_frame("neighbours")["correction"]) == set(problems["correction"])

"""Explanations of MendedClassifier against its predictions and against loops."""

import json
from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest
from scipy.special import logit
from sklearn import config_context
from sklearn.linear_model import LogisticRegression

import references
from correction_reference import local_lift, log_scores
from pairmend import MendedClassifier
from pairmend.baselines import BinaryRelevance
from pairmend.thresholds import (
    CardinalityThreshold,
    F1Thresholds,
    TopLabels,
)

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
    clf = MendedClassifier(LogisticRegression(), random_state=0, **parameters)
    return clf.fit(X, Y, sample_weight=weights)


def explained(clf, X, **options):
    """Explanations of all labels."""
    return clf.explain(X, labels=range(len(clf.classes_)), **{"n_contributions": 0, **options})


def of_labels(explanations, name):
    return np.array([[getattr(label, name) for label in e.labels] for e in explanations])


@pytest.mark.parametrize("parameters", [*SETTINGS, "label sets"], ids=str)
def test_terms_add_up_to_the_prediction(rings, parameters):
    X, Y = rings
    if parameters == "label sets":  # the last label is never true together with the first
        Y, parameters = np.column_stack([Y[:, :3], 1 - Y[:, 3], 1 - Y[:, 0]]), {}
    clf = fitted(X, Y, **parameters)
    explanations = explained(clf, X[:25])
    proba = clf.predict_proba(X[:25])
    np.testing.assert_array_equal(of_labels(explanations, "predicted"), clf.predict(X[:25]))
    base = BinaryRelevance(LogisticRegression()).fit(X, Y).predict_proba(X[:25])
    np.testing.assert_allclose(of_labels(explanations, "base"), base)
    by_label = clf.set_params(decision="labels", threshold="auto").predict_proba(X[:25])
    rarer = np.minimum(Y.sum(axis=0), len(Y) - Y.sum(axis=0))
    for k, explanation in enumerate(explanations):
        for label in explanation.labels:
            place, count = (k, label.label), rarer[label.label]
            change = label.amount("correction")
            assert change == pytest.approx(by_label[place] - label.base, abs=1e-12)
            change = label.amount("label sets")
            assert change == pytest.approx(proba[place] - by_label[place], abs=1e-12)
            for change in label.changes:
                weight = clf.stacking_weights_.get(change.name.partition("(")[2][:-1])
                if weight is not None:  # rare labels are corrected less
                    expected = count / (count + 10) * weight * (change.after - change.before)
                    assert change.amount == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("parameters", "weighted"), [(each, k % 2 == 1) for k, each in enumerate(SETTINGS)], ids=str
)
def test_corrections_equal_the_loops(rings, parameters, weighted):
    X, Y = (each[:70] for each in rings)
    weights = np.random.RandomState(1).randint(1, 4, len(Y)) * 0.5 if weighted else None
    clf = fitted(X, Y, weights, **parameters)
    own = np.ones(len(Y)) if weights is None else weights / 0.5  # the lightest weight is one row
    corrector, V = clf._corrector.by_label, clf.validation_indices_
    base = clf.estimator_.predict_proba(X[:2])
    slow_references = {name: cache(slow) for name, slow in references.RRC.items()}
    for z, explanation in enumerate(explained(clf, X[:2], n_neighbors=len(X))):
        total = np.zeros(len(V))
        for name, correction in corrector.corrections.items():
            if name not in corrector.scalings:
                continue
            r = slow_references[correction.reference]
            around = corrector.scalings[name].neighbourhood.weights(
                X[[z]] if name != "log_odds" else logit(np.clip(base[[z]], 1e-3, 1 - 1e-3))
            )[0] * own[V]  # fmt: skip
            around /= (around / own[V] * np.minimum(own[V], 1)).max()
            total += clf.stacking_weights_[name] * around / around.sum()
            kind = "similar probabilities" if name == "log_odds" else f"similar features ({name})"
            for label in explanation.labels:
                local, everywhere = np.zeros((2, 2)), np.zeros((2, 2))
                share = np.average(Y[V, label.label], weights=own[V])
                proba = corrector.landmarks.proba[:, label.label].tolist()
                for k, row in enumerate(V.tolist()):
                    p_decide = r(proba[k])
                    truth = 0 if Y[row, label.label] else 1
                    local[truth] += around[k] * np.array([p_decide, 1 - p_decide])
                    everywhere[truth] += own[row] * np.array([p_decide, 1 - p_decide])
                everywhere += np.array([[share], [1 - share]])
                towards = everywhere / everywhere.sum(axis=0)
                masses = local + correction.shrinkage * towards
                (change,) = [each for each in label.changes if each.name == kind]
                assert change.given == pytest.approx(masses[0] / masses.sum(axis=0), abs=1e-8)
                after = references.correct(r(base[z, label.label]), masses)
                assert change.after == pytest.approx(after, abs=1e-8)
        shares = total / (total.sum() or 1)
        assert len(explanation.similar) == np.count_nonzero(total)
        place = {row: k for k, row in enumerate(V.tolist())}
        for each in explanation.similar:
            assert each.share == pytest.approx(shares[place[each.row]], rel=1e-9)
            assert each.labels == tuple(str(k) for k in np.flatnonzero(Y[each.row]))
            assert each.base == tuple(corrector.landmarks.proba[place[each.row]])


def test_the_most_likely_sets_are_listed(rings):
    X, Y = rings
    clf = fitted(X, Y, decision="sets")
    best = np.argmin(clf.decisions_["loss"])
    exponent, local_exponent = (
        clf.decisions_[name][best] for name in ("lift_exponent", "local_exponent")
    )
    local = clf._corrector.label_sets.local

    def likely(p):
        _, scores = log_scores(Y == 1, np.ones(len(Y)), p, exponent)
        found = np.exp(scores) * local_lift(local, p) ** local_exponent
        return found / found.sum()

    predicted, base = clf.predict(X[:40]), clf.estimator_.predict_proba(X[:40])
    names = [tuple(str(k) for k in np.flatnonzero(each)) for each in np.unique(Y, axis=0)]
    changed = 0
    for explanation, labels, p in zip(explained(clf, X[:40]), predicted, base, strict=True):
        by_label = np.array([e.base + e.amount("correction") for e in explanation.labels])
        before, after = likely(p), likely(by_label)
        uncorrected = names[np.argmax(before)]
        listed = [each.labels for each in explanation.sets]
        assert listed[0] == tuple(str(k) for k in np.flatnonzero(labels))
        assert uncorrected in listed
        assert listed[:2] == [names[k] for k in np.argsort(-after)[:2]]
        for each in explanation.sets:
            number = names.index(each.labels)
            assert each.before == pytest.approx(before[number], rel=1e-6, abs=1e-9)
            assert each.after == pytest.approx(after[number], rel=1e-6, abs=1e-9)
        for label in explanation.labels:
            assert label.predicted_before == (label.name in uncorrected)
            assert label.threshold is None
            changed += label.changed
    assert changed
    assert "in the most likely label set" in str(explanation)


@pytest.mark.parametrize(
    ("threshold", "cuts"),
    [
        (0.35, [0.35] * 4),
        (F1Thresholds(), "thresholds_"),
        (CardinalityThreshold(), "threshold_"),
        (TopLabels(2), [None] * 4),
    ],
)
def test_thresholds_are_listed_where_they_are_numbers(rings, threshold, cuts):
    clf = fitted(*rings, decision="labels", threshold=threshold)
    if isinstance(cuts, str):
        cuts = np.broadcast_to(getattr(clf.threshold_, cuts), 4).tolist()
    (explanation,) = explained(clf, rings[0][:1])
    assert [label.threshold for label in explanation.labels] == cuts
    assert (", threshold " in str(explanation)) == (cuts[0] is not None)


def test_thresholds_of_labels_that_never_or_always_occur_are_valid_json(rings):
    X, Y = rings
    Y = np.column_stack([Y, np.zeros(len(Y), dtype=int), np.ones(len(Y), dtype=int)])
    clf = fitted(X, Y, decision="labels", threshold=F1Thresholds())
    (explanation,) = explained(clf, X[:1], n_contributions=5)
    never, always = explanation.labels[-2:]
    assert (never.threshold, never.predicted, always.predicted) == (1, False, True)
    assert -1e-9 < always.threshold < 0  # exceeded by every probability, 0 among them
    assert "threshold -" not in str(explanation)
    assert never.contributions == always.contributions == explanation.sets == ()
    read = json.loads(json.dumps(asdict(explanation), allow_nan=False))
    assert read["labels"][-1]["threshold"] == always.threshold


def test_chunks_change_nothing_and_small_changes_are_one_line(rings):
    X, Y = rings
    clf, is_listed = fitted(X, Y), set()
    with config_context(working_memory=0.02):  # a few rows at a time
        pieces = explained(clf, X[:20])
    for one, other in zip(explained(clf, X[:20]), pieces, strict=True):
        assert one.row == other.row
        proba = [label.proba for label in one.labels]
        assert [label.proba for label in other.labels] == pytest.approx(proba, abs=1e-12)
        assert [row.row for row in one.similar] == [row.row for row in other.similar]
        for label in one.labels:
            text = str(replace(one, labels=(label,), n_labels=1))
            amounts = [each.amount for each in label.changes if each.part == "correction"]
            is_large = max(map(abs, [*amounts, sum(amounts)])) >= 0.01
            assert ("Similar training row" in text) == is_large
            is_listed.add(is_large)
    assert is_listed == {True, False}

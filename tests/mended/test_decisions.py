"""The choice of a decision."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB

from pairmend import MendedClassifier
from pairmend.mended.decisions import (
    DECISION_EXPONENTS,
    CorrectedProba,
    Decision,
    DecisionScorer,
    candidate_thresholds,
    choose_decision,
)
from pairmend.mended.label_sets import LabelSets, OwnSets
from pairmend.metrics import WEIGHTED_LOSSES
from pairmend.thresholds import CardinalityThreshold, F1Thresholds, FixedThreshold


@pytest.fixture
def validation(rng):
    Y = rng.rand(60, 3) < [0.2, 0.4, 0.6]
    proba = np.clip(0.3 * Y + 0.6 * rng.rand(60, 3), 0, 1)
    sets, indices = LabelSets.from_indicators(Y)
    folds = [np.arange(k, 60, 4) for k in range(4)]
    return Y, CorrectedProba(proba, proba**2, OwnSets(indices, np.ones(60))), sets, folds


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["hamming", "macro_f1"])
def test_thresholds_are_scored_on_rows_they_were_not_fitted_on(validation, metric, weighted, rng):
    Y, corrected, sets, folds = validation
    weights = rng.choice([0.1, 1.0, 3.0], size=60) if weighted else np.ones(60)
    thresholds = [FixedThreshold(0.5), F1Thresholds(), CardinalityThreshold()]
    scorer = DecisionScorer(metric, Y, folds, weights)
    best, tried = choose_decision(("labels", "sets"), thresholds, scorer, corrected, sets)
    losses = []
    for threshold in thresholds:
        parts = []
        for fold in folds:
            rest = np.setdiff1d(np.arange(60), fold)
            fitted = threshold.fit(corrected.proba[rest], Y[rest], sample_weight=weights[rest])
            decisions = fitted.decide(corrected.proba[fold]).astype(bool)
            parts.append(WEIGHTED_LOSSES[metric](Y[fold], decisions, weights[fold]))
        losses.append(np.mean(parts))
    exponents = list(dict.fromkeys([sets.lift_exponent, *DECISION_EXPONENTS]))
    for exponent in exponents:
        own = replace(sets, lift_exponent=exponent)
        decisions = own.most_likely(corrected.by_label, corrected.own).astype(bool)
        parts = [WEIGHTED_LOSSES[metric](Y[fold], decisions[fold], weights[fold]) for fold in folds]
        losses.append(np.mean(parts))
    assert [candidate.kind for candidate in tried] == ["labels"] * 3 + ["sets"] * len(exponents)
    assert [candidate.lift_exponent for candidate in tried[3:]] == exponents
    np.testing.assert_allclose([candidate.loss for candidate in tried], losses)
    first = tried[np.argmin(losses)]
    assert (best.kind, best.loss, repr(best.threshold)) == (
        first.kind, first.loss, repr(first.threshold),
    )  # fmt: skip


def test_the_chosen_label_sets_have_the_exponent_of_least_loss(validation):
    Y, corrected, sets, folds = validation
    scorer = DecisionScorer("zero_one", Y, folds)
    best, tried = choose_decision(("sets",), [], scorer, corrected, sets)
    first = tried[np.argmin([candidate.loss for candidate in tried])]
    assert best.lift_exponent == best.label_sets.lift_exponent == first.lift_exponent
    expected = replace(sets, lift_exponent=first.lift_exponent).most_likely(corrected.by_label)
    np.testing.assert_array_equal(best.decide(corrected.proba, corrected.by_label), expected)


def test_the_chosen_threshold_is_fitted_on_all_rows(validation):
    Y, corrected, sets, folds = validation
    scorer = DecisionScorer("hamming", Y, folds)
    best, _ = choose_decision(("labels",), [CardinalityThreshold()], scorer, corrected, sets)
    expected = CardinalityThreshold().fit(corrected.proba, Y).threshold_
    assert best.threshold.threshold_ == expected


def test_of_equal_losses_the_first_is_chosen(validation):
    Y, corrected, sets, folds = validation
    for values in ((0.5, 0.5 + 1e-12), (0.5 + 1e-12, 0.5)):
        alike = [FixedThreshold(value) for value in values]
        best, _ = choose_decision(
            ("labels",), alike, DecisionScorer("hamming", Y, folds), corrected, sets
        )
        assert best.threshold.value == values[0]


def test_a_given_threshold_is_used(rng):
    """Label sets are not compared with it, even if their loss is lower."""
    X = rng.normal(size=(200, 3))
    Y = np.repeat(X[:, :1] > 0, 4, axis=1).astype(int)  # two label sets
    clf = MendedClassifier(GaussianNB(), criterion="zero_one", random_state=0).fit(X, Y)
    assert "sets" in clf.decisions_["decision"]
    clf.set_params(threshold=0.9)
    assert set(clf.decisions_["decision"]) == {"labels"}
    np.testing.assert_array_equal(clf.predict(X), clf.predict_proba(X) > 0.9)
    clf.set_params(decision="sets", threshold="auto")
    assert clf.decision_ == "sets"


def test_candidate_thresholds():
    assert [repr(t) for t in candidate_thresholds("hamming", 20)] == ["FixedThreshold()"]
    assert [repr(t) for t in candidate_thresholds("zero_one", 20)] == ["FixedThreshold()"]
    shared = {t.average for t in candidate_thresholds("micro_f1", 20)[1:]}
    assert shared == {"micro"}
    names = [repr(t) for t in candidate_thresholds("macro_f1", 20)]
    assert names == [
        "FixedThreshold()",
        "BatchF1Thresholds(batch_size=20, prior_mass=300.0)",
        "BatchF1Thresholds(batch_size=20)",
    ]
    scorer = get_scorer("f1_macro")
    assert {t.average for t in candidate_thresholds(scorer, 20)[1:]} == {"micro", "macro"}


def test_batches_have_the_size_of_a_fold(rng):
    X = rng.normal(size=(60, 2))
    Y = (X + rng.normal(size=X.shape) > 1).astype(int)
    clf = MendedClassifier(GaussianNB(), criterion="macro_f1", cv=3, random_state=0).fit(X, Y)
    assert clf.decisions_["threshold"].tolist() == [
        "FixedThreshold()", "BatchF1Thresholds(batch_size=20.0, prior_mass=300.0)",
        "BatchF1Thresholds(batch_size=20.0)",
        *["None"] * (len(DECISION_EXPONENTS) + 1),
    ]  # fmt: skip


def test_a_subclass_of_a_fixed_threshold_decides_itself():
    class Never(FixedThreshold):
        def decide(self, scores):
            return np.zeros(np.shape(scores), dtype=np.int64)

    proba = np.array([[0.9, 0.2]])
    assert Decision("labels", FixedThreshold(0.1), 0.0).decide(proba, proba).tolist() == [[1, 1]]
    assert Decision("labels", Never(0.1), 0.0).decide(proba, proba).tolist() == [[0, 0]]

"""The choice of a decision, and its losses against pairmend.metrics and scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    get_scorer,
    hamming_loss,
    jaccard_score,
    make_scorer,
    roc_auc_score,
    zero_one_loss,
)
from sklearn.naive_bayes import GaussianNB

from pairmend import MendedClassifier
from pairmend.mended.decisions import (
    LOCAL_EXPONENTS,
    CorrectedProba,
    Decision,
    DecisionScorer,
    choose_decision,
)
from pairmend.mended.label_sets import LabelSets, LocalSets, OwnSets
from pairmend.metrics import WEIGHTED_LOSSES
from pairmend.thresholds import CardinalityThreshold, F1Thresholds, FixedThreshold


@pytest.fixture
def validation(rng):
    Y = rng.rand(60, 3) < [0.2, 0.4, 0.6]
    proba = np.clip(0.3 * Y + 0.6 * rng.rand(60, 3), 0, 1)
    sets, indices = LabelSets.from_indicators(Y)
    local = LocalSets.from_rows(proba**2, indices, np.ones(60), sets.counts, 60.0, rng)
    own = OwnSets(indices, np.ones(60), np.arange(60))
    folds = [np.arange(k, 60, 4) for k in range(4)]
    sets = replace(sets, local=local, lift_exponent=0.5)
    return Y, CorrectedProba(proba, proba**2, own), sets, folds


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["hamming", "macro_f1", "zero_one"])
def test_decisions_are_scored_on_rows_they_were_not_fitted_on(validation, metric, weighted, rng):
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
    exponents = [(0.5, 0.0), LOCAL_EXPONENTS]
    for pair in exponents:
        own = sets.with_exponents(*pair)
        decisions = own.most_likely(corrected.by_label, corrected.own).astype(bool)
        parts = [WEIGHTED_LOSSES[metric](Y[fold], decisions[fold], weights[fold]) for fold in folds]
        losses.append(np.mean(parts))
    assert [candidate.kind for candidate in tried] == ["labels"] * 3 + ["sets"] * 2
    assert [(each.lift_exponent, each.local_exponent) for each in tried[3:]] == exponents
    np.testing.assert_allclose([candidate.loss for candidate in tried], losses)
    first = tried[np.argmin(losses)]
    assert (best.kind, best.loss, repr(best.threshold)) == (
        first.kind, first.loss, repr(first.threshold),
    )  # fmt: skip


def test_the_chosen_decision_is_fitted_on_all_rows(validation):
    Y, corrected, sets, folds = validation
    best, tried = choose_decision(
        ("sets",), [], DecisionScorer("zero_one", Y, folds), corrected, sets
    )
    first = tried[np.argmin([candidate.loss for candidate in tried])]
    expected = sets.with_exponents(first.lift_exponent, first.local_exponent)
    np.testing.assert_array_equal(
        best.decide(corrected.proba, corrected.by_label), expected.most_likely(corrected.by_label)
    )
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


@pytest.mark.parametrize(
    ("criterion", "thresholds"),
    [
        ("hamming", ["FixedThreshold()"]),
        ("zero_one", ["FixedThreshold()"]),
        (
            "micro_f1",
            ["FixedThreshold()", "F1Thresholds(average='micro', expected=True)",
             "F1Thresholds(average='micro')"],
        ),
        (  # batches have the size of a fold
            "macro_f1",
            ["FixedThreshold()", "BatchF1Thresholds(batch_size=20.0, prior_mass=300.0)",
             "BatchF1Thresholds(batch_size=20.0)"],
        ),
        (
            "f1_macro",
            ["FixedThreshold()", "F1Thresholds(average='micro', expected=True)",
             "F1Thresholds(average='micro')", "F1Thresholds(expected=True, shrinkage=10.0)",
             "F1Thresholds(expected=True)", "F1Thresholds(shrinkage=10.0)", "F1Thresholds()"],
        ),
    ],
)  # fmt: skip
def test_thresholds_suit_the_metric(criterion, thresholds):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 2))
    Y = (X + rng.normal(size=X.shape) > 1).astype(int)
    clf = MendedClassifier(GaussianNB(), criterion=criterion, cv=3, random_state=0).fit(X, Y)
    assert clf.decisions_["threshold"].tolist() == [*thresholds, "None", "None"]


def test_a_subclass_of_a_fixed_threshold_decides_itself():
    class Never(FixedThreshold):
        def decide(self, scores):
            return np.zeros(np.shape(scores), dtype=np.int64)

    proba = np.array([[0.9, 0.2]])
    assert Decision("labels", FixedThreshold(0.1), 0.0).decide(proba, proba).tolist() == [[1, 1]]
    assert Decision("labels", Never(0.1), 0.0).decide(proba, proba).tolist() == [[0, 0]]


@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_losses_of_scorers_are_negative_scores(n_labels, rng):
    Y, decisions = rng.rand(40, n_labels) < 0.5, rng.rand(40, n_labels) < 0.5
    proba = rng.rand(40, n_labels)
    folds = [np.arange(0, 15), np.arange(15, 40)]
    micro = {"average": "micro"} if n_labels > 1 else {}
    cases = [
        (make_scorer(f1_score, **micro), f1_score, decisions, micro),
        (make_scorer(jaccard_score, **micro), jaccard_score, decisions, micro),
        (get_scorer("roc_auc"), roc_auc_score, proba, {}),
        (get_scorer("average_precision"), average_precision_score, proba, {}),
    ]
    for scorer, metric, predictions, options in cases:
        found = DecisionScorer(scorer, Y, folds).loss(decisions.astype(int), proba)
        parts = [metric(Y[fold].astype(int), predictions[fold], **options) for fold in folds]
        assert found == pytest.approx(-np.mean(parts))


def test_weights_of_losses_and_of_scorers_that_take_them(rng):
    Y, decisions, proba = rng.rand(40, 2) < 0.5, rng.rand(40, 2) < 0.5, rng.rand(40, 2)
    folds, weights = [np.arange(0, 15), np.arange(15, 40)], rng.rand(40) + 0.1

    def mean(metric, **options):
        parts = [metric(Y[f], decisions[f], sample_weight=weights[f], **options) for f in folds]
        return np.mean(parts)

    def mean_loss(metric):
        return DecisionScorer(metric, Y, folds, weights).loss(decisions.astype(int), proba)

    assert mean_loss("hamming") == pytest.approx(mean(hamming_loss))
    assert mean_loss("zero_one") == pytest.approx(mean(zero_one_loss))
    for name in ("micro", "macro"):
        f1 = mean(f1_score, average=name, zero_division=1)
        assert mean_loss(f"{name}_f1") == pytest.approx(1 - f1)
    options = {"average": "samples", "zero_division": 0}
    scorer = make_scorer(jaccard_score, **options)
    assert mean_loss(scorer) == pytest.approx(-mean(jaccard_score, **options))
    plain = make_scorer(lambda Y, decisions: np.mean(decisions == Y))
    assert mean_loss(plain) == pytest.approx(
        -np.mean([(Y[f] == decisions[f]).mean() for f in folds])
    )
    assert mean_loss(lambda clf, X, y: 0.25) == -0.25
    found = mean_loss(lambda clf, X, y, sample_weight: sample_weight.sum())
    assert found == pytest.approx(-weights.sum() / 2)


@pytest.mark.filterwarnings("ignore:Only one class is present")
def test_folds_with_an_undefined_score_are_left_out(rng):
    Y, proba = rng.rand(40, 2) < 0.5, rng.rand(40, 2)
    Y[:20, 0] = False
    folds = [np.arange(20), np.arange(20, 40)]
    scorer = DecisionScorer(get_scorer("roc_auc"), Y, folds)
    expected = -roc_auc_score(Y[20:], proba[20:])
    assert scorer.loss(np.zeros((40, 2), dtype=int), proba) == pytest.approx(expected)
    scorer = DecisionScorer(get_scorer("roc_auc"), Y & False, folds)
    assert scorer.loss(np.zeros((40, 2), dtype=int), proba) == np.inf


def test_a_single_fold_is_split():
    Y = np.zeros((7, 2), dtype=bool)
    parts = DecisionScorer("hamming", Y, [np.arange(7)]).folds
    assert len(parts) == 5
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(7))
    assert len(DecisionScorer("hamming", Y[:2], [np.arange(2)]).folds) == 2

"""Label sets against their definitions; the choice of a decision, and its losses."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import (
    get_scorer,
    jaccard_score,
    make_scorer,
    roc_auc_score,
)
from sklearn.naive_bayes import GaussianNB

from correction_reference import local_lift, log_scores
from pairmend import MendedClassifier, thresholds
from pairmend.mended import corrector
from pairmend.mended.corrector import PROBA_MARGIN, LabelSets, LocalSets, OwnSets
from pairmend.mended.search import DecisionScorer
from pairmend.metrics import WEIGHTED_LOSSES
from pairmend.thresholds import CardinalityThreshold, F1Thresholds, FixedThreshold, TopLabels


def problem(seed, n_rows=60, weighted=True):
    """Label sets of rows whose probabilities are informative, and their local lift."""
    rng = np.random.RandomState(seed)
    Y = rng.rand(n_rows, 4) < [0.5, 0.4, 0.3, 0.1]
    Y[: n_rows // 3, 1] = Y[: n_rows // 3, 0]
    proba = np.clip(0.3 + 0.4 * Y + 0.2 * rng.randn(*Y.shape), 0, 1)
    proba[0], proba[1, 1] = [0, 1, 0, 1], 1.0  # a certain label excludes no set
    weights = rng.choice([0.01, 0.3, 1.0, 2.5], size=n_rows) if weighted else np.ones(n_rows)
    sets, indices = LabelSets.from_indicators(Y, weights if weighted else None)
    local = LocalSets(proba, indices, weights, sets.counts, weights.sum(), 0.3)
    own = OwnSets(indices, weights, np.arange(n_rows))
    return Y, proba, replace(sets, local=local), own


@pytest.mark.parametrize("exponents", [(0.0, 0.0), (0.25, 0.0), (1.0, 0.7)])
@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_of_sets_equal_the_definition(exponents, left_out, weighted, monkeypatch):
    """A set of no other row than the one left out has the probability 0."""
    Y, proba, sets, own = problem(0, weighted=weighted)
    np.testing.assert_array_equal(sets.members.toarray()[own.indices], Y)
    sets = replace(sets, lift_exponent=exponents[0], local_exponent=exponents[1])
    given = own if left_out else None
    marginals, most_likely = sets.marginals(proba, given), sets.most_likely(proba, given)
    for row, p in enumerate(np.clip(proba, PROBA_MARGIN, 1 - PROBA_MARGIN)):
        omitted = row if left_out else None
        distinct, scores = log_scores(Y, own.weights, p, exponents[0], omitted)
        if exponents[1]:
            lift = local_lift(sets.local, proba[row], omitted)
            known = np.isfinite(scores)
            scores[known] += exponents[1] * np.log(lift[known])
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        np.testing.assert_allclose(marginals[row], shares @ distinct, atol=1e-9)
        np.testing.assert_array_equal(most_likely[row], distinct[scores.argmax()])
    monkeypatch.setattr(corrector, "BLOCK", 7)
    monkeypatch.setattr(corrector, "MAX_DENSE_LABELS", 0)  # products with sparse members
    pieces = replace(sets, lift_exponent=exponents[0]).marginals(proba, given)
    np.testing.assert_allclose(pieces, marginals, atol=1e-12)


def test_the_most_frequent_sets_are_kept(monkeypatch):
    """Rows of other sets have a mass but no lift, and are in no count."""
    Y, proba, every, own = problem(1)
    monkeypatch.setattr(corrector, "MAX_SETS", 5)
    sets, indices = LabelSets.from_indicators(Y, own.weights)
    kept = sorted(np.argsort(-every.counts, kind="stable")[:5].tolist())
    np.testing.assert_array_equal(sets.members.toarray(), every.members.toarray()[kept])
    np.testing.assert_array_equal(sets.counts, every.counts[kept])
    np.testing.assert_allclose(sets.log_lift, every.log_lift[kept])
    assert indices.tolist() == [kept.index(k) if k in kept else -1 for k in own.indices]
    lost, left_out = indices == -1, OwnSets(indices, own.weights)
    np.testing.assert_array_equal(
        sets.marginals(proba, left_out)[lost], sets.marginals(proba)[lost]
    )
    local = replace(every.local, sets=indices, counts=sets.counts)
    expected = every.local.log_lift(proba)[:, kept]
    np.testing.assert_allclose(local.log_lift(proba), expected, atol=1e-10)


@pytest.mark.parametrize(
    "forge",
    [
        lambda local: {"sets": local.sets[:, np.newaxis]},
        lambda local: {"sets": local.sets + 100},
        lambda local: {"masses": local.masses[:-1]},
        lambda local: {"proba": local.proba[:-1]},
        lambda local: {"counts": np.append(local.counts, 1.0)},
        lambda local: {"proba": local.proba[:, :2]},
    ],
)
def test_damaged_sets_are_refused(forge):
    """A model file of some kilobytes could otherwise need gigabytes at prediction."""
    _, proba, sets, _ = problem(2)
    damaged = replace(sets, local=replace(sets.local, **forge(sets.local)), local_exponent=0.5)
    members = sparse.csr_array((100_000, 4))
    for forged in (damaged, *(LabelSets(members, np.ones(n), np.zeros(n)) for n in (1, 100_000))):
        for method in (forged.most_likely, forged.marginals):
            with pytest.raises(ValueError, match="The model is damaged: fit the classifier again"):
                method(proba)


CRITERIA = {name: (name, loss) for name, loss in WEIGHTED_LOSSES.items()} | {
    "jaccard": (
        make_scorer(jaccard_score, average="micro"),
        lambda Y, d, w: -jaccard_score(Y, d, average="micro", sample_weight=w),
    ),
    "without weights": (
        make_scorer(lambda Y, decided: np.mean(decided == Y)),
        lambda Y, d, w: -np.mean(d == Y),
    ),
    "constant": (lambda clf, X, y: 0.25, lambda Y, d, w: -0.25),
    "mean of weights": (
        lambda clf, X, y, sample_weight=1.0: np.mean(sample_weight),
        lambda Y, d, w: -w.mean(),
    ),
}
"""Losses and scorers, and the losses of decisions."""


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("metric", CRITERIA)
def test_the_decision_of_least_loss_is_chosen_on_other_rows(
    metric, n_labels, weighted, small_set, rng
):
    """Labels that depend on the place, and label sets of which some never occur."""
    X, Y, (criterion, loss) = small_set[0], small_set[1][:, :n_labels], CRITERIA[metric]
    weights = rng.choice([0.5, 1.0, 3.0], size=80) if weighted else np.ones(80)
    clf = MendedClassifier(GaussianNB(), cv=4, criterion=criterion, random_state=0)
    clf.fit(X, Y, sample_weight=weights)
    found, rows, sets = clf.decisions_, clf._out_of_fold, clf._corrector.label_sets
    losses = []
    for name, *exponents in zip(*(found[key] for key in list(found)[:4]), strict=True):
        parts = []
        for fold in rows.folds:
            rest = np.setdiff1d(np.arange(80), fold)
            if name == "sets":
                lift, local = exponents[1:]
                own = replace(sets, lift_exponent=lift, local_exponent=local)
                decided = own.most_likely(rows.corrected.by_label, rows.corrected.own)[fold]
            else:
                threshold = eval(exponents[0], vars(thresholds))
                given = rows.corrected.proba[rest], rows.Y[rest]
                decided = threshold.fit(*given, sample_weight=rows.weights[rest]).decide(
                    rows.corrected.proba[fold]
                )
            parts.append(loss(rows.Y[fold], decided.astype(bool), rows.weights[fold]))
        losses.append(np.mean(parts))
    np.testing.assert_allclose(found["loss"], losses, atol=1e-12)
    best = np.argmin(found["loss"])
    assert clf.decision_ == found["decision"][best]
    assert repr(clf.threshold_) == found["threshold"][best]
    assert found["local_exponent"][found["decision"] == "sets"].tolist() == [0.0, 0.5]
    seen = {tuple(y) for y in Y.tolist()}
    by_sets = clf.set_params(decision="sets").predict(X)
    assert {tuple(labels) for labels in by_sets.tolist()} <= seen


@pytest.mark.parametrize(
    "threshold",
    [0.9, CardinalityThreshold(), TopLabels(2), F1Thresholds("micro", expected=True)],
    ids=str,
)
def test_given_thresholds_are_used(small_set, threshold):
    """Label sets are not compared with them, even if their loss is lower."""
    X, Y = small_set
    clf = MendedClassifier(GaussianNB(), decision="labels", random_state=0)
    clf.set_params(threshold=threshold).fit(X, Y)
    expected = FixedThreshold(threshold) if isinstance(threshold, float) else threshold
    assert repr(clf.threshold_) == repr(expected)
    np.testing.assert_array_equal(clf.predict(X), clf.threshold_.decide(clf.predict_proba(X)))
    assert clf.label_set_weights_ == {"labels": 1.0}
    assert set(clf.set_params(decision="auto").decisions_["decision"]) == {"labels"}
    again = MendedClassifier(GaussianNB(), threshold=threshold, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(clf.predict(X), again.predict(X))


@pytest.mark.parametrize("criterion", ["hamming", "micro_f1", "macro_f1", "f1_macro"])
def test_the_simplest_threshold_comes_first_and_a_scorer_equals_its_name(criterion, small_set):
    clf = MendedClassifier(GaussianNB(), criterion=criterion, cv=3, random_state=0).fit(*small_set)
    found = clf.decisions_["threshold"].tolist()
    assert found[0] == "FixedThreshold()"
    assert (len(found) > 3) == (criterion != "hamming")  # two decisions are on label sets
    same = clf.set_params(criterion="accuracy").predict(small_set[0])
    clf.set_params(criterion=get_scorer("accuracy"))
    np.testing.assert_array_equal(clf.predict(small_set[0]), same)


@pytest.mark.filterwarnings("ignore:Only one class is present")
def test_folds_with_an_undefined_score_are_left_out_and_a_single_fold_is_split(rng):
    Y, proba = rng.rand(40, 2) < 0.5, rng.rand(40, 2)
    Y[:20, 0] = False
    folds = [np.arange(20), np.arange(20, 40)]
    for n_labels in (1, 2):
        own, p = Y[:, :n_labels], proba[:, :n_labels]
        for labels, expected in ((own, -roc_auc_score(own[20:], p[20:])), (own & False, np.inf)):
            scorer = DecisionScorer(get_scorer("roc_auc"), labels, folds)
            assert scorer.loss(np.zeros(own.shape, dtype=int), p) == pytest.approx(expected)
    parts = DecisionScorer("hamming", Y, [np.arange(7)]).folds
    assert len(parts) == 5
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(7))

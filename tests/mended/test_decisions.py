"""How a decision is chosen."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer

from pairmend.mended.decisions import Chances, choose_decision, thresholds_for
from pairmend.mended.label_sets import LabelSets, Own
from pairmend.mended.losses import LOSSES, Judge
from pairmend.thresholds import CardinalityThreshold, F1Thresholds, FixedThreshold


@pytest.fixture
def told(rng):
    Y = rng.rand(60, 3) < [0.2, 0.4, 0.6]
    scores = np.clip(0.3 * Y + 0.6 * rng.rand(60, 3), 0, 1)
    sets, number = LabelSets.seen_in(Y)
    folds = [np.arange(k, 60, 4) for k in range(4)]
    return Y, Chances(scores, scores**2, Own(number, np.ones(60))), sets, folds


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["hamming", "macro_f1"])
def test_thresholds_are_judged_on_rows_they_were_not_fitted_on(told, criterion, weighted, rng):
    Y, chances, sets, folds = told
    weights = rng.choice([0.1, 1.0, 3.0], size=60) if weighted else np.ones(60)
    thresholds = [FixedThreshold(0.5), F1Thresholds(), CardinalityThreshold()]
    judge = Judge(criterion, Y, folds, weights)
    best, tried = choose_decision(("labels", "sets"), thresholds, judge, chances, sets)
    losses = []
    for threshold in thresholds:
        parts = []
        for fold in folds:
            rest = np.setdiff1d(np.arange(60), fold)
            fitted = threshold.fit(chances.labels[rest], Y[rest], sample_weight=weights[rest])
            said = fitted.decide(chances.labels[fold]).astype(bool)
            parts.append(LOSSES[criterion](Y[fold], said, weights[fold]))
        losses.append(np.mean(parts))
    said = sets.most_likely(chances.alone, chances.own).astype(bool)
    parts = [LOSSES[criterion](Y[fold], said[fold], weights[fold]) for fold in folds]
    losses.append(np.mean(parts))
    assert [candidate.kind for candidate in tried] == ["labels"] * 3 + ["sets"]
    np.testing.assert_allclose([candidate.loss for candidate in tried], losses)
    first = tried[np.argmin(losses)]
    assert (best.kind, best.loss, repr(best.threshold)) == (
        first.kind, first.loss, repr(first.threshold),
    )  # fmt: skip


def test_in_the_end_the_threshold_knows_all_rows(told):
    Y, chances, sets, folds = told
    judge = Judge("hamming", Y, folds)
    best, _ = choose_decision(("labels",), [CardinalityThreshold()], judge, chances, sets)
    expected = CardinalityThreshold().fit(chances.labels, Y).threshold_
    assert best.threshold.threshold_ == expected


def test_of_equals_the_first(told):
    Y, chances, sets, folds = told
    for values in ((0.5, 0.5 + 1e-12), (0.5 + 1e-12, 0.5)):
        alike = [FixedThreshold(value) for value in values]
        best, _ = choose_decision(("labels",), alike, Judge("hamming", Y, folds), chances, sets)
        assert best.threshold.value == values[0]


def test_thresholds_that_compete():
    assert [repr(t) for t in thresholds_for("hamming")] == ["FixedThreshold()"]
    assert [repr(t) for t in thresholds_for("zero_one")] == ["FixedThreshold()"]
    shared = {t.average for t in thresholds_for("micro_f1")[1:]}
    assert shared == {"micro"}
    for criterion in ("macro_f1", get_scorer("f1_macro")):
        assert {t.average for t in thresholds_for(criterion)[1:]} == {"micro", "macro"}

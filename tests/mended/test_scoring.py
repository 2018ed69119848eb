"""Losses of decisions against pairmend.metrics and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
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

from pairmend import metrics
from pairmend.mended.decisions import DecisionScorer
from pairmend.metrics import WEIGHTED_LOSSES

tables = st.tuples(st.integers(1, 6), st.integers(2, 4)).flatmap(
    lambda shape: st.tuples(arrays(np.bool_, shape), arrays(np.bool_, shape))
)


@settings(max_examples=25)
@given(tables)
def test_weighted_losses_equal_those_of_the_metrics_module(table):
    Y, decisions = table
    assert set(WEIGHTED_LOSSES) == set(metrics.LOSSES)
    for empty in (None, 0, 1):  # a label without true rows, one without predicted rows
        if empty is not None:
            (Y, decisions)[empty][:, 0] = False
        for name, loss in WEIGHTED_LOSSES.items():
            found = loss(Y, decisions, np.ones(len(Y)))
            assert found == pytest.approx(metrics.LOSSES[name](Y, decisions))
        weights = 0.25 + np.arange(len(Y)) % 3
        hamming = hamming_loss(Y, decisions, sample_weight=weights)
        assert WEIGHTED_LOSSES["hamming"](Y, decisions, weights) == pytest.approx(hamming)
        zero_one = zero_one_loss(Y, decisions, sample_weight=weights)
        assert WEIGHTED_LOSSES["zero_one"](Y, decisions, weights) == pytest.approx(zero_one)
        for average in ("micro", "macro"):
            f1 = f1_score(Y, decisions, average=average, zero_division=1, sample_weight=weights)
            assert WEIGHTED_LOSSES[f"{average}_f1"](Y, decisions, weights) == pytest.approx(1 - f1)


@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_losses_of_scorers_are_negative_scores(n_labels, rng):
    Y, decisions = rng.rand(40, n_labels) < 0.5, rng.rand(40, n_labels) < 0.5
    proba = rng.rand(40, n_labels)
    folds = [np.arange(0, 15), np.arange(15, 40)]

    def mean(metric, predictions, **options):
        return -np.mean([metric(Y[f].astype(int), predictions[f], **options) for f in folds])

    def mean_loss(scorer):
        return DecisionScorer(scorer, Y, folds).loss(decisions.astype(int), proba)

    assert mean_loss("hamming") == pytest.approx(-mean(hamming_loss, decisions))
    micro = {"average": "micro"} if n_labels > 1 else {}
    for metric in (f1_score, jaccard_score):
        assert mean_loss(make_scorer(metric, **micro)) == pytest.approx(
            mean(metric, decisions, **micro)
        )
    for metric in (roc_auc_score, average_precision_score):
        scorer = make_scorer(metric, response_method="predict_proba")
        assert mean_loss(scorer) == pytest.approx(mean(metric, proba))
    assert mean_loss(get_scorer("roc_auc")) == pytest.approx(mean(roc_auc_score, proba))


def test_scorers_get_weights_if_they_take_them(rng):
    Y, decisions, proba = rng.rand(40, 2) < 0.5, rng.rand(40, 2) < 0.5, rng.rand(40, 2)
    folds, weights = [np.arange(0, 15), np.arange(15, 40)], rng.rand(40) + 0.1

    def mean_loss(scorer):
        return DecisionScorer(scorer, Y, folds, weights).loss(decisions.astype(int), proba)

    weighted = [
        jaccard_score(
            Y[f], decisions[f], average="samples", zero_division=0, sample_weight=weights[f]
        )
        for f in folds
    ]
    scorer = make_scorer(jaccard_score, average="samples", zero_division=0)
    assert mean_loss(scorer) == pytest.approx(-np.mean(weighted))
    plain = make_scorer(lambda Y, decisions: np.mean(decisions == Y))
    agreement = [np.mean(Y[f] == decisions[f]) for f in folds]
    assert mean_loss(plain) == pytest.approx(-np.mean(agreement))
    assert mean_loss(lambda clf, X, y: 0.25) == -0.25
    assert mean_loss(lambda clf, X, y, sample_weight: sample_weight.sum()) == pytest.approx(
        -weights.sum() / 2
    )


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

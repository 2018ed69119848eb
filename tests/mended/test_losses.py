"""Criteria against those of pairmend.metrics and scikit-learn; and who judges by them."""

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
from pairmend.mended.losses import LOSSES, Judge

tables = st.tuples(st.integers(1, 6), st.integers(2, 4)).flatmap(
    lambda shape: st.tuples(arrays(np.bool_, shape), arrays(np.bool_, shape))
)


@settings(max_examples=25)
@given(tables)
def test_the_four_criteria(table):
    Y, said = table
    for empty in (None, 0, 1):  # a label that nobody carries, one that nobody is said to carry
        if empty is not None:
            (Y, said)[empty][:, 0] = False
        for name, loss in LOSSES.items():
            found = loss(Y, said, np.ones(len(Y)))
            assert found == pytest.approx(metrics.LOSSES[name](Y, said))
        weights = 0.25 + np.arange(len(Y)) % 3
        hamming = hamming_loss(Y, said, sample_weight=weights)
        assert LOSSES["hamming"](Y, said, weights) == pytest.approx(hamming)
        zero_one = zero_one_loss(Y, said, sample_weight=weights)
        assert LOSSES["zero_one"](Y, said, weights) == pytest.approx(zero_one)
        for average in ("micro", "macro"):
            f1 = f1_score(Y, said, average=average, zero_division=1, sample_weight=weights)
            assert LOSSES[f"{average}_f1"](Y, said, weights) == pytest.approx(1 - f1)


@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_scorers(n_labels, rng):
    Y, said = rng.rand(40, n_labels) < 0.5, rng.rand(40, n_labels) < 0.5
    scores = rng.rand(40, n_labels)
    folds = [np.arange(0, 15), np.arange(15, 40)]

    def mean(metric, what, **options):
        return -np.mean([metric(Y[f].astype(int), what[f], **options) for f in folds])

    def judged(scorer):
        return Judge(scorer, Y, folds).loss(said.astype(int), scores)

    assert judged("hamming") == pytest.approx(-mean(hamming_loss, said))
    micro = {"average": "micro"} if n_labels > 1 else {}
    for metric in (f1_score, jaccard_score):
        assert judged(make_scorer(metric, **micro)) == pytest.approx(mean(metric, said, **micro))
    for metric in (roc_auc_score, average_precision_score):
        scorer = make_scorer(metric, response_method="predict_proba")
        assert judged(scorer) == pytest.approx(mean(metric, scores))
    assert judged(get_scorer("roc_auc")) == pytest.approx(mean(roc_auc_score, scores))


def test_scorers_get_weights_if_they_take_them(rng):
    Y, said, scores = rng.rand(40, 2) < 0.5, rng.rand(40, 2) < 0.5, rng.rand(40, 2)
    folds, weights = [np.arange(0, 15), np.arange(15, 40)], rng.rand(40) + 0.1

    def judged(scorer):
        return Judge(scorer, Y, folds, weights).loss(said.astype(int), scores)

    weighted = [
        jaccard_score(Y[f], said[f], average="samples", zero_division=0, sample_weight=weights[f])
        for f in folds
    ]
    scorer = make_scorer(jaccard_score, average="samples", zero_division=0)
    assert judged(scorer) == pytest.approx(-np.mean(weighted))
    plain = make_scorer(lambda Y, said: np.mean(said == Y))
    agreement = [np.mean(Y[f] == said[f]) for f in folds]
    assert judged(plain) == pytest.approx(-np.mean(agreement))
    assert judged(lambda clf, X, y: 0.25) == -0.25
    assert judged(lambda clf, X, y, sample_weight: sample_weight.sum()) == pytest.approx(
        -weights.sum() / 2
    )


@pytest.mark.filterwarnings("ignore:Only one class is present")
def test_folds_in_which_a_score_is_undefined(rng):
    Y, scores = rng.rand(40, 2) < 0.5, rng.rand(40, 2)
    Y[:20, 0] = False
    folds = [np.arange(20), np.arange(20, 40)]
    judge = Judge(get_scorer("roc_auc"), Y, folds)
    expected = -roc_auc_score(Y[20:], scores[20:])
    assert judge.loss(np.zeros((40, 2), dtype=int), scores) == pytest.approx(expected)
    judge = Judge(get_scorer("roc_auc"), Y & False, folds)
    assert judge.loss(np.zeros((40, 2), dtype=int), scores) == np.inf


def test_a_single_fold_is_cut():
    Y = np.zeros((7, 2), dtype=bool)
    cut = Judge("hamming", Y, [np.arange(7)]).folds
    assert len(cut) == 5
    np.testing.assert_array_equal(np.concatenate(cut), np.arange(7))
    assert len(Judge("hamming", Y[:2], [np.arange(2)]).folds) == 2

"""Thresholds with a guarantee: against slow references, against MAPIE, and by simulation.

The simulations draw rows 500 times with a fixed seed. The number of draws in which a guarantee
with confidence c fails is at most binomial(500, 1 - c); the tests allow its 0.999 quantile.
"""

import warnings
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import binom
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score

from pairmend import MendedClassifier, ThresholdedClassifier
from pairmend.baselines import BinaryRelevance
from pairmend.kernels.threshold import hoeffding_bentkus, precisions, recalls
from pairmend.thresholds import (
    CardinalityThreshold,
    F1Thresholds,
    NeverEmpty,
    PrecisionControl,
    RecallControl,
    abstain,
)
from pairmend.thresholds.risk_control import STARTS

N_DRAWS = 500
MOST_FAILURES = binom.ppf(0.999, N_DRAWS, 0.1)

tables = st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])),
        arrays(np.int64, shape, elements=st.integers(0, 1)),
    )
)
targets = st.sampled_from([0.2, 0.5, 0.8, 0.9])


def row_means(Y, accepted):
    """Mean recall and precision of the rows that have one, row by row."""
    recall, precision = [], []
    for truth, found in zip(Y, accepted, strict=True):
        hits = sum(int(a and b) for a, b in zip(truth, found, strict=True))
        if sum(truth):
            recall.append(hits / sum(truth))
        if sum(found):
            precision.append(hits / sum(found))
    return recall, precision


def p_value(mean, n, alpha):
    """Hoeffding's and Bentkus' p-value, as in the paper on learn then test."""
    if n == 0:
        return 1.0
    a = min(mean, alpha)
    h = (a * np.log(a / alpha) if a else 0.0) + (
        (1 - a) * np.log((1 - a) / (1 - alpha)) if a < 1 else 0.0
    )
    bentkus = np.e * binom.cdf(np.ceil(round(n * mean, 9)), n, alpha)
    return min(np.exp(-n * h), bentkus, 1.0)


def between(scores):
    """A threshold in each gap between scores, the largest first."""
    distinct = sorted(set(scores.ravel()), reverse=True)
    middles = [(a + b) / 2 for a, b in pairwise(distinct)]
    return [np.inf, *middles, np.nextafter(distinct[-1], -1)] if distinct else []


def fitted(control, scores, Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of too few rows
        return control.fit(scores, Y)


@given(tables, targets)
def test_conformal_recall_is_the_largest_threshold_within_the_bound(table, target):
    scores, Y = table
    control = fitted(RecallControl(target), scores, Y)
    for cut in between(scores[Y.any(axis=1)]):
        recall, _ = row_means(Y, scores > cut)
        n = len(recall)
        if n * (1 - np.mean(recall)) + 1 <= (n + 1) * (1 - target) + 1e-9:
            break
    else:
        cut = -np.inf
    assert control.threshold_ == cut
    assert control.n_rows_ == Y.any(axis=1).sum()
    expected, _ = row_means(Y, control.decide(scores))
    assert control.recall_ == pytest.approx(np.mean(expected) if expected else 1)


@given(tables, targets, st.sampled_from([0.3, 0.6]))
def test_recall_with_a_confidence_is_the_largest_threshold_that_passes(table, target, confidence):
    scores, Y = table
    control = fitted(RecallControl(target, confidence=confidence), scores, Y)
    for cut in between(scores[Y.any(axis=1)]):
        recall, _ = row_means(Y, scores > cut)
        if p_value(1 - np.mean(recall), len(recall), 1 - target) <= 1 - confidence:
            break
    else:
        cut = -np.inf
    assert control.threshold_ == cut


@given(tables, st.sampled_from([0.05, 0.2, 0.5]), st.sampled_from([0.05, 0.3]))
def test_precision_is_lowered_from_each_start_until_a_test_fails(table, target, confidence):
    scores, Y = table
    level = (1 - confidence) / len(STARTS)
    best = np.inf
    for start in STARTS:
        # At the start, and below it just above and at each score.
        steps = [start, *sorted({s for s in scores.ravel() if s < start}, reverse=True), -np.inf]
        for cut in steps:
            _, precision = row_means(Y, scores > cut)
            loss = 1 - np.mean(precision) if precision else 1.0
            if p_value(loss, len(precision), 1 - target) > level:
                break
            best = min(best, cut)
    control = fitted(PrecisionControl(target, confidence=confidence), scores, Y)
    assert_array_equal(control.decide(scores), scores > best)
    assert control.threshold_ >= best
    _, precision = row_means(Y, scores > best)
    assert control.n_rows_ == len(precision)
    assert_allclose(control.precision_, np.mean(precision) if precision else np.nan)


def test_a_threshold_is_never_above_the_start_at_which_the_tests_began():
    rng = np.random.default_rng(0)
    scores = np.where(rng.random((400, 2)) < 0.5, 0.84, 0.96)
    assert PrecisionControl(0.9).fit(scores, scores > 0.9).threshold_ == pytest.approx(0.9)
    scores = np.where(scores > 0.9, 0.999, 0.85)
    assert PrecisionControl(0.9).fit(scores, scores > 0.9).threshold_ == 0.9


def test_a_precision_threshold_is_minus_infinity_if_all_labels_can_be_predicted():
    scores = np.random.default_rng(0).random((200, 3))
    control = PrecisionControl(0.5).fit(scores, np.ones((200, 3), dtype=int))
    assert (control.threshold_, control.precision_, control.n_rows_) == (-np.inf, 1.0, 200)


def test_a_threshold_lies_midway_between_scores_or_at_a_start():
    rng = np.random.default_rng(0)
    proba = rng.random((500, 3))
    Y = rng.random((500, 3)) < proba
    threshold = PrecisionControl(0.8).fit(proba, Y).threshold_
    ordered = np.unique(proba)
    place = np.searchsorted(ordered, threshold)
    assert threshold == pytest.approx(ordered[place - 1 : place + 1].mean(), abs=1e-12)


@pytest.mark.parametrize(("n_rows", "n_labels"), [(50, 3), (200, 3), (50, 7), (100, 6), (50, 10)])
def test_means_are_at_most_one(n_rows, n_labels):
    scores, Y = np.full((n_rows, n_labels), 0.5), np.ones((n_rows, n_labels), dtype=int)
    assert RecallControl(0.9).fit(scores, Y).recall_ == 1.0
    assert PrecisionControl(0.5).fit(scores, Y).precision_ == 1.0


def test_single_precision_scores_on_both_sides_of_the_threshold():
    low = np.float32(0.5)
    scores = np.repeat([[low], [np.nextafter(low, np.float32(1))]], 50, axis=0)
    Y = np.repeat([[0], [1]], 50, axis=0)
    for control in (RecallControl(0.9), PrecisionControl(0.5)):
        assert_array_equal(control.fit(scores, Y).decide(scores), Y)


def test_hoeffding_and_bentkus_are_those_of_mapie():
    methods = pytest.importorskip("mapie.risk_control.methods", reason="MAPIE is not installed")
    means = np.linspace(0, 0.9, 19) + 0.003  # n times a mean is nowhere near a whole number
    for n in (1, 20, 500):
        expected = methods.compute_hoeffding_bentkus_p_value(means, n, 0.3)[:, 0]
        found = hoeffding_bentkus(means, np.full(19, n), 0.3)
        assert_allclose(found, np.minimum(expected, 1))


@pytest.mark.parametrize("target", [0.6, 0.8, 0.95])
def test_recall_is_that_of_mapie(target):
    control = pytest.importorskip("mapie.risk_control", reason="MAPIE is not installed")
    proba, Y = draw(np.random.default_rng(3), 120)
    proba = (np.floor(100 * proba) + 0.5) / 100  # between the thresholds that MAPIE compares
    proba, Y = proba[Y.any(axis=1)], Y[Y.any(axis=1)]  # MAPIE refuses rows without labels
    mapie = control.MultiLabelClassificationController(
        lambda rows: rows, risk="recall", method="crc", target_level=target
    ).calibrate(proba, Y)
    own = RecallControl(target).fit(proba, Y)
    assert_array_equal(own.decide(proba), mapie.predict(proba)[:, :, 0])


def test_precision_is_that_of_mapie():
    control = pytest.importorskip("mapie.risk_control", reason="MAPIE is not installed")
    proba, Y = draw(np.random.default_rng(4), 150)
    # MAPIE counts rows without a predicted label as wrong: here every row has one.
    proba = np.column_stack([np.full(len(proba), 0.995), (np.floor(100 * proba) + 0.5) / 100])
    Y = np.column_stack([np.ones(len(Y), dtype=int), Y])
    confidence, passed = 0.8, {}
    for cut in np.arange(1, 10) / 10:
        mapie = control.MultiLabelClassificationController(
            lambda rows: rows, risk="precision", target_level=0.7, predict_params=[cut],
            confidence_level=1 - (1 - confidence) / len(STARTS),
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where no threshold passes
            passed[cut] = len(mapie.calibrate(proba, Y).valid_index[0]) == 1
    own = PrecisionControl(0.7, confidence=confidence).fit(proba, Y).threshold_
    assert 0.1 < own < 0.9
    assert all(ok == (cut >= own) for cut, ok in passed.items())


def draw(rng, n):
    """Draw rows whose probabilities are too high for some labels: precision is not monotone."""
    proba = rng.beta(0.8, 1.6, size=(n, 4))
    true = np.where(proba > 0.9, 0.7, proba) * [1.0, 0.9, 1.0, 0.8]
    return proba, (rng.random((n, 4)) < true).astype(int)


@cache
def population():
    """Return functions of the threshold: recall and precision of 100,000 rows."""
    proba, Y = draw(np.random.default_rng(99), 100_000)
    labelled = Y.any(axis=1)
    of_recall = recalls(proba[labelled], Y[labelled].astype(bool))
    of_precision = precisions(proba, Y.astype(bool))[:2]

    def at(cuts, values, threshold):
        # The mean belongs to thresholds from its own cut up to the one before.
        return values[min(np.searchsorted(-cuts, -threshold), len(cuts) - 1)]

    return (
        lambda threshold: at(*of_recall, threshold),
        lambda threshold: at(*of_precision, threshold),
    )


def simulated(control, n, of_population):
    rng = np.random.default_rng(0)
    return np.array(
        [of_population(fitted(control, *draw(rng, n)).threshold_) for _ in range(N_DRAWS)]
    )


def test_conformal_recall_holds_on_average():
    recall, _ = population()
    found = simulated(RecallControl(0.8), 60, recall)
    error = 3 * found.std() / np.sqrt(N_DRAWS)
    assert found.mean() >= 0.8 - error
    assert found.mean() <= 0.8 + 2 / 55 + error  # no more than the theorem's slack


def test_recall_fails_no_more_often_than_promised():
    recall, _ = population()
    found = simulated(RecallControl(0.8, confidence=0.9), 100, recall)
    assert np.count_nonzero(found < 0.8) <= MOST_FAILURES
    # Without the bound, the recall is too low in about half of the draws.
    rng = np.random.default_rng(0)
    plain = []
    for _ in range(N_DRAWS):
        proba, Y = draw(rng, 100)
        cuts, values = recalls(proba[Y.any(axis=1)], Y[Y.any(axis=1)].astype(bool))
        plain.append(recall(cuts[np.argmax(values >= 0.8)]))
    assert np.count_nonzero(np.array(plain) < 0.8) > MOST_FAILURES


def test_precision_fails_no_more_often_than_promised():
    _, precision = population()
    found = simulated(PrecisionControl(0.5, confidence=0.9), 250, precision)
    found = found[~np.isnan(found)]  # no label is predicted, so nothing can be wrong
    assert len(found) > N_DRAWS / 2
    assert np.count_nonzero(found < 0.5) <= MOST_FAILURES
    rng = np.random.default_rng(0)
    plain = []
    for _ in range(N_DRAWS):
        proba, Y = draw(rng, 250)
        cuts, values, _ = precisions(proba, Y.astype(bool))
        plain.append(precision(cuts[np.flatnonzero(values >= 0.5)[-1]]))
    assert np.count_nonzero(np.array(plain) < 0.5) > MOST_FAILURES


def test_the_means_are_those_of_scikit_learn():
    proba, Y = draw(np.random.default_rng(1), 200)
    recall = RecallControl(0.7).fit(proba, Y)
    found = recall_score(Y, recall.decide(proba), average="samples", zero_division=np.nan)
    assert recall.recall_ == pytest.approx(found)
    precision = PrecisionControl(0.3).fit(proba, Y)
    found = precision_score(Y, precision.decide(proba), average="samples", zero_division=np.nan)
    assert precision.precision_ == pytest.approx(found)


def test_precision_with_targets_in_all_forms():
    proba, Y = draw(np.random.default_rng(1), 200)
    expected = PrecisionControl(0.3).fit(proba, Y).decide(proba)
    assert set(np.unique(expected)) == {0, 1}
    for form in (Y.astype(bool), pd.DataFrame(Y), sparse.csr_matrix(Y)):
        assert_array_equal(PrecisionControl(0.3).fit(proba, form).decide(proba), expected)


def test_too_few_rows_for_a_guarantee_warn():
    proba, Y = draw(np.random.default_rng(1), 5)
    with pytest.warns(
        UserWarning, match=r"RecallControl\(target=0.95\) predicts all labels: . rows"
    ):
        assert RecallControl(0.95).fit(proba, Y).decide(proba).all()
    with pytest.warns(UserWarning, match="predicts no label: on 5 rows no threshold"):
        assert not PrecisionControl().fit(proba, Y).decide(proba).any()
    with pytest.warns(UserWarning, match="predicts all labels: 0 rows"):
        assert RecallControl().fit(proba, np.zeros_like(Y)).decide(proba).all()


def test_bad_parameters_and_scores_are_refused():
    proba, Y = draw(np.random.default_rng(1), 50)
    for wrong in (RecallControl(1.0), RecallControl(confidence=1), PrecisionControl(0)):
        with pytest.raises(ValueError, match="parameter of .*Control must be a float in the range"):
            wrong.fit(proba, Y)
    with pytest.raises(
        ValueError, match="PrecisionControl needs probabilities in .0, 1., but scor"
    ):
        PrecisionControl().fit(10 * proba, Y)
    RecallControl().fit(10 * proba, Y)
    weights = np.arange(1, 51)
    for control in (RecallControl(), PrecisionControl()):
        with pytest.raises(ValueError, match="needs rows of equal weight, found different sample"):
            control.fit(proba, Y, sample_weight=weights)
        control.fit(proba, Y, sample_weight=np.full(50, 3.0))


@cache
def rows():
    X, Y = make_multilabel_classification(400, n_features=6, n_classes=4, random_state=0)
    return X / X.max(axis=0), Y


def test_thresholded_classifiers_reach_the_target():
    X, Y = rows()
    base = BinaryRelevance(LogisticRegression())
    for control, score in (
        (RecallControl(0.9), recall_score),
        (RecallControl(0.9, confidence=0.9), recall_score),
        (PrecisionControl(0.7), precision_score),
    ):
        clf = ThresholdedClassifier(base, control, random_state=0).fit(X[:250], Y[:250])
        assert clf.threshold_.n_rows_ > 0
        found = score(Y[250:], clf.predict(X[250:]), average="samples", zero_division=np.nan)
        assert found > control.target - 0.05


def test_a_corrected_classifier_uses_the_threshold_always():
    X, Y = rows()
    clf = MendedClassifier(
        LogisticRegression(), cv=3, beta=1.0, shrinkage=1.0, scaling="range", random_state=0,
        criterion="zero_one", threshold=RecallControl(0.9),
    ).fit(X[:250], Y[:250])  # fmt: skip
    assert clf.decision_ == "labels"
    assert_array_equal(clf.predict(X), clf.threshold_.decide(clf.predict_proba(X)))
    explained = clf.explain(X[250:251])[0]
    assert explained.labels[0].threshold == pytest.approx(clf.threshold_.threshold_)
    low = clf.threshold_
    high = clf.set_params(threshold=PrecisionControl(0.7)).threshold_
    open_or_decided = abstain(clf.predict_proba(X[250:]), low, high)
    assert set(np.unique(open_or_decided)) == {-1, 0, 1}
    clf.set_params(decision="sets")
    with pytest.raises(ValueError, match="decision='sets' does not use the threshold Precision"):
        clf.predict(X)
    with pytest.raises(ValueError, match="decision='sets' does not use the threshold Precision"):
        clf.fit(X, Y)


def test_never_empty_keeps_the_recall():
    proba, Y = draw(np.random.default_rng(2), 100)
    plain, never_empty = RecallControl(0.5), NeverEmpty(RecallControl(0.5))
    plain.fit(proba, Y), never_empty.fit(proba, Y)
    assert (never_empty.decide(proba) >= plain.decide(proba)).all()


def test_abstain_leaves_open_what_lies_between():
    scores = np.array([[0.1, 0.4, 0.5], [0.6, 0.61, 0.9]])
    assert abstain(scores, 0.4, 0.6).tolist() == [[0, 0, -1], [-1, 1, 1]]
    assert abstain(pd.DataFrame(scores), [0.0, 0.5, 0.5], [0.05, 0.7, 1]).tolist() == [
        [1, 0, 0], [1, -1, -1],
    ]  # fmt: skip
    # With low above high nothing is left open, and the labels above high are accepted.
    assert_array_equal(abstain(scores, 0.8, 0.45), scores > 0.45)
    proba, Y = draw(np.random.default_rng(2), 100)
    cut = CardinalityThreshold().fit(proba, Y)
    assert_array_equal(abstain(proba, cut, cut), cut.decide(proba))
    cuts = F1Thresholds().fit(proba, Y)
    assert_array_equal(abstain(proba, cuts, np.inf) == -1, cuts.decide(proba) == 1)


@pytest.mark.parametrize("bound", ["low", None, [0.1, 0.2], np.nan, RecallControl()])
def test_abstain_refuses_other_bounds(bound):
    with pytest.raises(ValueError, match="low must be a number, 3 numbers, or a fitted threshold"):
        abstain([[0.1, 0.2, 0.3]], bound, 0.5)

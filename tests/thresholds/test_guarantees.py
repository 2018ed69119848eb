"""Thresholds with a guarantee: against slow references, against MAPIE, and by simulation.

The simulations draw rows 500 times with a fixed seed. The number of draws in which a guarantee
with confidence c fails is at most binomial(300, 1 - c); the tests allow its 0.999 quantile.
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
from scipy.stats import binom

from pairmend.thresholds import CardinalityThreshold, PrecisionControl, RecallControl, abstain

N_DRAWS = 300
MOST_FAILURES = binom.ppf(0.999, N_DRAWS, 0.1)
STARTS = np.arange(9, 0, -1) / 10

tables = st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])),
        arrays(np.int64, shape, elements=st.integers(0, 1)),
    )
)


def row_means(Y, accepted):
    """Recall and precision of the rows that have one."""
    with np.errstate(invalid="ignore"):
        hits = (Y * accepted).sum(axis=1)
        found = hits / Y.sum(axis=1), hits / accepted.sum(axis=1)
    return [values[np.isfinite(values)] for values in found]


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


def fitted(control, scores, Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of too few rows
        return control.fit(scores, Y)


@given(tables, st.sampled_from([0.2, 0.5, 0.8, 0.9]), st.sampled_from([None, 0.3, 0.6]))
def test_recall_is_that_of_the_largest_threshold_with_the_guarantee(table, target, confidence):
    scores, Y = table
    control = fitted(RecallControl(target, confidence=confidence), scores, Y)
    distinct = sorted(set(scores[Y.any(axis=1)].ravel()), reverse=True)
    cuts = [np.inf, *((a + b) / 2 for a, b in pairwise(distinct))] if distinct else []
    n_rows = Y.any(axis=1).sum()
    for cut in [*cuts, *(np.nextafter(score, -1) for score in distinct[-1:])]:
        risk = 1 - row_means(Y, scores > cut)[0].mean()
        if confidence is None:
            is_valid = n_rows * risk + 1 <= (n_rows + 1) * (1 - target) + 1e-9
        else:
            is_valid = p_value(risk, n_rows, 1 - target) <= 1 - confidence
        if is_valid:
            break
    else:
        cut = -np.inf
    assert control.threshold_ == pytest.approx(cut)
    assert control.n_rows_ == n_rows
    recall, _ = row_means(Y, control.decide(scores))
    assert control.recall_ == pytest.approx(recall.mean() if len(recall) else 1)


@given(tables, st.sampled_from([0.05, 0.2, 0.5]), st.sampled_from([0.05, 0.3]))
def test_precision_is_lowered_from_each_start_until_a_test_fails(table, target, confidence):
    scores, Y = table
    best = np.inf
    for start in STARTS:
        # At the start, and below it just above and at each score.
        steps = [start, *sorted({s for s in scores.ravel() if s < start}, reverse=True), -np.inf]
        for cut in steps:
            _, precision = row_means(Y, scores > cut)
            loss = 1 - precision.mean() if len(precision) else 1.0
            if p_value(loss, len(precision), 1 - target) > (1 - confidence) / len(STARTS):
                break
            best = min(best, cut)
    control = fitted(PrecisionControl(target, confidence=confidence), scores, Y)
    assert_array_equal(control.decide(scores), scores > best)
    assert control.threshold_ >= best
    _, precision = row_means(Y, scores > best)
    assert control.n_rows_ == len(precision)
    assert_allclose(control.precision_, precision.mean() if len(precision) else np.nan)


@pytest.mark.parametrize("target", [0.6, 0.95])
def test_recall_is_that_of_mapie(target):
    module = pytest.importorskip("mapie.risk_control", reason="MAPIE is not installed")
    proba, Y = draw(np.random.default_rng(3), 120)
    proba = (np.floor(100 * proba) + 0.5) / 100  # between the thresholds that MAPIE compares
    proba, Y = proba[Y.any(axis=1)], Y[Y.any(axis=1)]  # MAPIE refuses rows without labels
    mapie = module.MultiLabelClassificationController(
        lambda rows: rows, risk="recall", method="crc", target_level=target
    ).calibrate(proba, Y)
    own = RecallControl(target).fit(proba, Y)
    assert_array_equal(own.decide(proba), mapie.predict(proba)[:, :, 0])


def draw(rng, n):
    """Draw rows whose probabilities are too high for some labels: precision is not monotone."""
    proba = rng.beta(0.8, 1.6, size=(n, 4))
    true = np.where(proba > 0.9, 0.7, proba) * [1.0, 0.9, 1.0, 0.8]
    return proba, (rng.random((n, 4)) < true).astype(int)


@cache
def population():
    return draw(np.random.default_rng(99), 5_000)


def simulated(control, n):
    """Mean recall and precision of new rows for thresholds of many draws of rows."""
    rng, (proba, Y) = np.random.default_rng(0), population()
    thresholds = [fitted(control, *draw(rng, n)).threshold_ for _ in range(N_DRAWS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no label is predicted
        means = [[each.mean() for each in row_means(Y, proba > cut)] for cut in thresholds]
    return np.array(means).T


def test_conformal_recall_holds_on_average():
    recall, _ = simulated(RecallControl(0.8), 60)
    error = 3 * recall.std() / np.sqrt(N_DRAWS)
    assert 0.8 - error <= recall.mean() <= 0.8 + 2 / 55 + error  # no more than the theorem's slack
    # The recall of a single draw is too low in more draws than a confidence would allow.
    assert np.count_nonzero(recall < 0.8) > MOST_FAILURES


def test_guarantees_with_a_confidence_fail_no_more_often_than_promised():
    recall, _ = simulated(RecallControl(0.8, confidence=0.9), 100)
    assert np.count_nonzero(recall < 0.8) <= MOST_FAILURES
    _, precision = simulated(PrecisionControl(0.5, confidence=0.9), 250)
    assert np.isfinite(precision).sum() > N_DRAWS / 2
    assert np.count_nonzero(precision < 0.5) <= MOST_FAILURES


def test_too_few_rows_for_a_guarantee_warn():
    proba, Y = draw(np.random.default_rng(1), 5)
    with pytest.warns(UserWarning, match=r"RecallControl\(target=0.95\) predicts all labels: ."):
        assert RecallControl(0.95).fit(proba, Y).decide(proba).all()
    with pytest.warns(UserWarning, match="predicts no label: on 5 rows no threshold"):
        assert not PrecisionControl().fit(proba, Y).decide(proba).any()
    with pytest.warns(UserWarning, match="predicts all labels: 0 rows"):
        assert RecallControl().fit(proba, np.zeros_like(Y)).decide(proba).all()


def test_abstain_leaves_open_what_lies_between():
    scores = np.array([[0.1, 0.4, 0.5], [0.6, 0.61, 0.9]])
    assert abstain(scores, 0.4, 0.6).tolist() == [[0, 0, -1], [-1, 1, 1]]
    found = abstain(pd.DataFrame(scores), [0.0, 0.5, 0.5], [0.05, 0.7, 1])
    assert found.tolist() == [[1, 0, 0], [1, -1, -1]]
    # With low above high nothing is left open, and the labels above high are accepted.
    assert_array_equal(abstain(scores, 0.8, 0.45), scores > 0.45)
    cut = CardinalityThreshold().fit(scores, [[0, 1, 0], [1, 0, 0]])
    assert_array_equal(abstain(scores, cut, cut), cut.decide(scores))
    for bound in ("low", None, [0.1, 0.2], np.nan, RecallControl()):
        with pytest.raises((ValueError, TypeError)):
            abstain(scores, bound, 0.5)

"""Thresholds against an exhaustive search over all cuts; guarantees by simulation.

The simulations draw rows 300 times with a fixed seed. The number of draws in which a guarantee
with confidence c fails is at most binomial(300, 1 - c); the tests allow its 0.999 quantile.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.stats import binom, poisson
from sklearn.base import clone

from pairmend.thresholds import (
    BatchF1Thresholds,
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
    NeverEmpty,
    PrecisionControl,
    RecallControl,
    TopLabels,
    abstain,
)

WEIGHTED = [
    CardinalityThreshold(),
    F1Thresholds(),
    F1Thresholds("micro"),
    F1Thresholds(shrinkage=3.0),
    F1Thresholds("micro", expected=True),
    F1Thresholds(expected=True, shrinkage=3.0),
    BatchF1Thresholds(2.0, prior_mass=3.0),
    TopLabels(),
    NeverEmpty(F1Thresholds()),
]
CONTROLS = [
    RecallControl(0.5),
    RecallControl(0.5, confidence=0.5),
    PrecisionControl(0.4, confidence=0.5),
]
ALL = [FixedThreshold(0.3), TopLabels(2), NeverEmpty(), *WEIGHTED, *CONTROLS]
all_thresholds = pytest.mark.parametrize("threshold", ALL, ids=str)


# Few distinct scores, so that ties are common.
def tables(n_rows=7):
    """Draw scores and labels of up to a number of rows."""
    scores = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
    return st.tuples(st.integers(1, n_rows), st.integers(1, 4)).flatmap(
        lambda shape: st.tuples(
            arrays(np.float64, shape, elements=scores),
            arrays(np.int64, shape, elements=st.integers(0, 1)),
        )
    )


def decisions(scores):
    """The decisions by all thresholds, those that accept fewer first."""
    cuts = [np.inf, *sorted(set(scores), reverse=True), -np.inf]
    return [(scores > cut).astype(int) for cut in cuts]


def f1(y, decided):
    either = sum(y) + sum(decided)
    return 2 * (y @ decided) / either if either else 0.0


@given(tables())
def test_the_cardinality_is_as_close_as_possible(table):
    scores, Y = table
    fitted = CardinalityThreshold().fit(scores, Y)
    counts = [decided.sum() for decided in decisions(scores.ravel())]
    assert fitted.decide(scores).sum() == min(counts, key=lambda count: abs(count - Y.sum()))
    assert fitted.threshold_ not in scores  # halfway between two scores


@given(tables(), st.sampled_from(["macro", "micro"]))
def test_f1_is_maximal_with_the_fewest_labels(table, average):
    scores, Y = table
    fitted = F1Thresholds(average).fit(scores, Y)
    if average == "micro":
        assert len(set(fitted.thresholds_)) == 1
    columns = scores.T, Y.T, fitted.decide(scores).T
    if average == "micro":
        columns = [[each.ravel()] for each in (scores, Y, fitted.decide(scores))]
    for s, y, decided in zip(*columns, strict=True):
        best = max(decisions(s), key=lambda each, y=y: f1(y, each))
        np.testing.assert_array_equal(decided, best)


@given(tables())
def test_expected_f1_is_maximal(table):
    """Twice the expected true positives over expected and predicted positives."""
    scores, Y = table
    fitted = F1Thresholds(expected=True).fit(scores, Y)
    decided = fitted.decide(scores)
    for s, threshold, own in zip(scores.T, fitted.thresholds_, decided.T, strict=True):
        subsets = [[(mask >> k) & 1 for k in range(len(s))] for mask in range(1, 2 ** len(s))]
        best = max(2 * (s @ subset) / (sum(subset) + s.sum()) for subset in subsets)
        assert threshold == (pytest.approx(best / 2) if s.sum() else np.inf)
        assert not s.sum() or 2 * (s @ own) / (own.sum() + s.sum()) == pytest.approx(best)


@given(tables(), st.sampled_from([0.5, 10.0]), st.booleans())
def test_shrinkage_is_a_weighted_mean_with_the_common_threshold(table, shrinkage, expected):
    scores, Y = table
    own = F1Thresholds(expected=expected).fit(scores, Y).thresholds_
    common = F1Thresholds("micro", expected=expected).fit(scores, Y).thresholds_[0]
    shrunk = F1Thresholds(expected=expected, shrinkage=shrinkage).fit(scores, Y).thresholds_
    # A threshold just below the lowest score accepts all rows, as minus infinity does.
    own = np.where(own == -np.inf, scores.min(axis=0), own)
    common = scores.min() if common == -np.inf else common
    count = Y.sum(axis=0)
    with np.errstate(invalid="ignore"):
        mixed = (count * own + shrinkage * common) / (count + shrinkage)
    has_rows = own < np.inf
    np.testing.assert_allclose(shrunk[has_rows], mixed[has_rows], atol=1e-9)
    assert np.isposinf(shrunk[~has_rows]).all()


@given(tables(), st.sampled_from(WEIGHTED), st.integers(0, 999))
def test_weights_equal_repeated_rows(table, threshold, seed):
    def fitted(scores, Y, weights=None):
        found = clone(threshold).fit(scores, Y, sample_weight=weights)
        found = found.threshold_ if isinstance(found, NeverEmpty) else found
        return next(np.array(value) for name, value in vars(found).items() if name.endswith("_"))

    scores, Y = table
    weights = np.random.RandomState(seed).randint(4, size=len(Y))
    weights[0] = 1  # one row of the weight that counts as one row
    expected = fitted(np.repeat(scores, weights, 0), np.repeat(Y, weights, 0))
    for factor in (1, 1e-3, 1 / weights.sum()):
        np.testing.assert_allclose(fitted(scores, Y, factor * weights), expected, rtol=1e-12)
    # A row of weight 1e-9 changes nothing, not even the lowest score.
    more = np.vstack([scores, np.zeros(scores.shape[1])]), np.vstack([Y, np.ones(Y.shape[1])])
    np.testing.assert_allclose(fitted(*more, np.append(weights, 1e-9)), expected, rtol=1e-12)


def f1_of_poisson_numbers(hits, errors, largest=20):
    """Mean of 2H / (2H + E), 1 for H = E = 0, summed over all numbers up to the largest."""
    numbers = np.arange(largest + 1)
    H, E = np.meshgrid(numbers, numbers, indexing="ij")
    of_numbers = np.where(H + E > 0, 2 * H / np.maximum(2 * H + E, 1), 1.0)
    return poisson.pmf(numbers, hits) @ of_numbers @ poisson.pmf(numbers, errors)


@settings(max_examples=20)
@given(tables(), st.sampled_from([0.5, 4.0]), st.sampled_from([0.0, 2.0, 1e9]))
def test_mean_f1_over_batches_is_maximal(table, batch_size, prior_mass):
    proba, Y = table
    fitted = BatchF1Thresholds(batch_size, prior_mass=prior_mass).fit(proba, Y)

    def mean_f1(p, y, accepted):
        share = y.sum() / (y.sum() + prior_mass) if y.sum() + prior_mass else 1.0
        truth = share * y + (1 - share) * p
        hits = truth @ accepted
        errors = max(accepted.sum() + truth.sum() - 2 * hits, 0)
        return f1_of_poisson_numbers(batch_size / len(y) * hits, batch_size / len(y) * errors)

    for p, y, decided in zip(proba.T, Y.T, fitted.decide(proba).T, strict=True):
        best = max(mean_f1(p, y, each) for each in decisions(p))
        assert mean_f1(p, y, decided) == pytest.approx(best, abs=1e-6)


@given(tables(), st.integers(1, 5))
def test_top_labels_have_the_largest_scores(table, k):
    scores, Y = table
    for row, decided in zip(scores, TopLabels(k).fit(scores, Y).decide(scores), strict=True):
        ranked = sorted(range(len(row)), key=lambda label, row=row: (-row[label], label))
        assert np.flatnonzero(decided).tolist() == sorted(ranked[:k])
    never_empty = NeverEmpty(CardinalityThreshold()).fit(scores, Y).decide(scores)
    plain = CardinalityThreshold().fit(scores, Y).decide(scores)
    first = TopLabels(1).fit(scores, Y).decide(scores)
    expected = np.where(plain.any(axis=1, keepdims=True), plain, first)
    np.testing.assert_array_equal(never_empty, expected)


def test_labels_that_never_or_always_occur_ties_and_adjacent_numbers():
    for mean, k in ((0.0, 1), (1.25, 1), (1.5, 2), (2.5, 3), (3.0, 3)):  # rounded half up
        Y = mean * 4 > np.arange(12).reshape(3, 4).T
        assert TopLabels().fit(np.zeros((4, 3)), Y).k_ == k
    scores = np.array([[0.1, 0.8], [0.4, 0.6], [0.3, 0.7]])
    assert F1Thresholds().fit(scores, [[0, 1]] * 3).thresholds_.tolist() == [np.inf, -np.inf]
    assert CardinalityThreshold().fit(scores, np.zeros((3, 2))).threshold_ == np.inf
    assert CardinalityThreshold().fit(scores, np.ones((3, 2))).threshold_ == -np.inf
    adjacent = [[0.3, np.nextafter(0.3, 1)]]
    assert CardinalityThreshold().fit(adjacent, [[0, 1]]).decide(adjacent).tolist() == [[0, 1]]


@all_thresholds
def test_targets_in_all_forms(threshold, rng):
    scores, Y = rng.rand(30, 4), (rng.rand(30, 4) < 0.4).astype(int)
    scores.flags.writeable = Y.flags.writeable = False
    expected = clone(threshold).fit(scores, Y).decide(scores)
    assert expected.dtype == np.int64
    assert set(np.unique(expected)) <= {0, 1}
    for target in (sparse.csr_array(Y), pd.DataFrame(Y), Y.astype(bool), Y.tolist()):
        np.testing.assert_array_equal(clone(threshold).fit(scores, target).decide(scores), expected)
    np.testing.assert_array_equal(threshold.fit(scores, Y).decide(scores.tolist()), expected)


def test_invalid_scores_weights_and_parameters_are_refused(rng):
    scores, Y = rng.rand(6, 3), np.ones((6, 3), dtype=int)
    for given_scores, target, match in (
        (scores, Y[:, :2], r"shape \(6, 3\), Y \(6, 2\)"),
        (np.full((6, 3), np.nan), Y, "scores contains NaN"),
        (scores, Y + 1, "must hold 0 and 1 only"),
    ):
        with pytest.raises(ValueError, match=match):
            F1Thresholds().fit(given_scores, target)
    with pytest.raises(ValueError, match="scores have 2 labels; the threshold was fitted on 3"):
        F1Thresholds().fit(scores, Y).decide(scores[:, :2])
    for weights, match in ((np.zeros(6), "non-zero"), (np.ones(5), "sample_weight")):
        with pytest.raises(ValueError, match=match):
            F1Thresholds().fit(scores, Y, sample_weight=weights)
    for bad in (TopLabels(0), NeverEmpty(0.5), RecallControl(1.0), PrecisionControl(0)):
        with pytest.raises(ValueError, match="parameter of"):
            bad.fit(scores, Y)
    for of_proba in (BatchF1Thresholds(), F1Thresholds(expected=True), PrecisionControl()):
        with pytest.raises(ValueError, match=r"needs .* scores lie in \[-1, 2\]"):
            of_proba.fit([[-1.0, 0.5], [2.0, 0.5]], [[0, 1], [1, 0]])
    for control in CONTROLS:
        with pytest.raises(ValueError, match="needs rows of equal weight, found different sample"):
            clone(control).fit(scores, Y, sample_weight=np.arange(1, 7))
        clone(control).fit(scores, Y, sample_weight=np.full(6, 3.0))


N_DRAWS = 300
MOST_FAILURES = binom.ppf(0.999, N_DRAWS, 0.1)
STARTS = np.arange(9, 0, -1) / 10


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


with_few_rows = pytest.mark.filterwarnings("ignore:.*predicts (no|all) label")


@with_few_rows
@given(tables(12), st.sampled_from([0.2, 0.5, 0.8, 0.9]), st.sampled_from([None, 0.3, 0.6]))
def test_recall_is_that_of_the_largest_threshold_with_the_guarantee(table, target, confidence):
    scores, Y = table
    control = RecallControl(target, confidence=confidence).fit(scores, Y)
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


@with_few_rows
@given(tables(12), st.sampled_from([0.05, 0.2, 0.5]), st.sampled_from([0.05, 0.3]))
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
    control = PrecisionControl(target, confidence=confidence).fit(scores, Y)
    np.testing.assert_array_equal(control.decide(scores), scores > best)
    assert control.threshold_ >= best
    _, precision = row_means(Y, scores > best)
    assert control.n_rows_ == len(precision)
    np.testing.assert_allclose(control.precision_, precision.mean() if len(precision) else np.nan)


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
    thresholds = [control.fit(*draw(rng, n)).threshold_ for _ in range(N_DRAWS)]
    means = [[each.mean() for each in row_means(Y, proba > cut)] for cut in thresholds]
    return np.array(means).T


def test_conformal_recall_holds_on_average():
    recall, _ = simulated(RecallControl(0.8), 60)
    error = 3 * recall.std() / np.sqrt(N_DRAWS)
    assert 0.8 - error <= recall.mean() <= 0.8 + 2 / 55 + error  # no more than the theorem's slack
    # The recall of a single draw is too low in more draws than a confidence would allow.
    assert np.count_nonzero(recall < 0.8) > MOST_FAILURES


@with_few_rows
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")  # where no label is predicted
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
    np.testing.assert_array_equal(abstain(scores, 0.8, 0.45), scores > 0.45)
    cut = CardinalityThreshold().fit(scores, [[0, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(abstain(scores, cut, cut), cut.decide(scores))
    for bound in ("low", None, [0.1, 0.2], np.nan, RecallControl()):
        with pytest.raises((ValueError, TypeError)):
            abstain(scores, bound, 0.5)

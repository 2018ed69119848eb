"""Rows that keep coming against all rows at once."""

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import classifier_checks
from classifier_checks import outputs
from pairmend import (
    AdaptiveNeighbourhood,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    RandomSubspaceNB,
)
from pairmend.persistence import load_model, save_model

BASE = RandomSubspaceNB(5, 0.5)
WEIGHTS = np.array([0.5, 1, 3])[np.arange(120) % 3]
CLF = CorrectedPairwiseClassifier(BASE, balance="labels", overlap=0.5, random_state=0)


assert_same = partial(classifier_checks.assert_same, atol=1e-9)


def stream(clf, X, Y, cuts, weights=None, first=0):
    """Give rows in pieces."""
    for start, stop in pairwise([first, *cuts, len(Y)]):
        own = None if weights is None else weights[start:stop]
        clf.partial_fit(X[start:stop], Y[start:stop], sample_weight=own)
    return clf


def at_once(clf, X, Y, weights=None):
    """Fit with the split and the feature statistics of a classifier fitted incrementally."""
    split, given = (clf.train_indices_, clf.validation_indices_), clf.learner_.feature_statistics_
    fresh = clone(clf).set_params(validation=split)
    return fresh.fit(X, Y, sample_weight=weights, feature_statistics=given)


@pytest.fixture
def rows(rng):
    """120 rows, two of the features with two values, five labels, one of them late."""
    X = rng.randn(120, 5) * [1, 100, 0.01, 1, 1] + [0, 1000, 0, 0, 0]
    X[:, 3:] = X[:, 3:] > 0
    Y = (X[:, [0, 1, 2, 3, 0]] + rng.randn(120, 5) > [0, 1000, 0, 1, 1]).astype(int)
    Y[:80, 4] = 0
    return X, Y


@settings(max_examples=25)
@given(st.data())
def test_any_pieces_equal_all_at_once(data):
    rng = np.random.RandomState(data.draw(st.integers(0, 10**6)))
    n, n_labels = data.draw(st.integers(40, 90)), data.draw(st.integers(2, 5))
    X = rng.choice([0.0, 1.0, 2.5, 40.0], size=(n, 4)) * rng.choice([1, 1e-3, 1e4], size=4)
    X[:, :2] += rng.randn(n, 2)
    late = data.draw(st.integers(0, n))
    Y = (rng.rand(n, n_labels) < rng.choice([0, 0.1, 0.5, 0.9, 1], size=n_labels)).astype(int)
    Y[:late, 0] = 0
    Y[late:, 1] |= Y[late:, 0]  # from then on, a label comes with another only
    X[20:, 1][rng.rand(n - 20) < data.draw(st.sampled_from([0, 0.2]))] = np.nan
    if data.draw(st.booleans()):
        X[rng.rand(n, 4) < 0.9] = 0
        X = sparse.csr_array(X)
    weights = rng.choice([0.0, 0.5, 1, 3], size=n) if data.draw(st.booleans()) else None
    cuts = sorted(data.draw(st.sets(st.integers(20, n - 1), max_size=6)))
    if weights is not None:
        weights[:20] = weights[cuts] = 1  # no piece without weight
    clf = clone(CLF).set_params(
        calibration_label=data.draw(st.booleans()),
        validation=data.draw(st.sampled_from([0.4, 0.7])),
        neighbourhood=data.draw(st.sampled_from([None, GaussianNeighbourhood(10.0)])),
    )
    stream(clf, X, Y, cuts, weights)
    assert_same(clf, at_once(clf, X, Y, weights), X)
    other = stream(clone(clf), X, Y, cuts[:1], weights)
    np.testing.assert_array_equal(other.train_indices_, clf.train_indices_)


@pytest.mark.parametrize("validation", [0.5, (np.arange(30), np.arange(35, 60))])
def test_goes_on_after_fit(rows, validation):
    X, Y = rows
    clf = clone(CLF).set_params(validation=validation)
    clf.fit(X[:60], Y[:60], sample_weight=WEIGHTS[:60]).set_params(validation=0.7)
    first = clf.train_indices_
    stream(clf, X, Y, [65], WEIGHTS, first=60)
    np.testing.assert_array_equal(clf.train_indices_[: len(first)], first)
    assert clf.validation_indices_.max() > 100
    assert_same(clf, at_once(clf, X, Y, WEIGHTS), X)


def test_decay_equals_weights(rows):
    X, Y = rows
    plain, clf = (
        stream(clone(CLF).set_params(decay=decay), X, Y, [40, 70, 90]) for decay in (1.0, 0.5)
    )
    weights = np.repeat([1 / 8, 1 / 4, 1 / 2, 1], [40, 30, 20, 30])
    assert_same(clf, at_once(clf, X, Y, weights), X)
    assert np.abs(plain.predict_proba(X) - clf.predict_proba(X)).max() > 0.01


def test_the_unit_of_weights_is_that_of_the_first_call(rows):
    def streamed(*factors):
        weights = WEIGHTS * np.repeat(factors, 40)
        return stream(clone(CLF), *rows, [40, 80], weights).predict_proba(rows[0])

    plain = streamed(1, 1, 1)
    np.testing.assert_allclose(streamed(1e-3, 1e-3, 1e-3), plain, atol=1e-8)
    np.testing.assert_allclose(streamed(1e3, 1e3, 1e3), plain, atol=1e-8)
    # Later rows keep what they weigh relative to earlier ones.
    assert abs(streamed(1, 1, 100) - plain).max() > 0.01


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_old_rows_are_forgotten(rng, layout):
    X, Y = rng.randn(1200, 6), rng.rand(1200, 3) < 0.4
    if layout is not np.asarray:
        X[rng.rand(1200, 6) > 0.1] = 0
    Y[200:, 2] = False  # seen long ago
    Y[200:, 1] |= Y[200:, 0]  # one without the other, too
    clf = clone(CLF).set_params(decay=0.1)
    sizes = []
    for start in range(0, 1200, 40):
        clf.partial_fit(layout(X[start : start + 40]), Y[start : start + 40])
        sizes.append(len(clf.validation_indices_))
        if start == 160:
            assert (clf.pair_support(X).std(axis=0) > 0.001).all()
    assert max(sizes) < 7 * 40
    assert clf.validation_indices_.min() >= 1200 - 7 * 40
    assert clf.train_indices_.min() >= 1200 - 7 * 40
    # Nothing but a prior is left of a label whose rows are all forgotten, in each of its pairs,
    # and nothing of a pair's label that has long come with the other only.
    trained = Y[clf.train_indices_]
    weights = 0.1 ** ((1199 - clf.train_indices_) // 40)
    n, support = weights @ trained, clf.pair_support(X)
    np.testing.assert_allclose(support[:, 1], (n[0] + 1) / (n[0] + 2), atol=1e-5)
    np.testing.assert_allclose(support[:, 2], (n[1] + 1) / (n[1] + 2), atol=1e-5)
    second_only = weights @ (trained[:, 1] & ~trained[:, 0])
    np.testing.assert_allclose(support[:, 0], 1 / (second_only + 2), atol=1e-5)


@pytest.mark.parametrize("late", [False, True])
def test_few_rows_among_many_keep_their_digits(rng, late):
    """A label that is nearly always shared, its own rows close together in wide features."""
    X = np.round(rng.rand(3000, 2) * 1e6) / 10
    Y = np.ones((3000, 2), dtype=int)
    Y[rng.rand(3000) < 0.5, 0] = 0
    alone = rng.choice(3000, 20, replace=False)  # only these have the first without the second
    Y[alone] = [1, 0]
    X[alone] = 7e4 + 100 * rng.rand(20, 2)
    shared, others = np.flatnonzero(Y.all(axis=1)), np.flatnonzero(~Y[:, 0].astype(bool))
    order = [shared, others, alone] if late else [alone[:9], others, shared, alone[9:]]
    X, Y = (rows[np.concatenate(order)] for rows in (X, Y))
    clf = stream(clone(CLF), X, Y, range(75, 3000, 75))
    assert clf.pair_support(X).std() > 0.01
    assert_same(clf, at_once(clf, X, Y), X)


def test_frames_and_classes(rng):
    colour = pd.CategoricalDtype(["red", "green", "blue"])
    X = pd.DataFrame({"size": rng.randn(100), "colour": rng.choice(colour.categories, 100)})
    X = X.astype({"colour": colour})
    y = np.where(X["size"] > 0, X["colour"].astype(str), "none")
    clf = CorrectedPairwiseClassifier(RandomSubspaceNB(3, 1.0), random_state=0)
    for start in range(0, 100, 25):
        part = slice(start, start + 25)
        clf.partial_fit(X[part], y[part], classes=["red", "green", "blue", "none"])
    assert clf.classes_.tolist() == ["blue", "green", "none", "red"]
    assert clf.feature_names_in_.tolist() == ["size", "colour"]
    assert_same(clf, at_once(clf, X, y), X)


def test_unsupported_partial_fit_is_refused(rows):
    X, Y = rows
    logistic = CorrectedPairwiseClassifier(LogisticRegression())
    assert not hasattr(logistic, "partial_fit")
    with pytest.raises(AttributeError) as raised:
        logistic.partial_fit(X, Y)
    assert "needs the base classifier RandomSubspaceNB" in str(raised.value.__cause__)
    crossed = clone(CLF).set_params(validation=5).fit(X, Y).set_params(validation=0.6)
    for clf, n_rows, message in (
        (clone(CLF).set_params(validation=5), 120, "splits rows by a share: validation=5"),
        (crossed, 120, "cannot continue a fit with cross-fitting, with"),
        (clone(CLF), 1, "part of 1 sample.* empty. Give the first call more"),
        (clone(CLF).set_params(decay=0.0), 120, "'decay' parameter"),
    ):
        with pytest.raises(ValueError, match=message):
            clf.partial_fit(X[:n_rows], Y[:n_rows])
    clf = clone(CLF).partial_fit(X, Y)
    before, params = outputs(clf, X), clf.get_params(deep=False)
    few = AdaptiveNeighbourhood(k=999)
    for change, message in (
        ({"calibration_label": True}, "calibration_label must not change"),
        ({"neighbourhood": few}, "needs at least \\d+ validation rows"),
    ):
        with pytest.raises(ValueError, match=message):
            clf.set_params(**{**params, **change}).partial_fit(X, Y)
    clf.set_params(**params)
    for old, new in zip(before, outputs(clf, X), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_saved_stream_goes_on(rows, tmp_path):
    X, Y = rows
    X = pd.DataFrame(X).add_prefix("f").astype({"f3": "category"})
    clf = clone(CLF).partial_fit(X[:60], Y[:60])
    save_model(clf, tmp_path / "model", updates=True)
    loaded = load_model(tmp_path / "model").estimator.partial_fit(X[60:], Y[60:])
    assert_same(loaded, clf.partial_fit(X[60:], Y[60:]), X, atol=0)

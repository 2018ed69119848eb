"""The base classifier that MendedClassifier(estimator="auto") chooses; stacking; calibration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, ShuffleSplit
from sklearn.multioutput import MultiOutputClassifier

from pairmend import MendedClassifier
from pairmend._utils.training import relative_weights
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.mended.base import BOOSTING, FOREST, KERNEL, LINEAR
from pairmend.mended.base_models import (
    Calibration,
    fit_calibration,
    fit_stacking_weights,
    log_odds,
)
from pairmend.persistence import load_model, save_model


def linear_rows(n_rows=200, noise=0.0):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_rows, 8))
    return X, (X @ rng.normal(size=(8, 3)) + noise * rng.normal(size=(n_rows, 3)) > 0).astype(int)


def wave_rows():
    """Labels that depend smoothly on all features."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 4))
    waves = np.sin(X @ rng.normal(size=(4, 3)) * 2)
    return X, (rng.uniform(size=waves.shape) < (1 + waves) / 2).astype(int)


def box_rows(n_rows=300, n_linear=0):
    """Labels that depend on two of twenty features, by limits, after linear ones of all."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(n_rows, 20))
    linear = X @ rng.normal(size=(20, n_linear)) > 0
    return X, np.column_stack([linear, np.abs(X[:, :2]) < 0.5]).astype(int)


def product_rows(n_rows=1800):
    """Labels that depend on products of features."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_rows, 24))
    return X, (X[:, :2] * X[:, 2:4] + 0.5 * rng.normal(size=(n_rows, 2)) > 0.2).astype(int)


@pytest.fixture(scope="module")
def mixed():
    X, Y = box_rows(400, n_linear=2)
    return MendedClassifier(random_state=0).fit(X, Y), X


@pytest.mark.parametrize(
    ("rows", "name"),
    [(linear_rows(), LINEAR), (box_rows(), FOREST), (wave_rows(), KERNEL)],
    ids=[LINEAR, FOREST, KERNEL],
)
def test_each_kind_of_data_gets_its_classifier(rows, name):
    clf = MendedClassifier(random_state=0).fit(*rows)
    assert clf.base_weights_.keys() == clf.estimator_.estimators.keys() == {name}
    if name == LINEAR:
        noisy = MendedClassifier(random_state=0).fit(*linear_rows(noise=2.0))
        C, other = (each.estimator_.estimators[LINEAR].estimator.C for each in (clf, noisy))
        assert C > 10
        assert other < 3


ONCE = ShuffleSplit(1, test_size=0.2, random_state=0)


@pytest.mark.parametrize("cv", [5, ONCE])
def test_boosting_is_used_where_its_trial_promises_a_gain(cv, tmp_path):
    X, Y = product_rows()
    clf = MendedClassifier(cv=cv, random_state=0).fit(X[:1300], Y[:1300])
    assert clf.base_weights_[BOOSTING] > 0.5
    losses = dict(zip(*clf.base_search_.values(), strict=True))
    names = [f"stacked {kind} boosting (trial)" for kind in ("with", "without")]
    assert losses[names[0]] < 0.97 * losses[names[1]]
    assert losses[BOOSTING] < min(losses[name] for name in (LINEAR, FOREST, KERNEL))
    alone = HistGradientBoostingClassifier(random_state=0)
    errors = [
        (model.predict(X[1300:]) != Y[1300:]).mean()
        for model in (MultiOutputClassifier(alone).fit(X[:1300], Y[:1300]), clf)
    ]
    assert errors[1] < 1.03 * errors[0]
    save_model(clf, tmp_path / "products.model")
    again = load_model(tmp_path / "products.model").estimator
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize("kind", ["linear", "few rows", "wide", "sparse", "many labels"])
def test_boosting_is_not_fitted_elsewhere(kind):
    X, Y = product_rows(1200 if kind == "few rows" else 1300)
    if kind == "linear":
        X, Y = linear_rows(1300, noise=1.0)
    elif kind == "wide":
        X = np.hstack([X, np.random.RandomState(1).normal(size=(1300, 50))])
    elif kind == "sparse":
        X = sparse.csr_array(X)
    elif kind == "many labels":
        Y = np.tile(Y, 26)
    clf = MendedClassifier(cv=ONCE, random_state=0).fit(X, Y)
    losses = dict(zip(*clf.base_search_.values(), strict=True))
    assert BOOSTING not in losses
    assert ("stacked with boosting (trial)" in losses) == (kind == "linear")


def test_the_weighted_sum_is_better_than_its_parts(mixed):
    clf, X = mixed
    assert clf.base_weights_.keys() == {LINEAR, FOREST}
    losses = dict(zip(*clf.base_search_.values(), strict=True))
    assert losses[f"{LINEAR} + {FOREST}"] < min(losses[LINEAR], losses[FOREST])
    assert sum("(trial)" in name for name in losses) > 2
    parts = clf.estimator_.proba_by_classifier(X)
    expected = sum(weight * parts[name] for name, weight in clf.base_weights_.items())
    np.testing.assert_allclose(clf.estimator_.predict_proba(X), expected, atol=1e-12)
    assert sum(clf.base_weights_.values()) <= 1 + 1e-12


def test_given_splits_hold_for_all_classifiers():
    """Groups of ten equal rows: out-of-bag predictions would know the labels of noise."""
    rng = np.random.RandomState(0)
    X, Y = np.repeat(rng.rand(30, 5), 10, axis=0), np.repeat(rng.rand(30, 2) < 0.5, 10, axis=0)
    splits = list(GroupKFold(3).split(X, Y, np.repeat(np.arange(30), 10)))
    losses = []
    for cv in (3, splits):
        clf = MendedClassifier(cv=cv, random_state=0).fit(X, Y)
        losses.append(dict(zip(*clf.base_search_.values(), strict=True))[FOREST])
    assert losses[0] < 0.1
    assert losses[1] > 0.2


def test_given_classifiers_and_nested_parameters():
    X, Y = linear_rows(80)
    clf = MendedClassifier(RandomForestClassifier(5, random_state=0), cv=2).fit(X, Y)
    assert clf.base_weights_ == {"RandomForestClassifier": 1.0}
    assert len(clf.base_search_["loss"]) == 0
    nested = MendedClassifier().set_params(estimator__C=3.0).estimator
    assert (type(nested), nested.C) == (ScaledLogisticRegression, 3.0)
    search = GridSearchCV(MendedClassifier(cv=2), {"estimator__C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert type(search.best_estimator_.estimator) is ScaledLogisticRegression


@given(
    st.integers(0, 1000),
    st.integers(1, 5),
    st.sampled_from(["plain", "small", "large", "equal", "zeros", "labels that never occur"]),
)
def test_stacking_weights_minimize_the_squared_error(seed, k, kind):
    """The squared error is convex: its gradient must not decrease towards any vertex."""
    rng = np.random.RandomState(seed)
    Y = rng.rand(15, 2) < 0.4
    predictions = [np.clip(rng.rand() * Y + rng.rand(15, 2), 0, 1) for _ in range(k)]
    if kind == "small":
        predictions = [proba / 50 for proba in predictions]  # unconstrained weights exceed 1
    if kind == "zeros":
        predictions = [0 * proba for proba in predictions]
    if kind == "labels that never occur":
        Y &= False
    if kind == "large":
        predictions = [(proba + 4) / 5 for proba in predictions]
    if kind == "equal":
        predictions[-1] = predictions[0].copy()  # the solution is not unique
    row_weights = rng.rand(15) * 10.0 ** rng.randint(-6, 7)
    names = [f"prediction {k}" for k in range(k)]
    found = fit_stacking_weights(dict(zip(names, predictions, strict=True)), Y, row_weights)
    assert list(found) == names
    weights = np.array(list(found.values()))
    assert weights.min() >= 0
    assert weights.sum() <= 1 + 1e-12
    errors = row_weights[:, np.newaxis] * (np.tensordot(weights, predictions, 1) - Y)
    gradient = 2 * np.sum(predictions * errors, axis=(1, 2)) / row_weights.sum()
    vertices = np.vstack([np.zeros(k), np.eye(k)])
    assert ((vertices - weights) @ gradient).min() >= -1e-7


def underconfident(rng, n_rows=400, slope=3.0):
    """Return probabilities whose log-odds are too small by a factor, labels and weights."""
    scores = rng.normal(size=(n_rows, 3))
    Y = rng.uniform(size=scores.shape) < expit(slope * scores - 0.5)
    return expit(scores), Y, rng.uniform(0.5, 1.5, size=n_rows)


def test_the_calibration_maximizes_the_likelihood(rng):
    proba, Y, weights = underconfident(rng)
    found = fit_calibration(proba, Y, weights, rng)
    x, in_rows = log_odds(proba), relative_weights(weights)

    def loss(parameters):
        slope, intercept = parameters
        scores = np.where(Y, -1, 1) * (slope * x + intercept)
        return in_rows @ np.log1p(np.exp(scores)).sum(axis=1) + slope**2 / 2

    expected = minimize(loss, [1.0, 0.0], tol=1e-10).x
    np.testing.assert_allclose([found.slope, found.intercept], expected, atol=1e-4)
    assert found.slope > 2
    assert fit_calibration(proba, Y, weights / 1e3, rng).slope == pytest.approx(found.slope)
    assert fit_calibration(*underconfident(rng, slope=-3.0), rng) is None
    finite = log_odds(np.array([0.0, 1e-6, 0.3, 0.5, 1 - 1e-6, 1.0]))
    assert np.isfinite(finite).all()
    assert (np.diff(finite) > 0).all()


def test_labels_without_error_are_learnt_as_well_as_by_a_forest(tmp_path, rng):
    """The forest's probabilities are far from 0 and 1, but in the right order."""
    X = rng.uniform(size=(1600, 20))
    Y = np.column_stack([X[:, i] > 0.5 + 0.1 * i for i in range(4)]).astype(int)
    clf = MendedClassifier(random_state=0).fit(X[:600], Y[:600])
    assert clf.base_weights_[FOREST] > 0.8
    assert clf.estimator_.calibrations[FOREST].slope > 2
    loss = dict(zip(*clf.base_search_.values(), strict=True))
    assert loss[FOREST] < 0.5 * loss[f"{FOREST}, not calibrated"]
    forest = RandomForestClassifier(random_state=0).fit(X[:600], Y[:600])
    errors = [(each.predict(X[600:]) != Y[600:]).mean() for each in (clf, forest)]
    assert errors[0] <= errors[1] + 0.002
    save_model(clf, tmp_path / "limits.model")
    again = load_model(tmp_path / "limits.model").estimator
    assert isinstance(again.estimator_.calibrations[FOREST], Calibration)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    noise = MendedClassifier(random_state=0).fit(X[:300], rng.rand(300, 2) < 0.5)
    assert not noise.estimator_.calibrations

"""Calibrations against a slow reference, and their use by MendedClassifier."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier

from pairmend import MendedClassifier
from pairmend.mended import base
from pairmend.mended.base import FOREST, Calibration, fit_calibration, log_odds
from pairmend.persistence import load_model, save_model


def underconfident(rng, n_rows=400, slope=3.0):
    """Return probabilities whose log-odds are too small by a factor, labels and weights."""
    scores = rng.normal(size=(n_rows, 3))
    Y = rng.uniform(size=scores.shape) < expit(slope * scores - 0.5)
    return expit(scores), Y, rng.uniform(0.5, 1.5, size=n_rows)


def limits(n_rows=600):
    """Labels that are limits of one feature each, of 20."""
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(n_rows, 20))
    return X, np.column_stack([X[:, i] > 0.5 + 0.1 * i for i in range(4)]).astype(int)


def test_log_odds_keep_the_order_and_are_finite():
    proba = np.array([0.0, 1e-6, 0.3, 0.5, 1 - 1e-6, 1.0])
    found = log_odds(proba)
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0).all()
    assert found[3] == pytest.approx(0)


def test_the_calibration_maximizes_the_likelihood(rng):
    proba, Y, weights = underconfident(rng)
    found = fit_calibration(proba, Y, weights, rng)
    x = log_odds(proba)
    in_rows = base.relative_weights(weights)

    def loss(parameters):
        slope, intercept = parameters
        losses = np.where(Y, np.log1p(np.exp(-slope * x - intercept)),
                          np.log1p(np.exp(slope * x + intercept)))  # fmt: skip
        return in_rows @ losses.sum(axis=1) + slope**2 / 2

    expected = minimize(loss, [1.0, 0.0], tol=1e-10).x
    np.testing.assert_allclose([found.slope, found.intercept], expected, atol=1e-4)
    assert found.slope > 2


def test_the_unit_of_weights_does_not_matter(rng):
    proba, Y, weights = underconfident(rng)
    first, second = (fit_calibration(proba, Y, weights * c, rng) for c in (1.0, 1e-3))
    assert first.slope == pytest.approx(second.slope, rel=1e-9)


def test_an_inverted_order_is_not_calibrated(rng):
    proba, Y, weights = underconfident(rng, slope=-3.0)
    assert fit_calibration(proba, Y, weights, rng) is None


def test_many_probabilities_are_drawn(rng, monkeypatch):
    proba, Y, weights = underconfident(rng, n_rows=3000)
    whole = fit_calibration(proba, Y, weights, rng)
    monkeypatch.setattr(base, "MAX_CELLS", 3000)
    part = fit_calibration(proba, Y, weights, rng)
    assert part.slope != whole.slope
    assert part.slope == pytest.approx(whole.slope, rel=0.2)


def test_labels_without_error_are_learnt_as_well_as_by_a_forest(tmp_path):
    """The forest's probabilities are far from 0 and 1, but in the right order."""
    X, Y = limits(1600)
    clf = MendedClassifier(random_state=0).fit(X[:600], Y[:600])
    assert clf.base_weights_[FOREST] > 0.8
    assert clf.estimator_.calibrations[FOREST].slope > 2
    names = clf.base_search_["classifier"].tolist()
    loss = dict(zip(names, clf.base_search_["loss"], strict=True))
    assert loss[FOREST] < 0.5 * loss[f"{FOREST}, not calibrated"]
    forest = RandomForestClassifier(random_state=0).fit(X[:600], Y[:600])
    errors = [(each.predict(X[600:]) != Y[600:]).mean() for each in (clf, forest)]
    assert errors[0] <= errors[1]
    parts = clf.estimator_.proba_by_classifier(X[:5])
    weighted = sum(clf.base_weights_[name] * proba for name, proba in parts.items())
    np.testing.assert_allclose(clf.estimator_.predict_proba(X[:5]), weighted, atol=1e-12)
    save_model(clf, tmp_path / "limits.model")
    again = load_model(tmp_path / "limits.model").estimator
    assert isinstance(again.estimator_.calibrations[FOREST], Calibration)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_noisy_labels_are_not_calibrated(rng):
    X = rng.normal(size=(300, 5))
    Y = (X[:, :3] + 2 * rng.normal(size=(300, 3)) > 0).astype(int)
    clf = MendedClassifier(random_state=0).fit(X, Y)
    assert dict(clf.estimator_.calibrations) == {}
    assert not any("calibrated" in name for name in clf.base_search_["classifier"])


def test_progress_names_calibrated_classifiers(capsys):
    MendedClassifier(random_state=0, verbose=True).fit(*limits(400))
    assert "forest (calibrated)" in capsys.readouterr().out

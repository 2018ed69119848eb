"""The base classifier that MendedClassifier(estimator="auto") chooses."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold

from pairmend import MendedClassifier, base_classifiers
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.mended import base
from pairmend.mended.base import FOREST, KERNEL, LINEAR, is_better
from pairmend.mended.corrector import fit_stacking_weights


@pytest.fixture(autouse=True)
def small_forest(monkeypatch):
    """Ten trees are enough here."""
    original = base.MultiLabelForest
    monkeypatch.setattr(
        base, "MultiLabelForest", lambda **params: original(n_estimators=10, **params)
    )


def linear_rows(n_rows=200):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_rows, 8))
    return X, (X @ rng.normal(size=(8, 3)) > 0).astype(int)


def wave_rows(n_rows=300):
    """Labels that depend smoothly on all features."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_rows, 4))
    waves = np.sin(X @ rng.normal(size=(4, 3)) * 2)
    return X, (rng.uniform(size=waves.shape) < (1 + waves) / 2).astype(int)


def box_rows(n_rows=300):
    """Labels that depend on two of twenty features, by limits."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(n_rows, 20))
    return X, np.column_stack([np.abs(X[:, 0]) < 0.5, np.abs(X[:, 1]) < 0.4]).astype(int)


def mixed_rows(n_rows=400):
    """Labels of both kinds: linear functions of all features, and limits of one."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(n_rows, 20))
    linear = X @ rng.normal(size=(20, 2)) > 0
    return X, np.column_stack([linear, np.abs(X[:, :2]) < 0.5]).astype(int)


def test_each_kind_of_data_gets_its_classifier():
    def weights(rows):
        return MendedClassifier(random_state=0).fit(*rows).base_weights_

    assert weights(linear_rows()).keys() == {LINEAR}
    assert weights(box_rows()).keys() == {FOREST}
    assert weights(wave_rows()).keys() == {KERNEL}
    assert weights(mixed_rows()).keys() == {LINEAR, FOREST}


def test_probabilities_are_the_weighted_sum():
    X, Y = mixed_rows()
    clf = MendedClassifier(random_state=0).fit(X, Y)
    by_name = clf.estimator_.estimators
    expected = sum(w * by_name[name].predict_proba(X) for name, w in clf.base_weights_.items())
    np.testing.assert_allclose(clf.estimator_.predict_proba(X), expected, atol=1e-12)
    assert sum(clf.base_weights_.values()) <= 1 + 1e-12


def test_weights_minimize_the_squared_error():
    X, Y = mixed_rows()
    clf = MendedClassifier(random_state=0).fit(X, Y)
    losses = dict(zip(*clf.base_search_.values(), strict=True))
    both = losses["logistic_regression + forest"]
    assert both < min(losses["logistic_regression"], losses["forest"])
    assert sum("(trial)" in name for name in losses) == 2


def test_classifiers_that_are_not_used_are_not_fitted_on_all_rows(monkeypatch):
    fitted_on = []
    original = base_classifiers.fit_logistic

    def recorded(X, *args, **kwargs):
        fitted_on.append(len(X))
        return original(X, *args, **kwargs)

    monkeypatch.setattr(base_classifiers, "fit_logistic", recorded)
    X, Y = box_rows()
    clf = MendedClassifier(random_state=0).fit(X, Y)
    assert clf.estimator_.estimators.keys() == {FOREST}
    assert max(fitted_on) < len(X)
    fitted_on.clear()
    X, Y = linear_rows()
    assert MendedClassifier(random_state=0).fit(X, Y).estimator_.estimators.keys() == {LINEAR}
    assert max(fitted_on) == len(X)


def test_forest_is_grown_once_unless_splits_are_given(monkeypatch):
    grown = []
    original = base.MultiLabelForest
    X, Y = mixed_rows(150)
    groups = np.arange(150) // 2

    def counted(**params):
        forest = original(**params)
        own = type(forest).fit_out_of_bag
        monkeypatch.setattr(
            type(forest),
            "fit_out_of_bag",
            lambda self, X, *args, **kwargs: (grown.append(len(X)), own(self, X, *args, **kwargs))[
                1
            ],
        )
        monkeypatch.setattr(base, "MultiLabelForest", original)
        return forest

    monkeypatch.setattr(base, "MultiLabelForest", counted)
    MendedClassifier(random_state=0).fit(X, Y)
    assert grown == [150]
    grown.clear()
    splits = list(GroupKFold(3).split(X, Y, groups))
    MendedClassifier(cv=splits, random_state=0).fit(X, Y)
    assert grown[:3] == [100, 100, 100]


@pytest.mark.parametrize(("noise", "C"), [(0.0, 10.0), (1.0, 1.0)])
def test_penalty_suits_the_data(noise, C):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 8))
    Y = X @ rng.normal(size=(8, 3)) + noise * rng.normal(size=(200, 3)) > 0
    clf = MendedClassifier(random_state=0).fit(X, Y.astype(int))
    assert {model.C for model in clf.estimator_.estimators[LINEAR].models_} == {C}


def test_is_better_needs_a_standard_error_and_half_a_percent():
    rng = np.random.RandomState(0)
    ones = np.ones(100)
    errors = rng.uniform(1, 2, size=100)
    assert is_better(errors * 0.98, errors, ones)
    assert not is_better(errors * 0.997, errors, ones)  # less than 0.5 %
    noise = rng.normal(size=100)
    noise -= noise.mean()
    assert not is_better(errors - 0.05, errors + 2 * noise, ones)  # less than one standard error
    assert not is_better(errors, errors, ones)
    # A weight of 2 counts as two equal rows do in the mean.
    weights = rng.randint(1, 3, size=100).astype(float)
    shares = weights / weights.sum()
    difference = 0.02 * errors + 0.1 * noise
    expected = shares @ difference > max(
        np.sqrt(shares**2 @ (difference - shares @ difference) ** 2), 0.005 * (shares @ errors)
    )
    assert is_better(errors - difference, errors, weights) == expected


def test_stacking_weights_are_those_of_least_squares():
    rng = np.random.RandomState(0)
    Y = rng.uniform(size=(50, 3)) < 0.4
    parts = {LINEAR: rng.uniform(size=Y.shape), FOREST: np.clip(Y + rng.normal(size=Y.shape), 0, 1)}
    found = fit_stacking_weights(parts, Y, np.ones(50))
    grid = [
        (np.mean((a * parts[LINEAR] + b * parts[FOREST] - Y) ** 2), a, b)
        for a in np.linspace(0, 1, 51)
        for b in np.linspace(0, 1 - a, 51)
    ]
    _, a, b = min(grid)
    assert found[LINEAR] == pytest.approx(a, abs=0.03)
    assert found[FOREST] == pytest.approx(b, abs=0.03)


@pytest.mark.parametrize("kind", ["sparse", "frame", "nan", "classes", "weights", "one label"])
def test_all_kinds_of_input(kind):
    X, Y = make_multilabel_classification(120, n_features=6, n_classes=3, random_state=0)
    params, expected = {}, (120, 3)
    if kind == "sparse":
        X = sparse.csr_array(X)
    elif kind == "frame":
        X = pd.DataFrame(X, columns=list("abcdef"))
        X["place"] = np.where(Y[:, 0] == 1, "coast", "town")
    elif kind == "nan":
        X[::7, 2] = np.nan
    elif kind == "classes":
        Y = np.array(["x", "y", "z"])[np.arange(120) % 3]
    elif kind == "weights":
        params["sample_weight"] = np.r_[np.zeros(10), np.ones(110)]
    else:
        Y, expected = Y[:, :1], (120, 1)
    clf = MendedClassifier(cv=3, random_state=0).fit(X, Y, **params)
    assert clf.predict_proba(X).shape == expected
    assert clf.base_weights_.keys() <= {LINEAR, FOREST, KERNEL}


def test_rows_of_weight_zero_have_no_effect():
    X, Y = mixed_rows(160)
    weights = np.r_[np.ones(140), np.zeros(20)]
    one = MendedClassifier(random_state=0).fit(X, Y, sample_weight=weights)
    changed_X, changed_Y = X.copy(), Y.copy()
    changed_X[140:], changed_Y[140:] = 7, 1
    two = MendedClassifier(random_state=0).fit(changed_X, changed_Y, sample_weight=weights)
    np.testing.assert_array_equal(one.predict_proba(X[:50]), two.predict_proba(X[:50]))


def test_steps_of_an_explanation_add_up():
    X, Y = mixed_rows()
    clf = MendedClassifier(random_state=0).fit(X, Y)
    assert clf.base_weights_.keys() == {LINEAR, FOREST}
    before, after = clf.estimator_.predict_proba(X[:3]), clf.predict_proba(X[:3])
    for row, explanation in enumerate(clf.explain(X[:3])):
        for k, label in enumerate(explanation.labels):
            names = [step.name for step in label.steps]
            assert names[:2] == [f"uncorrected ({LINEAR})", f"uncorrected ({FOREST})"]
            assert sum(step.before for step in label.steps) == pytest.approx(before[row, k])
            assert sum(step.after for step in label.steps) == pytest.approx(after[row, k])


def test_given_classifiers_have_the_weight_one():
    X, Y = linear_rows(100)
    clf = MendedClassifier(RandomForestClassifier(5, random_state=0), cv=2).fit(X, Y)
    assert clf.base_weights_ == {"RandomForestClassifier": 1.0}
    assert len(clf.base_search_["loss"]) == 0


def test_nested_parameters_replace_auto_by_the_logistic_regression():
    clf = MendedClassifier().set_params(estimator__C=3.0)
    assert type(clf.estimator) is ScaledLogisticRegression
    assert clf.estimator.C == 3.0
    X, Y = linear_rows(80)
    search = GridSearchCV(MendedClassifier(cv=2), {"estimator__C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert type(search.best_estimator_.estimator) is ScaledLogisticRegression


@pytest.mark.parametrize("name", ["automatic", "AUTO"])
def test_other_texts_are_refused(name):
    with pytest.raises(ValueError, match="'estimator' parameter of MendedClassifier must be"):
        MendedClassifier(name).fit(*linear_rows(40))


def test_splits_without_rows_are_refused():
    X, Y = linear_rows(80)
    with pytest.raises(ValueError, match="n_samples = 0 in the test parts of the splits"):
        MendedClassifier(cv=[]).fit(X, Y)
    with pytest.raises(ValueError, match="A split of cv has no training rows of positive weight"):
        MendedClassifier(cv=KFold(3)).fit(
            X[:60], Y[:60], sample_weight=np.r_[np.zeros(20), np.ones(20), np.zeros(20)]
        )


def test_a_failed_set_params_changes_nothing():
    clf = MendedClassifier()
    with pytest.raises(ValueError, match="Invalid parameter 'foo'"):
        clf.set_params(estimator__foo=1)
    assert clf.estimator == "auto"


def test_sparse_rows_are_not_changed():
    X, Y = make_multilabel_classification(100, n_features=8, n_classes=3, random_state=0)
    rows = sparse.csr_matrix(X)[:, np.arange(8)[::-1]]
    before = rows.toarray()
    MendedClassifier(cv=2, random_state=0).fit(rows, Y)
    np.testing.assert_array_equal(rows.toarray(), before)

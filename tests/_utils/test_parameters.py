"""Parameters of all public classifiers: what acts after fit, what does not, default objects."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC

import classifier_checks
from pairmend import GlobalNeighbourhood, MendedClassifier
from pairmend.thresholds import F1Thresholds, FixedThreshold, NeverEmpty, TopLabels
from public_classifiers import CLASSIFIERS, QUICK, data_for, made, rows

NESTED = NeverEmpty(FixedThreshold(0.5))

every = pytest.mark.parametrize("name", CLASSIFIERS)
with_default_base = pytest.mark.parametrize(
    "name",
    [
        name
        for name, kind in CLASSIFIERS.items()
        if "estimator" in (parameters := inspect.signature(kind).parameters)
        and parameters["estimator"].default is None
    ],
)


def outputs(clf, X):
    return [clf.predict(X), *classifier_checks.outputs(clf, X)]


def assert_same_outputs(first, second, about):
    for found, expected in zip(first, second, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=str(about))


# Other values of the parameters that act at prediction, all tried one after another.
AT_PREDICTION = {
    "voting": ["soft", "votes"],
    "threshold": [0.3, 0.6],
    "candidate_threshold": [0.6],
    "balance": ["pairs", "labels"],
    "overlap": [0.5],
    "weighting": ["information"],
    "prior": [0.5],
    "pair_weight": [0.9],
    "criterion": ["macro_f1", "micro_f1", make_scorer(f1_score, average="micro"), "zero_one"],
    "decision": ["labels", "sets", "auto"],
}


@every
def test_parameters_of_prediction_equal_those_of_a_new_fit(name):
    X, y = data_for(name)
    clf = made(name).fit(X, y)
    for parameter in getattr(clf, "prediction_parameters", ()):
        for value in AT_PREDICTION[parameter]:
            clf.set_params(**{parameter: value})
            expected = outputs(clone(clf).fit(X, y), X)
            assert_same_outputs(outputs(clf, X), expected, f"{parameter}={value!r}")
        clf.set_params(**{parameter: "unknown"})
        message = f"'{parameter}' parameter of|{parameter}='unknown'"
        with pytest.raises(ValueError, match=message):
            clf.predict(X)
        if parameter != "criterion":  # on which probabilities do not depend
            with pytest.raises(ValueError, match=message):
                clf.predict_proba(X)
        clf.set_params(**{parameter: value})


def test_parameters_of_decisions_take_effect_after_fit():
    """Each change is compared with a new fit, in a row of changes."""
    X, Y = rows()
    changes = [
        {"threshold": clone(NESTED)},
        {"threshold__threshold__value": 0.95},
        {"threshold": F1Thresholds("micro")},
        {"threshold__shrinkage": 5.0, "threshold__average": "macro"},
        {"decision": "sets", "threshold": "auto"},
        {"decision": "auto", "criterion": "zero_one"},
        {"threshold": TopLabels(2), "decision": "labels"},
        {"threshold__k": 1},
        {"threshold": "auto", "criterion": "macro_f1"},
    ]
    clf = MendedClassifier(GaussianNB(), random_state=0, **QUICK).fit(X, Y)
    seen = set()
    for change in changes:
        clf.set_params(**change)
        fresh = clone(clf).fit(X, Y)
        assert_same_outputs(outputs(clf, X), outputs(fresh, X), change)
        for attribute in ("decision_", "label_set_weights_", "threshold_"):
            assert repr(getattr(clf, attribute)) == repr(getattr(fresh, attribute)), change
        assert list(map(str, clf.explain(X[:2]))) == list(map(str, fresh.explain(X[:2])))
        seen.add(clf.predict(X).sum())
    assert len(seen) > 4  # the changes do change something


# Other valid values of all parameters that need a new fit, nested ones by their last name.
AT_FIT = {
    "C": 7.0, "average": True, "beta": 5.0, "calibration_label": [True, False],
    "categorical": None, "cv": KFold(3), "decay": 0.5,
    "dtype": "float32", "estimator": [SVC(), Perceptron(), GaussianNB()], "fit_intercept": False,
    "max_landmarks": 10, "k": 2, "max_iter": 3, "max_samples": 0.3,
    "metric": "manhattan", "n_chains": 3, "n_jobs": 2, "n_models": 3, "n_neighbors": 3,
    "n_subspaces": 3, "neighbourhood": GlobalNeighbourhood(), "random_state": 7,
    "reference": "crisp", "s": 3.0, "scale": [None, "range"], "scaling": "log_odds",
    "shrinkage": 3.0, "shuffle": False, "subspace": 0.9, "threshold": 0.9, "tol": 0.5,
    "transform": np.log1p, "transformer": MaxAbsScaler(), "validation": 3, "verbose": True,
}  # fmt: skip


@every
def test_other_parameters_change_nothing_after_fit(name):
    X, y = data_for(name)
    fitted = made(name).fit(X, y)
    before = outputs(fitted, X)
    acting = getattr(fitted, "prediction_parameters", ())
    for parameter in fitted.get_params(deep=True):
        outer, last = parameter.partition("__")[0], parameter.rpartition("__")[2]
        if outer in acting or parameter.startswith("estimator__estimator__"):
            continue
        values = AT_FIT[last]
        for value in values if isinstance(values, list) else [values]:
            fitted.set_params(**{parameter: value})
            assert_same_outputs(outputs(fitted, X), before, f"{parameter}={value!r}")
        fitted.set_params(**made(name).get_params(deep=False))
    assert_same_outputs(outputs(fitted, X), before, "as before")


@with_default_base
def test_default_objects_follow_the_conventions_of_parameters(name):
    X, y = data_for(name)
    clf = made(name)
    shallow, deep = clf.get_params(deep=False), clf.get_params()
    assert shallow.items() <= deep.items()
    assert shallow["estimator"] is None
    assert clone(clf).get_params() == deep
    # All values of the defaults, set one by one, are the defaults; another value is another fit.
    default = outputs(clone(clf).fit(X, y), X)
    again = clone(clf).set_params(**deep)
    assert_same_outputs(outputs(again.fit(X, y), X), default, "set by set_params")
    for parameter, value in {"estimator__n_subspaces": 1, "neighbourhood__beta": 9.0}.items():
        if parameter in deep or parameter.startswith("estimator"):
            search = GridSearchCV(clf, {parameter: [value]}, cv=2).fit(X, y)
            assert search.best_estimator_.get_params()[parameter] == value
            searched = outputs(search.best_estimator_, X)
            assert any((a != b).any() for a, b in zip(searched, default, strict=True))
    assert clf.get_params(deep=False) == shallow
    given = clone(clf).set_params(estimator=LogisticRegression(), estimator__C=3.0)
    assert given.estimator.C == 3.0
    for unknown in ("estimator__nonsense", "nonsense__C"):
        with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
            clone(clf).set_params(**{unknown: 1})

"""Every public classifier on values at the limits of floating point: probabilities or an error."""

import inspect
import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import pairmend
import pairmend.baselines
from pairmend import BinaryRelevance, MLkNN, PairwisePerceptrons, RandomSubspaceNB

MULTICLASS = {"CorrectedMulticlassClassifier", "RandomSubspaceNB"}
"""Classifiers of 1-D classes only."""


def _public_classifiers():
    for module in (pairmend, pairmend.baselines):
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isclass(found) and hasattr(found, "fit") and hasattr(found, "predict"):
                yield name, found


CLASSIFIERS = dict(_public_classifiers())


def _make(name):
    cls = CLASSIFIERS[name]
    params = inspect.signature(cls).parameters
    given = {"random_state": 0} if "random_state" in params else {}
    if name == "ThresholdedClassifier":
        return cls(BinaryRelevance(random_state=0))
    return cls(**given)


@cache
def _data():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3, X[:, 2] + X[:, 3] > 0]).astype(int)
    return X, Y


def _scaled_to(largest):
    X, _ = _data()
    return X / np.abs(X).max() * largest


def _one_huge():
    X = _data()[0].copy()
    X[-1] = 1e308
    return X


def _mixed(large, small):
    X = _data()[0] * [large, small, 1e-320, 0.0]
    X[:, 3] = large
    return X


TRAINING = {
    "1e99": lambda: _scaled_to(1e99),
    "1e155": lambda: _scaled_to(1e155),
    "signed maximum": lambda: np.sign(_data()[0]) * np.finfo(float).max,
    "one huge row": _one_huge,
    "1e-300": lambda: _scaled_to(1e-300),
    "denormal": lambda: _scaled_to(1e-320),
    "zeros": lambda: np.zeros((60, 4)),
    "constant": lambda: np.full((60, 4), 1e300),
    "mixed": lambda: _mixed(1e99, 1e-99),
    "mixed, too large": lambda: _mixed(1e300, 1e-300),
    "large offset": lambda: _data()[0] * 1e-8 + 1e15,
}
SPARSE_TRAINING = ("1e99", "signed maximum", "denormal", "zeros", "mixed")
"""Training rows that are also fitted in sparse form."""
QUERIES = {
    "1e99": lambda: _scaled_to(1e99),
    "1e300": lambda: _scaled_to(1e300),
    "maximum": lambda: _scaled_to(np.finfo(float).max),
    "denormal": lambda: _scaled_to(1e-320),
}


def _check_probabilities_or_error(classifier, X, y, queries, **fit_params):
    """Fit and predict: probabilities, or an error with advice; no warning of numpy."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            classifier.fit(X, y, **fit_params)
        except ValueError as error:
            if "expected at most" not in str(error):
                raise
            return
        for rows in queries:
            try:
                proba, predicted = classifier.predict_proba(rows), classifier.predict(rows)
            except ValueError as error:
                if "expected at most" not in str(error):
                    raise
                continue
            assert ((proba >= 0) & (proba <= 1)).all()
            assert len(predicted) == rows.shape[0]


@pytest.mark.parametrize(
    ("training", "layout"),
    [(name, np.asarray) for name in TRAINING]
    + [(name, sparse.csr_array) for name in SPARSE_TRAINING],
)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_extreme_training_rows(name, training, layout):
    X, y = TRAINING[training](), _data()[1]
    if name in MULTICLASS:
        y = y.sum(axis=1)
    _check_probabilities_or_error(_make(name), layout(X), y, [layout(X)])


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_extreme_queries(name, layout):
    y = _data()[1].sum(axis=1) if name in MULTICLASS else _data()[1]
    queries = [layout(make()) for make in QUERIES.values()]
    for X in (_data()[0], _mixed(1e99, 1e-99)):
        _check_probabilities_or_error(_make(name), layout(X), y, queries)


def test_error_names_value_limit_and_advice():
    X, Y = _data()
    with pytest.raises(ValueError, match=r"magnitude 3e\+200; expected at most 1e\+100.*MaxAbs"):
        BinaryRelevance().fit(np.where(X > 2, 3e200, X), Y)
    fitted = MLkNN().fit(X, Y)
    with pytest.raises(ValueError, match="expected at most"):
        fitted.predict(X * 1e300)


def test_infinities_are_reported_as_such():
    X, Y = _data()
    for classifier in (MLkNN(), BinaryRelevance(LogisticRegression())):
        with pytest.raises(ValueError, match="infinity"):
            classifier.fit(np.where(X > 2, np.inf, X), Y)


def test_single_precision_has_another_limit():
    X, Y = _data()
    with pytest.raises(ValueError, match=r"at most 1e\+15"):
        PairwisePerceptrons(dtype="float32").fit(_scaled_to(1e30), Y)
    assert np.isfinite(PairwisePerceptrons(dtype="float32").fit(X, Y).predict_proba(X)).all()


def test_values_missing_beside_large_ones():
    X, Y = _data()
    X = np.where(X > 1, np.nan, X * 1e90)
    proba = BinaryRelevance(RandomSubspaceNB(random_state=0)).fit(X, Y).predict_proba(X)
    assert np.isfinite(proba).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_base_classifier_without_probabilities_is_named():
    X, Y = _data()
    fitted = BinaryRelevance(GaussianNB()).fit(np.zeros_like(X), Y)  # no variance at all
    with pytest.raises(ValueError, match="GaussianNB must give.*120 values NaN"):
        fitted.predict(X)

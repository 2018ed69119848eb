"""Every public classifier on values at the limits of floating point: probabilities or an error."""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from pairmend import RandomSubspaceNB
from pairmend.baselines import BinaryRelevance, MLkNN
from pairmend.pairwise import PairwisePerceptrons
from public_classifiers import CLASSIFIERS, ONE_DIMENSIONAL, made

every = pytest.mark.parametrize("name", CLASSIFIERS)


@cache
def _data():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3, X[:, 2] + X[:, 3] > 0]).astype(int)
    return X, Y


def _scaled_to(largest):
    X, _ = _data()
    return X / np.abs(X).max() * largest


def _mixed(large, small):
    X = _data()[0] * [large, small, 1e-320, 0.0]
    X[:, 3] = large
    return X


TRAINING = {
    "1e99": lambda: _scaled_to(1e99),
    "1e155": lambda: _scaled_to(1e155),
    "signed maximum": lambda: np.sign(_data()[0]) * np.finfo(float).max,
    "one huge row": lambda: np.vstack([_data()[0][:-1], np.full((1, 4), 1e308)]),
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


def _target(name):
    Y = _data()[1]
    return Y.sum(axis=1) if name in ONE_DIMENSIONAL else Y


def _raises_advice(function, *rows):
    """Call a function; return whether it raises an error on large values, with advice."""
    try:
        function(*rows)
    except ValueError as error:
        if "expected at most" not in str(error):
            raise
        return True
    return False


def _check_probabilities_or_error(name, X, queries):
    """Fit and predict: probabilities, or an error with advice; no warning of numpy."""
    classifier = made(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        if _raises_advice(classifier.fit, X, _target(name)):
            return
        for rows in queries:
            if not _raises_advice(classifier.predict_proba, rows):
                proba = classifier.predict_proba(rows)
                assert ((proba >= 0) & (proba <= 1)).all()
                assert len(classifier.predict(rows)) == rows.shape[0]


@every
@pytest.mark.parametrize("training", TRAINING)
def test_extreme_training_rows(training, name):
    X = TRAINING[training]()
    for layout in (np.asarray, sparse.csr_array) if training in SPARSE_TRAINING else (np.asarray,):
        _check_probabilities_or_error(name, layout(X), [layout(X)])


@every
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_extreme_queries(layout, name):
    queries = [layout(make()) for make in QUERIES.values()]
    for X in (_data()[0], _mixed(1e99, 1e-99)):
        _check_probabilities_or_error(name, layout(X), queries)


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

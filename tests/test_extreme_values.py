"""Every public classifier on values at the limits of floating point: probabilities or an error."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from pairmend.baselines import BinaryRelevance
from public_classifiers import CLASSIFIERS, ONE_DIMENSIONAL, made

every = pytest.mark.parametrize("name", CLASSIFIERS)
MAXIMUM = np.finfo(float).max
X = np.random.RandomState(0).normal(size=(60, 4))
Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.3, X[:, 2] + X[:, 3] > 0]).astype(int)


def scaled_to(largest):
    return X / np.abs(X).max() * largest


def mixed(large, small):
    return np.column_stack([X[:, :3] * [large, small, 1e-320], np.full(60, large)])


TRAINING = {
    "plain": X,
    "1e99": scaled_to(1e99),
    "signed maximum": np.sign(X) * MAXIMUM,
    "denormal": scaled_to(1e-320),
    "zeros": np.zeros((60, 4)),
    "mixed": mixed(1e99, 1e-99),
    "large offset": X * 1e-8 + 1e15,
}
QUERIES = [scaled_to(largest) for largest in (1e99, 1e300, MAXIMUM, 1e-320)]


def raises_advice(function, *rows):
    """Call a function; return whether it raises an error on large values, with advice."""
    try:
        function(*rows)
    except ValueError as error:
        if "expected at most" not in str(error):
            raise
        return True
    return False


def check_probabilities_or_error(name, rows, queries):
    """Fit and predict: probabilities, or an error with advice; no warning of numpy."""
    classifier = made(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        if raises_advice(classifier.fit, rows, Y.sum(axis=1) if name in ONE_DIMENSIONAL else Y):
            return
        for new in queries:
            if not raises_advice(classifier.predict_proba, new):
                proba = classifier.predict_proba(new)
                assert ((proba >= 0) & (proba <= 1)).all()
                assert len(classifier.predict(new)) == new.shape[0]


@every
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("training", TRAINING)
def test_extreme_rows(training, layout, name):
    rows = layout(TRAINING[training])
    queries = [layout(new) for new in QUERIES] if training in ("plain", "mixed") else []
    check_probabilities_or_error(name, rows, [rows, *queries])


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - set(ONE_DIMENSIONAL)))
@pytest.mark.filterwarnings("ignore")
def test_degenerate_sets(name):
    """Few or equal rows, constant labels, weights far apart: an error or valid predictions."""
    rng = np.random.RandomState(0)
    for n_rows, n_features, n_labels in itertools.product((1, 2, 20), (1, 3), (1, 3)):
        rows = rng.normal(size=(n_rows, n_features)) * rng.choice([0, 1, 1e6])
        labels = (rng.rand(n_rows, n_labels) < rng.choice([0, 0.2, 0.8, 1])).astype(int)
        weights = {"sample_weight": rng.choice([0, 1, 1e-300, 1e300], n_rows)}
        try:
            fitted = made(name).fit(rows, labels, **(weights if rng.rand() < 0.3 else {}))
        except (ValueError, TypeError):
            continue
        predicted, proba = fitted.predict(rows), fitted.predict_proba(rows)
        assert predicted.shape == proba.shape == labels.shape
        assert ((proba >= 0) & (proba <= 1)).all()
        assert set(np.unique(predicted)) <= {0, 1}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("classifier", "rows", "new", "message"),
    [
        (BinaryRelevance(), np.where(X > 2, 3e200, X), X,
         r"magnitude 3e\+200; expected at most 1e\+100.*MaxAbs"),
        (BinaryRelevance(LogisticRegression()), np.where(X > 2, np.inf, X), X, "infinity"),
        # no variance at all
        (BinaryRelevance(GaussianNB()), X * 0, X, "GaussianNB must give.*120 values NaN"),
    ],
)  # fmt: skip
def test_what_errors_name(classifier, rows, new, message):
    with pytest.raises(ValueError, match=message):
        classifier.fit(rows, Y).predict(new)

"""Errors for bad input: what was found, what was expected and what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from pairmend import (
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    PairwiseClassifier,
)

X = np.random.RandomState(0).rand(20, 3)
Y = (np.random.RandomState(1).rand(20, 3) < 0.5).astype(int)
both = pytest.mark.parametrize("kind", [PairwiseClassifier, CorrectedPairwiseClassifier])


@both
@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Y + 1, "must hold 0 and 1 only, but row ., column . is 2.*pass a 1-D y"),
        (np.where(Y == 1, 0.5, Y), "must hold 0 and 1 only.*0.5"),
        (np.where(Y == 1, np.nan, Y), "contains NaN"),
        (Y.astype(str), "must hold 0 and 1 only"),
        (Y[:, :1], "one label only.*y.ravel()"),
        (Y[:, :0], "y has no labels"),
        (Y[:19], "inconsistent numbers of samples: .20, 19"),
        (np.zeros((20, 3, 2)), "3 dimensions"),
        (None, "requires y"),
        (np.ones(20), "one class only.*at least two classes"),
        (np.linspace(0, 1, 20), "Unknown label type"),
        (sparse.csr_array(Y * 3), "must hold 0 and 1 only"),
        (pd.DataFrame({"a": ["yes", "no"] * 10, "b": 0}), r"\(y\[column\] == 'yes'\).astype\(int"),
        (np.where(Y, "yes", "no"), r"is '(yes|no)'.*\(y == 'yes'\).astype\(int\)\.$"),
        (np.where(Y, "True", "False").astype(object), r"\(y == 'True'\).astype\(int\)\.$"),
        (np.where(Y, "b", "a"), r"\(y == text\).astype\(int\)\.$"),
        (np.array([["sea", "sun"], ["sea", "sky"]] * 10), r"MultiLabelBinarizer.*\(y == text\)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_targets(kind, target, message):
    with pytest.raises(ValueError, match=message):
        kind(GaussianNB()).fit(X, target)


@both
def test_rows(kind):
    with pytest.raises(ValueError, match="0 sample"):
        kind(GaussianNB()).fit(X[:0], Y[:0])
    with pytest.raises(ValueError, match="Expected 2D array"):
        kind(GaussianNB()).fit(X[:, 0], Y)
    with pytest.raises(ValueError, match=r"NaN(.|\n)*GaussianNB"):
        kind(GaussianNB()).fit(np.where(X > 0.5, np.nan, X), Y)
    fitted = kind(GaussianNB()).fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 3"):
        fitted.predict(X[:, :2])
    with pytest.raises(ValueError, match="Reshape your data"):
        fitted.predict(X[0])
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(np.full((1, 3), np.nan))
    with pytest.raises(ValueError, match="0 sample"):
        fitted.predict(X[:0])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    framed = kind(GaussianNB()).fit(frame, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        framed.predict(frame[["c", "b", "a"]])


@both
def test_base_classifiers(kind):
    with pytest.raises(ValueError, match=r"LinearSVC has no predict_proba.*CalibratedClassifierCV"):
        kind(LinearSVC()).fit(X, Y)
    with pytest.raises(ValueError, match="'estimator' parameter"):
        kind("svm").fit(X, Y)
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        kind(KNeighborsClassifier()).fit(X, Y, sample_weight=np.ones(20))
    with pytest.raises(ValueError, match="[Nn]egative"):
        kind(GaussianNB()).fit(X, Y, sample_weight=-np.ones(20))
    with pytest.raises(ValueError, match="shape"):
        kind(GaussianNB()).fit(X, Y, sample_weight=np.ones(7))
    with pytest.raises(TypeError, match="colour"):
        kind(GaussianNB()).fit(X, Y, colour="red")


@both
def test_a_failing_pair_is_named(kind):
    class Fragile(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("cannot")

    with pytest.raises(RuntimeError) as caught:
        kind(Fragile()).fit(X, Y)
    assert "training the pair of labels number 0 and 1 on" in caught.value.__notes__[0]


@both
def test_probabilities_that_are_not_finite(kind):
    class Lost(LogisticRegression):
        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    with pytest.raises(ValueError, match="Lost must give a column of probabilities"):
        kind(Lost()).fit(X, Y).predict(X)


@both
@pytest.mark.parametrize(
    ("name", "value"),
    [("voting", "loud"), ("threshold", 1.5), ("n_jobs", "many"), ("random_state", -1)],
)
def test_parameters(kind, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of {kind.__name__}"):
        kind(**{name: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("balance", "both"),
        ("overlap", -0.1),
        ("overlap", 1.1),
        ("validation", 0.0),
        ("validation", 1.0),
        ("validation", 1),
        ("reference", "gamma"),
        ("neighbourhood", "near"),
    ],
)
def test_parameters_of_the_correction(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of CorrectedPairwiseClassifier"):
        CorrectedPairwiseClassifier(**{name: value}).fit(X, Y)


def test_invalid_splits():
    with pytest.raises(ValueError, match="leaves the validation part of 20 .* empty"):
        CorrectedPairwiseClassifier(validation=0.99).fit(X, Y)
    with pytest.raises(ValueError, match="leaves the training part of 20 .* empty"):
        CorrectedPairwiseClassifier(validation=0.01).fit(X, Y)
    with pytest.raises(ValueError, match="n_splits=21 greater than .* n_samples=20"):
        CorrectedPairwiseClassifier(validation=21).fit(X, Y)


def test_beta_must_be_positive():
    with pytest.raises(ValueError, match="'beta' parameter of GaussianNeighbourhood"):
        CorrectedPairwiseClassifier(neighbourhood=GaussianNeighbourhood(0.0)).fit(X, Y)


@both
@pytest.mark.parametrize(("name", "value"), [("voting", "loud"), ("threshold", 7.0)])
def test_parameters_set_after_fit(kind, name, value):
    clf = kind(GaussianNB()).fit(X, Y).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        clf.predict(X)


@pytest.mark.parametrize(("name", "value"), [("balance", "label"), ("overlap", 5.0)])
def test_parameters_of_the_correction_set_after_fit(name, value):
    clf = CorrectedPairwiseClassifier(GaussianNB()).fit(X, Y).set_params(**{name: value})
    for method in (clf.predict, clf.confusion, clf.pair_corrected):
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            method(X)


@both
def test_targets_of_nullable_numbers(kind):
    frame = pd.DataFrame(Y).astype("Int64")
    np.testing.assert_array_equal(
        kind(GaussianNB(), random_state=0).fit(X, frame).predict(X),
        kind(GaussianNB(), random_state=0).fit(X, Y).predict(X),
    )
    frame.iloc[3, 1] = pd.NA
    with pytest.raises(ValueError, match="row 3, column 1 is <NA>"):
        kind(GaussianNB()).fit(X, frame)


class Fixed:
    """A neighbourhood that is not a scikit-learn estimator, with fixed weights."""

    def __init__(self, make):
        self.make = make

    def fit(self, X, y=None):
        self.n = len(X)
        return self

    def weights(self, X):
        return self.make(len(X), self.n)


def test_weights_of_a_custom_neighbourhood():
    def fit(make):
        neighbourhood = Fixed(make)
        return CorrectedPairwiseClassifier(
            GaussianNB(), neighbourhood=neighbourhood, random_state=0
        ).fit(X, Y)

    expected = fit(lambda t, m: np.tile(np.arange(m) % 2 * 1.0, (t, 1))).predict_proba(X)
    for dtype in (int, bool, np.float16):
        given = fit(lambda t, m, d=dtype: np.tile((np.arange(m) % 2).astype(d), (t, 1)))
        np.testing.assert_allclose(given.predict_proba(X), expected, atol=1e-6)
    as_lists = fit(lambda t, m: [[float(k % 2) for k in range(m)]] * t)
    np.testing.assert_allclose(as_lists.predict_proba(X), expected)
    nothing = fit(lambda t, m: np.zeros((t, m)))
    assert not nothing.confusion(X).any()
    for make, message in (
        (lambda t, m: np.ones((t, m - 1)), r"shape \(20, 7\); expected \(20, 8\)"),
        (lambda t, m: np.full((t, m), np.nan), "negative or not finite"),
        (lambda t, m: -np.ones((t, m)), "negative or not finite"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(make).predict(X)


@both
def test_not_fitted(kind):
    with pytest.raises(NotFittedError):
        kind().predict(X)

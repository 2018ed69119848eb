"""ScaledLogisticRegression against the pipeline that it equals; one classifier per label.

Of these preprocessing is shared, and nothing else changes.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pairmend._utils.training import relative_weights
from pairmend.base_classifiers import DenseScaler, ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance

RNG = np.random.RandomState(0)
X = RNG.normal(3.0, [1.0, 1e3, 1e-3, 1.0], size=(60, 4))
Y = (np.column_stack([X[:, 0] > 3, X[:, 1] > 500, X[:, 2] + 0.1 * X[:, 3] > 3.3]) > 0).astype(int)
Y[RNG.rand(60, 3) < 0.1] ^= 1
WITH_NAN = np.where(RNG.rand(60, 4) < 0.1, np.nan, X)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(place=np.where(X[:, 0] > 2, "sea", "town"))
TEXTS = np.array([" ".join(np.array(["red", "blue", "sun"])[RNG.randint(3, size=4)]) for _ in X])
COLUMNS = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), list("abcd")), (OneHotEncoder(), ["place"])
)
LOG_LOSS = SGDClassifier(loss="log_loss", random_state=0)
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_equals_the_pipeline(weighted, layout):
    own, y = layout(X), Y @ [1, 2, 0]
    weights = relative_weights(np.linspace(0.0, 3.0, 60)) if weighted else None
    params = {"C": 0.3, "max_iter": 700}
    given = {f"{step}__sample_weight": weights for step in ("densescaler", "logisticregression")}
    pipeline = make_pipeline(DenseScaler(), LogisticRegression(**params)).fit(own, y, **given)
    clf = ScaledLogisticRegression(**params).fit(own, y, 4 * weights if weighted else None)
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(clf, method)(own), getattr(pipeline, method)(own))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_only_nan_is_replaced_after_scaling(dtype):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]], dtype)
    large = np.finfo(dtype).max * dtype(0.9)
    rows = np.array([[large, np.nan], [-large, 1.0]], dtype)
    scaler = DenseScaler().fit(X)
    expected = scaler.scaler_.transform(rows)  # by scikit-learn: NaN stays, overflow is infinite
    assert np.isinf(expected[:, 0]).all()
    expected[0, 1] = 0.0
    np.testing.assert_array_equal(scaler.transform(rows), expected)
    clf = ScaledLogisticRegression().fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="infinity or a value too large"):
        clf.predict_proba(rows[:1])


def test_invalid_parameters_are_refused_and_a_failed_fit_changes_nothing():
    clf = ScaledLogisticRegression().fit(X, Y[:, 0])
    before = clf.predict_proba(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.fit(X[:, :2], Y[:20, 0])
    with pytest.raises(ValueError, match="'C' parameter of LogisticRegression"):
        clf.set_params(C=-1.0).fit(X, Y[:, 0])
    np.testing.assert_array_equal(clf.predict_proba(X), before)


def models_of(base, X, Y, **fit_params):
    return [clone(base).fit(X, y, **fit_params) for y in Y.T]


def proba_of(models, X):
    return np.column_stack([model.predict_proba(X)[:, 1] for model in models])


@pytest.mark.parametrize("rows", [
    X, np.asfortranarray(X), WITH_NAN, sparse.csr_array(X), FRAME,
], ids=["plain", "Fortran order", "NaN", "CSR", "frame"])  # fmt: skip
@pytest.mark.parametrize("standardize", [True, False])
def test_the_default_equals_one_logistic_regression_for_each_label(rows, standardize):
    base = ScaledLogisticRegression(standardize=standardize)
    exact = make_pipeline(
        DenseScaler(standardize), LogisticRegression(tol=1e-13, solver="newton-cg")
    )
    found = BinaryRelevance(base).fit(rows, Y)
    expected = proba_of(models_of(exact, rows, Y), rows)
    np.testing.assert_allclose(found.predict_proba(rows), expected, rtol=0, atol=1e-6)


SHARED = {
    "pipeline": (LOGISTIC, X),
    "pipeline of a frame": (make_pipeline(COLUMNS, LogisticRegression()), FRAME),
    "pipeline of texts": (make_pipeline(TfidfVectorizer(), LogisticRegression()), TEXTS),
    "seeded steps": (
        make_pipeline(
            StandardScaler(), "passthrough", PCA(2, svd_solver="randomized", random_state=0),
            LOG_LOSS,
        ), X
    ),
}  # fmt: skip
ON_THEIR_OWN = {
    "logistic": LogisticRegression(),
    "selection by target": make_pipeline(SelectKBest(k=2), GaussianNB()),
    "selection by a model": make_pipeline(SelectFromModel(LogisticRegression()), GaussianNB()),
}


@pytest.mark.parametrize("name", [*SHARED, *ON_THEIR_OWN])
def test_equals_one_for_each_label(name):
    base, rows = SHARED.get(name) or (ON_THEIR_OWN[name], StandardScaler().fit_transform(X))
    expected = models_of(base, rows, Y)
    found = pickle.loads(pickle.dumps(BinaryRelevance(base).fit(rows, Y)))
    for model, reference in zip(found.models_, expected, strict=True):
        assert type(model) is type(reference)
        for attribute in ("n_features_in_", "feature_names_in_"):
            np.testing.assert_array_equal(
                getattr(model, attribute, None), getattr(reference, attribute, None)
            )
    for some in (rows[:1], rows):
        expected_proba = proba_of(expected, some)
        np.testing.assert_allclose(found.predict_proba(some), expected_proba, rtol=0, atol=1e-11)
    if name in SHARED:
        assert len({id(model[0]) for model in found.models_}) == 1


@pytest.mark.parametrize("step", ["logisticregression", "standardscaler"])
def test_sample_weights_reach_the_same_steps(step):
    weights = {f"{step}__sample_weight": RNG.uniform(0.1, 3.0, size=len(X))}
    found = BinaryRelevance(LOGISTIC).fit(X, Y, **weights).predict_proba(X)
    expected = proba_of(models_of(LOGISTIC, X, Y, **weights), X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_what_is_not_shared():
    """Steps from the first that may use the target on, and a subclass with its own fit."""
    base = make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression())
    first, second, _ = BinaryRelevance(base).fit(X, Y).models_
    assert first[0] is second[0]
    assert first[1].get_support().tolist() != second[1].get_support().tolist()

    class Halved(ScaledLogisticRegression):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X / 2, y, sample_weight)

    models = BinaryRelevance(Halved()).fit(X, Y).models_
    assert models[0].scaler_ is not models[1].scaler_
    np.testing.assert_allclose(models[0].scaler_.scaler_.mean_, X.mean(axis=0) / 2)


def test_problems_of_the_models_are_reported():
    classifier = BinaryRelevance(ScaledLogisticRegression()).fit(X, Y)
    classifier.models_[0].classifier_.coef_[:] = np.nan
    with pytest.raises(ValueError, match="180 values NaN"):
        classifier.predict_proba(X)
    with pytest.warns(ConvergenceWarning, match="labels did not converge in 1 Newton steps"):
        BinaryRelevance(ScaledLogisticRegression(C=100.0, max_iter=1)).fit(X, Y)

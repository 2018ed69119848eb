"""One classifier per label: preprocessing is shared, and nothing else changes."""

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

from pairmend._utils.classifiers import fit_per_label
from pairmend._utils.training import relative_weights
from pairmend.base_classifiers import ScaledLogisticRegression
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


def models_of(base, X, Y, **fit_params):
    """Fit one model a label; the library's logistic regression exactly."""
    models = [clone(base).fit(X, y, **fit_params) for y in Y.T]
    if type(base) is ScaledLogisticRegression:
        own = {name: relative_weights(weights) for name, weights in fit_params.items()}
        for model, y in zip(models, Y.T, strict=True):
            rows = model.scaler_.transform(X)
            rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=float)
            exact = LogisticRegression(solver="newton-cholesky", tol=1e-13)
            model.classifier_ = exact.fit(rows, y, **own)
    return models


def proba_of(models, X):
    if type(models[0]) is ScaledLogisticRegression and models[0].classifier_.coef_.shape[0] > 1:
        return models[0]._label_proba(X)  # one model of all labels
    return np.column_stack([model.predict_proba(X)[:, 1] for model in models])


SHARED = {
    "default": (ScaledLogisticRegression(), X),
    "default of Fortran order": (ScaledLogisticRegression(), np.asfortranarray(X)),
    "default of single precision": (ScaledLogisticRegression(), X.astype(np.float32)),
    "default with NaN": (ScaledLogisticRegression(), WITH_NAN),
    "default of CSR": (ScaledLogisticRegression(), sparse.csr_array(X)),
    "default of a frame": (ScaledLogisticRegression(), FRAME),
    "not standardized": (ScaledLogisticRegression(standardize=False), X / [1, 1e3, 1e-3, 1]),
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


def first_step(model):
    return model.scaler_ if hasattr(model, "scaler_") else model[0]


@pytest.mark.parametrize("name", [*SHARED, *ON_THEIR_OWN])
def test_equals_one_for_each_label(name):
    base, rows = SHARED.get(name) or (ON_THEIR_OWN[name], StandardScaler().fit_transform(X))
    expected = models_of(base, rows, Y)
    found = pickle.loads(pickle.dumps(BinaryRelevance(base).fit(rows, Y)))
    for model, reference in zip(found.models_, expected, strict=False):
        assert type(model) is type(reference)
        for attribute in ("n_features_in_", "feature_names_in_"):
            np.testing.assert_array_equal(
                getattr(model, attribute, None), getattr(reference, attribute, None)
            )
    assert len(found.models_) == (1 if type(base) is ScaledLogisticRegression else len(expected))
    np.testing.assert_allclose(
        proba_of(found.models_, rows), proba_of(expected, rows), rtol=0, atol=1e-11
    )
    if name in SHARED:
        assert len({id(first_step(model)) for model in found.models_}) == 1
    for n_rows in (1, len(Y)):
        proba = found.predict_proba(rows[:n_rows])
        tolerance = 1e-6 if getattr(rows, "dtype", None) == np.float32 else 1e-11
        alone = proba_of(found.models_, rows[:n_rows])
        np.testing.assert_allclose(proba, alone, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("base", "name"),
    [
        (ScaledLogisticRegression(), "sample_weight"),
        (LOGISTIC, "logisticregression__sample_weight"),
        (LOGISTIC, "standardscaler__sample_weight"),
    ],
)
def test_sample_weights_reach_the_same_steps(base, name):
    weights = {name: RNG.uniform(0.1, 3.0, size=len(X))}
    found = fit_per_label(base, X, Y, weights)
    expected = models_of(base, X, Y, **weights)
    np.testing.assert_allclose(proba_of(found, X), proba_of(expected, X), rtol=0, atol=1e-11)


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

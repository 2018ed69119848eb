"""One preprocessing for the classifiers of all labels equals one for each label."""

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
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from pairmend import BinaryRelevance
from pairmend._utils import per_label
from pairmend._utils.per_label import PerLabelClassifier, fit_per_label, stack_classifiers
from pairmend._utils.weights import relative_weights
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.persistence import load_model, save_model

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


def is_fitted_for_all_labels(base):
    """Return whether a base classifier is fitted for all labels at once."""
    return type(base) is ScaledLogisticRegression and base.class_weight is None


def one_for_each_label(base, X, Y, **fit_params):
    """Fit and predict each label on its own, the library's logistic regression exactly."""
    models = [clone(base).fit(X, y, **fit_params) for y in Y.T]
    if is_fitted_for_all_labels(base):
        own = {name: relative_weights(weights) for name, weights in fit_params.items()}
        for model, y in zip(models, Y.T, strict=True):
            rows = model.scaler_.transform(X)
            rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=float)
            exact = LogisticRegression(solver="newton-cholesky", tol=1e-13)
            model.classifier_ = exact.fit(rows, y, **own)
    return models, np.column_stack([model.predict_proba(X)[:, 1] for model in models])


SHARED = {
    "default": (ScaledLogisticRegression(), X),
    "default of Fortran order": (ScaledLogisticRegression(), np.asfortranarray(X)),
    "default of single precision": (ScaledLogisticRegression(), X.astype(np.float32)),
    "default of whole numbers": (ScaledLogisticRegression(), X.astype(np.int64)),
    "default with NaN": (ScaledLogisticRegression(), WITH_NAN),
    "default of CSR": (ScaledLogisticRegression(), sparse.csr_array(X)),
    "default of a frame": (ScaledLogisticRegression(), FRAME),
    "class weights": (ScaledLogisticRegression(C=10.0, class_weight="balanced"), X),
    "pipeline": (make_pipeline(StandardScaler(), LogisticRegression()), X),
    "pipeline of a frame": (make_pipeline(COLUMNS, LogisticRegression()), FRAME),
    "pipeline of a frame of numbers": (
        make_pipeline(StandardScaler(), LogisticRegression()), FRAME[["a", "b"]]
    ),
    "pipeline with frames between": (
        make_pipeline(StandardScaler().set_output(transform="pandas"), LogisticRegression()), X
    ),
    "pipeline of texts": (make_pipeline(TfidfVectorizer(), LogisticRegression()), TEXTS),
    "seeded steps": (
        make_pipeline(
            StandardScaler(), "passthrough", PCA(2, svd_solver="randomized", random_state=0),
            LOG_LOSS,
        ), X
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_equals_one_for_each_label(name):
    base, rows = SHARED[name]
    expected_models, expected = one_for_each_label(base, rows, Y)
    models = fit_per_label(base, rows, Y, {})
    for model, reference in zip(models, expected_models, strict=True):
        assert type(model) is type(reference)
        assert repr(model) == repr(reference)
        for attribute in ("n_features_in_", "feature_names_in_", "classes_"):
            np.testing.assert_array_equal(
                getattr(model, attribute, None), getattr(reference, attribute, None)
            )
        found, alone = model.predict_proba(rows), reference.predict_proba(rows)
        tolerance = 1e-11 if is_fitted_for_all_labels(base) else 0
        np.testing.assert_allclose(found, alone, rtol=0, atol=tolerance)
    assert stack_classifiers(models) is not None
    classifier = PerLabelClassifier(base).fit(rows, Y)
    rounding = 1e-9 if is_fitted_for_all_labels(base) else 100 * np.finfo(expected.dtype).eps
    for n_rows in (1, len(Y)):
        proba = classifier.predict_proba(rows[:n_rows])
        assert proba.dtype == np.float64
        np.testing.assert_allclose(proba, expected[:n_rows], rtol=rounding)


def test_stacks_classifiers_without_preprocessing():
    scaled = StandardScaler().fit_transform(X)
    for base in (LogisticRegression(), LOG_LOSS):
        models = fit_per_label(base, scaled, Y, {})
        _, expected = one_for_each_label(base, scaled, Y)
        proba = stack_classifiers(models).predict_proba(scaled)
        np.testing.assert_allclose(proba, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("base", "name"),
    [
        (ScaledLogisticRegression(), "sample_weight"),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "logisticregression__sample_weight",
        ),
        (make_pipeline(StandardScaler(), LogisticRegression()), "standardscaler__sample_weight"),
    ],
)
def test_sample_weights_reach_the_same_steps(base, name):
    weights = {name: RNG.uniform(0.1, 3.0, size=len(X))}
    _, expected = one_for_each_label(base, X, Y, **weights)
    models = fit_per_label(base, X, Y, weights)
    proba = np.column_stack([model.predict_proba(X)[:, 1] for model in models])
    tolerance = 1e-11 if is_fitted_for_all_labels(base) else 0
    np.testing.assert_allclose(proba, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "base",
    [
        make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression()),
        make_pipeline(FunctionTransformer(), LogisticRegression()),
        make_pipeline(StandardScaler(), GaussianNB()),
        SGDClassifier(loss="modified_huber", random_state=0),
    ],
    ids=["selection by target", "any function", "no linear model", "another loss"],
)
def test_other_classifiers_are_not_stacked(base):
    models = fit_per_label(base, X, Y, {})
    assert stack_classifiers(models) is None
    _, expected = one_for_each_label(base, X, Y)
    proba = PerLabelClassifier(base).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(proba, expected)


def test_steps_up_to_the_first_that_may_use_the_target_are_shared():
    base = make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression())
    first, second, _ = fit_per_label(base, X, Y, {})
    assert first[0] is second[0]
    assert first[1] is not second[1]
    assert first[1].get_support().tolist() != second[1].get_support().tolist()


def test_a_subclass_with_its_own_fit_is_fitted_by_it():
    class Halved(ScaledLogisticRegression):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X / 2, y, sample_weight)

    models = fit_per_label(Halved(), X, Y, {})
    assert models[0].scaler_ is not models[1].scaler_
    np.testing.assert_allclose(models[0].scaler_.scaler_.mean_, X.mean(axis=0) / 2)


def test_unknown_fit_parameters_are_refused_by_the_classifier():
    with pytest.raises(TypeError, match=r"fit\(\) got an unexpected keyword argument 'speed'"):
        fit_per_label(ScaledLogisticRegression(), X, Y, {"speed": 1})


def test_constant_and_single_labels():
    constant = np.column_stack([Y[:, 0], np.zeros(60), Y[:, 1], np.ones(60)]).astype(int)
    proba = BinaryRelevance(ScaledLogisticRegression()).fit(X, constant).predict_proba(X)
    _, expected = one_for_each_label(ScaledLogisticRegression(), X, Y[:, :2])
    np.testing.assert_allclose(proba[:, [0, 2]], expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(proba[:, [1, 3]], np.tile([1 / 62, 61 / 62], (60, 1)))
    alone = BinaryRelevance(ScaledLogisticRegression()).fit(X, Y[:, :1]).predict_proba(X)
    np.testing.assert_allclose(alone, expected[:, :1], rtol=1e-12)
    none = BinaryRelevance(ScaledLogisticRegression()).fit(X, constant[:, [1, 3]])
    np.testing.assert_allclose(none.predict_proba(X), np.tile([1 / 62, 61 / 62], (60, 1)))


def test_chunks_of_rows_do_not_change_the_result(monkeypatch):
    classifier = BinaryRelevance(ScaledLogisticRegression()).fit(X, Y)
    at_once = classifier.predict_proba(X)
    monkeypatch.setattr(per_label, "CACHED_CELLS", 28)
    monkeypatch.setattr(per_label, "MIN_ROWS", 1)
    np.testing.assert_allclose(classifier.predict_proba(X), at_once, rtol=1e-14)


def test_changes_of_models_take_effect():
    classifier = BinaryRelevance(ScaledLogisticRegression()).fit(X, Y)
    before = classifier.predict_proba(X)
    classifier.models_[0].classifier_.coef_ *= 2
    changed = classifier.predict_proba(X)
    assert not np.allclose(changed[:, 0], before[:, 0])
    np.testing.assert_allclose(changed[:, 0], classifier.models_[0].predict_proba(X)[:, 1])
    # A model of other classes, in another order, is used on its own.
    classifier.models_[1] = GaussianNB().fit(X, np.where(Y[:, 1], 1, 2))
    proba = classifier.predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], classifier.models_[1].predict_proba(X)[:, 0])
    classifier.models_[1] = ScaledLogisticRegression().fit(X, np.where(Y[:, 1], 1, 2))
    proba = classifier.predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], classifier.models_[1].predict_proba(X)[:, 0])


@pytest.mark.parametrize("name", ["default", "default of a frame", "pipeline"])
def test_models_share_transformers_after_pickling_saving_and_parallel_fits(name, tmp_path):
    pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")
    base, rows = SHARED[name]
    classifier = BinaryRelevance(base, n_jobs=2).fit(rows, Y)
    save_model(classifier, tmp_path / "a.model")
    pickled = pickle.loads(pickle.dumps(classifier))
    for fitted in (classifier, pickled, load_model(tmp_path / "a.model").estimator):
        assert stack_classifiers(fitted.models_) is not None
        np.testing.assert_array_equal(fitted.predict_proba(rows), classifier.predict_proba(rows))


@pytest.mark.parametrize("rows", [sparse.csr_array(X), X], ids=["CSR", "dense"])
def test_invalid_rows_are_refused_as_by_one_model(rows):
    base = LogisticRegression() if rows is X else ScaledLogisticRegression()
    rows = rows / 1e3
    classifier = PerLabelClassifier(base).fit(rows, Y)
    for value, message in ((np.nan, "contains NaN"), (np.inf, "contains infinity")):
        bad = rows.copy()
        bad[0, 0] = value
        with pytest.raises(ValueError, match=message):
            classifier.predict_proba(bad)
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 4 features"):
        classifier.predict_proba(rows[:, :3])


def test_models_without_finite_probabilities_are_refused():
    classifier = BinaryRelevance(ScaledLogisticRegression()).fit(X, Y)
    classifier.models_[0].classifier_.coef_[:] = np.nan
    with pytest.raises(ValueError, match="60 values NaN"):
        classifier.predict_proba(X)


def test_too_few_steps_are_reported():
    with pytest.warns(ConvergenceWarning, match="labels did not converge in 1 Newton steps"):
        fit_per_label(ScaledLogisticRegression(C=100.0, max_iter=1), X, Y, {})


def test_nan_in_sparse_rows_is_refused():
    rows = sparse.csr_array(np.where(np.arange(X.size).reshape(X.shape) == 3, np.nan, X))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fit_per_label(ScaledLogisticRegression(), rows, Y, {})


def test_rows_of_the_caller_are_not_changed():
    for rows in (X, np.asfortranarray(X)):
        before = rows.copy()
        fit_per_label(ScaledLogisticRegression(), rows, Y, {})
        np.testing.assert_array_equal(rows, before)


def test_overwritten_rows_give_the_same_models(rng):
    X, Y = rng.randn(60, 4), rng.rand(60, 3) < 0.5
    X[::7, 1] = np.nan
    base = ScaledLogisticRegression()
    expected = PerLabelClassifier(base).fit(X, Y).predict_proba(X)
    own = X.copy()
    found = PerLabelClassifier(base).fit_overwriting(own, Y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)
    assert not np.isnan(own).any(), "scaled in place"
    fortran = np.asfortranarray(X)
    found = PerLabelClassifier(base).fit_overwriting(fortran, Y).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-12)

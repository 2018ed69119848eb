"""Kinds of input: frames, texts, missing values, weights, routed metadata."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from pairmend import (
    AdaptiveNeighbourhood,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
    PairwiseClassifier,
    RandomSubspaceNB,
)
from pairmend.mended.kernel_ridge import MultiLabelKernelRidge
from public_classifiers import CLASSIFIERS as PUBLIC
from public_classifiers import data_for, made

CLASSIFIERS = [PairwiseClassifier, CorrectedPairwiseClassifier]
both = pytest.mark.parametrize("kind", CLASSIFIERS)


@pytest.fixture
def texts():
    words = ["sea", "beach", "sun", "rain"]
    rng = np.random.RandomState(0)
    Y = rng.rand(60, 4) < 0.5
    rows = [" ".join(w for w, on in zip(words, y, strict=True) if on) + " today" for y in Y]
    return rows, Y.astype(int)


def text_classifier(kind):
    base = make_pipeline(TfidfVectorizer(), LogisticRegression())
    if kind is PairwiseClassifier:
        return kind(base)
    return kind(base, neighbourhood=GaussianNeighbourhood(transform=TfidfVectorizer()))


@both
@pytest.mark.parametrize("container", [list, np.array, pd.Series])
def test_texts(kind, texts, container):
    rows, Y = texts
    clf = text_classifier(kind).set_params(random_state=0).fit(container(rows), Y)
    scores = clf.predict_proba(container(rows))
    # A label whose word occurs ranks above those whose words do not.
    ranked = [
        scores[k, y == 1].min() > scores[k, y == 0].max()
        for k, y in enumerate(Y)
        if 0 < y.sum() < 4
    ]
    assert np.mean(ranked) > 0.9
    assert not hasattr(clf, "n_features_in_")


@both
def test_rows_of_tokens(kind):
    rows = [["sea", "sand"], ["sea"], ["sand"], ["rain", "rain", "wind"]] * 10
    Y = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]] * 10)
    base = make_pipeline(CountVectorizer(analyzer=list), LogisticRegression())
    clf = kind(base, threshold=0.6, random_state=0)
    if kind is CorrectedPairwiseClassifier:
        clf.set_params(neighbourhood=GlobalNeighbourhood())
    assert clf.fit(rows, Y).predict([["rain", "rain", "wind"]]).tolist() == [[0, 0, 1]]


def test_texts_without_a_transformer_name_the_option(texts):
    rows, Y = texts
    base = make_pipeline(TfidfVectorizer(), LogisticRegression())
    with pytest.raises(ValueError, match=r"neighbourhood=GaussianNeighbourhood\(transform="):
        CorrectedPairwiseClassifier(base).fit(rows, Y)
    clf = CorrectedPairwiseClassifier(base, neighbourhood=GlobalNeighbourhood()).fit(rows, Y)
    assert clf.predict(rows).shape == Y.shape


def mixed_frame(n=80):
    rng = np.random.RandomState(1)
    frame = pd.DataFrame(
        {
            "size": rng.rand(n),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "flag": rng.rand(n) < 0.5,
        }
    )
    frame.loc[::9, "size"] = np.nan
    Y = pd.DataFrame(
        {"big": frame["size"] > 0.4, "red": frame["colour"] == "red", "on": frame["flag"]}
    )
    return frame, Y.astype(int)


@both
def test_frames_with_mixed_columns_and_missing_values(kind):
    frame, Y = mixed_frame()
    clf = kind(RandomSubspaceNB(subspace=0.7), random_state=0).fit(frame, Y)
    assert clf.classes_.tolist() == ["big", "red", "on"]
    assert clf.feature_names_in_.tolist() == ["size", "colour", "flag"]
    truth = Y.to_numpy()
    scores = clf.predict_proba(frame)
    assert scores[truth == 1].mean() > scores[truth == 0].mean() + 0.1


@both
def test_mixed_columns_through_a_pipeline(kind):
    frame, Y = mixed_frame()
    encode = make_column_transformer(
        (OneHotEncoder(), ["colour"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
        remainder="passthrough",
    )
    base = make_pipeline(encode, LogisticRegression())
    clf = kind(base, random_state=0).fit(frame, Y)
    assert clf.predict(frame).shape == Y.shape


@both
def test_missing_values_with_a_base_that_accepts_them(kind, small_set):
    X, Y = small_set
    X = X.copy()
    X[::7, 2] = np.nan
    for base in (
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2),
        make_pipeline(SimpleImputer(), LogisticRegression()),
        None,
    ):
        assert np.isfinite(kind(base, random_state=0).fit(X, Y).predict_proba(X)).all()


@both
def test_polars_frames(kind, small_set):
    X, Y = small_set
    names = [f"f{i}" for i in range(X.shape[1])]
    frame = pl.DataFrame(X, schema=names)
    target = pl.DataFrame(Y, schema=["a", "b", "c", "d"])
    clf = kind(GaussianNB(), random_state=0).fit(frame, target)
    plain = kind(GaussianNB(), random_state=0).fit(X, Y)
    assert clf.classes_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_allclose(clf.predict_proba(frame), plain.predict_proba(X))


@both
def test_classes_of_any_dtype(kind, small_set):
    X, _ = small_set
    codes = np.arange(len(X)) % 3
    for classes in (np.array(["x", "y", "z"]), np.array([1.0, 2.0, 7.0]), np.array([-1, 0, 5])):
        for target in (classes[codes], classes[codes].tolist(), pd.Series(classes[codes])):
            clf = kind(GaussianNB(), random_state=0).fit(X, target)
            np.testing.assert_array_equal(clf.classes_, classes)
            assert set(clf.predict(X)) <= set(classes.tolist())


def test_two_classes_are_one_pair(small_set):
    X, Y = small_set
    clf = PairwiseClassifier(GaussianNB()).fit(X, Y[:, 0])
    # The pair's first label is class 0.
    expected = GaussianNB().fit(X, Y[:, 0]).predict_proba(X)
    np.testing.assert_allclose(clf.predict_proba(X), expected)
    np.testing.assert_array_equal(clf.predict(X), GaussianNB().fit(X, Y[:, 0]).predict(X))


@both
def test_scorers_of_scikit_learn(kind, small_set):
    X, Y = small_set
    clf = kind(GaussianNB(), random_state=0).fit(X, Y)
    for name in ("accuracy", "f1_macro", "f1_samples", "roc_auc", "average_precision"):
        assert 0 <= get_scorer(name)(clf, X, Y) <= 1


def test_search_over_everything_that_can_be_tuned(small_set):
    X, Y = small_set
    search = GridSearchCV(
        CorrectedPairwiseClassifier(
            LogisticRegression(), neighbourhood=GaussianNeighbourhood(), random_state=0
        ),
        {"neighbourhood__beta": [0.5, 8.0], "estimator__C": [0.1, 1.0], "overlap": [0.0, 0.5]},
        cv=2,
        scoring="f1_micro",
    ).fit(X, Y)
    assert len(search.cv_results_["params"]) == 8
    swap = GridSearchCV(
        CorrectedPairwiseClassifier(GaussianNB(), random_state=0),
        {"neighbourhood": [None, AdaptiveNeighbourhood(k=5), GlobalNeighbourhood()]},
        cv=2,
    ).fit(X, Y)
    assert np.isfinite(swap.cv_results_["mean_test_score"]).all()


@both
def test_sample_weights_reach_the_pairs(kind, small_set):
    X, Y = small_set
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 1e-6)
    plain = kind(GaussianNB(), random_state=0).fit(X, Y)
    weighted = kind(GaussianNB(), random_state=0).fit(X, Y, sample_weight=weights)
    assert not np.allclose(weighted.pair_support(X), plain.pair_support(X))
    ones = kind(GaussianNB(), random_state=0).fit(X, Y, sample_weight=np.ones(len(Y)))
    np.testing.assert_allclose(ones.predict_proba(X), plain.predict_proba(X))


@both
def test_metadata_routing(kind, small_set):
    X, Y = small_set
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 1e-6)
    direct = kind(GaussianNB(), random_state=0).fit(X, Y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = GaussianNB().set_fit_request(sample_weight=True)
        routed = kind(requesting, random_state=0).fit(X, Y, sample_weight=weights)
        np.testing.assert_allclose(routed.predict_proba(X), direct.predict_proba(X))
        silent = GaussianNB().set_fit_request(sample_weight=False)
        ignored = kind(silent, random_state=0)
        with pytest.raises(TypeError, match="sample_weight"):
            ignored.fit(X, Y, sample_weight=weights)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        in_pipeline = make_pipeline(scaler, kind(requesting, random_state=0))
        in_pipeline.fit(X, Y, sample_weight=weights)


def test_seeds_of_random_base_classifiers(small_set):
    X, Y = small_set

    def scores(base_seed, seed):
        base = RandomSubspaceNB(random_state=base_seed)
        return PairwiseClassifier(base, random_state=seed).fit(X, Y).predict_proba(X)

    np.testing.assert_array_equal(scores(None, 1), scores(None, 1))
    assert not np.allclose(scores(None, 1), scores(None, 2))
    np.testing.assert_array_equal(scores(3, 1), scores(3, 2))
    assert not np.allclose(scores(None, None), scores(None, None))


def test_sample_weights_through_a_search_as_base(small_set):
    X, Y = small_set
    weights = np.linspace(0.1, 1, len(Y))
    plain = PairwiseClassifier(LogisticRegression(C=0.5)).fit(X, Y, sample_weight=weights)
    search = GridSearchCV(LogisticRegression(), {"C": [0.5]}, cv=2)
    searched = PairwiseClassifier(search).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(searched.predict_proba(X), plain.predict_proba(X))


@both
def test_bases_with_reversed_classes(kind, small_set):
    class Reversed(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            self.classes_ = self.classes_[::-1].copy()
            return self

        def predict_proba(self, X):
            return super().predict_proba(X)[:, ::-1]

    X, Y = small_set
    np.testing.assert_allclose(
        kind(Reversed(), random_state=0).fit(X, Y).predict_proba(X),
        kind(GaussianNB(), random_state=0).fit(X, Y).predict_proba(X),
    )


@both
def test_fit_on_sparse_and_predict_dense_rows(kind, small_set):
    X, Y = small_set
    X = X + 3.0  # an offset that a shift of one of the two would show
    for fitted_on, asked_with in ((sparse.csr_array, np.asarray), (np.asarray, sparse.csr_array)):
        clf = kind(LogisticRegression(), random_state=0).fit(fitted_on(X), Y)
        same = clf.predict_proba(fitted_on(X))
        np.testing.assert_allclose(clf.predict_proba(asked_with(X)), same, atol=1e-10)


def in_two_parts(rows):
    """Return CSR that stores each value as two halves, the later columns of a row first."""
    starts, ends = rows.indptr[:-1], rows.indptr[1:]
    reversed_rows = np.concatenate(
        [np.arange(*pair)[::-1] for pair in zip(starts, ends, strict=True)]
    )
    parts = [np.repeat(part[reversed_rows], 2) for part in (rows.data / 2, rows.indices)]
    return sparse.csr_array((*parts, 2 * rows.indptr), shape=rows.shape)


def with_zeros(rows):
    """Return CSR that stores all values, zeros included."""
    row, column = np.indices(rows.shape).reshape(2, -1)
    indptr = np.arange(len(rows.indptr)) * rows.shape[1]
    return sparse.csr_array((rows.toarray()[row, column], column, indptr), shape=rows.shape)


@pytest.mark.parametrize("change", [in_two_parts, with_zeros])
@pytest.mark.parametrize("name", [*PUBLIC, "kernel ridge"])
def test_how_sparse_rows_are_stored_changes_nothing(name, change):
    if name == "kernel ridge":
        name, own = "MendedClassifier", {"estimator": MultiLabelKernelRidge(random_state=0)}
    else:
        own = {}
    X, y = data_for(name)
    rows = sparse.csr_array(np.where(X > 0.5, X, 0))
    stored = change(rows)
    before = stored.data.copy(), stored.indices.copy()
    plain, other = made(name, **own).fit(rows, y), made(name, **own).fit(stored, y)
    for fitted, given in ((plain, stored), (other, rows), (other, stored)):
        expected, found = plain.predict_proba(rows), fitted.predict_proba(given)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(stored.data, before[0])
    np.testing.assert_array_equal(stored.indices, before[1])


def test_seeds_of_random_transformers(small_set):
    X, Y = small_set

    def scores(seed):
        neighbourhood = GaussianNeighbourhood(20.0, transform=GaussianRandomProjection(2))
        clf = CorrectedPairwiseClassifier(
            LogisticRegression(), neighbourhood=neighbourhood, random_state=seed
        )
        return clf.fit(X, Y).predict_proba(X)

    np.testing.assert_array_equal(scores(0), scores(0))


def test_two_dimensional_class_column_warns_like_scikit_learn(small_set):
    X, _ = small_set
    y = np.arange(len(X))[:, np.newaxis] % 3
    with pytest.warns(sklearn.exceptions.DataConversionWarning, match="column-vector"):
        PairwiseClassifier(GaussianNB()).fit(X, y)

"""Rows, weights and base classifiers: what pairwise classifiers take, and what they refuse."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from pairmend import (
    CorrectedPairwiseClassifier,
    MendedClassifier,
    PairwiseClassifier,
    pairwise,
)
from pairmend.baselines import BinaryRelevance, ClassifierChainEnsemble
from pairmend.forests.estimator import MultiLabelForest
from pairmend.mended.base_models import MultiLabelKernelRidge
from pairmend.neighbourhoods import GaussianNeighbourhood, GlobalNeighbourhood
from public_classifiers import CLASSIFIERS, data_for, made

both = pytest.mark.parametrize("kind", [PairwiseClassifier, CorrectedPairwiseClassifier])
WRAPPING = [
    PairwiseClassifier, CorrectedPairwiseClassifier, pairwise.CorrectedBinaryRelevance,
    pairwise.BradleyTerryClassifier, pairwise.FourClassPairsClassifier,
    pairwise.SharedFirstClassifier, BinaryRelevance, ClassifierChainEnsemble,
]  # fmt: skip
WORDS = np.array(["sea", "beach", "sun", "rain"])
ON = np.random.RandomState(0).rand(60, 4) < 0.5
TEXTS = [" ".join([*WORDS[row], "today"]) for row in ON]


@both
@pytest.mark.parametrize("container", [list, np.array, pd.Series])
def test_texts_and_tokens(kind, container):
    rows, base = container(TEXTS), make_pipeline(TfidfVectorizer(), LogisticRegression())
    clf = kind(base, random_state=0)
    if kind is CorrectedPairwiseClassifier:
        with pytest.raises(ValueError, match=r"neighbourhood=GaussianNeighbourhood\(transform="):
            clf.fit(rows, ON)
        clf.set_params(neighbourhood=GaussianNeighbourhood(transform=TfidfVectorizer()))
    scores = clf.fit(rows, ON).predict_proba(rows)
    # A label whose word occurs ranks above those whose words do not.
    some = np.flatnonzero(ON.any(axis=1) & ~ON.all(axis=1))
    ranked = [scores[row, ON[row]].min() > scores[row, ~ON[row]].max() for row in some]
    assert np.mean(ranked) > 0.9
    assert not hasattr(clf, "n_features_in_")
    with pytest.raises(ValueError, match=r"X is one text, 'sea'; expected a list .* Pass \[X\]"):
        clf.predict("sea")
    tokens = make_pipeline(CountVectorizer(analyzer=list), LogisticRegression())
    own = {"neighbourhood": GlobalNeighbourhood()} if kind is CorrectedPairwiseClassifier else {}
    clf = kind(tokens, threshold=0.6, random_state=0, **own)
    rows, Y = [["sea", "sand"], ["sea"], ["sand"], ["rain", "rain", "wind"]] * 10, np.eye(4, 3, -1)
    assert clf.fit(rows, Y[[1, 1, 2, 3] * 10]).predict([["rain", "wind"]]).tolist() == [[0, 0, 1]]


@both
def test_a_base_that_takes_missing_values_and_a_scorer_of_probabilities(kind, small_set):
    X, Y = small_set
    X = np.where(np.arange(X.size).reshape(X.shape) % 7, X, np.nan)
    base = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2)
    clf = kind(base, random_state=0).fit(X, Y)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert 0 <= get_scorer("average_precision")(clf, X, Y) <= 1


def in_two_parts(rows):
    """Return CSR that stores each value as two halves, the later columns of a row first."""
    starts, ends = rows.indptr[:-1], rows.indptr[1:]
    order = np.concatenate([np.arange(*pair)[::-1] for pair in zip(starts, ends, strict=True)])
    parts = [np.repeat(part[order], 2) for part in (rows.data / 2, rows.indices)]
    return sparse.csr_array((*parts, 2 * rows.indptr), shape=rows.shape)


def with_zeros(rows):
    """Return CSR that stores all values, zeros included."""
    row, column = np.indices(rows.shape).reshape(2, -1)
    indptr = np.arange(len(rows.indptr)) * rows.shape[1]
    return sparse.csr_array((rows.toarray()[row, column], column, indptr), shape=rows.shape)


BASES = {
    "forest": MultiLabelForest(10, random_state=0),
    "kernel ridge": MultiLabelKernelRidge(random_state=0),
}


@pytest.mark.parametrize("change", [in_two_parts, with_zeros])
@pytest.mark.parametrize("name", [*CLASSIFIERS, *BASES])
def test_how_sparse_rows_are_stored_changes_nothing(name, change):
    own = {}
    if name in BASES:
        name, own = "MendedClassifier", {"estimator": BASES[name]}
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


class WithoutNumbers(LogisticRegression):
    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


@pytest.mark.parametrize("kind", WRAPPING)
@pytest.mark.parametrize(
    ("base", "params", "message"),
    [
        (LinearSVC(), {}, "LinearSVC has no predict_proba.*CalibratedClassifierCV"),
        ("svm", {}, "'estimator' parameter"),
        (GaussianNB(), {"sample_weight": -np.ones(80)}, "[Nn]egative"),
        (GaussianNB(), {"sample_weight": np.zeros(80)}, "at least one non-zero"),
        (WithoutNumbers(max_iter=1000), {}, "(WithoutNumbers|ClassifierChain) must give a column"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refused_weights_and_bases(kind, base, params, message, small_set):
    with pytest.raises(ValueError, match=message):
        kind(base).fit(*small_set, **params).predict(small_set[0])


@both
def test_errors_that_name_what_is_missing(kind, small_set):
    with pytest.raises(ValueError, match=r"NaN(.|\n)*GaussianNB") as caught:
        kind(GaussianNB()).fit(small_set[0] * np.nan, small_set[1])
    assert "training the pair of labels number 0 and 1 on" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="KNeighborsClassifier.* 'sample_weight'"):
        kind(KNeighborsClassifier()).fit(*small_set, sample_weight=np.ones(80))
    with pytest.raises(ValueError, match=r"list of dicts; .* Pass pandas.DataFrame\(X\)"):
        kind().fit(*small_set).predict([{"x0": 1.0}])


class Fixed:
    """A neighbourhood that is not a scikit-learn estimator, with fixed weights."""

    def __init__(self, weights):
        self.weights = lambda X: weights

    def fit(self, X, y=None):
        return self


ALTERNATE = np.tile(np.arange(32) % 2, (80, 1))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (ALTERNATE[:, 1:], r"shape \(80, 31\); expected \(80, 32\)"),
        (ALTERNATE * np.nan, "finite and not negative"),
        (ALTERNATE - 1, "finite and not negative"),
    ],
)
def test_weights_of_a_custom_neighbourhood(weights, message, small_set):
    clf = CorrectedPairwiseClassifier(GaussianNB(), random_state=0)
    plain, as_bool, as_list, none, refused = (
        clone(clf).set_params(neighbourhood=Fixed(given)).fit(*small_set)
        for given in (
            1.0 * ALTERNATE, ALTERNATE == 1, ALTERNATE.tolist(), 0.0 * ALTERNATE, weights
        )
    )  # fmt: skip
    expected = plain.predict_proba(small_set[0])
    for fitted in (as_bool, as_list):
        np.testing.assert_allclose(fitted.predict_proba(small_set[0]), expected, atol=1e-6)
    assert not none.confusion(small_set[0]).any()
    with pytest.raises(ValueError, match=message):
        refused.predict(small_set[0])


# Rows are dense or sparse by their density: arrays of mostly zeros are computed as sparse rows.
# That the results are equal is a check of every classifier.


@pytest.fixture
def mostly_zeros(rng):
    """Return training rows, new rows and labels."""
    X = rng.randint(1, 4, size=(160, 60)) * (rng.rand(160, 60) < 0.03) * 1.0
    X[2, 3] = X[4, 5] = 2.5
    Y = (X[:, :20] @ rng.rand(20, 4) + rng.rand(160, 4) > 0.9).astype(int)
    return X[:120], X[120:], Y[:120]


# Both refuse sparse rows.
@pytest.mark.parametrize(
    "base", [GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())]
)
def test_other_base_classifiers_and_transformers_get_the_rows_as_given(base, mostly_zeros):
    X, new, Y = mostly_zeros
    for kind in (PairwiseClassifier, MendedClassifier):
        assert kind(base, random_state=0).fit(X, Y).predict(new).shape == (40, 4)
    scaled = GaussianNeighbourhood(transform=StandardScaler())  # refuses sparse rows
    CorrectedPairwiseClassifier(neighbourhood=scaled, random_state=0).fit(X, Y).predict(new)
    MendedClassifier(transformer=StandardScaler(), cv=2, random_state=0).fit(X, Y).predict(new)


def test_missing_values_and_rows_of_weight_0(mostly_zeros):
    X, new, Y = mostly_zeros
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    clf = MendedClassifier(None, cv=splits, random_state=0).fit(X, Y)
    expected = clf.predict_proba(new)
    missing = np.where(np.arange(60) < 3, np.nan, new)  # more than mostly zeros
    filled = np.where(np.isnan(missing), X.mean(axis=0), missing)
    np.testing.assert_allclose(clf.predict_proba(missing), clf.predict_proba(filled), atol=1e-9)
    more, labels = np.vstack([X, np.ones((30, 60))]), np.vstack([Y, Y[:30]])
    weights = np.repeat([1.0, 0.0], [120, 30])
    weighted = clf.fit(more, labels, sample_weight=weights).predict_proba(new)
    np.testing.assert_allclose(weighted, expected, atol=1e-6)
    assert set(clf.search_["scaling"]) == {"global", "unit", "log_odds"}
    assert "unit" not in clf.fit(X + 1, Y).search_["scaling"]


def peak_memory(clf, X, Y):
    tracemalloc.start()
    clone(clf).fit(X, Y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    "clf",
    [
        CorrectedPairwiseClassifier(overlap=0.5, random_state=0),
        MendedClassifier(None, cv=2, random_state=0),
    ],
    ids=["fcm-o", "mended"],
)
def test_memory_is_not_larger_than_with_dense_rows(clf, rng):
    X = rng.rand(400, 800) * (rng.rand(400, 800) < 0.02)
    Y = rng.rand(400, 3) < 0.4
    clone(clf).fit(X, Y)  # imports and compiles what it needs
    assert peak_memory(clf, X, Y) < peak_memory(clf, X + 1, Y)

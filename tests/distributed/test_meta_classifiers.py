"""MendedClassifier on Dask collections equals a local fit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from dask_tasks import assert_same, collections, in_chunks
from pairmend import MendedClassifier, RandomSubspaceNB, distributed
from pairmend.persistence import load_model, save_model

TOLERANCE = 1e-9
BLOCKS = np.split(np.arange(80), [25, 50, 75])
SPLITS = list(KFold(3, shuffle=True, random_state=1).split(np.empty((80, 1))))
LOGISTIC = LogisticRegression(C=0.1)
BY_BLOCKS = GaussianNB(var_smoothing=0)  # its partial_fit on blocks equals its fit, to rounding


@pytest.fixture(scope="module")
def data(small_set):
    """Rows, labels one of which never occurs, and weights some of which are 0."""
    X, Y = small_set
    weights = np.random.RandomState(3).choice([0, 1.0, 2.5], len(Y), p=[0.1, 0.5, 0.4])
    return X, np.column_stack([Y, np.zeros(len(Y), dtype=int)]), weights


OVERLAPPING = [(np.arange(40, 80), np.arange(0, 40)), (np.arange(0, 50), np.arange(30, 70))]


@pytest.mark.parametrize(
    ("kind", "base", "weighted", "cv"),
    [
        ("unknown sizes", BY_BLOCKS, False, SPLITS),
        ("frame", RandomSubspaceNB(5), True, SPLITS),  # on one worker
        ("dense", BY_BLOCKS, True, 3),
        ("dense", BY_BLOCKS, True, OVERLAPPING),
        ("dense", DecisionTreeClassifier(max_depth=3), False, SPLITS),  # takes indicators
    ],
)
def test_mended_is_that_of_a_local_fit(kind, base, weighted, cv, data, tmp_path):
    X, Y, weights = data
    local, rows, labels = collections(kind, X, Y)
    clf = MendedClassifier(base, cv=cv, criterion="micro_f1", max_landmarks=30, random_state=0)
    expected = clone(clf).fit(local, Y, sample_weight=weights if weighted else None)
    in_blocks = in_chunks(weights) if weighted else None
    ours = distributed.fit(clf, rows, labels, sample_weight=in_blocks)
    assert_same(ours, expected, local)
    np.testing.assert_array_equal(ours.validation_indices_, expected.validation_indices_)
    np.testing.assert_array_equal(ours.landmark_indices_, expected.landmark_indices_)
    np.testing.assert_allclose(ours.search_["loss"], expected.search_["loss"], rtol=1e-6)
    assert ours.decision_ == expected.decision_
    sets = [each._corrector.label_sets for each in (ours, expected)]
    np.testing.assert_array_equal(*(each.members.toarray() for each in sets))
    np.testing.assert_allclose(*(each.counts for each in sets))
    if kind == "frame":
        assert ours.classes_.tolist() == list("stuvw")
    save_model(ours, tmp_path / "model")
    loaded = load_model(tmp_path / "model").estimator
    if kind == "dense":
        assert loaded.explain(local[:1], labels=[0])[0].labels[0].contributions
    np.testing.assert_array_equal(loaded.predict_proba(local), ours.predict_proba(local))
    scores = distributed.predict_proba(ours, rows).compute()
    np.testing.assert_allclose(scores, ours.predict_proba(local), rtol=0, atol=TOLERANCE)


def mostly_zeros(shares, n_missing=0):
    """Return rows in which these shares of cells are not 0, some NaN."""
    rng = np.random.RandomState(0)
    labels = (np.random.RandomState(7).rand(80, 3) < 0.4).astype(int)
    values = rng.rand(80, 40) + 3 * labels[:, rng.randint(3, size=40)]
    X = np.where(rng.rand(80, 40) < np.reshape(shares, (-1, 1)), values, 0)
    X.ravel()[rng.choice(np.flatnonzero(X), n_missing, replace=False)] = np.nan
    return X, labels


EARLY_SPARSE = np.where(np.arange(80) < 38, 0.02, 0.12)  # more than 5 % in all
LATE_DENSE = np.where(np.arange(80) < 70, 0.02, 0.12)  # less than 5 % in all
FORMS = {
    "missing": (1, 640, "range"),
    "mostly zeros": (0.04, 0, "auto"),
    "zeros and missing": (0.04, 40, "unit"),
    "dense with sparse blocks": (EARLY_SPARSE, 0, "auto"),
    "sparse with dense blocks": (LATE_DENSE, 0, "auto"),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_have_the_form_and_the_means_of_a_local_fit(form, data):
    shares, n_missing, scaling = FORMS[form]
    X, Y = mostly_zeros(shares, n_missing)
    weights = data[2] if n_missing else None
    clf = MendedClassifier(None, cv=2, scaling=scaling, max_landmarks=30, random_state=0)
    local = clone(clf).fit(X, Y, sample_weight=weights)
    chunks = (0, 30, 7, 1, 42)
    ours = distributed.fit(clf, in_chunks(X, chunks), in_chunks(Y, chunks), sample_weight=weights)
    assert_same(ours, local, X, atol=1e-6)
    assert (ours._row_encoder.means is None) == (local._row_encoder.means is None)
    assert ours._row_encoder.for_base == local._row_encoder.for_base


def test_block_by_block_is_one_partial_fit_for_each_block(data):
    X, Y, _ = data
    base = SGDClassifier(loss="log_loss", random_state=0)
    earlier = MendedClassifier(base, cv=SPLITS, random_state=0).fit(X[:, :3], Y[:, ::-1])
    ours = distributed.fit(earlier, in_chunks(X), in_chunks(Y))
    assert ours.n_features_in_ == X.shape[1]
    assert ours.estimator_.varying_.tolist() == [0, 1, 2, 3]
    for label, model in enumerate(ours.estimator_.models_):
        reference = clone(base)
        for part in BLOCKS:
            reference.partial_fit(X[part], Y[part, label], classes=[0, 1])
        np.testing.assert_array_equal(model.coef_, reference.coef_)
    np.testing.assert_allclose(ours.estimator_.predict_proba(X)[:, 4], 1 / 82)


def test_invalid_arguments_raise_and_leave_an_earlier_fit(data):
    X, Y, weights = data
    rows, labels, given = in_chunks(X), in_chunks(Y), {"sample_weight": weights}
    clf = MendedClassifier(LOGISTIC, cv=SPLITS, random_state=0).fit(X, Y)
    before = clf.predict_proba(X)
    twice = [(np.repeat(train, 2), test) for train, test in SPLITS]
    for refused, params, message in (
        (MendedClassifier(BY_BLOCKS, cv=twice), {}, "same row several times"),
        (clf, {"sample_weight": weights - 1}, "Negative values in data passed"),
        (clone(clf).set_params(cv=81), {}, "n_splits=81 greater than the number of samples"),
        (MendedClassifier(SGDOneSample()), given, "partial_fit.*sample_weight"),
        (MendedClassifier(SGDClassifier()), {}, "SGDClassifier has no predict_proba"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            distributed.fit(refused, rows, labels, **params)
    np.testing.assert_array_equal(clf.predict_proba(X), before)


class SGDOneSample(SGDClassifier):
    def fit(self, X, y, sample_weight=None): ...

    def partial_fit(self, X, y, classes=None): ...

    def predict_proba(self, X): ...

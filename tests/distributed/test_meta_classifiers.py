"""MendedClassifier, ThresholdedClassifier and baselines on Dask collections equal local fits."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pairmend import (
    CorrectedPairwiseClassifier,
    MendedClassifier,
    RandomSubspaceNB,
    ThresholdedClassifier,
)
from pairmend.baselines import BinaryRelevance, LabelPowerset, MLkNN
from pairmend.persistence import load_model, save_model

da = pytest.importorskip("dask.array", reason="needs pip install 'pairmend[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs pip install 'pairmend[dask]'")

from pairmend import distributed  # noqa: E402

TOLERANCE = 1e-9
CHUNKS = (30, 7, 1, 42)  # of the 80 rows
BLOCKS = np.split(np.arange(80), [30, 60])
SPLITS = list(KFold(3, shuffle=True, random_state=1).split(np.empty((80, 1))))
LOGISTIC = LogisticRegression(C=0.1)
BY_BLOCKS = GaussianNB(var_smoothing=0)  # its partial_fit on blocks equals its fit, to rounding


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Cut the 80 rows into several blocks."""
    monkeypatch.setattr(distributed.rows, "MAX_ROWS", 30)


@pytest.fixture(scope="module")
def data(small_set):
    """Rows, labels one of which never occurs, and weights some of which are 0."""
    X, Y = small_set
    weights = np.random.RandomState(3).choice([0, 1.0, 2.5], len(Y), p=[0.1, 0.5, 0.4])
    return X, np.column_stack([Y, np.zeros(len(Y), dtype=int)]), weights


def in_chunks(array):
    return da.from_array(array, chunks=(CHUNKS, *array.shape[1:]))


def as_frame(X):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["b"] = pd.Categorical(np.where(X[:, 1] > 9, "much", "little"))
    return frame


def collections(kind, X, Y):
    """Return local rows, rows and labels in blocks."""
    if kind == "frame":
        frame, labels = as_frame(X), pd.DataFrame(Y, columns=list("stuvw"))
        return frame, *(dd.from_pandas(part, npartitions=3) for part in (frame, labels))
    if kind == "sparse":
        X = np.where(X > 9, X, 0)
        rows = in_chunks(X).map_blocks(sparse.csr_array, meta=sparse.csr_array((0, X.shape[1])))
        return sparse.csr_array(X), rows, in_chunks(Y)
    if kind == "unknown sizes":
        every = da.from_array(np.ones(len(X), dtype=bool), chunks=(CHUNKS,))
        return X, in_chunks(X)[every], in_chunks(Y)[every]
    return X, in_chunks(X), in_chunks(Y)


def assert_same(ours, local, X):
    assert vars(ours).keys() == vars(local).keys()
    assert ours.n_features_in_ == local.n_features_in_
    np.testing.assert_allclose(
        ours.predict_proba(X), local.predict_proba(X), rtol=0, atol=TOLERANCE
    )
    np.testing.assert_array_equal(ours.predict(X), local.predict(X))


def assert_same_correction(ours, local):
    np.testing.assert_array_equal(ours.validation_indices_, local.validation_indices_)
    np.testing.assert_array_equal(ours.landmark_indices_, local.landmark_indices_)
    np.testing.assert_allclose(ours.search_["loss"], local.search_["loss"], rtol=1e-6)
    assert ours.decision_ == local.decision_
    ours, local = ours._corrector.label_sets, local._corrector.label_sets
    np.testing.assert_array_equal(ours.members.toarray(), local.members.toarray())
    np.testing.assert_allclose(ours.counts, local.counts)


@pytest.mark.parametrize(
    ("kind", "base", "weighted"),
    [
        ("dense", None, True),
        ("unknown sizes", BY_BLOCKS, False),
        ("frame", RandomSubspaceNB(5), True),
        ("sparse", RandomSubspaceNB(5), True),
        ("dense", BY_BLOCKS, True),
        ("dense", DecisionTreeClassifier(max_depth=3), False),  # takes indicators
    ],
)
def test_mended_equals_local_fit_with_the_same_splits(kind, base, weighted, data):
    X, Y, weights = data
    local, rows, labels = collections(kind, X, Y)
    clf = MendedClassifier(base, cv=SPLITS, criterion="micro_f1", max_landmarks=30, random_state=0)
    params = {"sample_weight": weights} if weighted else {}
    expected = clone(clf).fit(local, Y, **params)
    in_blocks = {"sample_weight": in_chunks(weights)} if weighted else {}
    ours = distributed.fit(clf, rows, labels, **in_blocks)
    assert_same(ours, expected, local)
    assert_same_correction(ours, expected)
    if kind == "frame":
        np.testing.assert_array_equal(ours.classes_, list("stuvw"))
        np.testing.assert_array_equal(ours.feature_names_in_, list("abcdef"))


def test_mended_with_all_rows_as_landmarks_and_overlapping_test_parts(data):
    X, Y, _ = data
    cv = [(np.arange(40, 80), np.arange(0, 40)), (np.arange(0, 50), np.arange(30, 70))]
    clf = MendedClassifier(BY_BLOCKS, cv=cv, random_state=0)
    expected = clone(clf).fit(X, Y)
    ours = distributed.fit(clf, in_chunks(X), in_chunks(Y))
    assert_same(ours, expected, X)
    assert_same_correction(ours, expected)


@pytest.mark.parametrize("base", [BY_BLOCKS, RandomSubspaceNB(5), "auto"])
def test_folds_are_those_of_a_local_fit(base, data):
    X, Y, weights = data
    clf = MendedClassifier(base, cv=3, max_landmarks=30, random_state=0)
    expected = clone(clf).fit(X, Y, sample_weight=weights)
    ours = distributed.fit(clf, in_chunks(X), in_chunks(Y), sample_weight=weights)
    assert_same(ours, expected, X)
    assert_same_correction(ours, expected)


def test_fitted_mended_is_saved_and_predicts_by_blocks(data, tmp_path):
    X, Y, _ = data
    clf = MendedClassifier(BY_BLOCKS, cv=3, max_landmarks=30, random_state=0)
    clf = distributed.fit(clf, in_chunks(X), in_chunks(Y))
    save_model(clf, tmp_path / "model")
    loaded = load_model(tmp_path / "model").estimator
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    scores = distributed.predict_proba(clf, in_chunks(X)).compute()
    np.testing.assert_allclose(scores, clf.predict_proba(X), rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(clf.validation_indices_, np.arange(len(X)))


@pytest.mark.parametrize(
    ("estimator", "weighted"),
    [
        (BinaryRelevance(LOGISTIC), True),
        (BinaryRelevance(BY_BLOCKS), True),
        (CorrectedPairwiseClassifier(random_state=0), False),  # its partial_fit is not used
        (OneVsRestClassifier(GaussianNB()), False),  # nor that of indicators
    ],
)
def test_thresholded_equals_local_fit(estimator, weighted, data):
    X, Y, weights = data
    clf = ThresholdedClassifier(estimator, cv=SPLITS)
    params = {"sample_weight": weights} if weighted else {}
    expected = clone(clf).fit(X, Y, **params)
    ours = distributed.fit(clf, in_chunks(X), in_chunks(Y), **params)
    assert_same(ours, expected, X)
    assert ours.threshold_.__dict__ == pytest.approx(expected.threshold_.__dict__)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "clf",
    [
        BinaryRelevance(BY_BLOCKS),
        BinaryRelevance(random_state=0),  # RandomSubspaceNB
        LabelPowerset(DecisionTreeClassifier(max_depth=3), random_state=0),
    ],
)
def test_baselines_equal_local_fits(clf, weighted, data):
    X, Y, weights = data
    params = {"sample_weight": weights} if weighted else {}
    expected = clone(clf).fit(X, Y, **params)
    ours = clone(clf).fit(X[:, :3], Y[:, ::-1])  # nothing of an earlier fit is left
    ours = distributed.fit(ours, in_chunks(X), in_chunks(Y), **params)
    assert_same(ours, expected, X)


def test_block_by_block_is_one_partial_fit_for_each_block(data):
    X, Y, _ = data
    base = SGDClassifier(loss="log_loss", random_state=0)
    ours = distributed.fit(BinaryRelevance(base), in_chunks(X), in_chunks(Y))
    assert ours.varying_.tolist() == [0, 1, 2, 3]
    for label, model in enumerate(ours.models_):
        reference = clone(base)
        for part in BLOCKS:
            reference.partial_fit(X[part], Y[part, label], classes=[0, 1])
        np.testing.assert_array_equal(model.coef_, reference.coef_)
    np.testing.assert_allclose(ours.predict_proba(X)[:, 4], 1 / 82)


def test_invalid_arguments_raise_and_leave_an_earlier_fit(data):
    X, Y, weights = data
    rows, labels, given = in_chunks(X), in_chunks(Y), {"sample_weight": weights}
    clf = MendedClassifier(LOGISTIC, cv=SPLITS, random_state=0).fit(X, Y)
    before = clf.predict_proba(X)
    twice = [(np.repeat(train, 2), test) for train, test in SPLITS]
    for refused, params, message in (
        (MLkNN(), given, "MLkNN.*sample_weight"),
        (MendedClassifier(BY_BLOCKS, cv=twice), {}, "same row several times"),
        (clf, {"sample_weight": weights - 1}, "Negative values in data passed"),
        (clone(clf).set_params(cv=81), {}, "n_splits=81 greater than the number of samples"),
        (BinaryRelevance(SGDOneSample()), given, "partial_fit.*sample_weight"),
        (BinaryRelevance(SGDClassifier()), {}, "SGDClassifier has no predict_proba"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            distributed.fit(refused, rows, labels, **params)
    with pytest.raises(ValueError, match="0 rows in all its blocks"):
        distributed.fit(clf, rows[:0], labels[:0])
    with pytest.raises(ValueError, match="y must hold 0 and 1 only"):
        distributed.fit(clf, rows, labels * 2)
    np.testing.assert_array_equal(clf.predict_proba(X), before)
    with pytest.warns(UserWarning, match="n_jobs=2 has no effect on training by blocks"):
        distributed.fit(BinaryRelevance(BY_BLOCKS, n_jobs=2), rows, labels)


class SGDOneSample(SGDClassifier):
    def fit(self, X, y, sample_weight=None): ...

    def partial_fit(self, X, y, classes=None): ...

    def predict_proba(self, X): ...

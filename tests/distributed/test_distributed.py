"""Fits and predictions on Dask collections equal those in this process."""

import os
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from dask_tasks import (
    CHUNKS,
    KINDS,
    assert_same,
    collections,
    da,
    dd,
    in_chunks,
    in_partitions,
    slow,
)
from odd_classifiers import KILL
from pairmend import (
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    PairwiseClassifier,
    RandomSubspaceNB,
    distributed,
)

TOLERANCE = 1e-9


@pytest.fixture
def on_cluster(cluster):
    with cluster.as_current():
        yield cluster


@pytest.fixture(scope="module")
def labels(small_set):
    """Labels of the small set, one that nearly always occurs with another, one without rows."""
    Y = small_set[1]
    inner = Y[:, 0] & (np.arange(len(Y)) % 20 > 0)
    inner[np.flatnonzero(Y[:, 0] == 0)[0]] = 1
    return np.column_stack([Y, inner, np.zeros(len(Y), dtype=int)])


@pytest.mark.parametrize(
    ("clf", "kind", "n_labels"),
    [
        *((PairwiseClassifier(RandomSubspaceNB(5, 0.5), random_state=0), kind, 6)
          for kind in KINDS),
        (CalibratedLabelRanking(random_state=0), "missing", 1),
        (CalibratedLabelRanking(random_state=0), "frame", 6),
        (CorrectedPairwiseClassifier(overlap=0.5, random_state=0), "sparse", 6),
        (CorrectedPairwiseClassifier(validation=3, overlap=0.5, random_state=0), "frame", 6),
        (CorrectedPairwiseClassifier(validation=2, random_state=0), "unknown sizes", 6),
        (CorrectedPairwiseClassifier(calibration_label=True, random_state=0), "sparse", 1),
        (CorrectedPairwiseClassifier(GaussianNB(), calibration_label=True, random_state=0),
         "dense", 1),
    ],
)  # fmt: skip
def test_fits_on_blocks_equal_fits_on_all_rows(clf, kind, n_labels, small_set, labels):
    local, rows, Y = collections(kind, small_set[0], labels[:, :n_labels])
    ours = distributed.fit(clone(clf), rows, Y)
    expected = clone(clf).fit(local, labels[:, :n_labels])
    if kind == "frame":
        assert ours.classes_.tolist() == list("stuvwx")
        assert ours.feature_names_in_.tolist() == list("abcdef")
    assert_same(ours, expected, local)
    for name in {"train_indices_", "validation_indices_"} & vars(ours).keys():
        np.testing.assert_array_equal(getattr(ours, name), getattr(expected, name))
    if clf.estimator is None or isinstance(clf.estimator, RandomSubspaceNB):
        learners = [each.learner_ for each in (ours, expected)]
        for name in ("categorical", "values", "offsets", "floor", "subspaces"):
            np.testing.assert_array_equal(
                *(getattr(each.feature_statistics_, name) for each in learners)
            )
        n_exclusive = [len(each._sums.exclusive.mass) for each in learners]
        assert n_exclusive[0] == n_exclusive[1]
        assert n_exclusive[0] > 0 or n_labels == 1


@pytest.mark.parametrize(
    "kind", ["dense", "two column chunks", "unknown sizes", "sparse matrix", "frame"]
)
def test_predictions_by_blocks_equal_local_predictions(kind, small_set, labels):
    local, remote, _ = collections(kind, small_set[0], labels)
    clf = CorrectedPairwiseClassifier(random_state=0).fit(local, labels)
    scores, predicted = distributed.predict_proba(clf, remote), distributed.predict(clf, remote)
    known = kind not in ("unknown sizes", "frame")
    assert scores.chunks == predicted.chunks
    assert (scores.chunks[0] == CHUNKS) == known
    assert scores.chunks[1] == (6,)
    assert (scores.dtype, predicted.dtype) == (float, np.int64)
    expected = clf.predict_proba(local)
    np.testing.assert_allclose(scores.compute(), expected, atol=TOLERANCE, rtol=0)
    np.testing.assert_array_equal(predicted.compute(), clf.predict(local))


def test_classes_instead_of_labels(small_set):
    X, Y = small_set
    y = np.array(["red", "green", "blue"])[Y[:, 0] + Y[:, 1]]
    clf = CorrectedPairwiseClassifier(random_state=0)
    ours, local = distributed.fit(clone(clf), in_chunks(X), in_chunks(y)), clf.fit(X, y)
    assert_same(ours, local, X)
    predicted = distributed.predict(ours, in_chunks(X))
    assert predicted.chunks == (CHUNKS,)
    np.testing.assert_array_equal(predicted.compute(), local.predict(X))


def test_empty_partitions_are_ignored(small_set):
    X, Y = small_set
    features, names = list("abcdef"), list("stuv")
    frame = pd.DataFrame(np.column_stack([X, Y]), columns=features + names)
    frame["number"] = np.arange(len(frame))
    some = dd.from_pandas(frame, npartitions=4)
    some = some[some["number"] >= 30]
    clf = CorrectedPairwiseClassifier(random_state=0)
    ours = distributed.fit(clone(clf), some[features], some[names])
    assert_same(ours, clf.fit(frame[features][30:], frame[names][30:]), frame[features])
    scores = distributed.predict_proba(ours, some[features]).compute()
    np.testing.assert_allclose(scores, clf.predict_proba(frame[features][30:]), atol=TOLERANCE)
    none = some[some["number"] < 0]
    for base in (None, GaussianNB()):
        with pytest.raises(ValueError, match="0 rows in all its blocks"):
            distributed.fit(PairwiseClassifier(base), none[features], none[names])


def test_killed_worker_does_not_change_the_result(small_set, labels, on_cluster):
    X, _ = small_set
    rows = da.from_array(X, chunks=(10, -1)).map_blocks(slow, dtype=float)  # 0.8 s per pass
    local = PairwiseClassifier(random_state=0).fit(X, labels)
    for work in (
        lambda: distributed.fit(clone(local), rows, in_chunks(labels)).predict_proba(X),
        lambda: distributed.predict_proba(local, rows).compute(),
    ):
        on_cluster.wait_for_workers(2, timeout=60)
        victim = next(iter(on_cluster.run(os.getpid).values()))
        killer = threading.Timer(0.4, os.kill, (victim, KILL))
        killer.start()
        result = work()
        assert not killer.is_alive(), "the work was done before the worker was killed"
        np.testing.assert_allclose(result, local.predict_proba(X), atol=TOLERANCE, rtol=0)


def test_later_changes_of_the_classifier_do_not_change_a_lazy_prediction(small_set):
    X, Y = small_set
    clf = PairwiseClassifier(random_state=0).fit(X, Y)
    expected = clf.predict(X)
    predicted = distributed.predict(clf, in_chunks(X))
    clf.set_params(threshold=0.9).fit(X, Y[:, ::-1])
    np.testing.assert_array_equal(predicted.compute(), expected)


def test_invalid_arguments_raise(small_set):
    X, Y = small_set
    (_, unknown, _), rows, labels = collections("unknown sizes", X, Y), in_chunks(X), in_chunks(Y)
    clf = PairwiseClassifier(random_state=0)
    wrong = da.from_array(Y, chunks=((20, 20, 20, 20), -1))
    for given, message in (
        ((clf, X, labels), "X must be a dask array or dataframe, got ndarray"),
        ((clf, rows, Y), "y must be a dask array or dataframe, got ndarray"),
        ((GaussianNB(), rows, labels), "takes a classifier of pairmend, got GaussianNB"),
        ((clf, rows, labels[:70]), "[Cc]hunks"),
        ((clf, unknown, da.from_array(Y, chunks=(80, -1))), "4 blocks of rows, y has 1"),
        ((clf, unknown, wrong), "A block of X has .* rows, that of y has 20"),
        ((clf, rows, labels * 2), "y must hold 0 and 1 only"),
        ((clf, rows, labels[:, :1]), "one label only"),
        ((PairwiseClassifier(threshold=3), rows, labels), "'threshold' parameter"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            distributed.fit(*given)
    assert not hasattr(clf, "learner_")
    clf.fit(X, Y)
    with pytest.raises(ValueError, match="X has 5 features, but .* is expecting 6"):
        distributed.predict(clf, rows[:, :5])
    with pytest.raises(TypeError, match="X must be a dask array or dataframe"):
        distributed.predict(clf, X)


@pytest.mark.parametrize(
    "column",
    [
        pd.Timestamp("2024-01-01"),
        np.where(np.arange(80) % 3, "much", "little"),
        pd.Categorical(np.arange(80) % 3, categories=np.arange(101)),
    ],
    ids=["date", "text", "many categories"],
)
def test_frames_that_need_all_their_rows_are_fitted_on_one_worker(column, small_set):
    X, Y = small_set
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(b=column)
    rows, labels = in_partitions(frame), in_partitions(pd.DataFrame(Y, columns=list("stuv")))
    clf = PairwiseClassifier(random_state=0)
    local = clone(clf).fit(frame, Y)
    with pytest.warns(UserWarning, match="Column 'b' .* all rows .* on one worker.*categorize"):
        ours = distributed.fit(clf, rows, labels)
    np.testing.assert_array_equal(ours.predict_proba(frame), local.predict_proba(frame))


def test_categories_that_are_computed_are_read_by_blocks(small_set):
    X, Y = small_set
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["b"] = np.where(X[:, 1] > 9, "much", "little")
    rows, clf = in_partitions(frame), PairwiseClassifier(random_state=0)
    rows["b"] = rows["b"].astype("category")
    known, frame = rows.categorize(columns=["b"]), frame.astype({"b": "category"})
    ours = distributed.fit(clone(clf), known, in_partitions(pd.DataFrame(Y)))
    expected = clf.fit(frame, Y).predict_proba(frame)
    found = distributed.predict_proba(ours, rows).compute()  # each partition has its own categories
    np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=0)

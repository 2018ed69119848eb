"""Input with and without `array_api_dispatch`, refused input, moved and other estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from array_libraries import LIBRARIES, Library, dispatched, moved_to, moved_to_numpy
from pairmend import (
    AdaptiveNeighbourhood,
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
    MendedClassifier,
    PairwiseClassifier,
)
from pairmend._utils.sklearn_private import HAS_ARRAY_API
from pairmend.metrics import LOSSES, reliability
from pairmend.persistence import load_model, save_model
from pairmend.thresholds import (
    BatchF1Thresholds,
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
    TopLabels,
)
from public_classifiers import CLASSIFIERS, data_for, made

TAKING_ARRAYS = {
    "CalibratedLabelRanking",
    "CorrectedPairwiseClassifier",
    "MendedClassifier",
    "PairwiseClassifier",
}
every_library = pytest.mark.parametrize("name", LIBRARIES)
every_classifier = pytest.mark.parametrize(
    "clf",
    [
        PairwiseClassifier(random_state=0),
        CorrectedPairwiseClassifier(overlap=0.5, random_state=0),
        MendedClassifier(GaussianNB(), cv=2, random_state=0),
    ],
)


@pytest.fixture(scope="module")
def label_set():
    rng = np.random.RandomState(0)
    Y = (rng.rand(60, 3) < 0.4).astype(int)
    return Y @ rng.randn(3, 5) + rng.randn(60, 5), Y


@pytest.mark.skipif(not HAS_ARRAY_API, reason="scikit-learn dispatches arrays from 1.9 on")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_dispatch_changes(name):
    """Rows of numpy, and frames, which are encoded in a form that is no array, are as without."""
    X, y = data_for(name)
    weights = {"sample_weight": 1.0 + np.arange(len(X)) % 3}
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    for rows, params in ((X, {}), (frame, {}), (frame, weights)):
        try:
            expected = made(name).fit(rows, y, **params).predict(rows)
        except (TypeError, ValueError):  # no weights, or no frames
            continue
        with dispatched():
            found = made(name).fit(rows, y, **params).predict(rows)
        np.testing.assert_array_equal(found, expected)
    if name not in TAKING_ARRAYS:
        library = Library("strict")
        with dispatched(), pytest.raises(ValueError, match=f"{name}.* takes (no )?arrays of"):
            made(name).fit(library(X), library(y))


@every_classifier
def test_without_dispatch_arrays_are_converted(clf, label_set):
    strict, (X, Y) = pytest.importorskip("array_api_strict"), label_set
    expected = clone(clf).fit(X, Y).predict_proba(X)
    fitted = clone(clf).fit(strict.asarray(X), strict.asarray(Y))
    found = fitted.predict_proba(strict.asarray(X))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, expected)


class SparseTensor:
    """What a sparse tensor of torch shows; torch need not be installed."""

    layout, shape = "torch.sparse_csr", (60, 5)

    def __dlpack__(self):
        """Mark an array of another library."""
        raise AssertionError


@every_library
@every_classifier
def test_what_is_taken_and_what_is_refused(clf, name, label_set):
    library, (X, Y) = Library(name), label_set
    refused = {
        "expected at most 1e\\+100": X * 1e150,
        "infinity": np.where(X[0, 0] == X, np.inf, X),
        "Complex data not supported": X + 1j,
    }
    with dispatched():
        fitted = clone(clf).fit(library(X), library(Y))
        expected = library.numpy(fitted.predict_proba(library(X)))
        for message, rows in refused.items():
            for call in (clone(clf).fit, lambda rows, _: fitted.predict(rows)):
                with pytest.raises(ValueError, match=message):
                    call(library(rows), library(Y))
        with pytest.raises(ValueError, match="sparse tensor"):
            clone(clf).fit(SparseTensor(), library(Y))
        of_bools = clone(clf).fit(library(X), library(Y == 1)).predict_proba(library(X))
    np.testing.assert_array_equal(library.numpy(of_bools), expected)


@every_library
@pytest.mark.parametrize(
    "neighbourhood",
    [
        *(GaussianNeighbourhood(beta=3.0, scale=scale) for scale in ("range", "standard", None)),
        AdaptiveNeighbourhood(k=3),
        GlobalNeighbourhood(),
    ],
    ids=repr,
)
def test_neighbourhoods(neighbourhood, name, rng):
    library = Library(name)
    X, queries = rng.randn(30, 4) * [1, 5, 0.1, 0], rng.randn(7, 4) + 100
    X[:4] = X[0]  # more than k equal rows
    queries[0] = X[0]
    weights = np.where(np.arange(30) == 5, 0, 1.0 + np.arange(30) % 3)
    for size in (1.0, 1e-160):  # squares of tiny features lose digits if they are shared out
        expected = neighbourhood.fit(X * size, sample_weight=weights).weights(queries * size)
        with dispatched():
            neighbourhood.fit(library(X * size), sample_weight=library(weights))
            found = library.numpy(neighbourhood.weights(library(queries * size)))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


@every_library
def test_thresholds_and_metrics(name, rng):
    library, Y, weights = (
        Library(name),
        (rng.rand(60, 4) < 0.4).astype(int),
        np.arange(60) % 2 + 1.0,
    )
    scores = np.clip(0.6 * Y + 0.4 * rng.rand(60, 4), 0, 1)
    every = FixedThreshold(0.4), CardinalityThreshold(), F1Thresholds("micro"), TopLabels()
    for threshold in (*every, BatchF1Thresholds(20)):
        expected = threshold.fit(scores, Y, sample_weight=weights).decide(scores)
        with dispatched():
            threshold.fit(library(scores), library(Y), sample_weight=library(weights))
            found = library.numpy(threshold.decide(library(scores)))
        np.testing.assert_array_equal(found, expected)
    with dispatched():
        for loss in LOSSES.values():
            assert loss(library(Y), library(found)) == pytest.approx(loss(Y, found))
        error = reliability(library(Y), library(scores)).error
    assert error == pytest.approx(reliability(Y, scores).error)


MOVED = [
    PairwiseClassifier(random_state=0),
    CorrectedPairwiseClassifier(overlap=0.5, random_state=0),
    CorrectedPairwiseClassifier(validation=3, random_state=0),
    CalibratedLabelRanking(random_state=0),
    MendedClassifier(None, cv=2, random_state=0),
    MendedClassifier(GaussianNB(), cv=2, random_state=0),
    MendedClassifier(cv=2, random_state=0),
]
TARGETS = {
    "indicators": np.asarray,
    "names": lambda Y: pd.DataFrame(Y, columns=["sea", "beach", "sunset"]),
    "classes": lambda Y: np.array(["sea", "beach", "sunset"])[Y.argmax(axis=1)],
}


@every_library
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("clf", MOVED)
def test_a_moved_classifier_predicts_the_same(clf, target, name, label_set):
    library, (X, Y) = Library(name), label_set
    other = Library(name)
    if name == "strict":
        other.device = other.xp.Device("device2")
    with dispatched():
        fitted = clone(clf).fit(library(X), TARGETS[target](Y))
        expected = library.numpy(fitted.predict_proba(library(X)))
        on_numpy = moved_to_numpy(fitted)
        for start in (fitted, on_numpy):
            moved = moved_to(start, other(X))
            np.testing.assert_array_equal(moved.classes_, fitted.classes_)
            found = other.numpy(moved.predict_proba(other(X)))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
            predicted, numpys = moved.predict(other(X)), on_numpy.predict(X)
            same = predicted if target == "classes" else other.numpy(predicted)
            np.testing.assert_array_equal(same, numpys)
        of_numpy = clone(clf).fit(X, TARGETS[target](Y))
        np.testing.assert_array_equal(moved_to_numpy(of_numpy).predict(X), of_numpy.predict(X))
        if isinstance(clf, MendedClassifier):
            found = library.numpy(moved_to(of_numpy, library(X)).predict_proba(library(X)))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        else:
            with pytest.raises(ValueError, match="was fitted on arrays of numpy"):
                moved_to(of_numpy, library(X))
    np.testing.assert_allclose(on_numpy.predict_proba(X), expected, rtol=0, atol=1e-12)


@every_library
def test_numpy_rows_after_a_fit_on_a_device(name, label_set, tmp_path):
    """Model files hold arrays of numpy."""
    library, (X, Y) = Library(name), label_set
    for clf in (MendedClassifier(cv=2), CorrectedPairwiseClassifier(calibration_label=True)):
        with dispatched():
            fitted = clf.set_params(random_state=0).fit(library(X), library(Y))
            expected = library.numpy(fitted.predict_proba(library(X)))
            with pytest.raises(ValueError, match="must use the same namespace"):
                fitted.explain(X[:2])
            assert len(moved_to_numpy(fitted).explain(X[:2])) == 2
        save_model(fitted, tmp_path / "a.model")
        found = load_model(tmp_path / "a.model").predict_proba(X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    with dispatched(), pytest.raises(ValueError, match="on arrays of another library than numpy"):
        moved_to_numpy(fitted).partial_fit(X, Y)

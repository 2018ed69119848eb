"""What classifiers must do: each check takes an unfitted one with a deterministic base.

scikit-learn's common checks say little about labels. `tests/test_classifiers.py` has the table of
classifiers, and those for which a check does not hold.
"""

import pickle
import warnings
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from pairmend import RandomSubspaceNB
from pairmend.frames import ColumnWarning
from pairmend.kernels.pairs import label_pairs

OF_PAIRS = ("pair_support", "pair_supports", "pair_corrected", "confusion")


@cache  # scikit-learn takes half a second to make them
def _made(n_samples, n_classes):
    return make_multilabel_classification(
        n_samples, n_features=8, n_classes=n_classes, n_labels=2, random_state=1
    )


def _data(n_samples=90, n_classes=4):
    X, Y = _made(n_samples, n_classes)
    return X.copy(), Y.copy()


def _small_data():
    """Return fewer rows and labels, for checks that fit many times."""
    X, Y = _data()
    return X[:60], Y[:60, :3]


def _target(clf, Y):
    """Return indicators, or classes for a classifier of 1-D classes."""
    multi_label = get_tags(clf).classifier_tags.multi_label
    return Y if multi_label else np.array(["ant", "bee", "cat"])[Y[:, 0] + Y[:, 1]]


_FITTED = {}


def _fitted(clf, X, Y, **params):
    """Fit a clone, once for all checks; no check may fit it again."""
    key = joblib.hash((clf, X, Y, params))
    if key not in _FITTED:
        _FITTED[key] = clone(clf).fit(X, _target(clf, Y), **params)
    return _FITTED[key]


def _has(clf, *names):
    return set(names) <= set(clf.get_params(deep=False))


def outputs(clf, X):
    """Return scores of labels, and what the classifier tells about pairs of labels."""
    return [getattr(clf, name)(X) for name in ("predict_proba", *OF_PAIRS) if hasattr(clf, name)]


def assert_same(first, second, X, atol=1e-10, *, other_rows=None):
    """Compare scores; if they must be equal up to rounding, predictions, too."""
    rows = X if other_rows is None else other_rows
    for a, b in zip(outputs(first, rows), outputs(second, X), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=atol)
    if atol <= 1e-8:
        np.testing.assert_array_equal(first.predict(rows), second.predict(X))


def check_shapes_and_ranges(clf):
    X, Y = _data()
    fitted = _fitted(clf, X, Y)
    predicted = fitted.predict(X)
    shapes = [(90, len(fitted.classes_))]
    if get_tags(clf).classifier_tags.multi_label:
        assert fitted.classes_.tolist() == [0, 1, 2, 3]
        assert (predicted.shape, predicted.dtype) == (Y.shape, np.int64)
    assert set(np.unique(predicted)) <= {0, 1, "ant", "bee", "cat"}
    if hasattr(fitted, "pairs_"):
        pairs = label_pairs(4 + fitted.has_virtual_label)
        np.testing.assert_array_equal(fitted.pairs_, pairs)
        shapes += [(90, len(pairs)), (90, len(pairs)), (90, len(pairs), 2, 2)]
        np.testing.assert_array_equal(predicted, fitted.predict_proba(X) > 0.5)
    for output, shape in zip(outputs(fitted, X), shapes, strict=False):
        assert output.shape[: len(shape)] == shape
        assert output.min() >= 0
        assert output.max() <= 1


def check_label_permutation_permutes_the_output(clf):
    X, Y = _data()
    order = np.array([2, 0, 3, 1])
    plain, permuted = _fitted(clf, X, Y), _fitted(clf, X, Y[:, order])
    expected = plain.predict_proba(X)[:, order]
    np.testing.assert_allclose(permuted.predict_proba(X), expected, atol=1e-6)


def check_labels_that_never_or_always_occur(clf):
    X, Y = _data()
    Y[:, 0], Y[:, 3] = 0, 1
    scores = _fitted(clf, X, Y).predict_proba(X)
    assert np.isfinite(scores).all()
    # A label that is always there wins over one that never is.
    assert (scores[:, 3] > scores[:, 0]).all()


def check_one_label_and_classes_are_learnt(clf):
    X, Y = _data()
    y = X[:, :3].argmax(axis=1)
    assert clone(clf).fit(X, y).score(X, y) > 0.6
    if get_tags(clf).classifier_tags.multi_label:
        predicted = clone(clf).fit(X, Y[:, :1]).predict(X)
        assert (predicted == Y[:, :1]).mean() > 0.7


def check_the_way_to_compute_changes_nothing(clf):
    X, Y = _small_data()
    plain = _fitted(clf, X, Y)
    with config_context(working_memory=0.002):  # one pair, and a few rows, at a time
        chunked = clone(clf).fit(X, _target(clf, Y))
        assert_same(chunked, plain, X[:30], atol=1e-12)
    if _has(clf, "n_jobs"):
        assert_same(_fitted(clone(clf).set_params(n_jobs=2), X, Y), plain, X, atol=0)


def check_a_row_does_not_depend_on_its_company(clf):
    X, Y = _data()
    X = np.round(X / 4)  # few values: distances and scores have ties
    forms = [np.asarray, lambda X: pd.DataFrame(X).add_prefix("f")]
    for form in [*forms, sparse.csr_array] if get_tags(clf).input_tags.sparse else forms:
        fitted, new = _fitted(clf, form(X), Y), form(np.vstack([X[:4], 1.3 * X[8:10]]))
        together = [fitted.predict(new), *outputs(fitted, new)]
        for row in range(6):
            one = new.iloc[row : row + 1] if hasattr(new, "iloc") else new[row : row + 1]
            np.testing.assert_array_equal(fitted.predict(one)[0], together[0][row])
            for alone, among in zip(outputs(fitted, one), together[1:], strict=True):
                np.testing.assert_allclose(alone[0], among[row], rtol=0, atol=1e-12)


def check_clone_and_pickle(clf):
    X, Y = _data()
    fitted = _fitted(clf, X, Y)
    assert_same(clone(fitted).fit(X, _target(clf, Y)), fitted, X, atol=0)
    assert_same(pickle.loads(pickle.dumps(fitted)), fitted, X, atol=0)


def check_pipeline_search_and_cross_validation(clf):
    X, Y = _small_data()
    y = _target(clf, Y)
    assert make_pipeline(MaxAbsScaler(), clone(clf)).fit(X, y).predict(X).shape == y.shape
    tried = {"voting": ["soft", "votes"], "threshold": [0.4], "candidate_threshold": [0.1]}
    grid = {name: values for name, values in tried.items() if _has(clf, name)}
    search = GridSearchCV(clone(clf), grid, cv=2).fit(X, y)
    assert all(search.best_params_[name] in values for name, values in grid.items())
    proba = cross_val_predict(clone(clf), X, y, cv=2, method="predict_proba")
    assert proba.shape == (60, 3)


def check_frames_and_forms_of_targets(clf):
    X, Y = _small_data()
    plain = _fitted(clf, X, Y)
    X_frame = pd.DataFrame(X).add_prefix("f")
    Y_frame = pd.DataFrame(Y, columns=["sea", "beach", "sun"])
    framed = clone(clf).fit(X_frame, Y_frame)
    assert framed.classes_.tolist() == ["sea", "beach", "sun"]
    assert framed.feature_names_in_.tolist() == X_frame.columns.tolist()
    assert_same(framed, plain, X, other_rows=X_frame)
    for target in (sparse.coo_matrix(Y), Y.astype(bool).tolist()):
        assert_same(clone(clf).fit(X, target), plain, X, atol=0)


def check_a_feature_without_any_value(clf):
    if not get_tags(clf).input_tags.allow_nan:
        return
    X, Y = _data()
    X[:, 3] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ColumnWarning)  # of frames
        for rows in (X, pd.DataFrame(X).add_prefix("f")):
            assert all(np.isfinite(part).all() for part in outputs(_fitted(clf, rows, Y), rows))


def check_sparse_rows(clf):
    if not get_tags(clf).input_tags.sparse:
        return
    X, Y = _small_data()
    X = np.where(np.median(X) < X, X + np.random.RandomState(0).rand(*X.shape), 0)
    dense = _fitted(clf, X, Y)
    for layout in (sparse.csr_array, sparse.csc_matrix):
        rows = layout(X)
        assert_same(_fitted(clf, rows, Y), dense, X, atol=1e-6, other_rows=rows)


def check_arrays_of_mostly_zeros_equal_sparse_rows(clf):
    if not get_tags(clf).input_tags.sparse:
        return
    rng = np.random.RandomState(0)
    X = rng.randint(1, 4, size=(90, 40)) * (rng.rand(90, 40) < 0.035) * 1.0
    Y = (X[:, :20] @ rng.rand(20, 4) + rng.rand(90, 4) > 0.8).astype(int)
    weights = {"sample_weight": rng.randint(1, 4, size=90) * 1.0}
    cases = [(X, {})]
    if isinstance(clf.get_params(deep=False).get("estimator"), RandomSubspaceNB):
        cases += [((X > 0) * 1.0, weights)]
        if get_tags(clf).input_tags.allow_nan:
            cases += [(np.where(rng.rand(*X.shape) < 0.003, np.nan, X), weights)]
    for dense_rows, params in cases:
        rows = sparse.csr_array(dense_rows)
        dense, csr = _fitted(clf, dense_rows, Y, **params), _fitted(clf, rows, Y, **params)
        for fitted, given in ((dense, dense_rows), (dense, rows), (csr, dense_rows)):
            proba = fitted.predict_proba(given)
            np.testing.assert_allclose(proba, csr.predict_proba(rows), atol=1e-9)
            np.testing.assert_array_equal(fitted.predict(given), csr.predict(rows))


def check_float32(clf):
    X, Y = _data()
    X = X / 10 + 0.1
    single = X.astype(np.float32)
    assert_same(_fitted(clf, single, Y), _fitted(clf, X, Y), X, atol=2e-3, other_rows=single)


def check_a_failed_fit_leaves_the_old_one(clf):
    X, Y = _data()
    fitted = _fitted(clf, X, Y)
    before = [output.copy() for output in outputs(fitted, X)]
    for X_bad, Y_bad in ((X[:, :3], Y + 1), (X[:40, :3], Y), (X[:, 0], Y), (X[:, :2], Y[:, :0])):
        with pytest.raises(ValueError, match="."):
            fitted.fit(X_bad, Y_bad)
    for old, new in zip(before, outputs(fitted, X), strict=True):
        np.testing.assert_array_equal(old, new)


def check_explanations_add_up_to_the_prediction(clf):
    if not hasattr(clf, "explain"):
        return
    X, Y = _small_data()
    for y in (Y, np.array(["ant", "bee", "cat"])[Y[:, 0] + Y[:, 1]]):
        fitted = clone(clf).fit(X, y)
        proba, predicted = fitted.predict_proba(X[:20]), fitted.predict(X[:20])
        predicted = predicted == 1 if y is Y else predicted[:, np.newaxis] == fitted.classes_
        explanations = fitted.explain(X[:20], labels=range(3), n_contributions=0)
        for row, explanation in enumerate(explanations):
            assert explanation.row == row
            for number, label in enumerate(explanation.labels):
                assert label.name == str(fitted.classes_[number])
                assert label.proba == proba[row, number]
                assert label.predicted == predicted[row, number]
                total = label.base + sum(change.amount for change in label.changes)
                assert total == pytest.approx(label.proba, abs=1e-11)
                assert y is Y or label.threshold is None
            assert y is Y or sum(label.predicted_before for label in explanation.labels) == 1


# Sample weights: only their ratios count.


def _weight_data(clf):
    X, Y = _data(60)
    X = X + 0.1 * np.sin(np.arange(X.size)).reshape(X.shape)  # no two values alike
    if not isinstance(clf.get_params(deep=False).get("estimator"), GaussianNB):
        # Values that are counted. GaussianNB has a variance floor that weights do not change.
        X[:, 2] = X[:, 2] > np.median(X[:, 2])
    # A label set that one row carries, and a label with a single row.
    Y[7], Y[:, 3] = [1, 1, 1, 0], 0
    Y[11, 3] = 1
    return X, Y, 0.5 + np.arange(len(Y)) % 3


def check_zero_or_tiny_weight_equals_no_row(clf):
    X, Y, weights = _weight_data(clf)
    # Rows like no other: features far away, all labels, and none.
    more = np.vstack([X, X.max(axis=0) * 50, X.min(axis=0) - 20, X[3] + 0.37])
    labels = np.vstack([Y, [1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0]])
    without = _fitted(clf, X, Y, sample_weight=weights)
    for weight in (0.0, 1e-9):
        found = _fitted(clf, more, labels, sample_weight=np.append(weights, [weight] * 3))
        assert_same(found, without, X, atol=1e-8)


def check_all_weights_times_a_constant(clf):
    X, Y, weights = _weight_data(clf)
    plain = _fitted(clf, X, Y, sample_weight=weights)
    # The base may be a tree: rounding decides between splits of the same gain.
    is_tree = isinstance(clf.get_params(deep=False).get("estimator"), DecisionTreeClassifier)
    for factor in (2.0**-10, 2.0**10) if is_tree else (1e-6, 1e3, 1 / weights.sum()):
        assert_same(_fitted(clf, X, Y, sample_weight=factor * weights), plain, X, atol=1e-8)
    equal = _fitted(clf, X, Y, sample_weight=np.full(len(Y), 0.25))
    assert_same(_fitted(clf, X, Y), equal, X, atol=1e-8)


def check_weight_two_equals_the_row_twice(clf):
    """Splits are given, so that both copies of a row are in the same part."""
    X, Y, _ = _weight_data(clf)
    counts = 1 + (np.arange(len(Y)) % 4 == 0)
    rows = np.repeat(np.arange(len(Y)), counts)
    third = np.arange(len(Y)) % 3
    parts = [(np.flatnonzero(third != k), np.flatnonzero(third == k)) for k in range(3)]
    numbered = [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in parts]
    weighted, repeated = clone(clf), clone(clf)
    if _has(clf, "cv"):
        weighted.set_params(cv=parts)
        repeated.set_params(cv=numbered)
    if _has(clf, "validation"):
        weighted.set_params(validation=parts[0])
        repeated.set_params(validation=numbered[0])
    found = _fitted(weighted, X, Y, sample_weight=counts.astype(float))
    assert_same(found, _fitted(repeated, X[rows], Y[rows]), X, atol=1e-8)


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]
OF_WEIGHTS = {
    check_zero_or_tiny_weight_equals_no_row,
    check_all_weights_times_a_constant,
    check_weight_two_equals_the_row_twice,
}

"""Checks of pairwise classifiers and MendedClassifier with any base classifier.

scikit-learn's common checks say little about labels. Each check here takes an unfitted
classifier with a deterministic base and raises an AssertionError where it fails.
"""

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
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

from pairmend.frames import ColumnWarning
from pairmend.frames.encoder import takes_encoded_frames
from pairmend.kernels.pairs import label_pairs


def _data(n_samples=90, n_classes=4):
    return tuple(part.copy() for part in _made(n_samples, n_classes))


@cache  # scikit-learn takes half a second to make them
def _made(n_samples, n_classes):
    return make_multilabel_classification(
        n_samples, n_features=8, n_classes=n_classes, n_labels=2, random_state=1
    )


def _small_data():
    """Return fewer rows and labels, for checks that fit many times."""
    X, Y = _data()
    return X[:60], Y[:60, :3]


def _outputs(clf, X):
    outputs = [clf.predict_proba(X)]
    # Where a pair may hold that a row has both labels, it has a support for each.
    for method in ("pair_support", "pair_supports"):
        if hasattr(clf, method):
            outputs += [getattr(clf, method)(X)]
    if hasattr(clf, "pair_corrected"):
        outputs += [clf.pair_corrected(X), clf.confusion(X)]
    return outputs


def _assert_same(first, second, X, **tolerance):
    for a, b in zip(_outputs(first, X), _outputs(second, X), strict=True):
        np.testing.assert_allclose(a, b, **{"atol": 1e-10, **tolerance})


def check_shapes_and_ranges(clf):
    X, Y = _data()
    clf.fit(X, Y)
    pairs = label_pairs(4 + clf.has_virtual_label)
    n_pairs = len(pairs)
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(clf.pairs_, pairs)
    assert clf.n_features_in_ == 8
    predicted = clf.predict(X)
    assert predicted.shape == Y.shape
    assert set(np.unique(predicted)) <= {0, 1}
    shapes = [(90, 4), (90, n_pairs), (90, n_pairs), (90, n_pairs, 2, 2)]
    for output, shape in zip(_outputs(clf, X), shapes, strict=False):
        assert output.shape[: len(shape)] == shape
        assert output.min() >= 0
        assert output.max() <= 1
    np.testing.assert_array_equal(predicted, clf.predict_proba(X) > 0.5)


def check_label_permutation_permutes_the_output(clf):
    X, Y = _data()
    order = np.array([2, 0, 3, 1])
    plain = clone(clf).fit(X, Y).predict_proba(X)
    permuted = clone(clf).fit(X, Y[:, order]).predict_proba(X)
    np.testing.assert_allclose(permuted, plain[:, order], atol=1e-6)


def check_swapping_a_pair_flips_its_support(clf):
    X, Y = _data(n_classes=2)
    plain, swapped = clone(clf).fit(X, Y), clone(clf).fit(X, Y[:, ::-1])
    # The other pairs, if there are any, are those with the virtual label.
    before, after = _outputs(plain, X)[1], _outputs(swapped, X)[1]
    flipped = before[:, 0, ::-1] if before.ndim == 3 else 1 - before[:, 0]
    np.testing.assert_allclose(after[:, 0], flipped, atol=1e-6)
    np.testing.assert_allclose(after[:, 1:], before[:, :0:-1], atol=1e-6)
    if hasattr(clf, "pair_corrected"):
        before, after = plain.pair_corrected(X), swapped.pair_corrected(X)
        np.testing.assert_allclose(after[:, 0], 1 - before[:, 0], atol=1e-6)
        np.testing.assert_allclose(after[:, 1:], before[:, :0:-1], atol=1e-6)
        before, after = plain.confusion(X), swapped.confusion(X)
        np.testing.assert_allclose(after[:, 0], before[:, 0, ::-1, ::-1], atol=1e-6)
        np.testing.assert_allclose(after[:, 1:], before[:, :0:-1], atol=1e-6)


def check_labels_that_never_or_always_occur(clf):
    X, Y = _data()
    Y[:, 0], Y[:, 3] = 0, 1
    scores = clf.fit(X, Y).predict_proba(X)
    assert np.isfinite(scores).all()
    # A label that is always there wins over one that never is.
    assert (scores[:, 3] > scores[:, 0]).all()


def check_pairs_without_rows(clf):
    X, Y = _data()
    Y[:, 1] = Y[:, 0]  # never exactly one of the two
    clf.fit(X, Y)
    if hasattr(clf, "pair_support"):
        np.testing.assert_array_equal(clf.pair_support(X)[:, 0], 0.5)
    else:  # the labels are always there together, if they are
        first, second = np.moveaxis(clf.pair_supports(X)[:, 0], 1, 0)
        np.testing.assert_allclose(first, second, atol=1e-12)
    Y[:] = 0
    scores = clf.fit(X, Y).predict_proba(X)
    knows_absence = clf.has_virtual_label or not hasattr(clf, "pair_support")
    assert (scores < 0.5 if knows_absence else scores == 0.5).all()
    assert not clf.predict(X).any()


def check_duplicate_rows(clf):
    X, Y = _data()
    X, Y = np.vstack([X[:30]] * 3), np.vstack([Y[:30]] * 3)
    scores = clf.fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(scores[:30], scores[30:60], atol=1e-12)


def check_inputs_are_not_modified(clf):
    X, Y = _data()
    X.flags.writeable = Y.flags.writeable = False
    X_before, Y_before = X.copy(), Y.copy()
    _outputs(clf.fit(X, Y), X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(Y, Y_before)


def check_block_and_chunk_change_nothing(clf):
    X, Y = _small_data()
    whole = clone(clf).fit(X, Y).predict_proba(X[:30])
    with config_context(working_memory=0.002):  # one pair, and a few rows, at a time
        pieces = clone(clf).fit(X, Y).predict_proba(X[:30])
    np.testing.assert_allclose(pieces, whole, atol=1e-12)


def check_n_jobs_changes_nothing(clf):
    if "n_jobs" not in clf.get_params(deep=False):
        return
    X, Y = _small_data()
    alone, together = clone(clf).fit(X, Y), clone(clf).set_params(n_jobs=2).fit(X, Y)
    for a, b in zip(_outputs(alone, X), _outputs(together, X), strict=True):
        np.testing.assert_array_equal(a, b)


def check_a_row_does_not_depend_on_its_company(clf):
    X, Y = _data()
    clf.fit(X, Y)
    for one, all_rows in zip(_outputs(clf, X[5:6]), _outputs(clf, X), strict=True):
        np.testing.assert_allclose(one[0], all_rows[5], atol=1e-10)


def check_clone_and_pickle(clf):
    X, Y = _data()
    fitted = clone(clf).fit(X, Y)
    _assert_same(clone(fitted).fit(X, Y), fitted, X, atol=0)
    _assert_same(pickle.loads(pickle.dumps(fitted)), fitted, X, atol=0)


def check_pipeline_search_and_cross_validation(clf):
    X, Y = _small_data()
    piped = make_pipeline(MaxAbsScaler(), clone(clf)).fit(X, Y)
    assert piped.predict(X).shape == Y.shape
    tried = {
        "voting": ["soft", "votes"],
        "threshold": [0.4, 0.6],
        "candidate_threshold": [0.1, 0.3],
    }
    # Some classifiers count votes always.
    grid = {name: tried[name] for name in tried if name in clf.get_params(deep=False)}
    search = GridSearchCV(clone(clf), grid, cv=2).fit(X, Y)
    assert all(search.best_params_[name] in values for name, values in grid.items())
    assert cross_val_predict(clone(clf), X, Y, cv=2).shape == Y.shape
    proba = cross_val_predict(clone(clf), X, Y, cv=2, method="predict_proba")
    assert proba.shape == Y.shape


def check_frames_and_sparse_targets(clf):
    X, Y = _small_data()
    plain = clone(clf).fit(X, Y)
    X_frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
    Y_frame = pd.DataFrame(Y, columns=["sea", "beach", "sun"])
    framed = clone(clf).fit(X_frame, Y_frame)
    assert framed.classes_.tolist() == ["sea", "beach", "sun"]
    assert framed.feature_names_in_.tolist() == X_frame.columns.tolist()
    np.testing.assert_allclose(framed.predict_proba(X_frame), plain.predict_proba(X), atol=1e-10)
    for target in (sparse.csr_array(Y), sparse.coo_matrix(Y), Y.astype(bool), Y.tolist(), Y * 1.0):
        _assert_same(clone(clf).fit(X, target), plain, X, atol=0)


def check_a_feature_without_any_value(clf):
    if not get_tags(clf).input_tags.allow_nan:
        return
    X, Y = _data()
    X[:, 3] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for output in _outputs(clone(clf).fit(X, Y), X):
            assert np.isfinite(output).all()
        framed = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
        warnings.simplefilter("ignore", ColumnWarning)
        for output in _outputs(clone(clf).fit(framed, Y), framed):
            assert np.isfinite(output).all()


def check_frames_of_any_dtype_and_library(clf):
    if not hasattr(clf, "_base_classifier") or not takes_encoded_frames(clf._base_classifier()):
        return
    X, Y = _small_data()
    numbers = {f"f{i}": X[:, i] for i in range(3)}
    place = np.array(["coast", "field", "town"], dtype=object)[X[:, 3].astype(int) % 3]
    frame = pd.DataFrame({**numbers, "place": pd.Series(place, dtype=object)})
    expected = _outputs(clone(clf).fit(frame, Y), frame)
    polars = pl.DataFrame({**numbers, "place": place.tolist()})
    for other in (
        frame.astype({"place": "category"}),
        frame.astype({"place": "string"}),
        polars,
        polars.cast({"place": pl.Categorical}),
    ):
        for ours, same in zip(_outputs(clone(clf).fit(other, Y), other), expected, strict=True):
            np.testing.assert_allclose(ours, same, rtol=0, atol=1e-12)


def check_sparse_rows(clf):
    X, Y = _small_data()
    X = np.where(np.median(X) < X, X, 0)
    dense = clone(clf).fit(X, Y)
    for layout in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        other = clone(clf).fit(layout(X), Y)
        np.testing.assert_allclose(
            other.predict_proba(layout(X)), dense.predict_proba(X), atol=1e-9
        )


def check_arrays_of_mostly_zeros_equal_sparse_rows(clf):
    rng = np.random.RandomState(0)
    X = rng.randint(1, 4, size=(90, 40)) * (rng.rand(90, 40) < 0.035) * 1.0
    Y = (X[:, :20] @ rng.rand(20, 4) + rng.rand(90, 4) > 0.8).astype(int)
    rows = sparse.csr_array(X)
    dense, csr = clone(clf).fit(X, Y), clone(clf).fit(rows, Y)
    np.testing.assert_array_equal(dense.predict(X), csr.predict(rows))
    expected = csr.predict_proba(rows)
    for fitted, given in ((dense, X), (dense, rows), (csr, X), (dense, X[:1]), (csr, X[:1])):
        found = fitted.predict_proba(given)
        np.testing.assert_allclose(found, expected[: len(found)], atol=1e-9)


def check_float32(clf):
    X, Y = _data()
    X = X / 10 + 0.1
    double, single = clone(clf).fit(X, Y), clone(clf).fit(X.astype(np.float32), Y)
    np.testing.assert_allclose(
        single.predict_proba(X.astype(np.float32)), double.predict_proba(X), atol=2e-3
    )


def check_one_dimensional_classes(clf):
    X, _ = _data(150)
    y = np.array(["ant", "bee", "cat"])[X[:, :3].argmax(axis=1)]
    clf.fit(X, y)
    assert clf.classes_.tolist() == ["ant", "bee", "cat"]
    proba = clf.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[proba.argmax(axis=1)])
    assert clf.score(X, y) > 0.6


def check_votes_are_counted(clf):
    X, Y = _data()
    if "weighting" in clf.get_params(deep=False):
        clf.set_params(weighting=None)  # weighted votes are no whole numbers
    if "voting" in clf.get_params(deep=False):
        clf.set_params(voting="votes")
    elif getattr(clf, "voting", None) != "votes":  # some always count votes, some never
        return
    clf.fit(X, Y)
    scores = clf.predict_proba(X)
    # Four labels have three rivals each, or four; the virtual label's votes are taken off.
    counts = (2 * scores - 1) * 4 if clf.has_virtual_label else scores * 3
    np.testing.assert_allclose(counts, np.round(2 * counts) / 2, atol=1e-12)


def check_a_failed_fit_leaves_the_old_one(clf):
    X, Y = _data()
    clf.fit(X, Y)
    before = [output.copy() for output in _outputs(clf, X)]
    for X_bad, Y_bad in ((X[:, :3], Y + 1), (X[:40, :3], Y), (X[:, :2], Y[:, :0])):
        try:
            clf.fit(X_bad, Y_bad)
        except ValueError:
            continue
        raise AssertionError("bad input was accepted")
    for old, new in zip(before, _outputs(clf, X), strict=True):
        np.testing.assert_array_equal(old, new)


OF_PAIRS = [
    check_shapes_and_ranges,
    check_swapping_a_pair_flips_its_support,
    check_pairs_without_rows,
    check_votes_are_counted,
]


# Sample weights, for every classifier whose base classifier has these properties itself.


def _with_intruders(X, Y):
    """Add rows like no other: features far away, all labels, and none."""
    rows = np.vstack([X.max(axis=0) * 50, X.min(axis=0) - 20, X[3] + 0.37])
    labels = np.array([[1] * Y.shape[1], [0] * Y.shape[1], [1, 0] * (Y.shape[1] // 2)])
    return np.vstack([X, rows]), np.vstack([Y, labels])


def _target_of(clf, Y):
    """Return the target that a classifier takes: indicators, or classes where it takes no more."""
    tags = clf.__sklearn_tags__().classifier_tags
    return Y if tags.multi_label else np.array(["ant", "bee", "cat"])[Y[:, 0] + Y[:, 1]]


def _weight_data(clf):
    X, Y = _data(60)
    X = X + 0.1 * np.sin(np.arange(X.size)).reshape(X.shape)  # no two values alike
    if not isinstance(clf.get_params(deep=False).get("estimator"), GaussianNB):
        # Values that are counted. GaussianNB has a variance floor that weights do not change.
        X[:, 2] = X[:, 2] > np.median(X[:, 2])
    # A label set that one row carries, and a label with a single row.
    Y[7], Y[:, 3] = [1, 1, 1, 0], 0
    Y[11, 3] = 1
    return X, Y


def _fit_weighted(clf, X, Y, weights):
    return clone(clf).fit(X, _target_of(clf, Y), sample_weight=weights)


def _assert_same_predictions(first, second, X, atol=1e-8):
    """Compare probabilities, where there are any, and predictions."""
    if hasattr(first, "predict_proba"):
        _assert_same(first, second, X, rtol=0, atol=atol)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


def _is_of_trees(clf):
    """Return whether the base is a tree: rounding decides between splits of the same gain."""
    return isinstance(clf.get_params(deep=False).get("estimator"), DecisionTreeClassifier)


def check_weight_zero_equals_no_row(clf):
    _check_intruders_equal_no_rows(clf, 0.0)


def check_tiny_weight_equals_no_row(clf):
    _check_intruders_equal_no_rows(clf, 1e-9)


def _check_intruders_equal_no_rows(clf, weight):
    X, Y = _weight_data(clf)
    weights = 0.5 + np.arange(len(Y)) % 3
    more, labels = _with_intruders(X, Y)
    without = _fit_weighted(clf, X, Y, weights)
    found = _fit_weighted(clf, more, labels, np.append(weights, [weight] * 3))
    _assert_same_predictions(found, without, X)


def check_all_weights_times_a_constant(clf):
    X, Y = _weight_data(clf)
    weights = 0.5 + np.arange(len(Y)) % 3
    plain = _fit_weighted(clf, X, Y, weights)
    factors = (2.0**-10, 2.0**10) if _is_of_trees(clf) else (1e-3, 1e3, 1 / weights.sum())
    for factor in factors:
        _assert_same_predictions(_fit_weighted(clf, X, Y, factor * weights), plain, X)


def check_equal_weights_equal_no_weights(clf):
    X, Y = _weight_data(clf)
    plain = clone(clf).fit(X, _target_of(clf, Y))
    for weight in (1.0, 2.0**-6, 2.0**10) if _is_of_trees(clf) else (1.0, 1 / len(Y), 1e3):
        found = _fit_weighted(clf, X, Y, np.full(len(Y), weight))
        _assert_same_predictions(found, plain, X)


def check_weight_two_equals_the_row_twice(clf):
    """Splits are given, so that both copies of a row are in the same part."""
    X, Y = _weight_data(clf)
    counts = 1 + (np.arange(len(Y)) % 4 == 0)
    rows = np.repeat(np.arange(len(Y)), counts)
    third = np.arange(len(Y)) % 3
    parts = [(np.flatnonzero(third != k), np.flatnonzero(third == k)) for k in range(3)]
    numbered = [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in parts]
    weighted, repeated = clone(clf), clone(clf)
    names = clf.get_params(deep=False)
    if "cv" in names:
        weighted.set_params(cv=parts)
        repeated.set_params(cv=numbered)
    if "validation" in names:
        weighted.set_params(validation=parts[0])
        repeated.set_params(validation=numbered[0])
    found = _fit_weighted(weighted, X, Y, counts.astype(float))
    repeated.fit(X[rows], _target_of(clf, Y[rows]))
    _assert_same_predictions(found, repeated, X)


WEIGHT_CHECKS = [
    check_weight_zero_equals_no_row,
    check_tiny_weight_equals_no_row,
    check_all_weights_times_a_constant,
    check_equal_weights_equal_no_weights,
    check_weight_two_equals_the_row_twice,
]
CHECKS = [
    check
    for name, check in list(globals().items())
    if name.startswith("check_") and check not in WEIGHT_CHECKS
]

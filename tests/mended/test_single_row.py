"""One row at a time: all corrections at once equal those of the same row in a batch."""

import contextlib
import copy
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import FunctionTransformer

from pairmend import MendedClassifier
from pairmend._utils import compilation
from pairmend._utils.compilation import has_numba
from pairmend.base_classifiers import logistic_regression
from pairmend.mended import single_row

needs_numba = pytest.mark.skipif(not has_numba(), reason="needs pip install 'pairmend[fast]'")
quick = partial(MendedClassifier, logistic_regression())


def local_data(seed, n_rows=120):
    """Return rows, labels that a linear model predicts with local errors, and new rows."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n_rows + 12, 4) * [1, 10, 0.1, 1e-3]
    scores = X @ rng.randn(4, 3) + 2 * np.sin(3 * X[:, :1])
    return X[:n_rows], (scores + rng.randn(*scores.shape) > 0)[:n_rows], X[n_rows:]


FORMS = {
    "array": np.asarray,
    "single precision": lambda X: X.astype(np.float32),
    "integers": lambda X: np.round(5 * X).astype(int),
    "columns first": np.asfortranarray,
    "csr": sparse.csr_array,
    "frame": lambda X: pd.DataFrame(X, columns=list("abcd")).assign(
        kind=np.where(X[:, 0] > 0, "p", "n")
    ),
}
PARAMETERS = {
    "default": {},
    "no guard": {"guard": False},
    "log-odds": {"scaling": "log_odds"},
    "unit": {"scaling": "unit"},
    "fixed": {"beta": 3.0, "shrinkage": 0.0, "reference": "crisp"},
    "constrained": {"reference": "constrained", "decision": "sets"},
    "transformer": {"transformer": FunctionTransformer()},
    "few landmarks": {"max_landmarks": 20},
}


def one_by_one(method, X):
    rows = [X.iloc[i : i + 1] if hasattr(X, "iloc") else X[i : i + 1] for i in range(X.shape[0])]
    return np.concatenate([method(row) for row in rows])


def compiled_after(n_rows):
    return mock.patch.object(compilation, "MANY", n_rows)


WAYS = {"numpy": np.inf, "compiled": -1} if has_numba() else {"numpy": np.inf}
"""Numbers of rows after which compiled code is used."""


def assert_rows_equal_batch(clf, new, atol=1e-12):
    batch = clf.predict_proba(new)
    for n_rows in WAYS.values():
        with compiled_after(n_rows):
            single = one_by_one(clf.predict_proba, new)
            np.testing.assert_allclose(single, batch, rtol=0, atol=atol)
            assert (one_by_one(clf.predict, new) == clf.predict(new)).all()


def uses_single_row(clf):
    return clf._corrector.by_label._single_row is not None


def by_compiled_code(clf, row):
    """Return the corrected probabilities of one row, None if numpy is used."""
    with compiled_after(-1):
        return clf._corrector._corrected_row(row, clf._base_proba(row))


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_rows(form):
    X, Y, new = local_data(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = MendedClassifier(
            GaussianNB() if form not in ("csr", "frame") else logistic_regression(), random_state=0
        )
        clf.fit(FORMS[form](X), Y)
    assert_rows_equal_batch(clf, FORMS[form](new))


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
@pytest.mark.parametrize("seed", range(3))
def test_parameters(parameters, seed):
    X, Y, new = local_data(seed)
    clf = quick(random_state=0, **parameters).fit(X, Y)
    assert_rows_equal_batch(clf, new)


def test_sample_weights_below_the_weight_of_one_row():
    X, Y, new = local_data(1)
    weights = np.random.RandomState(0).rand(len(X)) ** 4
    clf = quick(random_state=0).fit(X, Y, sample_weight=weights)
    assert uses_single_row(clf)
    assert_rows_equal_batch(clf, new)


def test_single_precision():
    X, Y, new = local_data(2, n_rows=700)
    clf = quick(random_state=0).fit(X, Y)
    assert uses_single_row(clf)
    assert_rows_equal_batch(clf, new, atol=2e-5)


def test_classes_in_one_dimension():
    X, Y, new = local_data(3)
    clf = quick(random_state=0).fit(X, Y.sum(axis=1))
    assert_rows_equal_batch(clf, new)


def test_missing_values_and_far_rows():
    X, Y, new = local_data(4)
    X[::7, 1] = np.nan
    clf = quick(scaling="range", guard=False, random_state=0).fit(X, Y)
    new[0, 1], new[1] = np.nan, np.nan
    new[2:6] *= np.array([1e5, 1e12, 1e60, 1e99])[:, np.newaxis]
    assert uses_single_row(clf)
    assert_rows_equal_batch(clf, new)
    corrected = clf._corrector.by_label._single_row.corrected
    proba = clf._base_proba(new)
    computed = [corrected(new[i : i + 1], proba[i : i + 1]) is not None for i in range(8)]
    assert computed[:2] == [False, False]
    assert not computed[5]
    assert computed[6:] == [True, True]


@pytest.mark.parametrize("scale", [1e-200, 1e90])
def test_features_of_extreme_size(scale):
    X, Y, new = local_data(4)
    clf = quick(scaling="range", guard=False, random_state=0).fit(X * scale, Y)
    assert_rows_equal_batch(clf, new * scale)
    corrected = clf._corrector.by_label._single_row.corrected
    assert corrected(new[:1] * scale, clf._base_proba(new[:1] * scale)) is not None


def test_other_numbers_of_features_are_left_to_the_general_path():
    X, Y, new = local_data(5)
    clf = quick(scaling="range", guard=False, random_state=0).fit(X, Y)
    corrected = clf._corrector.by_label._single_row.corrected
    assert corrected(new[:1, :3], np.full((1, 3), 0.5)) is None
    with pytest.raises(ValueError, match="features"):
        clf.predict(new[:1, :3])


def test_all_corrections_of_a_dense_row_are_computed_at_once(monkeypatch):
    X, Y, new = local_data(6)
    clf = quick(random_state=0).fit(X, Y)
    calls = []
    original = single_row.corrected_by

    def counted(p_decide, *others):
        calls.append(len(p_decide))
        return original(p_decide, *others)

    monkeypatch.setattr(single_row, "corrected_by", counted)
    with compiled_after(np.inf):
        clf.predict(new[:1])
    clf.predict(new[:2])
    assert calls == [len(clf._corrector.by_label.scalings)]


def test_parameters_set_after_fit_are_checked_and_used():
    X, Y, new = local_data(7)
    clf = quick(random_state=0)
    with pytest.raises(NotFittedError):
        clf.predict_proba(new[:1])
    clf.fit(X, Y).set_params(decision="labels", threshold=0.9)
    assert (clf.predict(new[:1]) == (clf.predict_proba(new[:1]) > 0.9)).all()
    clf.set_params(threshold="none")
    for method in (clf.predict, clf.predict_proba):
        with pytest.raises(ValueError, match="threshold"):
            method(new[:1])


@needs_numba
@pytest.mark.parametrize(
    ("parameters", "is_compiled"),
    [
        ({}, True),
        ({"guard": False}, True),
        ({"scaling": "log_odds"}, True),
        ({"reference": "constrained"}, True),
        ({"decision": "labels"}, True),
        ({"scaling": "unit"}, False),
        ({"reference": "crisp"}, False),
    ],
    ids=str,
)
def test_what_is_compiled(parameters, is_compiled):
    X, Y, new = local_data(0)
    clf = quick(random_state=0, **parameters).fit(X, Y)
    assert (by_compiled_code(clf, new[:1]) is not None) == is_compiled


@needs_numba
def test_compiled_code_gets_no_rows_that_it_cannot_compute():
    X, Y, new = local_data(1)
    clf = quick(scaling="range", guard=False, random_state=0).fit(X, Y)
    assert by_compiled_code(clf, new[:1]) is not None
    proba = clf._base_proba(new[:1])
    far, missing = new[:1] * 1e60, np.where(np.arange(4) == 1, np.nan, new[:1])
    for row in (far, missing, new[:1, :3], new[:1].astype(np.float32), sparse.csr_array(new[:1])):
        with compiled_after(-1):
            assert clf._corrector._corrected_row(row, proba) is None
    with compiled_after(-1):
        assert clf._corrector._corrected_row(new[:1], proba[:, :2]) is None


@needs_numba
def test_rows_of_any_layout_are_computed_by_one_compiled_function():
    X, Y, new = local_data(2)
    clf = quick(random_state=0).fit(X, Y)
    expected = by_compiled_code(clf, new[:1])
    dispatcher = single_row.correct_one_row.dispatcher(cached=True)
    n_compiled = len(dispatcher.signatures)
    read_only = new[:1].copy()
    read_only.flags.writeable = False
    for row in (np.asfortranarray(new)[:1], np.repeat(new, 2, axis=1)[:1, ::2], read_only):
        np.testing.assert_array_equal(by_compiled_code(clf, row), expected)
    assert len(dispatcher.signatures) == n_compiled


@needs_numba
@pytest.mark.parametrize("part", ["table", "weights", "landmarks", "members"])
def test_a_damaged_model_is_not_given_to_compiled_code(part):
    X, Y, new = local_data(3)
    clf = quick(random_state=0).fit(X, Y)
    assert clf.label_set_weights_["sets"] > 0
    damaged = copy.deepcopy(clf)
    corrector = damaged._corrector
    name = corrector.by_label._local_names[0]
    by_label, sets = corrector.by_label, corrector.label_sets
    if part == "table":
        tables = {**by_label.tables, name: by_label.tables[name][:, :-3]}
        by_label = replace(by_label, tables=tables, scalings={name: by_label.scalings[name]})
    elif part == "landmarks":
        by_label.scalings[name].neighbourhood.mean_ = np.zeros(7)
        by_label.scalings[name].neighbourhood.scale_ = np.ones(7)
        by_label = replace(by_label, scalings={name: by_label.scalings[name]})
    elif part == "weights":
        total = by_label.total
        sums = {key: each[:, :-3] for key, each in total.sums.items()}
        by_label = replace(by_label, total=replace(total, sums=sums))
    else:
        sets = replace(sets, members=sets.members[:, :2])
    damaged._corrector = replace(corrector, by_label=by_label, label_sets=sets)
    with mock.patch.object(single_row, "correct_one_row") as called:
        assert by_compiled_code(clf, new[:1]) is not None
        assert called.call_count == 1
        with contextlib.suppress(ValueError, IndexError):
            assert by_compiled_code(damaged, new[:1]) is None
        assert called.call_count == 1


@needs_numba
def test_scalings_of_a_damaged_model_with_different_numbers_of_features():
    X, Y, new = local_data(0)
    clf = quick(scaling="range", guard=False, random_state=0).fit(X, Y)
    by_label = clf._corrector.by_label
    wide = copy.deepcopy(by_label.scalings["range"])
    points = wide.neighbourhood.points_
    wide.neighbourhood.mean_, wide.neighbourhood.scale_ = np.zeros(7), np.ones(7)
    wide.neighbourhood.points_ = np.hstack([points, points[:, :3]])
    both = {
        name: dict(getattr(by_label, name))
        for name in ("scalings", "tables", "corrections", "stacking_weights")
    }
    both["scalings"] = {"standard": wide, **both["scalings"]}
    for name in ("tables", "corrections", "stacking_weights"):
        both[name]["standard"] = both[name]["range"]
    clf._corrector = replace(clf._corrector, by_label=replace(by_label, **both))
    with mock.patch.object(single_row, "correct_one_row") as called:
        assert by_compiled_code(clf, new[:1]) is None
    assert not called.called


@needs_numba
def test_compiled_code_is_used_after_many_rows():
    X, Y, new = local_data(4)
    clf = quick(random_state=0).fit(X, Y)
    with (
        mock.patch.object(single_row.correct_one_row, "_n_small", 0),
        mock.patch.object(single_row, "correct_one_row", side_effect=AssertionError),
        compiled_after(5),
    ):
        for _ in range(5):
            clf.predict(new[:1])
        with pytest.raises(AssertionError):
            clf.predict(new[:1])


def test_single_rows_do_not_import_numba(tmp_path):
    code = """
import pickle, sys
from pairmend._utils import compilation
compilation.MANY = 1
clf, row = pickle.load(open(sys.argv[1], "rb"))
for _ in range(3):
    clf.predict(row)
assert "numba" not in sys.modules
"""
    X, Y, new = local_data(5)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps((quick(random_state=0).fit(X, Y), new[:1])))
    subprocess.run([sys.executable, "-c", code, path], check=True, timeout=120)


def test_what_is_computed_for_one_row_is_not_stored():
    X, Y, new = local_data(6)
    clf = quick(random_state=0).fit(X, Y)
    before = len(pickle.dumps(clf))
    for n_rows in WAYS.values():
        with compiled_after(n_rows):
            clf.predict(new[:1])
    assert len(pickle.dumps(clf)) == before

"""One row at a time: all corrections at once equal those of the same row in a batch."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import FunctionTransformer

from pairmend import MendedClassifier
from pairmend.base_classifiers import logistic_regression
from pairmend.mended import single_row

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


def assert_rows_equal_batch(clf, new, atol=1e-12):
    batch = clf.predict_proba(new)
    np.testing.assert_allclose(one_by_one(clf.predict_proba, new), batch, rtol=0, atol=atol)
    assert (one_by_one(clf.predict, new) == clf.predict(new)).all()


def uses_single_row(clf):
    return clf._corrector.by_label._single_row is not None


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

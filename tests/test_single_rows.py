"""A row predicted alone has the same labels and probabilities as among others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

import pairmend
from pairmend.base_classifiers import ScaledLogisticRegression
from public_classifiers import CLASSIFIERS, data_for, made

FORMS = {
    "dense": np.asarray,
    "csr": sparse.csr_array,
    "frame": lambda X: pd.DataFrame(X).add_prefix("f"),
}


def one_by_one(method, X):
    rows = [X.iloc[i : i + 1] if hasattr(X, "iloc") else X[i : i + 1] for i in range(X.shape[0])]
    return np.concatenate([method(row) for row in rows])


def assert_rows_equal_batch(clf, new):
    np.testing.assert_array_equal(one_by_one(clf.predict, new), clf.predict(new))
    if hasattr(clf, "predict_proba"):
        together = clf.predict_proba(new)
        alone = one_by_one(clf.predict_proba, new)
        np.testing.assert_allclose(alone, together, rtol=0, atol=1e-12)


def coarse(X):
    """Return features of few distinct values, so that distances and scores have ties."""
    return np.round(4 * X) / 4


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier(name, form):
    X, y = data_for(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows in (X, coarse(X)):
            clf = made(name).fit(FORMS[form](rows), y)
            assert_rows_equal_batch(clf, FORMS[form](np.vstack([rows, 1.3 * rows[:20]])))


def local_data(seed, n_rows):
    """Return rows, labels that a linear model predicts with local errors, and new rows."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n_rows + 40, 4) * [1, 10, 0.1, 1e-3]
    scores = X @ rng.randn(4, 3) + 2 * np.sin(3 * X[:, :1])
    return X[:n_rows], (scores + rng.randn(*scores.shape) > 0)[:n_rows], X[n_rows:]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("n_rows", "max_landmarks"), [(120, 2500), (120, 20), (700, 600)], ids=["all", "few", "many"]
)
@pytest.mark.parametrize("estimator", ["auto", GaussianNB(), ScaledLogisticRegression()], ids=str)
def test_landmarks(estimator, n_rows, max_landmarks, form):
    X, Y, new = local_data(0, n_rows)
    if form == "csr" and isinstance(estimator, GaussianNB):
        pytest.skip("takes no sparse rows")
    clf = pairmend.MendedClassifier(estimator, max_landmarks=max_landmarks, random_state=0, cv=3)
    assert_rows_equal_batch(clf.fit(FORMS[form](X), Y), FORMS[form](new))

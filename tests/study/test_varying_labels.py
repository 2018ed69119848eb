import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from pairmend.study import shipped_study
from pairmend.study.estimators import VaryingLabelsClassifier


@pytest.fixture
def data():
    X = np.random.default_rng(0).normal(size=(60, 4))
    return X, np.column_stack([X[:, 0] > 0, np.zeros(60), X[:, 1] > 0.5, np.ones(60)]).astype(int)


@pytest.mark.parametrize("labels", [[0, 1, 2, 3], [0, 2], [0, 1], [1, 3]])
def test_labels_with_one_class_keep_it(data, labels):
    X, Y = data[0], data[1][:, labels]
    forest = RandomForestClassifier(5, random_state=0)
    predicted = VaryingLabelsClassifier(forest).fit(X, Y).predict(X)
    assert predicted.shape == Y.shape
    varying = [i for i, label in enumerate(labels) if label in (0, 2)]
    constant = [i for i, label in enumerate(labels) if label in (1, 3)]
    np.testing.assert_array_equal(predicted[:, constant], Y[:, constant])
    if varying:
        target = Y[:, varying] if len(varying) > 1 else Y[:, varying[0]]
        alone = clone(forest).fit(X, target).predict(X).reshape(60, -1)
        np.testing.assert_array_equal(predicted[:, varying], alone)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("LightGBM", "estimator__n_estimators"),
        ("LightGBM-F1", "estimator__estimator__n_estimators"),
        ("CatBoost", "estimator__iterations"),
        ("CatBoost-SCut", "estimator__estimator__iterations"),
    ],
)
@pytest.mark.parametrize("labels", [[0, 1, 2, 3], [0, 1]])
def test_boosting_baselines_of_the_study_take_labels_with_one_class(
    data, name, parameter, form, labels
):
    pytest.importorskip(name.lower().partition("-")[0])
    X, Y = data[0], data[1][:, labels]
    model = clone(shipped_study("mended").algorithms[name])
    model.set_params(**{parameter: 20}).fit(form(X), Y)
    predicted, proba = np.asarray(model.predict(form(X))), model.predict_proba(form(X))
    assert predicted.shape == proba.shape == Y.shape
    assert (predicted == Y).mean() > 0.9
    assert (predicted[:, 1] == 0).all()
    assert (proba[:, 1] < 0.05).all()
    assert ((proba > 0.5) == Y).mean() > 0.9

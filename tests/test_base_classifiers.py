"""ScaledLogisticRegression against the pipeline that it equals."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from pairmend._utils.training import relative_weights
from pairmend.base_classifiers import DenseScaler, ScaledLogisticRegression
from public_classifiers import rows

X, Y = rows()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_equals_the_pipeline(weighted, layout):
    own, y = layout(X), Y @ [1, 2, 0, 0]
    weights = relative_weights(np.linspace(0.0, 3.0, 60)) if weighted else None
    params = {"C": 0.3, "max_iter": 700}
    given = {f"{step}__sample_weight": weights for step in ("densescaler", "logisticregression")}
    pipeline = make_pipeline(DenseScaler(), LogisticRegression(**params)).fit(own, y, **given)
    clf = ScaledLogisticRegression(**params).fit(own, y, 4 * weights if weighted else None)
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(clf, method)(own), getattr(pipeline, method)(own))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_only_nan_is_replaced_after_scaling(dtype):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]], dtype)
    large = np.finfo(dtype).max * dtype(0.9)
    rows = np.array([[large, np.nan], [-large, 1.0]], dtype)
    scaler = DenseScaler().fit(X)
    expected = scaler.scaler_.transform(rows)  # by scikit-learn: NaN stays, overflow is infinite
    assert np.isinf(expected[:, 0]).all()
    expected[0, 1] = 0.0
    np.testing.assert_array_equal(scaler.transform(rows), expected)
    clf = ScaledLogisticRegression().fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="infinity or a value too large"):
        clf.predict_proba(rows[:1])


def test_invalid_parameters_are_refused_and_a_failed_fit_changes_nothing():
    clf = ScaledLogisticRegression().fit(X, Y[:, 0])
    before = clf.predict_proba(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.fit(X[:, :2], Y[:20, 0])
    with pytest.raises(ValueError, match="'C' parameter of LogisticRegression"):
        clf.set_params(C=-1.0).fit(X, Y[:, 0])
    np.testing.assert_array_equal(clf.predict_proba(X), before)

"""Names of features and labels are compared, strings or not, as scikit-learn compares strings."""

import numpy as np
import pandas as pd
import pytest

from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood
from pairmend.base_classifiers import DenseScaler, ScaledLogisticRegression
from pairmend.frames import FrameEncoder
from public_classifiers import CLASSIFIERS, data_for, made

NAMES = {"integers": [3, 1, 4, 0, 5], "pairs": [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1)]}


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_refuse_columns_in_another_order(name, names):
    X, y = data_for(name)
    frame = pd.DataFrame(X, columns=NAMES[names])
    clf = made(name).fit(frame, y)
    expected = clf.predict(frame)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        clf.predict(frame.iloc[:, [1, 0, 2, 3, 4]])
    with pytest.raises(ValueError, match="The feature names should match those that were passed"):
        clf.predict(frame.set_axis(range(7, 12), axis=1))
    np.testing.assert_array_equal(clf.predict(X), expected)  # arrays have no names
    with pytest.warns(UserWarning, match="X has feature names, but .* was fitted without"):
        clf.predict(frame.set_axis(list("abcde"), axis=1))


@pytest.mark.parametrize(
    ("fit", "use"),
    [
        (DenseScaler().fit, lambda fitted, X: fitted.transform(X)),
        (FrameEncoder().fit, lambda fitted, X: fitted.transform(X)),
        (GaussianNeighbourhood().fit, lambda fitted, X: fitted.weights(X)),
        (
            lambda X: ScaledLogisticRegression().fit(X, np.arange(len(X)) % 2),
            lambda fitted, X: fitted.predict_proba(X),
        ),
        (
            lambda X: CorrectedPairwiseClassifier().partial_fit(X, np.eye(3)[np.arange(60) % 3]),
            lambda fitted, X: fitted.partial_fit(X, np.eye(3)[np.arange(60) % 3]),
        ),
    ],
    ids=["scaler", "encoder", "neighbourhood", "logistic", "partial_fit"],
)
def test_other_estimators_refuse_columns_in_another_order(fit, use):
    frame = pd.DataFrame(data_for("BinaryRelevance")[0])
    fitted = fit(frame)
    use(fitted, frame)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        use(fitted, frame.iloc[:, ::-1])


@pytest.mark.parametrize("names", [["sea", "sun", "sea", "sand"], [0, 1, 2, 1]], ids=str)
@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - {"RandomSubspaceNB"}))
def test_labels_of_the_same_name_are_refused(name, names):
    X, Y = data_for("BinaryRelevance")
    with pytest.raises(ValueError, match=r"y has several columns of the same name: \[('sea'|1)\]"):
        made(name).fit(X, pd.DataFrame(Y, columns=names))

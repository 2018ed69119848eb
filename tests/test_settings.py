"""Every setting of every public classifier has an effect, or leads to an error or a warning."""

import numpy as np
import pytest

from pairmend import BinaryRelevance
from public_classifiers import CLASSIFIERS, data_for, made

every = pytest.mark.parametrize("name", CLASSIFIERS)


@every
@pytest.mark.parametrize("keyword", ["sample_weights", "Y", "speed"])
def test_an_unknown_fit_parameter_is_an_error(name, keyword):
    X, y = data_for(name)
    clf = made(name)
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}'"):
        clf.fit(X, y, **{keyword: np.ones(len(X))})
    assert not hasattr(clf, "classes_")


@every
def test_a_fit_with_a_seed_can_be_repeated(name):
    X, y = data_for(name)
    # The other classifiers have a random base classifier by default.
    unseeded = {"estimator": BinaryRelevance()} if name == "ThresholdedClassifier" else {}
    first, second = (made(name, **unseeded).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)

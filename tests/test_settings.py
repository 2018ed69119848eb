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


def splits(form):
    """Return three splits of 60 rows, each part in a form."""
    part = np.arange(60) % 3
    return [(form(part != fold), form(part == fold)) for fold in range(3)]


@pytest.mark.parametrize("form", [np.asarray, list, lambda mask: np.flatnonzero(mask) - 60])
@pytest.mark.parametrize("name", ["MendedClassifier", "ThresholdedClassifier"])
def test_splits_of_cv_are_row_numbers_or_masks(name, form):
    X, y = data_for(name)
    expected, found = (
        made(name, cv=splits(own)).fit(X, y).predict(X) for own in (np.flatnonzero, form)
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (splits(lambda mask: np.flatnonzero(mask) + 1), "index 60 is out of bounds(.|\n)*below 60"),
        (splits(lambda mask: mask[1:]), "does not fit to the 60 rows: boolean index"),
        (splits(lambda mask: np.flatnonzero(mask) / 2), "must be of integer"),
        (splits(lambda mask: []), "n_samples = 0 in the test parts"),
    ],
)
@pytest.mark.parametrize("name", ["MendedClassifier", "ThresholdedClassifier"])
def test_splits_that_do_not_fit_are_errors(name, cv, message):
    with pytest.raises(ValueError, match=message):
        made(name, cv=cv).fit(*data_for(name))


@every
def test_a_fit_with_a_seed_can_be_repeated(name):
    X, y = data_for(name)
    # The other classifiers have a random base classifier by default.
    unseeded = {"estimator": BinaryRelevance()} if name == "ThresholdedClassifier" else {}
    first, second = (made(name, **unseeded).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)

"""Every setting of every public classifier has an effect, or leads to an error or a warning."""

import inspect

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from array_libraries import Library, dispatched
from pairmend import BinaryRelevance, CorrectedPairwiseClassifier, MendedClassifier
from pairmend.thresholds import F1Thresholds
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


@every
def test_a_threshold_on_classes_is_a_warning(name):
    if "threshold" not in inspect.signature(CLASSIFIERS[name]).parameters:
        pytest.skip("has no threshold")
    X, _ = data_for(name)
    with pytest.warns(UserWarning, match="threshold=0.3 has no effect on 1-D classes"):
        made(name, threshold=0.3).fit(X, X[:, :3].argmax(axis=1))


def test_criterion_and_decision_on_classes_are_warnings():
    X, _ = data_for("MendedClassifier")
    clf = MendedClassifier(GaussianNB(), cv=2, criterion="macro_f1", decision="labels")
    with pytest.warns(UserWarning, match="has no effect on 1-D classes") as caught:
        clf.fit(X, X[:, :3].argmax(axis=1))
    assert [str(warning.message).split()[0] for warning in caught] == [
        "criterion='macro_f1'", "decision='labels'"
    ]  # fmt: skip


def test_a_threshold_of_label_sets_is_an_error():
    X, y = data_for("MendedClassifier")
    with pytest.raises(ValueError, match="'sets' does not use the threshold 0.3"):
        made("MendedClassifier", decision="sets", threshold=0.3).fit(X, y)


def test_a_transformer_without_distances_of_features_is_a_warning():
    X, y = data_for("MendedClassifier")
    clf = MendedClassifier(GaussianNB(), cv=2, transformer=StandardScaler(), scaling="log_odds")
    with pytest.warns(UserWarning, match="transformer has no effect with scaling='log_odds'"):
        clf.fit(X, y)


def test_rows_without_distances_are_a_warning():
    _, Y = data_for("MendedClassifier")
    words = np.array(["sea", "sun", "sand", "sail"])
    texts = [" ".join(["photo", *words[labels == 1]]) for labels in Y]
    clf = MendedClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), cv=2)
    with pytest.warns(UserWarning, match=r"predicted probabilities only(.|\n)*transformer="):
        clf.fit(texts, Y)


def test_shrinkage_of_a_common_threshold_is_a_warning():
    with pytest.warns(UserWarning, match="shrinkage=2.0 has no effect with average='micro'"):
        F1Thresholds("micro", shrinkage=2.0).fit([[0.2], [0.8]], [[0], [1]])


@pytest.mark.parametrize(
    ("clf", "message"),
    [
        (MendedClassifier(cv=2), "estimator='auto' is the logistic regression"),
        (MendedClassifier(None, cv=2, n_jobs=2), "n_jobs=2 has no effect"),
        (CorrectedPairwiseClassifier(n_jobs=2), "n_jobs=2 has no effect"),
        (MendedClassifier(None, cv=2, scaling="unit"), "scaling 'unit' are computed with numpy"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_settings_without_effect_on_arrays_are_warnings(clf, message):
    library, (X, Y) = Library("strict"), data_for("MendedClassifier")
    with dispatched(), pytest.warns(UserWarning, match=message):
        clf.fit(library(X), library(Y))

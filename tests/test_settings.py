"""Every setting of every public classifier has an effect, or leads to an error or a warning."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairmend import CorrectedPairwiseClassifier, MendedClassifier
from pairmend.baselines import BinaryRelevance
from pairmend.thresholds import F1Thresholds
from public_classifiers import CLASSIFIERS, data_for, made

every = pytest.mark.parametrize("name", CLASSIFIERS)


@every
def test_an_unknown_fit_parameter_and_a_threshold_on_classes(name):
    X, y = data_for(name)
    clf = made(name)
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        clf.fit(X, y, speed=np.ones(len(X)))
    assert not hasattr(clf, "classes_")
    if "threshold" in clf.get_params():
        with pytest.warns(UserWarning, match="threshold=0.3 has no effect on 1-D classes"):
            made(name, threshold=0.3).fit(X, X[:, :3].argmax(axis=1))


def splits(form):
    """Return three splits of 60 rows, each part in a form."""
    part = np.arange(60) % 3
    return [(form(part != fold), form(part == fold)) for fold in range(3)]


@pytest.mark.parametrize("form", [np.asarray, list, lambda mask: np.flatnonzero(mask) - 60])
@pytest.mark.parametrize("name", ["MendedClassifier", "ThresholdedClassifier"])
def test_splits_of_cv_are_row_numbers_or_masks(name, form):
    X, y = data_for(name)
    expected, found = (
        made(name, cv=iter(splits(own)), estimator=BinaryRelevance(GaussianNB()))
        .fit(X, y)
        .predict(X)
        for own in (np.flatnonzero, form)
    )
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="n_samples = 0 of .* tests"):
        made(name, cv=splits(lambda mask: [])).fit(X, y)


WORDS = np.array(["sea", "sun", "sand", "sail"])
X, Y = data_for("MendedClassifier")
CLASSES = X[:, :3].argmax(axis=1)
TEXTS = [" ".join(["photo", *WORDS[labels == 1]]) for labels in Y]
OF_TEXTS = make_pipeline(TfidfVectorizer(), LogisticRegression())


@pytest.mark.parametrize(
    ("clf", "rows", "target", "message"),
    [
        (MendedClassifier(GaussianNB(), criterion="macro_f1"), X, CLASSES,
         "criterion='macro_f1' has no effect on 1-D"),
        (MendedClassifier(GaussianNB(), decision="labels"), X, CLASSES,
         "decision='labels' has no effect on 1-D"),
        (MendedClassifier(GaussianNB(), transformer=StandardScaler(), scaling="log_odds"), X, Y,
         "transformer has no effect with scaling='log_odds'"),
        (MendedClassifier(OF_TEXTS, cv=2), TEXTS, Y,
         r"predicted probabilities only(.|\n)*transformer="),
        (F1Thresholds("micro", shrinkage=2.0), X[:, :4], Y,
         "shrinkage=2.0 has no effect with average='micro'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_settings_without_effect_are_warnings(clf, rows, target, message):
    with pytest.warns(UserWarning, match=message):
        clf.fit(rows, target)


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (0.999, "leaves the validation part of 60 .* empty"),
        (0.001, "leaves the training part of 60 .* empty"),
        (61, "n_splits=61 greater than .* n_samples=60"),
    ],
)
def test_refused_validation_parts(validation, message):
    with pytest.raises(ValueError, match=message):
        CorrectedPairwiseClassifier(validation=validation).fit(X, Y)
    with pytest.raises(ValueError, match="'sets' does not use the threshold 0.3"):
        made("MendedClassifier", decision="sets", threshold=0.3).fit(X, Y)

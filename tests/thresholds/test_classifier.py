"""ThresholdedClassifier: thresholds fitted on out-of-fold scores."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from pairmend import CalibratedLabelRanking
from pairmend import ThresholdedClassifier as Thresholded
from pairmend.baselines import BinaryRelevance
from pairmend.thresholds import CardinalityThreshold, F1Thresholds, NeverEmpty


class FirstFeature(ClassifierMixin, BaseEstimator):
    """Returns a feature as every label's score."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.weights_ = np.arange(y.shape[1]), sample_weight
        return self

    def predict_proba(self, X):
        return np.tile(X[:, :1], len(self.classes_))

    def predict(self, X):
        raise AssertionError("predict must not be called")


@pytest.mark.parametrize("threshold", [F1Thresholds(), CardinalityThreshold()])
def test_equals_a_loop_over_folds_and_labels(small_set, threshold):
    X, Y = small_set
    folds = KFold(4, shuffle=True, random_state=3)
    scores = np.zeros(Y.shape)
    for train, test in folds.split(X):
        for label in range(4):
            model = GaussianNB().fit(X[train], Y[train, label])
            scores[test, label] = model.predict_proba(X[test])[:, 1]
    fitted = clone(threshold).fit(scores, Y)
    final = np.column_stack([GaussianNB().fit(X, y).predict_proba(X)[:, 1] for y in Y.T])
    clf = Thresholded(MultiOutputClassifier(GaussianNB()), threshold, cv=folds).fit(X, Y)
    np.testing.assert_array_equal(clf.predict(X), fitted.decide(final))
    np.testing.assert_allclose(clf.predict_proba(X), final)


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize(
    "estimator",
    [CalibratedLabelRanking(random_state=0), OneVsRestClassifier(LinearSVC()),
     MultiOutputClassifier(GaussianNB()), KNeighborsClassifier(), RidgeClassifier()],
)  # fmt: skip
def test_multilabel_classifiers_of_all_kinds(small_set, estimator):
    X, Y = small_set
    clf = Thresholded(estimator, NeverEmpty(), random_state=0)
    predicted = clf.fit(X, Y).predict(X)
    assert predicted.any(axis=1).all()
    assert abs(predicted.mean() - Y.mean()) < 0.15
    assert np.mean(predicted == Y) > 0.6
    for method in ("predict_proba", "decision_function"):
        assert hasattr(clf, method) == hasattr(estimator, method)
    assert clf.fit(X, Y[:, :1]).predict(X).shape == (80, 1)


def test_sample_weights_reach_the_classifier_and_the_threshold(rng):
    X, Y = rng.rand(40, 2), (rng.rand(40, 3) < 0.3).astype(int)
    weights = np.arange(40) % 3.0
    clf = Thresholded(FirstFeature(), random_state=0).fit(X, Y, sample_weight=weights)
    present = weights > 0
    np.testing.assert_array_equal(clf.estimator_.weights_, weights[present])
    # The scores do not depend on the split, so the threshold is that of all rows.
    scores = np.tile(X[:, :1], 3)
    expected = CardinalityThreshold().fit(scores, Y, sample_weight=weights)
    assert clf.threshold_.threshold_ == expected.threshold_
    assert expected.threshold_ != CardinalityThreshold().fit(scores, Y).threshold_
    # Splits refer to the rows given to fit; here the first has test rows of weight 0 only.
    dropped, part = np.flatnonzero(weights == 0), np.arange(5, 20)
    splits = [(np.setdiff1d(np.arange(40), test), test) for test in (dropped, part)]
    clf = Thresholded(FirstFeature(), cv=splits).fit(X, Y, sample_weight=weights)
    part = part[weights[part] > 0]
    expected = CardinalityThreshold().fit(scores[part], Y[part], sample_weight=weights[part])
    assert clf.threshold_.threshold_ == expected.threshold_
    with sklearn.config_context(enable_metadata_routing=True):
        base = FirstFeature().set_fit_request(sample_weight=True)
        routed = Thresholded(base, random_state=0).fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(routed.estimator_.weights_, weights[present])


def test_texts_and_numbers_as_thresholds(small_set):
    X, Y = small_set
    texts = [" ".join(f"w{k}" for k in np.flatnonzero(y)) + " and" for y in Y]
    words = make_pipeline(CountVectorizer(), OneVsRestClassifier(LogisticRegression()))
    np.testing.assert_array_equal(Thresholded(words).fit(texts, Y).predict(texts), Y)
    base = BinaryRelevance(GaussianNB())
    proba = base.fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(Thresholded(base, 0.3).fit(X, Y).predict(X), proba > 0.3)


def test_classifiers_without_scores_are_refused(small_set):
    class FirstLabelOnly(GaussianNB):
        def fit(self, X, y):
            return super().fit(X, y[:, 0])

    with pytest.raises(ValueError, match="no predict_proba and no decision_function"):
        Thresholded(MultiOutputClassifier(LinearSVC())).fit(*small_set)
    with pytest.raises(ValueError, match=r"FirstLabelOnly gave an array of shape \(16, 2\).*4 lab"):
        Thresholded(FirstLabelOnly()).fit(*small_set)

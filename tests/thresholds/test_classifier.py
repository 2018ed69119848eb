"""ThresholdedClassifier: thresholds fitted on out-of-fold scores."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from pairmend import (
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    PairwiseClassifier,
    ThresholdedClassifier,
)
from pairmend.baselines import BinaryRelevance
from pairmend.model_selection import MultilabelStratifiedKFold
from pairmend.thresholds import (
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
    NeverEmpty,
    TopLabels,
)


class RefusesTrainingRows(ClassifierMixin, BaseEstimator):
    """Returns a feature as every label's score; fails for rows on which it was fitted."""

    def fit(self, X, y, sample_weight=None):
        self.seen_ = {tuple(row) for row in X.tolist()}
        self.classes_, self.weights_ = np.arange(y.shape[1]), sample_weight
        return self

    def predict_proba(self, X):
        assert not any(tuple(row) in self.seen_ for row in X.tolist()), "a row was seen in fit"
        return np.tile(X[:, :1], len(self.classes_))

    def predict(self, X):
        raise AssertionError("predict must not be called")


def test_scores_are_out_of_fold(rng):
    X, Y = rng.rand(40, 2), (rng.rand(40, 3) < 0.3).astype(int)
    clf = ThresholdedClassifier(RefusesTrainingRows(), F1Thresholds(), random_state=0).fit(X, Y)
    assert len(clf.estimator_.seen_) == 40
    # The scores do not depend on the split, so the thresholds are those of all rows.
    expected = F1Thresholds().fit(np.tile(X[:, :1], 3), Y)
    np.testing.assert_allclose(clf.threshold_.thresholds_, expected.thresholds_)


@pytest.mark.parametrize("threshold", [F1Thresholds(), CardinalityThreshold(), TopLabels()])
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
    clf = ThresholdedClassifier(MultiOutputClassifier(GaussianNB()), threshold, cv=folds).fit(X, Y)
    np.testing.assert_array_equal(clf.predict(X), fitted.decide(final))
    np.testing.assert_allclose(clf.predict_proba(X), final)


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize(
    "estimator",
    [
        PairwiseClassifier(random_state=0),
        CalibratedLabelRanking(random_state=0),
        CorrectedPairwiseClassifier(random_state=0),
        OneVsRestClassifier(LogisticRegression()),
        OneVsRestClassifier(LinearSVC()),
        MultiOutputClassifier(GaussianNB()),
        ClassifierChain(LogisticRegression()),
        RandomForestClassifier(5, random_state=0),
        KNeighborsClassifier(),
        RidgeClassifier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_multilabel_classifiers_of_all_kinds(small_set, estimator):
    X, Y = small_set
    clf = ThresholdedClassifier(estimator, NeverEmpty(CardinalityThreshold()), random_state=0)
    predicted = clf.fit(X, Y).predict(X)
    assert predicted.shape == Y.shape
    assert predicted.any(axis=1).all()
    assert abs(predicted.mean() - Y.mean()) < 0.15
    assert np.mean(predicted == Y) > 0.6
    assert hasattr(clf, "predict_proba") == hasattr(estimator, "predict_proba")
    if type(estimator) in (PairwiseClassifier, CorrectedPairwiseClassifier):
        with pytest.raises(ValueError, match="one label only"):
            clf.fit(X, Y[:, :1])
    else:
        assert clf.fit(X, Y[:, :1]).predict(X).shape == (80, 1)


def test_labels_that_never_or_always_occur(small_set):
    X, Y = small_set
    Y = Y.copy()
    Y[:, 0], Y[:, 3] = 0, 1
    for estimator in (CalibratedLabelRanking(random_state=0), DecisionTreeClassifier(max_depth=3)):
        predicted = ThresholdedClassifier(estimator, F1Thresholds()).fit(X, Y).predict(X)
        assert not predicted[:, 0].any()
        assert predicted[:, 3].all()
    with pytest.raises(ValueError) as caught:
        ThresholdedClassifier(MultiOutputClassifier(LogisticRegression())).fit(X, Y)
    assert "while cross-fitting scores" in caught.value.__notes__[0]


def test_splits_in_all_forms(small_set):
    X, Y = small_set
    base = MultiOutputClassifier(GaussianNB())
    seeded = ThresholdedClassifier(base, random_state=1).fit(X, Y).threshold_.threshold_
    for cv in (
        MultilabelStratifiedKFold(5, random_state=1),
        list(MultilabelStratifiedKFold(5, random_state=1).split(X, Y)),
        iter(list(MultilabelStratifiedKFold(5, random_state=1).split(X, Y))),
    ):
        assert ThresholdedClassifier(base, cv=cv).fit(X, Y).threshold_.threshold_ == seeded
    with parallel_config("threading"):
        parallel = ThresholdedClassifier(base, random_state=1, n_jobs=2).fit(X, Y)
    assert parallel.threshold_.threshold_ == seeded


def test_sample_weights_reach_the_classifier_and_the_threshold(rng):
    X, Y = rng.rand(40, 2), (rng.rand(40, 3) < 0.3).astype(int)
    weights = np.arange(40) % 3.0
    clf = ThresholdedClassifier(RefusesTrainingRows(), random_state=0).fit(
        X, Y, sample_weight=weights
    )
    present = weights > 0
    np.testing.assert_array_equal(clf.estimator_.weights_, weights[present])
    expected = CardinalityThreshold().fit(np.tile(X[:, :1], 3), Y, sample_weight=weights)
    assert clf.threshold_.threshold_ == expected.threshold_
    assert expected.threshold_ != CardinalityThreshold().fit(np.tile(X[:, :1], 3), Y).threshold_
    # Splits refer to the rows given to fit; here the first has test rows of weight 0 only.
    dropped = np.flatnonzero(weights == 0)
    splits = [(np.setdiff1d(np.arange(40), part), part) for part in (dropped, list(range(5, 20)))]
    clf = ThresholdedClassifier(RefusesTrainingRows(), cv=splits).fit(X, Y, sample_weight=weights)
    part = [k for k in range(5, 20) if weights[k]]
    given = np.tile(X[part, :1], 3), Y[part]
    expected = CardinalityThreshold().fit(*given, sample_weight=weights[part])
    assert clf.threshold_.threshold_ == expected.threshold_
    with sklearn.config_context(enable_metadata_routing=True):
        routed = ThresholdedClassifier(
            RefusesTrainingRows().set_fit_request(sample_weight=True), random_state=0
        )
        routed.fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(routed.estimator_.weights_, weights[present])


def test_frames_texts_and_sparse_rows(small_set):
    X, Y = small_set
    base = CalibratedLabelRanking(LogisticRegression())
    plain = ThresholdedClassifier(base, random_state=0).fit(X, Y)
    frame, labels = pd.DataFrame(X).add_prefix("f"), pd.DataFrame(Y, columns=list("abcd"))
    framed = ThresholdedClassifier(base, random_state=0).fit(frame, labels)
    assert framed.classes_.tolist() == list("abcd")
    np.testing.assert_array_equal(framed.predict(frame), plain.predict(X))
    cells = ThresholdedClassifier(base, random_state=0).fit(
        sparse.csr_array(X), sparse.csr_array(Y)
    )
    np.testing.assert_array_equal(cells.predict(sparse.csr_array(X)), plain.predict(X))
    texts = [" ".join(f"w{k}" for k in np.flatnonzero(y)) + " and" for y in Y]
    words = make_pipeline(CountVectorizer(), OneVsRestClassifier(LogisticRegression()))
    np.testing.assert_array_equal(ThresholdedClassifier(words).fit(texts, Y).predict(texts), Y)


def test_grid_search_over_thresholds(small_set):
    X, Y = small_set
    grid = {"threshold": [FixedThreshold(0.2), FixedThreshold(0.5), CardinalityThreshold()]}
    clf = ThresholdedClassifier(PairwiseClassifier(random_state=0), random_state=0)
    search = GridSearchCV(clf, grid, scoring="f1_micro", cv=2).fit(X, Y)
    assert search.best_params_["threshold"] in grid["threshold"]
    nested = clf.set_params(threshold=FixedThreshold(0.5), threshold__value=0.6)
    assert nested.threshold.value == 0.6


def test_classifiers_without_scores_are_refused(small_set):
    X, Y = small_set
    without = MultiOutputClassifier(LinearSVC())
    with pytest.raises(ValueError, match="no predict_proba and no decision_function"):
        ThresholdedClassifier(without).fit(X, Y)
    with pytest.raises(ValueError, match="OneVsRestClassifier has no predict_proba"):
        ThresholdedClassifier(OneVsRestClassifier(LinearSVC()), method="predict_proba").fit(X, Y)

    class FirstLabelOnly(GaussianNB):
        def fit(self, X, y):
            return super().fit(X, y[:, 0])

    with pytest.raises(
        ValueError, match=r"FirstLabelOnly gave an array of shape \(16, 2\).*4 labels"
    ):
        ThresholdedClassifier(FirstLabelOnly()).fit(X, Y)


def test_a_number_is_a_fixed_threshold(small_set):
    X, Y = small_set
    base = BinaryRelevance(GaussianNB())
    given = ThresholdedClassifier(base, 0.3).fit(X, Y)
    np.testing.assert_array_equal(given.predict(X), base.fit(X, Y).predict_proba(X) > 0.3)

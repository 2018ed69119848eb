"""Explanations of pairwise classifiers against predictions, and their shares against loops."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from pairmend import (
    AdaptiveNeighbourhood,
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GaussianNeighbourhood,
    GlobalNeighbourhood,
    PairwiseClassifier,
    ThresholdedClassifier,
)
from pairmend.explanation import explain

BASE = LogisticRegression(C=0.5)
SETTINGS = [
    {},
    {"balance": "pairs", "overlap": 0.5},
    {"balance": "labels", "overlap": 0.25, "validation": 3},
    {"voting": "votes", "threshold": 0.4},
    {"reference": "identity", "validation": 0.3, "neighbourhood": AdaptiveNeighbourhood(k=4)},
    {"reference": "crisp", "neighbourhood": GlobalNeighbourhood()},
    {"weighting": "information", "neighbourhood": GaussianNeighbourhood(2.0)},
]
with_virtual_label = pytest.mark.parametrize("virtual", [False, True], ids=["pairs", "virtual"])
all_settings = pytest.mark.parametrize("parameters", SETTINGS, ids=str)


def fitted(X, Y, weights=None, **parameters):
    clf = CorrectedPairwiseClassifier(BASE, random_state=4, **parameters)
    return clf.fit(X, Y, sample_weight=weights)


def explained(clf, X, **options):
    """Explanations of all labels."""
    return clf.explain(X, labels=range(len(clf.classes_)), **options)


@with_virtual_label
@all_settings
def test_votes_add_up_to_the_prediction(small_set, parameters, virtual):
    X, Y = small_set
    clf = fitted(X, Y, calibration_label=virtual, **parameters)
    T, n_others = clf.train_indices_, 4 - 1 + 2 * virtual
    plain = CalibratedLabelRanking if virtual else PairwiseClassifier
    plain = plain(BASE, voting=clf.voting).fit(X[T], Y[T])
    before = plain.predict_proba(X)
    supports, corrected = clf.pair_support(X), clf.pair_corrected(X)
    pairs = clf.pairs_.tolist()
    for k, explanation in enumerate(explained(clf, X)):
        for label in explanation.labels:
            place = k, label.label
            assert label.base == before[place]
            assert label.predicted == (label.proba > clf.threshold)
            assert label.predicted_before == (before[place] > clf.threshold)
            assert label.threshold == clf.threshold
            assert len(label.changes) == n_others
            turned = sum((each.before > 0.5) != (each.after > 0.5) for each in label.changes)
            if any(abs(each.amount) >= 0.01 for each in label.changes):
                assert f"{turned} of {n_others} pairs changed the vote." in str(explanation)
            if clf.voting == "soft" and clf.weighting is None:
                others = [other for other in range(4 + virtual) if other != label.label]
                for change, other in zip(label.changes, others, strict=virtual is False):
                    is_first = label.label < other
                    pair = pairs.index(sorted((label.label, other)))
                    own = [s[k, pair] if is_first else 1 - s[k, pair] for s in
                           (supports, corrected)]  # fmt: skip
                    assert [change.before, change.after] == pytest.approx(own, abs=1e-12)
                    name = "against its absence" if other == 4 else f"against {other}"
                    assert change.name == name


@all_settings
@pytest.mark.parametrize("weighted", [False, True])
def test_shares_of_similar_rows_follow_from_the_confusion_matrices(small_set, parameters, weighted):
    X, Y = small_set
    weights = np.random.RandomState(0).randint(0, 3, len(Y)) * 0.7 if weighted else None
    X = sparse.csr_array(X) if weighted else X
    clf = fitted(X, Y, weights, **parameters)
    confusion, around = clf.confusion(X[:6]), clf.neighbourhood_.weights(X[:6])
    around = around.toarray() if sparse.issparse(around) else around
    around = around * (1 if weights is None else weights[clf.validation_indices_])
    place = {row: k for k, row in enumerate(clf.validation_indices_.tolist())}
    for z, explanation in enumerate(explained(clf, X[:6], n_neighbors=len(Y))):
        for label in explanation.labels:
            others = [other for other in range(4) if other != label.label]
            for change, other in zip(label.changes, others, strict=True):
                pair = clf.pairs_.tolist().index(sorted((label.label, other)))
                masses = confusion[z, pair]
                masses = masses if label.label < other else masses[::-1, ::-1]
                for share, (true, false) in zip(change.given, masses.T, strict=True):
                    if true + false > 1e-9:
                        assert share == pytest.approx(true / (true + false), abs=1e-7)
        assert sum(each.share for each in explanation.similar) == pytest.approx(1)
        for each in explanation.similar:
            assert each.share == pytest.approx(around[z, place[each.row]] / around[z].sum())


def test_the_threshold_around_a_classifier_is_shown(small_set):
    X, Y = small_set
    inner = CorrectedPairwiseClassifier(BASE, random_state=4)
    clf = ThresholdedClassifier(inner, 0.6, cv=2, random_state=0).fit(X, Y)
    predicted = clf.predict(X[:9])
    for labels, explanation in zip(predicted, explain(clf, X[:9], labels=range(4)), strict=True):
        assert [label.predicted for label in explanation.labels] == labels.astype(bool).tolist()
        assert {label.threshold for label in explanation.labels} == {0.6}

"""The rows of explanations: which labels, similar training rows, frames, plain data."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from pairmend import (
    AdaptiveNeighbourhood,
    CorrectedPairwiseClassifier,
    MendedClassifier,
)
from pairmend.base_classifiers import ScaledLogisticRegression

CLASSIFIERS = [
    MendedClassifier(ScaledLogisticRegression(), random_state=0),
    CorrectedPairwiseClassifier(random_state=0, validation=5),
    CorrectedPairwiseClassifier(
        random_state=0, calibration_label=True, neighbourhood=AdaptiveNeighbourhood(k=8)
    ),
]
each_classifier = pytest.mark.parametrize(
    "classifier", CLASSIFIERS, ids=["mended", "corrected", "virtual label"]
)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(120, 3)), columns=["width", "height", "depth"])
    centres = rng.uniform(-0.6, 0.6, size=(3, 3))
    Y = np.linalg.norm(X.to_numpy()[:, np.newaxis] - centres, axis=2) < [0.9, 0.8, 0.7]
    X.index = [f"p{k:03}" for k in range(len(X))]
    return X, pd.DataFrame(Y.astype(int), columns=["sea", "sun", "sky"], index=X.index)


@each_classifier
def test_labels_that_are_asked_for_are_explained_in_their_order(frame, classifier):
    X, Y = frame
    clf = classifier.fit(X, Y)
    for asked in (["sky", "sea"], [2, 0], [np.int64(2), "sea"]):
        (explanation,) = clf.explain(X[:1], labels=asked)
        assert [label.name for label in explanation.labels] == ["sky", "sea"]
        assert str(explanation).index("sky: ") < str(explanation).index("sea: ")
        assert "1 of 3 labels are not listed." in str(explanation)
    for wrong in ("moon", 3, -1):
        with pytest.raises(ValueError, match=f"{wrong!r} is no label; expected names among sea"):
            clf.explain(X[:1], labels=[wrong])


@each_classifier
def test_labels_that_are_predicted_or_close_are_explained_by_default(frame, classifier):
    X, Y = frame
    clf = classifier.fit(X, Y)
    proba, predicted = clf.predict_proba(X), clf.predict(X) == 1
    (every,) = clf.explain(X[:1], labels=[0, 1, 2], n_contributions=0)
    cuts = np.array([label.threshold for label in every.labels])
    for k, explanation in enumerate(clf.explain(X, n_contributions=0)):
        found = [label.label for label in explanation.labels]
        expected = np.flatnonzero(predicted[k] | (np.abs(proba[k] - cuts) <= 0.1)).tolist()
        assert sorted(found) == (expected or [np.argmax(proba[k])])
        assert found == sorted(found, key=lambda label: (not predicted[k, label], -proba[k, label]))
        assert explanation.predicted == tuple(Y.columns[predicted[k]])


@each_classifier
def test_similar_rows_are_training_rows(frame, classifier):
    X, Y = frame
    clf = classifier.fit(X, Y)
    for place, each in enumerate(clf.explain(X[80:84], labels=["sun"])):
        assert (each.row, each.index) == (place, X.index[80 + place])
        shares = [row.share for row in each.similar]
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 1
        for row in each.similar:
            assert set(row.labels) == set(Y.columns[Y.iloc[row.row] == 1])
        json.dumps(asdict(each), allow_nan=False)
    (few,), (many,) = (clf.explain(X[:1], n_neighbors=n) for n in (2, 6))
    assert few.similar == many.similar[:2]


@pytest.mark.parametrize(("name", "value"), [("n_neighbors", -1), ("n_contributions", 2.5)])
def test_numbers_are_checked(frame, name, value):
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 0, got"):
        CLASSIFIERS[0].fit(*frame).explain(frame[0][:1], **{name: value})


@each_classifier
def test_frames_hold_the_terms(frame, classifier):
    X, Y = frame
    clf = classifier.fit(X, Y)
    (explanation,) = clf.explain(X[:1], labels=["sea", "sun"])
    terms = explanation.to_frame()
    sums = terms[terms["unit"] == "probability"].groupby("label")["amount"].sum()
    labels = explanation.to_frame("labels").set_index("name")
    np.testing.assert_allclose(sums, labels["proba"], atol=1e-12)
    np.testing.assert_allclose(labels["proba"], clf.predict_proba(X[:1])[0, :2])
    if isinstance(clf, MendedClassifier):
        sums = terms[terms["unit"] == "log-odds"].groupby("label")["amount"].sum()
        np.testing.assert_allclose(sums, [label.log_odds for label in explanation.labels])
    for part in ("similar", "sets"):
        assert len(explanation.to_frame(part)) == len(getattr(explanation, part))
    with pytest.raises(ValueError, match="of='rows' is no part .* choose one of"):
        explanation.to_frame("rows")

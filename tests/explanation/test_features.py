"""Feature values of rows and neighbours in explanations."""

import json
import warnings
from dataclasses import asdict
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from pairmend import (
    CorrectedPairwiseClassifier,
    GlobalNeighbourhood,
    MendedClassifier,
)
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.explanation import (
    Explanation,
    FeatureExplanation,
    LabelExplanation,
    TrainingRow,
    add_features,
)
from pairmend.frames import ColumnWarning

CLASSIFIERS = [
    MendedClassifier(ScaledLogisticRegression(), random_state=0),
    CorrectedPairwiseClassifier(random_state=0, validation=5),
]
IDS = ["mended", "corrected"]


@pytest.fixture(scope="module")
def rings():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(120, 3))
    centres = rng.uniform(-0.6, 0.6, size=(3, 3))
    Y = np.linalg.norm(X[:, np.newaxis] - centres, axis=2) < [0.9, 0.8, 0.7]
    return X, Y.astype(int)


@pytest.fixture(scope="module")
def frame(rings):
    X, Y = rings
    features = pd.DataFrame(X, columns=["width", "height", "depth"])
    features["colour"] = np.where(X[:, 0] > 0, "red", "blue")
    features.index = [f"p{k:03}" for k in range(len(X))]
    return features, pd.DataFrame(Y, columns=["sea", "sun", "sky"], index=features.index)


def explanation(row=0, neighbours=((0, 0.5), (1, 0.25))):
    label = LabelExplanation.of(
        0, "sea", [], [], [], scores=(0.4, 0.6), accepted=(False, True), threshold=0.5
    )
    listed = tuple(TrainingRow(k, share, (0,)) for k, share in neighbours)
    return Explanation(row, (label,), (), 0, 0, training_rows=listed)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=IDS)
def test_neighbours_have_index_labels_and_values_of_the_frame(frame, classifier):
    X, Y = frame
    explained = classifier.fit(X, Y).explain(X[80:84], training=X)
    for place, each in enumerate(explained):
        assert (each.row, each.index) == (place, X.index[80 + place])
        assert [feature.name for feature in each.features] == X.columns.tolist()
        assert [feature.value for feature in each.features] == X.iloc[80 + place].tolist()
        listed = {n.row for problem in each.problems for n in problem.neighbours}
        assert {row.row for row in each.training_rows} == listed
        for row in each.training_rows:
            assert row.index == X.index[row.row]
            assert row.values == tuple(X.iloc[row.row].tolist())
            assert row.labels == tuple(np.flatnonzero(Y.iloc[row.row]).tolist())
            shares = [
                n.share for problem in each.problems for n in problem.neighbours
                if n.row == row.row
            ]  # fmt: skip
            assert row.share == max(shares)
        json.dumps(asdict(each), allow_nan=False)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=IDS)
@pytest.mark.parametrize("given", [True, False], ids=["training", "no training"])
def test_a_row_of_training_is_marked(rings, classifier, given):
    X, Y = rings
    fitted = classifier.fit(X, Y)
    rows = np.vstack([X[40], X[41] + 0.01, X[7]])
    marks = [each.same_rows for each in fitted.explain(rows, training=X if given else None)]
    assert marks == [(40,), (), (7,)]
    assert "Training row 40 has the same features." in str(fitted.explain(rows)[0])


def test_without_training_there_are_labels_but_no_values(rings):
    X, Y = rings
    (explained,) = CLASSIFIERS[0].fit(X, Y).explain(X[:1])
    assert explained.features == ()
    assert explained.index is None
    assert {row.values for row in explained.training_rows} == {()}
    assert any(row.labels for row in explained.training_rows)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=IDS)
def test_other_rows_than_those_of_fit_are_refused(rings, classifier):
    X, Y = rings
    fitted = classifier.fit(X, Y)
    with pytest.raises(ValueError, match="of training is not the row .* in the same order"):
        fitted.explain(X[:2], training=X[::-1])
    with pytest.raises(ValueError, match="training has 50 rows, but row 119 is a validation row"):
        fitted.explain(X[:2], training=X[:50])
    with pytest.raises(ValueError, match="features"):
        fitted.explain(X[:2], training=X[:, :2])


def test_neighbourhoods_without_distances_have_no_points(rings):
    X, Y = rings
    clf = CorrectedPairwiseClassifier(random_state=0, neighbourhood=GlobalNeighbourhood())
    (explained,) = clf.fit(X, Y).explain(X[:1], training=X)
    assert explained.same_rows == (0,)  # by the values


def test_differences_equal_the_loops():
    training = pd.DataFrame({
        "size": [1.0, 5.0, 3.0, np.nan],
        "colour": ["red", "blue", "red", None],
        "day": pd.to_datetime(["2024-01-01", "2024-01-11", "2024-01-05", None]),
        "constant": [2, 2, 2, 2],
    })  # fmt: skip
    rows = pd.DataFrame({
        "size": [2.0], "colour": ["red"], "day": pd.to_datetime(["2024-01-03"]), "constant": [2],
    })  # fmt: skip
    given = explanation(neighbours=((0, 0.5), (1, 0.25), (3, 0.25)))
    (found,) = add_features([given], rows, training)
    # Numbers and dates by their range, 4 and 10 days; a missing value differs by 1.
    expected = {
        "size": 0.5 * 1 / 4 + 0.25 * 3 / 4 + 0.25 * 1,
        "colour": 0.5 * 0 + 0.25 * 1 + 0.25 * 1,
        "day": 0.5 * 2 / 10 + 0.25 * 8 / 10 + 0.25 * 1,
        "constant": 0.0,
    }
    for feature in found.features:
        assert feature.difference == pytest.approx(expected[feature.name])
    assert found.features[2].value == str(datetime(2024, 1, 3))
    assert found.training_rows[2].values == (None, None, None, 2.0)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_strings_that_are_numbers_or_dates_differ_as_numbers(library):
    as_frame = pytest.importorskip(library).DataFrame
    training = {
        "price": ["1001.0", "1005.0", "1003.0", "n/a", "1004.5"],
        "day": ["01.01.2024", "11.01.2024", "05.01.2024", None, "08.01.2024"],
        "code": ["01", "02", "03", "04", "01"],
    }
    row = {"price": ["1002.0"], "day": ["03.01.2024"], "code": ["01"]}
    given = explanation(neighbours=((0, 0.5), (1, 0.25), (3, 0.25)))
    (found,) = add_features([given], as_frame(row), as_frame(training))
    expected = {
        "price": 0.5 * 1 / 4 + 0.25 * 3 / 4 + 0.25 * 1,
        "day": 0.5 * 2 / 10 + 0.25 * 8 / 10 + 0.25 * 1,
        "code": 0.5 * 0 + 0.25 * 1 + 0.25 * 1,
    }
    assert {each.name: each.difference for each in found.features} == pytest.approx(expected)
    assert found.features[0].value == "1002.0"


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=IDS)
def test_classifiers_compare_strings_as_the_numbers_they_are(frame, classifier):
    numbers, labels = frame[0].round(3), frame[1]
    strings = numbers.assign(width=numbers["width"].map(lambda x: f"{x:.3f}"))
    differences = []
    for features in (numbers, strings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ColumnWarning)
            (explained,) = (
                clone(classifier).fit(features, labels).explain(features[:1], training=features)
            )
        assert explained.same_rows == (0,)
        differences.append([each.difference for each in explained.features])
    assert differences[1] == pytest.approx(differences[0])


def test_the_row_itself_does_not_count_in_differences():
    training = np.array([[1.0], [3.0], [5.0]])
    (found,) = add_features([explanation()], training[:1], training)
    assert found.same_rows == (0,)
    assert found.features == (FeatureExplanation("feature 0", 1.0, 0.5),)
    alone = explanation(neighbours=((0, 1.0),))
    (found,) = add_features([alone], training[:1], training)
    assert found.features[0].difference is None


def test_missing_values_are_equal_to_missing_values():
    training = pd.DataFrame({"size": [1.0, np.nan, np.nan], "colour": [None, None, "red"]})
    (found,) = add_features([explanation()], training[1:2], training)
    assert found.same_rows == (1,)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_sparse_rows_show_features_that_are_not_zero(kind):
    training = kind([[0, 2.0, 0, 0], [0, 4.0, 1.0, 0], [3.0, 0, 0, 0]])
    (found,) = add_features([explanation()], kind([[0, 2.0, 0, 0]]), training, names="abcd")
    shown = {feature.name: feature for feature in found.features}
    assert sorted(shown) == (["b", "c"] if kind is not np.asarray else list("abcd"))
    assert shown["b"].value == 2
    assert shown["b"].difference == pytest.approx(2 / 4)
    assert found.same_rows == (0,)


def test_polars_frames_and_texts():
    pl = pytest.importorskip("polars")
    training = pl.DataFrame({"size": [1, 2, None], "colour": ["red", None, "red"]})
    (found,) = add_features([explanation()], training[1:2], training)
    assert found.same_rows == (1,)
    assert [feature.value for feature in found.features] == [2, None]
    texts = ["the sea", "the sun"]
    (found,) = add_features([explanation()], texts[:1], texts)
    assert found.same_rows == (0,)
    assert found.features == (FeatureExplanation("X", "the sea", 1.0),)


def test_features_as_frames(frame):
    X, Y = frame
    (explained,) = CLASSIFIERS[0].fit(X, Y).explain(X[:1], training=X)
    rows = explained.to_frame("training_rows")
    assert rows.columns.tolist() == ["row", "index", "share", "same", "labels"]
    assert rows.loc[rows["same"], "index"].tolist() == ["p000"]
    features = explained.to_frame("features")
    assert features["feature"].tolist() == X.columns.tolist()
    text = str(explained)
    assert text.startswith("Row 0 (p000): ")
    assert "row 0 (p000), the same features: " in text

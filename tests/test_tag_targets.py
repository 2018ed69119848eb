"""Targets as lists, sets and series of tags, for every multi-label classifier."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pairmend import BinaryRelevance, CorrectedPairwiseClassifier
from public_classifiers import CLASSIFIERS, ONE_DIMENSIONAL, made, rows

NAMES = np.array(["people", "sand", "sea", "sun"])  # sorted, as the labels of tags are
X, Y = rows()
TAGS = [[str(name) for name in NAMES[row == 1]] for row in Y]
FORMS = {
    "lists": TAGS,
    "tuples": [tuple(tags) for tags in TAGS],
    "sets": [set(tags) for tags in TAGS],
    "repeated": [tags * 2 for tags in TAGS],
    "split": pd.Series([";".join(tags) for tags in TAGS]).str.split(";"),
    "series": pd.Series(TAGS),
    "series of arrays": pd.Series([np.array(tags, dtype=object) for tags in TAGS]),
    "polars": pl.Series(TAGS),
    "objects": pd.Series(TAGS).to_numpy(),
}


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - set(ONE_DIMENSIONAL)))
def test_tags_give_the_fit_of_their_indicators(name):
    expected = made(name).fit(X, pd.DataFrame(Y, columns=NAMES))
    fitted = made(name).fit(X, TAGS)
    assert fitted.classes_.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))
    predicted = fitted.predict(X)
    assert set(np.unique(predicted)) <= {0, 1}
    assert fitted.score(X, TAGS) == np.mean((predicted == Y).all(axis=1))


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_tags(form):
    fitted = BinaryRelevance(random_state=0).fit(X, FORMS[form])
    expected = BinaryRelevance(random_state=0).fit(X, Y)
    assert fitted.classes_.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))


def test_one_tag_in_each_row():
    fitted = BinaryRelevance().fit(X, [["positive"], ["negative"]] * 30)
    assert fitted.classes_.tolist() == ["negative", "positive"]
    assert fitted.multilabel_


@pytest.mark.parametrize(
    "classes", [["a/b", "a/c", "d/e"], ["Smith, A", "Smith, B"], ["a;b", "c;d"], ["x", "y, z"]]
)
def test_names_of_classes_may_have_separators(classes):
    y = [classes[row % len(classes)] for row in range(len(X))]
    assert BinaryRelevance().fit(X, y).classes_.tolist() == sorted(classes)


def test_lists_of_the_same_length_are_tags():
    tags = [["sea", "sun"], ["sea", "sky"]] * 30
    assert BinaryRelevance().fit(X, tags).classes_.tolist() == ["sea", "sky", "sun"]


def test_sets_may_hold_numbers():
    tags = [set(np.flatnonzero(row).tolist()) for row in Y]
    fitted = BinaryRelevance(random_state=0).fit(X, tags)
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    expected = BinaryRelevance(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))


def test_tags_of_further_rows():
    first, second = slice(0, 30), slice(30, None)
    fitted = CorrectedPairwiseClassifier(random_state=0).partial_fit(
        X[first], TAGS[first], classes=NAMES
    )
    fitted.partial_fit(X[second], TAGS[second])
    expected = CorrectedPairwiseClassifier(random_state=0).partial_fit(
        X[first], Y[first], classes=NAMES
    )
    expected.partial_fit(X[second], Y[second])
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))
    with pytest.raises(ValueError, match=r"tags that are not among the labels.*\['fog'\]"):
        fitted.partial_fit(X[:2], [["fog"], ["sea"]])


def test_the_index_of_a_series_is_compared():
    frame = pd.DataFrame(X)
    with pytest.raises(ValueError, match="the same index values in a different order"):
        BinaryRelevance().fit(frame, pd.Series(TAGS)[::-1])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (pd.Series([*TAGS[:-1], None]), "row 59 is None. Pass an empty list"),
        (pd.Series([*TAGS[:-1], float("nan")]), "row 59 is nan. Pass an empty list"),
        ([*TAGS[:-1], ["sea", 3]], "row 59 has the tag 3. Tags in lists must be strings"),
        ([[1], [1, 2]] * 30, "lists of numbers, of different lengths.*pass sets"),
        ([[""] for _ in TAGS[:-1]] + [set()], "no row has a tag"),
        ([{"sea"}, {1}] * 30, "tags of several types"),
        (pd.Series(["sea;sun", "sea", "sun"] * 20), r'such as .sea;sun.* y.str.split\(";"\)'),
        (["a|b", "a|c"] * 30, r'such as .a.b.* \[text.split\("\|"\) for text in y'),
        (np.array(["a, b", "a", "b"] * 20), r"such as .a, b.. Split them into lists"),
        (pd.Series(["a", "b", None] * 20), "missing in 20 rows, first in row 2 .*Leave these rows"),
        (pd.Series(["a", "b"] * 29 + ["a", pd.NA]), "missing in 1 row, first in row 59"),
        ([1, 2, None] * 20, "missing in 20 rows, first in row 2"),
        (pd.Series(["a", "b", 3] * 20), "texts such as 'a' and other values such as 3"),
        (TAGS[:-1], "inconsistent numbers of samples"),
        ([["yes", "no"], ["no", "no"]] * 30, r"\(y == 'yes'\).astype\(int\)"),
        ([["0", "1"], ["1", "1"]] * 30, r"y.astype\(int\)"),
    ],
)
def test_errors(y, message):
    with pytest.raises(ValueError, match=message):
        BinaryRelevance().fit(X, y)

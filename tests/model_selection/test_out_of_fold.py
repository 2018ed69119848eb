"""Notes on errors of classifiers that are trained on a part of the rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multioutput import MultiOutputClassifier

from pairmend import MendedClassifier, ThresholdedClassifier
from public_classifiers import rows


def notes(clf, X, Y):
    with pytest.raises(Exception) as caught:
        clf.fit(X, Y)
    return " ".join(getattr(caught.value, "__notes__", []))


class EachLabel(MultiOutputClassifier):
    """One classifier for each label, without exception for labels that do not vary."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def wrapped(kind):
    return kind(EachLabel(LogisticRegression()), cv=KFold(2))


@pytest.mark.parametrize("kind", [MendedClassifier, ThresholdedClassifier])
def test_labels_that_are_constant_in_a_part_are_named(kind):
    X, Y = rows()
    Y = pd.DataFrame(Y, columns=["sea", "beach", "sun", "sky"])
    Y.loc[:29, "sun"] = 0
    Y.loc[30:, "sun"] = 1
    found = notes(wrapped(kind), X, Y)
    assert "on 30 of 60 rows" in found
    assert "1 label(s) have the same value in all rows: 'sun'." in found
    assert "fewer folds" in found


@pytest.mark.parametrize("kind", [MendedClassifier, ThresholdedClassifier])
@pytest.mark.parametrize("constant", [False, True])
def test_other_errors_are_not_blamed_on_labels(kind, constant):
    X, Y = rows()
    X, Y = X.copy(), Y.copy()
    if constant:  # does no harm here
        Y[:30, 2], Y[30:, 2] = 0, 1
    for value in (np.inf, np.nan):
        X[:, 0] = value
        found = notes(wrapped(kind), X, Y)
        assert "while cross-fitting" in found
        assert "label(s)" not in found
        assert "folds" not in found
    for names in ("aabcd", "abcde"):  # names that occur twice, or texts
        texts = pd.DataFrame(X, columns=list(names)).astype(str) + "text"
        assert "folds" not in notes(wrapped(kind), texts, Y)


def test_errors_of_the_default_base():
    X, Y = rows()
    X = np.where(X > 0.5, np.inf, X)
    assert "folds" not in notes(MendedClassifier(cv=2), X, Y)


class Fussy(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise ValueError("these classes are not what I like")


def test_errors_on_classes_without_constant_labels():
    X, Y = rows()
    clf = ThresholdedClassifier(EachLabel(Fussy()), cv=2)
    assert "label(s)" not in notes(clf, X, Y)

"""Notes on errors of classifiers that are fitted on folds."""

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
    """One classifier for each label, which fails for constant labels."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def wrapped(kind):
    return kind(EachLabel(LogisticRegression()), cv=KFold(2))


@pytest.mark.parametrize("kind", [MendedClassifier, ThresholdedClassifier])
def test_note_lists_labels_that_are_constant_in_the_training_rows(kind):
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
def test_no_note_on_labels_for_other_errors(kind, constant):
    X, Y = rows()
    X, Y = X.copy(), Y.copy()
    if constant:  # is not the cause of the error
        Y[:30, 2], Y[30:, 2] = 0, 1
    for value in (np.inf, np.nan):
        X[:, 0] = value
        found = notes(wrapped(kind), X, Y)
        assert "while cross-fitting" in found
        assert "label(s)" not in found
        assert "folds" not in found
    for names in ("aabcd", "abcde"):  # duplicate names, or text columns
        texts = pd.DataFrame(X, columns=list(names)).astype(str) + "text"
        assert "folds" not in notes(wrapped(kind), texts, Y)


def test_no_note_on_folds_for_errors_of_the_default_base_classifier():
    X, Y = rows()
    X = np.where(X > 0.5, np.inf, X)
    assert "folds" not in notes(MendedClassifier(cv=2), X, Y)


class FailingClassifier(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise ValueError("these classes are not supported")


def test_no_note_without_constant_labels():
    X, Y = rows()
    clf = ThresholdedClassifier(EachLabel(FailingClassifier()), cv=2)
    assert "label(s)" not in notes(clf, X, Y)

"""Stratified folds; notes on errors of classifiers that are fitted on folds."""

import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier

from pairmend import MendedClassifier, PairwiseClassifier, ThresholdedClassifier
from pairmend.model_selection import MultilabelStratifiedKFold
from public_classifiers import rows

seeds = st.integers(0, 99)


@st.composite
def labelled_rows(draw):
    """Draw indicators of rare and frequent labels, and a valid number of folds."""
    n_rows, n_labels = draw(st.integers(2, 40)), draw(st.integers(1, 6))
    shares = np.array(draw(st.lists(st.floats(0, 1), min_size=n_labels, max_size=n_labels)))
    rng = np.random.RandomState(draw(st.integers(0, 999)))
    Y = (rng.random_sample((n_rows, n_labels)) < shares).astype(int)
    return Y, draw(st.integers(2, min(n_rows, 8)))


def folds_of(Y, n_folds, seed=0):
    cv = MultilabelStratifiedKFold(n_folds, random_state=seed)
    return [fold for _, fold in cv.split(Y, Y)]


@settings(max_examples=30)
@given(labelled_rows(), seeds)
def test_folds_are_equal_parts(case, seed):
    Y, n_folds = case
    splits = list(MultilabelStratifiedKFold(n_folds, random_state=seed).split(Y, Y))
    folds = [fold.tolist() for _, fold in splits]
    assert sorted(row for fold in folds for row in fold) == list(range(len(Y)))
    for rest, fold in splits:
        assert rest.tolist() == sorted(set(range(len(Y))) - set(fold.tolist()))
        assert fold.tolist() == sorted(fold)
    assert max(map(len, folds)) - min(map(len, folds)) <= 1


def test_shares_of_labels_seeds_and_forms_of_indicators(rng):
    shares = 0.5 * 0.75 ** np.arange(20)  # from every second row to one in five hundred
    Y = (rng.random_sample((1000, 20)) < shares).astype(int)
    counts = [Y[fold].sum(axis=0) for fold in folds_of(Y, 5)]
    assert np.ptp(counts, axis=0).max() == 1
    first, other, state = folds_of(Y, 5), folds_of(Y, 5, 1), np.random.RandomState(0)
    assert not all(map(np.array_equal, first, other))
    assert all(map(np.array_equal, first, folds_of(Y, 5, state)))
    assert not all(map(np.array_equal, first, folds_of(Y, 5, state)))
    for form in (Y, Y.astype(bool), Y * 1.0, Y.tolist(), sparse.csr_array(Y), pd.DataFrame(Y)):
        assert all(map(np.array_equal, folds_of(form, 5), first))


@pytest.mark.parametrize(
    ("Y", "n_folds", "message"),
    [
        ([0, 1, 1], 2, r"has the shape \(3,\); expected label indicators"),
        ([[0, 1], [1, 0]], 3, "n_splits=3 greater than the number of samples: n_samples=2"),
    ],
)
def test_invalid_arguments_of_the_splitter_raise(Y, n_folds, message):
    with pytest.raises(ValueError, match=message):
        folds_of(Y, n_folds)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(MultilabelStratifiedKFold().split(np.zeros((99, 1)), np.ones((100, 2))))


@pytest.mark.parametrize("routing", [False, True])
def test_splitter_in_scikit_learn_functions(small_set, routing):
    X, Y = small_set
    cv, knn = MultilabelStratifiedKFold(random_state=0), KNeighborsClassifier()
    assert cv.get_n_splits(Y, Y, None) == 5
    assert repr(cv) == "MultilabelStratifiedKFold(n_splits=5, random_state=0)"
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(knn, {"n_neighbors": [5]}, cv=cv, scoring="f1_micro").fit(X, Y)
    scores = cross_val_score(knn, X, Y, cv=list(cv.split(X, Y)), scoring="f1_micro")
    assert search.best_score_ == pytest.approx(np.mean(scores))
    assert clone(search).cv.n_splits == 5


class EachLabel(MultiOutputClassifier):
    """One classifier for each label, which fails for constant labels."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


X, Y = rows()
CONSTANT = pd.DataFrame(Y, columns=["sea", "beach", "sun", "sky"])
CONSTANT.loc[:29, "sun"], CONSTANT.loc[30:, "sun"] = 0, 1


@pytest.mark.parametrize("kind", [MendedClassifier, ThresholdedClassifier])
@pytest.mark.parametrize(
    ("rows", "target", "note"),
    [
        (X, CONSTANT, r"on 30 of 60 rows.*1 label.s. have the same value in all rows: \['sun'\]"),
        (np.where(X > 0.5, np.inf, X), Y, r"on 30 of 60 rows\.$"),
    ],
)
def test_notes_on_errors_of_folds_name_constant_labels(kind, rows, target, note):
    with pytest.raises(ValueError, match=".") as caught:
        kind(EachLabel(LogisticRegression()), cv=KFold(2)).fit(rows, target)
    assert re.search(note, caught.value.__notes__[0])


@pytest.mark.parametrize("kind", [MendedClassifier, PairwiseClassifier])
def test_notes_on_errors_of_frames_name_the_encoder(kind):
    frame = pd.DataFrame(X).assign(place="coast")
    with pytest.raises(ValueError, match="could not convert") as caught:
        kind(LogisticRegression()).fit(frame.rename(columns=str), Y)
    assert "needs an encoder: make_pipeline(pairmend.frames.Fr" in caught.value.__notes__[0]

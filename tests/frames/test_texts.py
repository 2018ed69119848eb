"""Texts as rows, and the words that logistic regressions see."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.frames import FrameEncoder

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]


@pytest.fixture(scope="module")
def texts():
    """Return 200 texts of 600 words, and labels that follow from two words and a pair of words."""
    rng = np.random.RandomState(0)
    words = np.array([first + second for first in SYLLABLES for second in SYLLABLES[:10]])
    rows = words[rng.randint(len(words), size=(200, 8))]
    Y = rng.uniform(size=(200, 3)) < 0.4
    rows[Y[:, 0], 1] = "sea"
    rows[Y[:, 1], 3] = "sun"
    rows[:, 5:7] = np.where(Y[:, 2:], ["very", "warm"], ["warm", "very"])
    return [" ".join(row) for row in rows], Y.astype(int)


FORMS = {
    "list": list,
    "tuple": tuple,
    "objects": lambda texts: np.array(texts, dtype=object),
    "strings": np.array,
    "pandas": lambda texts: pd.Series(texts, name="message"),
    "polars": pl.Series,
}


@pytest.fixture(scope="module")
def fitted(texts):
    """Return a classifier that was fitted on a frame with a text column."""
    rows, Y = texts
    return MendedClassifier(random_state=0).fit(pd.DataFrame({"text": rows}), Y)


@pytest.mark.parametrize("form", FORMS)
def test_texts_are_a_column_in_each_form(form, texts, fitted):
    rows, Y = texts
    expected = fitted.predict_proba(pd.DataFrame({"text": rows[:20]}))
    clf = MendedClassifier(random_state=0).fit(FORMS[form](rows), Y)
    assert_allclose(clf.predict_proba(FORMS[form](rows[:20])), expected, atol=1e-12)
    assert [column.kind for column in clf.frame_encoder_.columns_] == ["text"]


def test_a_logistic_regression_sees_words_and_pairs_of_words(texts):
    rows, Y = texts
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2), min_df=2, sublinear_tf=True, token_pattern=r"(?u)\w+|[^\w\s]"
    )
    words = vectorizer.fit_transform(rows[:150])
    assert words.shape[1] > 200
    base = ScaledLogisticRegression(C=100)
    clf = BinaryRelevance(base).fit(rows[:150], Y[:150])
    expected = BinaryRelevance(base).fit(words, Y[:150])
    expected = expected.predict_proba(vectorizer.transform(rows[150:]))
    assert_allclose(clf.predict_proba(rows[150:]), expected, atol=1e-9)
    # The order of two words is in no single word.
    assert np.mean(clf.predict(rows[150:])[:, 2] == Y[150:, 2]) > 0.9


def test_words_stand_beside_other_columns(texts):
    rows, Y = texts
    number = np.where(np.arange(len(rows)) % 3, np.arange(len(rows)), np.nan)
    frame = pd.DataFrame({"number": number, "text": rows, "hue": np.array(["red", "blue"] * 100)})
    scaler = ScaledLogisticRegression().fit(frame, Y[:, 0]).scaler_
    found = scaler.transform(frame)
    assert sparse.issparse(found)
    dense = found.toarray()[:, :3]
    filled = np.where(np.isnan(number), np.nanmean(number), number)
    assert_allclose(dense[:, 0], (filled - np.nanmean(number)) / np.nanstd(number), atol=1e-12)
    assert dense[:, 1:].tolist() == [[0.0, 1.0], [1.0, 0.0]] * 100
    words = FrameEncoder().fit(frame).encode(frame).words
    assert_allclose(found[:, 3:].toarray(), words.toarray())
    clf = MendedClassifier(random_state=0).fit(frame, Y)
    assert np.mean(clf.predict(frame) == Y) > 0.9


def test_missing_texts_and_new_words(texts, fitted):
    proba = fitted.predict_proba(pd.DataFrame({"text": [None, "unknown words only"]}))
    assert_allclose(proba[0], proba[1])
    clf = MendedClassifier(random_state=0).fit([None, *texts[0][1:]], texts[1])
    assert np.isfinite(clf.predict_proba([None, "sea"])).all()
    assert_allclose(clf.predict_proba([None]), clf.predict_proba([None, "sea"])[:1], atol=1e-12)


def test_texts_without_common_words_are_an_error():
    with pytest.raises(ValueError, match="no word occurs in two rows"):
        MendedClassifier().fit(["a b", "c d", "e f"], np.eye(3, dtype=int))


class Lengths(TransformerMixin, BaseEstimator):
    """Stands for an encoder of sentences: texts as dense numbers, by their letters."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        letters = "abdefgiklmnoprstuvwy"
        return np.array([[text.count(letter) for letter in letters] for text in X], float) / 10


def test_parameters_of_texts(texts):
    rows, _ = texts
    frame = pd.DataFrame({"text": rows, "size": np.arange(200.0)})
    few = FrameEncoder(ngram_range=(1, 1), min_df=4, max_words=50, n_components=7).fit(frame)
    counts = TfidfVectorizer(min_df=4, max_features=50, token_pattern=r"(?u)\w+|[^\w\s]").fit(rows)
    assert few.columns_[0].n_words == len(counts.vocabulary_) == 50
    assert few.encode(frame).words.shape == (200, 50)
    assert few.transform(frame).shape == (200, 7 + 1)
    with pytest.raises(ValueError, match="min_df and max_words have no effect with a vectorizer"):
        FrameEncoder(vectorizer=TfidfVectorizer(), min_df=3).fit(frame)
    with pytest.raises(ValueError, match="The 'n_components' parameter"):
        FrameEncoder(n_components=0).fit(frame)


VECTORIZERS = [
    TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3)),
    make_pipeline(HashingVectorizer(n_features=256), TfidfTransformer()),
    Lengths(),
]


@pytest.mark.parametrize("vectorizer", VECTORIZERS, ids=["letters", "hashes", "sentences"])
def test_a_vectorizer_takes_the_place_of_the_words(vectorizer, texts):
    rows, Y = texts
    encoder = FrameEncoder(vectorizer=vectorizer)
    found = encoder.fit(rows).encode(rows)
    expected = sparse.csr_array(clone(vectorizer).fit_transform(rows)).toarray()
    if expected.shape[1] > 100:
        assert_allclose(found.words.toarray(), expected)
    else:
        lengths = np.linalg.norm(expected, axis=1, keepdims=True)
        assert_allclose(found.components, expected / lengths)
    assert encoder.columns_[0].n_words == expected.shape[1]
    clf = MendedClassifier(transformer=encoder, random_state=0).fit(rows, Y)
    assert clf.frame_encoder_.columns_ == encoder.columns_
    assert len(encoder.values_of(0)) == expected.shape[1]
    assert not hasattr(clf.transformer.vectorizer, "vocabulary_")
    assert clf.predict_proba(rows[:3]).shape == (3, 3)

"""Targets of every classifier: indicators, tags, classes; their row order; what is refused."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from pairmend import CorrectedPairwiseClassifier, MendedClassifier, PairwiseClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.pairwise import PairwisePerceptrons
from public_classifiers import CLASSIFIERS, ONE_DIMENSIONAL, data_for, made, rows

NAMES = np.array(["people", "sand", "sea", "sun"])  # sorted, as the labels of tags are
X, Y = rows()
TAGS = [[str(name) for name in NAMES[row == 1]] for row in Y]
FORMS = {
    "sets": [set(tags) for tags in TAGS],
    "repeated": [tuple(tags * 2) for tags in TAGS],
    "split": pd.Series([";".join(tags) for tags in TAGS]).str.split(";"),
    "arrays": pd.Series([np.array(tags, dtype=object) for tags in TAGS]).to_numpy(),
    "polars": pl.Series(TAGS),
    "numbers": [set(np.flatnonzero(row).tolist()) for row in Y],
    "nullable": pd.DataFrame(Y).astype("Int64"),
}


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - set(ONE_DIMENSIONAL)))
def test_tags_give_the_fit_of_their_indicators(name):
    expected = made(name).fit(X, pd.DataFrame(Y, columns=NAMES))
    fitted = made(name).fit(X, TAGS)
    assert fitted.classes_.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))
    assert fitted.score(X, TAGS) == np.mean((fitted.predict(X) == Y).all(axis=1))


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_targets(form):
    fitted = BinaryRelevance(random_state=0).fit(X, FORMS[form])
    expected = BinaryRelevance(random_state=0).fit(X, Y)
    has_names = form not in ("numbers", "nullable")
    assert fitted.classes_.tolist() == (NAMES.tolist() if has_names else [0, 1, 2, 3])
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize(
    ("y", "classes", "multilabel"),
    [
        ([["positive"], ["negative"]] * 30, ["negative", "positive"], True),
        ([["sea", "sun"], ["sea", "sky"]] * 30, ["sea", "sky", "sun"], True),
        (["a;b", "c, d", "e/f"] * 20, ["a;b", "c, d", "e/f"], False),
        (pd.Series([1.0, 2.0, 7.0] * 20), [1.0, 2.0, 7.0], False),
        ([-1, 0, 5] * 20, [-1, 0, 5], False),
        ([True, False] * 30, [False, True], False),
    ],
)
def test_names_of_labels_and_classes(y, classes, multilabel):
    pairwise = PairwiseClassifier, CorrectedPairwiseClassifier
    for kind in (BinaryRelevance, MendedClassifier, *pairwise):
        fitted = kind(GaussianNB(), random_state=0).fit(X, y)
        assert (fitted.classes_.tolist(), fitted.multilabel_) == (classes, multilabel)
        assert multilabel or set(fitted.predict(X)) <= set(classes)
        assert multilabel or kind is not MendedClassifier or fitted.decision_ == "classes"


def test_two_classes_are_one_pair():
    clf = PairwiseClassifier(GaussianNB()).fit(X, Y[:, 0])
    expected = GaussianNB().fit(X, Y[:, 0])
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(clf.predict(X), expected.predict(X))


@pytest.mark.parametrize("kind", [CorrectedPairwiseClassifier, PairwisePerceptrons])
def test_targets_of_further_rows(kind):
    first, second = slice(0, 30), slice(30, None)
    frame, named = pd.DataFrame(X).add_prefix("f"), pd.DataFrame(Y, columns=NAMES)
    y = NAMES[X[:, :3].argmax(axis=1)]
    of_tags, of_names, of_classes = (
        kind(random_state=0)
        .partial_fit(given[first], target[first], classes=NAMES)
        .partial_fit(given[second], target[second])
        for given, target in ((X, TAGS), (frame, named), (X, y))
    )
    np.testing.assert_array_equal(of_tags.predict_proba(X), of_names.predict_proba(frame))
    assert of_classes.classes_.tolist() == of_tags.classes_.tolist() == NAMES.tolist()
    assert of_classes.partial_fit(X[:1], y[:1]).score(X, y) > 0.5
    assert of_names.partial_fit(frame, Y).classes_.tolist() == NAMES.tolist()
    for clf, given, target, params, message in (
        (of_tags, X[:2], [["fog"], ["sea"]], {}, r"tags that are not among the labels.*\['fog'\]"),
        (of_names, frame, named[["sea", "sun"]], {}, "y has the labels"),
        (of_names, frame, y, {}, "earlier call had indicators"),
        (of_names, frame[["f0"]], named, {}, "columns|feature names"),
        (of_classes, X[:1], ["dog"], {}, "unseen.*dog"),
        (of_classes, X, y, {"classes": ["sea", "sun"]}, "classes are .* but were"),
        (of_classes, X, Y, {}, "indicators .* but an earlier call had classes"),
        (of_classes, X[:, :2], y, {}, "X has 2 features"),
    ):
        with pytest.raises(ValueError, match=message):
            clf.partial_fit(given, target, **params)


NO_INDICATOR = "must hold 0 and 1 only, but row ., column . is "


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (Y + 1, NO_INDICATOR + "2.*pass a 1-D y"),
        (sparse.csr_array(Y * 3), NO_INDICATOR + "3"),
        (np.where(Y, "yes", "no"), NO_INDICATOR + r"'(yes|no)'.*\(y == 'yes'\).astype\(int\)"),
        (pd.DataFrame(Y).astype("Int64").mask(Y == 1), NO_INDICATOR + "<NA>"),
        ([["0", "1"], ["1", "1"]] * 30, NO_INDICATOR + "'0'"),
        (np.where(Y == 1, np.nan, Y), "row 0, column 0 is nan"),
        (Y[:, :1], "one label only.*y.ravel()"),
        (Y[:, :0], r"shape \(60, 0\)"),
        (Y[:59], "inconsistent numbers of samples: .60, 59"),
        (pd.DataFrame(Y, columns=["a", "b", "a", "c"]), "several columns of the same name"),
        (np.zeros((60, 3, 2)), r"shape \(60, 3, 2\)"),
        (None, "requires y"),
        (np.ones(60), "one class only.*at least two classes"),
        (np.linspace(0, 1, 60), "Unknown label type"),
        (pd.Series([*TAGS[:-1], None]), "row 59 is None. Pass a list"),
        ([*TAGS[:-1], ["sea", 3]], "row 59 is .*3.*Pass a list of strings"),
        ([[1], [1, 2]] * 30, "row 0 is .1.. Pass a list of strings or a set"),
        ([set() for _ in TAGS], "no row has a tag"),
        ([{"sea"}, {1}] * 30, "'<' not supported between .*'str'"),
        (pd.Series(["a", "b", None] * 20), "missing in 20 row.*, first in row 2.*Leave these rows"),
        (pd.Series(["a", "b"] * 29 + ["a", pd.NA]), "missing in 1 row.*, first in row 59"),
        (pd.Series(["a", "b", 3] * 20), "uniformly strings or numbers"),
        (TAGS[:-1], "inconsistent numbers of samples"),
    ],
)
def test_refused_targets(y, message):
    for kind in (PairwiseClassifier, CorrectedPairwiseClassifier):
        with pytest.raises((TypeError, ValueError), match=message):
            kind(GaussianNB()).fit(X, y)


def framed(name):
    """Return frames, or a series of classes, with the same index, which is not sorted."""
    X, y = data_for(name)
    index = pd.Index([f"photo {i * 7 % 60}" for i in range(60)])
    make = pd.Series if np.ndim(y) == 1 else pd.DataFrame
    return pd.DataFrame(X, index).add_prefix("f"), make(y, index=index)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_target_or_weights_in_another_order_are_an_error(name):
    X, y = framed(name)
    clf, weights = made(name), pd.Series(np.linspace(1.0, 2.0, 60), X.index)
    with pytest.raises(ValueError, match=r"different order.*y.loc\[X.index\]"):
        clf.fit(X, y.sort_index())
    assert not hasattr(clf, "classes_")
    clf.fit(X, y.sort_index().loc[X.index])
    clf.fit(X, y.sort_index().set_axis(X.index))  # by position
    if name != "MLkNN":  # takes no weights
        with pytest.raises(ValueError, match=r"sample_weight.loc\[X.index\]"):
            clf.fit(X, y, sample_weight=weights.sort_index())
        clf.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        (["a", "b", 1], [1, "b", "a"], True),
        ([("a", 1), ("a", 2), ("a", 3)], [("a", 2), ("a", 1), ("a", 3)], True),
        ([0, 0, 1], [0, 1, 0], True),
        ([0, 0, 1], [0, 0, 1], False),  # a bootstrap sample
        (range(3), [7, 3, 5], False),  # one of them after reset_index
        ([1, 2, 3], [2, 3, 4], False),  # a target of the next point in time
    ],
)
def test_which_indices_count_as_another_order(first, second, is_refused):
    X = pd.DataFrame({"size": [0.0, 1.0, 2.0]}, pd.Index(first))
    y = pd.Series([0, 1, 1], pd.Index(second))
    refused = pytest.raises(ValueError, match=r"y.loc\[X.index\]")
    with refused if is_refused else nullcontext():
        ScaledLogisticRegression().fit(X, y)
    ScaledLogisticRegression().fit(X, y.tolist())  # by position

"""MendedClassifier: against a slow reference, its search, its inputs, its messages."""

import pickle
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import correction_reference
from pairmend import MendedClassifier
from pairmend._utils.progress import messages_to
from pairmend.baselines import BinaryRelevance
from pairmend.mended.base_models import fit_stacking_weights
from pairmend.mended.rows import Scaling, draw_rows, median_squared_distance

quick = partial(MendedClassifier, GaussianNB(), random_state=0)


@pytest.mark.parametrize(
    ("weighted", "max_landmarks"), [(False, None), (True, None), (False, 10)], ids=str
)
def test_against_a_slow_reference(weighted, max_landmarks):
    rng = np.random.RandomState(4)
    X, new = rng.randn(26, 3), rng.randn(9, 3)
    Y = X @ rng.randn(3, 3) + rng.randn(26, 3) > 0.4
    weights = np.ones(26)
    if weighted:  # with some light rows next to others
        weights = rng.rand(26) + 0.5
        weights[::4] = 0.01
        X[::4] = X[1::4][:7] + 0.05
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    clf = MendedClassifier(GaussianNB(), cv=folds, max_landmarks=max_landmarks, random_state=0)
    clf.fit(X, Y, sample_weight=weights if weighted else None)
    assert len(clf.landmark_indices_) == (max_landmarks or 26)

    def proba_of(train, rows):
        models = [GaussianNB().fit(X[train], y[train], weights[train]) for y in Y.T]
        return np.column_stack([model.predict_proba(rows)[:, 1] for model in models])

    proba = np.empty(Y.shape)
    for train, test in folds:
        proba[test] = proba_of(train, X[test])
    expected, losses, best, stacking_weights, set_weights = correction_reference.correct(
        X, Y, proba, weights, new, proba_of(np.arange(26), new), fit_stacking_weights,
        clf.landmark_indices_,
    )  # fmt: skip
    columns = ("scaling", "beta", "shrinkage", "reference")
    compared = zip(*(clf.search_[name] for name in columns), strict=True)
    found = dict(zip(compared, clf.search_["loss"], strict=True))
    assert len(found) == len(losses)
    for (scaling, beta, shrinkage, reference), loss in losses.items():
        near = [value for key, value in found.items()
                if key[0] == scaling and key[2:] == (shrinkage, reference)
                and np.isclose(key[1], beta or 0.0, rtol=1e-6)]  # fmt: skip
        assert near == pytest.approx([loss], abs=1e-6)
    assert clf.beta_ == pytest.approx({s: c[1] for s, c in best.items() if s != "global"})
    assert clf.stacking_weights_ == pytest.approx(stacking_weights, abs=1e-4)
    assert clf.label_set_weights_ == pytest.approx(set_weights, abs=1e-4)
    np.testing.assert_allclose(clf.predict_proba(new), expected, atol=1e-9)


@pytest.mark.parametrize("name", ["range", "standard", "unit", "log_odds"])
def test_distances_of_a_scaling_and_their_median(name, rng):
    X, proba = rng.randn(30, 4), rng.rand(30, 2)
    scaling = Scaling(name).fit(X, proba, None)
    clipped = np.clip(proba, 1e-3, 1 - 1e-3)
    points = {
        "range": X / np.ptp(X, axis=0),
        "standard": X / X.std(axis=0),
        "unit": X / np.sqrt((X**2).sum(axis=1, keepdims=True)),
        "log_odds": np.log(clipped / (1 - clipped)),
    }[name]
    squared = ((points[:, np.newaxis] - points) ** 2).sum(axis=2)
    found = ((scaling.points(X[:5], proba[:5])[:, np.newaxis] - scaling.landmarks) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, squared[:5], rtol=1e-6, atol=1e-9)
    expected = np.median(squared[np.triu_indices(30, k=1)])
    assert median_squared_distance(scaling.landmarks, rng) == pytest.approx(expected)
    for equal in (np.full((30, 7), 0.1, dtype=np.float32), sparse.csr_array(np.full((30, 7), 0.1))):
        same = Scaling(name).fit(equal, np.full((30, 2), 0.3), None)
        assert median_squared_distance(same.landmarks, rng) == 0
    assert median_squared_distance(np.repeat([[0.0], [1.0]], 50, axis=0), rng) == 1


def test_the_first_of_several_predictions_of_a_row_is_used(rng):
    X = rng.randn(40, 4)
    Y = (rng.rand(40, 3) < 0.5).astype(int)
    forest = RandomForestClassifier(10, random_state=0).fit(rng.randn(40, 4), Y)
    fixed = {"beta": 1e6, "shrinkage": 0.25, "scaling": "range", "decision": "labels"}
    for cv in (RepeatedKFold(n_splits=4, n_repeats=3, random_state=0),
               ShuffleSplit(9, test_size=0.3, random_state=0)):  # fmt: skip
        clf = MendedClassifier(FrozenEstimator(forest), cv=cv, **fixed).fit(X, Y)
        rows = clf.validation_indices_
        assert rows.tolist() == sorted({row for _, test in cv.split(X) for row in test})
        # Labels are noise: a row in its own neighbourhood would give a much smaller loss.
        assert clf.search_["loss"].min() > 0.2
    once = list(KFold(3).split(X))
    again = [*once, (np.arange(20), np.arange(20, 30)), (np.arange(10, 30), np.arange(5))]
    plain, twice = quick(cv=once).fit(X, Y), quick(cv=again).fit(X, Y)
    np.testing.assert_array_equal(plain.predict_proba(X), twice.predict_proba(X))
    assert plain.decisions_["loss"] == pytest.approx(twice.decisions_["loss"])


@pytest.mark.parametrize(
    "fixed",
    [
        {"beta": 3.0}, {"beta": 1e300, "shrinkage": 0.0}, {"beta": 1e-300}, {"shrinkage": 0.0},
        {"shrinkage": 1e300}, {"scaling": "unit"}, {"scaling": "standard"}, {"scaling": "log_odds"},
    ],
    ids=str,
)  # fmt: skip
def test_given_parameters_of_the_correction_are_used(small_set, fixed):
    X, Y = small_set
    clf = quick(**fixed).fit(X, Y)
    local = clf.search_["scaling"] != "global"
    for name, value in fixed.items():
        assert set(clf.search_[name][local]) == {value}
    probabilities = clf.predict_proba(X)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()


def test_what_is_refused(small_set):
    class AlwaysNaN(GaussianNB):
        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    X, Y = small_set
    cases = [
        (quick(), X[:3], "n_splits=5 greater than .* n_samples=3"),
        (quick(cv=[(np.arange(10), [11])]), X, "n_samples = 1 in the test parts"),
        (quick(criterion=f1_score), X, "make_scorer"),
        (quick(criterion="f1"), X, "criterion make_scorer.f1_score.* label indicators: Target is"),
        (quick(criterion="micro"), X, "criterion='micro' is neither one of 'hamming'"),
        (MendedClassifier("automatic"), X, "'estimator' parameter of MendedClassifier must be"),
        (MendedClassifier(AlwaysNaN()), X, "AlwaysNaN must give .* with 32 values NaN"),
        (MendedClassifier(LinearSVC()), X, "LinearSVC has no predict_proba"),
        (MendedClassifier(LogisticRegression()), np.where(X > 3, np.nan, X), "NaN"),
    ]
    for clf, rows, message in cases:
        with pytest.raises(ValueError, match=message):
            clf.fit(rows, Y[: len(rows)])
    with pytest.raises(ValueError, match="Invalid parameter 'foo'"):
        (unchanged := MendedClassifier()).set_params(estimator__foo=1)
    assert unchanged.estimator == "auto"
    for cv in (2, LeaveOneOut()):  # two rows are enough
        clf = quick(cv=cv, criterion="macro_f1").fit(X[:2], Y[:2])
        assert np.isfinite(clf.predict_proba(X)).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32])
def test_equal_rows_get_the_shares_of_labels(small_set, form):
    X, Y = form(np.full((80, 3), 1e6 + 0.1)), small_set[1]
    found = MendedClassifier(random_state=0).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(found, np.tile(Y.mean(axis=0), (80, 1)), atol=0.03)


def test_landmarks_bound_the_model(rng):
    """Its size does not grow with the rows, and repeated rows lose nothing."""
    X = np.repeat(rng.randn(150, 3), 20, axis=0)
    Y = np.repeat(rng.rand(150, 4) < 0.4, 20, axis=0)
    order = rng.permutation(3000)  # more than are searched, stacked and landmarks by default
    few, many = (
        quick(cv=2, max_landmarks=n, beta=99.0).fit(X[order], Y[order]) for n in (700, 2500)
    )
    assert len(few.landmark_indices_) == 700
    assert len(few.validation_indices_) == 3000
    assert len(pickle.dumps(few)) < 0.8 * len(pickle.dumps(many))
    assert (few.predict(X) == Y).mean() > 0.9
    (explanation,) = few.explain(X[:1])
    listed = {each.row for each in explanation.similar}
    assert listed <= set(few.landmark_indices_.tolist())
    # A row that is no landmark may be anywhere.
    X[order[np.setdiff1d(np.arange(3000), few.landmark_indices_)[0]], 2] = 1e45
    again = clone(few).fit(X[order], Y[order])
    np.testing.assert_array_equal(again.landmark_indices_, few.landmark_indices_)
    assert np.isfinite(again.predict_proba(X)).all()


def test_landmarks_of_weighted_rows_estimate_the_scaling_of_all_rows(rng):
    X = np.column_stack([np.r_[rng.randn(400), 10 * rng.randn(400)], rng.randn(800)])
    Y, weights, scale = X + rng.randn(800, 2) > 0, np.repeat([10.0, 1.0], 400), {}
    for n_landmarks in (None, 200):
        clf, found = quick(scaling="standard", beta=1.0, max_landmarks=n_landmarks), []
        for seed in range(5):
            clf.set_params(random_state=seed).fit(X, Y, sample_weight=weights)
            scaling = clf._corrector.by_label.scalings["standard"]
            found.append(scaling.neighbourhood.scale_[0])
        scale[n_landmarks] = np.mean(found)
    assert scale[200] == pytest.approx(scale[None], rel=0.15)


def test_dates_are_numbers_of_days(rng):
    days = rng.randint(20_000, size=(60, 2))
    labels, own = (days + 4000 * rng.randn(60, 2) > 12_000).astype(int), MendedClassifier(cv=2)
    own.set_params(random_state=0)
    expected = clone(own).fit(days.astype(float), labels).predict_proba(days.astype(float))
    dates = days.astype("datetime64[D]")
    found = own.fit(dates, labels).predict_proba(dates)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_texts_and_dictionaries(small_set):
    Y = small_set[1]
    texts = [" ".join(f"w{k}" for k in np.flatnonzero(y)) + " and" for y in Y]
    words = make_pipeline(TfidfVectorizer(), LogisticRegression(C=100))
    clf = MendedClassifier(words, cv=2, random_state=0)
    for rows in (texts, np.array(texts, dtype=object), pd.Series(texts)):
        with pytest.warns(UserWarning, match="measured by predicted probabilities only"):
            assert set(clf.fit(rows, Y).search_["scaling"]) == {"global", "log_odds"}
        np.testing.assert_array_equal(clf.predict(rows), Y)
    placed = clone(clf).set_params(transformer=TfidfVectorizer()).fit(texts, Y)
    assert len(set(placed.search_["scaling"])) > 2
    with pytest.raises(ValueError) as caught:
        clone(clf).set_params(scaling="range").fit(texts, Y)
    assert "scaling='log_odds'" in caught.value.__notes__[-1]
    counts = [{f"w{k}": 1.0 for k in np.flatnonzero(y)} for y in Y]
    named = MendedClassifier(make_pipeline(DictVectorizer(), LogisticRegression(C=100)), cv=2)
    np.testing.assert_array_equal(named.fit(counts, Y).predict(counts), Y)


def test_weights_are_routed_or_refused(small_set):
    X, Y = small_set
    weights = np.random.RandomState(1).randint(3, size=80) / 2
    with pytest.raises(ValueError, match="n_samples = 0 of positive weight for training"):
        quick(cv=KFold(2)).fit(X, Y, sample_weight=np.r_[np.zeros(40), np.ones(40)])
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weight'"):
        MendedClassifier(KNeighborsClassifier()).fit(X, Y, sample_weight=weights)
    expected = quick().fit(X, Y, sample_weight=weights).predict_proba(X)
    default = MendedClassifier(random_state=0).fit(X, Y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(default).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(routed.predict_proba(X), default.predict_proba(X))
        requesting = quick().set_params(estimator=GaussianNB().set_fit_request(sample_weight=True))
        found = requesting.fit(X, Y, sample_weight=weights).predict_proba(X)
        np.testing.assert_array_equal(found, expected)
        refusing = quick().set_params(estimator=GaussianNB().set_fit_request(sample_weight=False))
        with pytest.raises(TypeError, match="sample_weight"):
            refusing.fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("criterion", ["hamming", "macro_f1"])
def test_what_is_chosen_follows_the_weights_by_degrees(criterion):
    """The first half of the rows carries one label in the mean, the second all of them."""
    X, Y = make_multilabel_classification(150, 6, n_classes=4, n_labels=1, random_state=0)
    rows = np.vstack([X, X[::-1] + 0.1]), np.vstack([Y, np.ones_like(Y)])
    fifth = np.arange(300) % 5
    cv = [(np.flatnonzero(fifth != k), np.flatnonzero(fifth == k)) for k in range(5)]
    clf, counts = quick(criterion=criterion, cv=cv), {}
    for weight in (0.0, 1e-4, 1.0):
        weights = np.repeat([1.0, weight], 150)
        counts[weight] = clone(clf).fit(*rows, sample_weight=weights).predict(X).sum() / 150
    assert abs(counts[1e-4] - counts[0.0]) < 0.02
    assert counts[1.0] > counts[0.0] + 0.3


def test_rows_are_drawn_by_their_weights():
    rng = np.random.RandomState(0)
    weights = rng.choice([0.1, 1.0, 40.0], size=200, p=[0.3, 0.65, 0.05])
    hits, totals = np.zeros(200), []
    for _ in range(2000):
        rows, counts = draw_rows(rng.permutation(200), weights, 60, rng)
        assert len(np.unique(rows)) == len(rows)
        assert abs(len(rows) - 60) <= 1
        hits[rows] += 1
        totals.append(counts[rows].sum())
    # Horvitz and Thompson: the total is exact in the mean. Three standard errors.
    error = 3 * np.std(totals) / np.sqrt(len(totals))
    assert np.mean(totals) == pytest.approx(weights.sum(), abs=error + 1e-9)
    light, heavy = hits[weights == 0.1].mean(), hits[weights == 1.0].mean()
    assert heavy / light == pytest.approx(10, rel=0.1)
    assert (hits[weights == 40] == 2000).all()
    rows, counts = draw_rows(np.array([3, 1, 0, 2]), np.full(4, 0.5), 2, None)
    assert (rows.tolist(), counts.tolist()) == ([3, 1], [0.5] * 4)  # equal ones from the front


def test_the_correction_learns_what_a_linear_base_cannot():
    """The sign of the first feature reverses the dependence on the others."""
    rng = np.random.RandomState(0)
    X = rng.randn(400, 3)
    Y = (X[:, 1:] * np.sign(X[:, :1]) > 0).astype(int)
    base = LogisticRegression()
    plain = BinaryRelevance(base).fit(X[:200], Y[:200]).predict(X[200:])
    corrected = MendedClassifier(base, random_state=0).fit(X[:200], Y[:200]).predict(X[200:])
    assert np.mean(plain != Y[200:]) > 0.4
    assert np.mean(corrected != Y[200:]) < 0.25


def test_messages_are_those_of_the_fitted_attributes(small_set, capsys):
    X, Y = small_set
    messages = []
    clf = quick(cv=3, criterion="macro_f1", max_landmarks=20)
    with messages_to(messages.append):
        clf.fit(X, Y)
    weights = {**clf.stacking_weights_, **clf.label_set_weights_}
    listed = ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
    assert any(message.endswith(f"stacking weights: {listed}") for message in messages)
    clone(clf).set_params(verbose=True).fit(X, Y)
    seconds = re.compile(r"\d+\.\d s$")
    printed = capsys.readouterr().out.splitlines()
    assert [seconds.sub("", line) for line in printed] == [seconds.sub("", m) for m in messages]

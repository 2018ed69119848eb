"""MendedClassifier: against a slow reference, its search and decisions, its inputs."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, get_scorer, jaccard_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import correction_reference
from pairmend import CalibratedLabelRanking, MendedClassifier, RandomSubspaceNB
from pairmend.baselines import BinaryRelevance
from pairmend.mended import corrector
from pairmend.mended.corrector import fit_stacking_weights
from pairmend.metrics import LOSSES
from pairmend.thresholds import CardinalityThreshold, F1Thresholds, FixedThreshold, TopLabels

BASES = {
    "logistic": None,
    "subspace-nb": RandomSubspaceNB(),
    "forest": RandomForestClassifier(5, max_depth=3),
    "ranking": CalibratedLabelRanking(RandomSubspaceNB()),
}
every_base = pytest.mark.parametrize("base", BASES.values(), ids=BASES)
quick = partial(MendedClassifier, GaussianNB(), random_state=0)


def out_of_fold_proba(X, Y, folds, weights):
    proba = np.empty(Y.shape)
    for train, test in folds:
        for label in range(Y.shape[1]):
            model = GaussianNB().fit(X[train], Y[train, label], weights[train])
            proba[test, label] = model.predict_proba(X[test])[:, 1]
    return proba


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
    clf.fit(X, Y, **({"sample_weight": weights} if weighted else {}))
    assert len(clf.landmark_indices_) == (max_landmarks or 26)
    proba = out_of_fold_proba(X, Y, folds, weights)
    final = np.column_stack([GaussianNB().fit(X, y, weights).predict_proba(new)[:, 1] for y in Y.T])
    expected, losses, best, stacking_weights, set_weights = correction_reference.correct(
        X, Y, proba, weights, new, final, fit_stacking_weights, clf.landmark_indices_
    )
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


def out_of_fold_correction(X, Y, **params):
    """Corrected out-of-fold probabilities, without label sets."""
    clf = MendedClassifier(LogisticOfFeatures(), random_state=0, cv=KFold(4), **params).fit(X, Y)
    return clf._out_of_fold.corrected.by_label


class LogisticOfFeatures(GaussianNB):
    """Returns the logistic function of the first features, whatever it was fitted on."""

    def fit(self, X, Y):
        self.classes_ = np.arange(2)
        self.n_labels_ = Y.shape[1]
        return self

    def predict_proba(self, X):
        return 1 / (1 + np.exp(-X[:, : self.n_labels_]))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@pytest.mark.parametrize("scaling", ["range", "standard", "unit", "log_odds"])
def test_a_row_is_left_out_of_its_own_correction(scaling, rng):
    X = rng.randn(40, 4)
    Y = (X[:, :3] + rng.randn(40, 3) > 0).astype(int)
    Y[:7] = Y[7]
    fixed = {"scaling": scaling, "beta": 1.0, "shrinkage": 1.0, "reference": "beta",
             "guard": False, "decision": "labels"}  # fmt: skip
    before = out_of_fold_correction(X, Y, **fixed)
    changed = Y.copy()
    changed[3] = 1 - changed[3]
    after = out_of_fold_correction(X, changed, **fixed)
    np.testing.assert_allclose(after[3], before[3], atol=1e-6)
    # The others have a neighbour with other labels.
    assert (abs(np.delete(after - before, 3, axis=0)).max(axis=1) > 1e-4).mean() > 0.8


def test_a_row_predicted_twice_is_left_out_of_its_own_correction(rng):
    X = rng.randn(40, 4)
    Y = (rng.rand(40, 3) < 0.5).astype(int)
    fixed = {"beta": 1e6, "shrinkage": 0.25, "scaling": "range", "guard": False,
             "decision": "labels"}  # fmt: skip
    for cv in (RepeatedKFold(n_splits=4, n_repeats=3, random_state=0),
               ShuffleSplit(9, test_size=0.3, random_state=0)):  # fmt: skip
        clf = MendedClassifier(LogisticOfFeatures(), cv=cv, **fixed).fit(X, Y)
        rows = clf.validation_indices_
        assert len(np.unique(rows)) == len(rows)
        assert set(rows) == {row for _, test in cv.split(X) for row in test}
        # Labels are noise: a row in its own neighbourhood would give a much smaller loss.
        assert clf.search_["loss"].min() > 0.2


def test_the_first_prediction_of_a_row_is_used(rng):
    X = rng.randn(30, 3)
    Y = (X + rng.randn(30, 3) > 0).astype(int)
    once = list(KFold(3).split(X))
    again = [*once, (np.arange(20), np.arange(20, 30)), (np.arange(10, 30), np.arange(5))]
    plain, twice = quick(cv=once).fit(X, Y), quick(cv=again).fit(X, Y)
    np.testing.assert_array_equal(plain.predict_proba(X), twice.predict_proba(X))
    assert plain.decisions_["loss"] == pytest.approx(twice.decisions_["loss"])


@pytest.mark.parametrize("criterion", LOSSES)
def test_the_decision_of_least_loss_is_chosen(small_set, criterion):
    X, Y = small_set
    clf = quick(criterion=criterion).fit(X, Y)
    best = np.argmin(clf.decisions_["loss"])
    assert clf.decision_ == clf.decisions_["decision"][best]
    assert repr(clf.threshold_) == clf.decisions_["threshold"][best]
    assert set(clf.decisions_["decision"]) == {"labels", "sets"}


@pytest.mark.parametrize(
    "scorer",
    [
        make_scorer(f1_score, average="samples", zero_division=1),
        make_scorer(jaccard_score, average="micro"),
        get_scorer("roc_auc"),
        get_scorer("average_precision"),
    ],
)
@pytest.mark.parametrize("n_labels", [2, 4])
def test_scorers_as_criterion(small_set, scorer, n_labels):
    X, Y = small_set[0], small_set[1][:, :n_labels]
    clf = quick(criterion=scorer).fit(X, Y)
    assert np.isfinite(clf.decisions_["loss"]).all()
    assert clf.predict(X).shape == Y.shape


def test_a_metric_that_is_no_scorer_is_refused(small_set):
    with pytest.raises(ValueError, match="make_scorer"):
        quick(criterion=f1_score).fit(*small_set)


@pytest.mark.parametrize(
    "threshold", [0.3, CardinalityThreshold(), TopLabels(2), F1Thresholds("micro", expected=True)]
)
def test_given_thresholds_are_used(small_set, threshold):
    X, Y = small_set
    clf = quick(threshold=threshold, decision="labels").fit(X, Y)
    expected = FixedThreshold(threshold) if isinstance(threshold, float) else threshold
    assert repr(clf.threshold_) == repr(expected)
    np.testing.assert_array_equal(clf.predict(X), clf.threshold_.decide(clf.predict_proba(X)))
    assert clf.label_set_weights_ == {"labels": 1.0}
    with pytest.raises(ValueError, match="decision='sets' does not use the threshold"):
        quick(threshold=threshold, decision="sets").fit(X, Y)
    by_sets = quick(decision="sets").fit(X, Y)
    assert by_sets.decision_ == "sets"
    seen = {tuple(y) for y in Y.tolist()}
    assert {tuple(labels) for labels in by_sets.predict(X).tolist()} <= seen


@pytest.mark.parametrize("guard", [True, False])
@pytest.mark.parametrize(
    "fixed",
    [
        {"beta": 3.0}, {"beta": 1e300, "shrinkage": 0.0}, {"beta": 1e-300}, {"shrinkage": 0.0},
        {"shrinkage": 1e300}, {"scaling": "unit"}, {"scaling": "standard"},
        {"scaling": "log_odds"}, {"reference": "crisp"},
    ],
    ids=str,
)  # fmt: skip
def test_given_parameters_of_the_correction_are_used(small_set, fixed, guard):
    X, Y = small_set
    clf = quick(guard=guard, **fixed).fit(X, Y)
    local = clf.search_["scaling"] != "global"
    for name, value in fixed.items():
        assert set(clf.search_[name][local]) == {value}
    probabilities = clf.predict_proba(X)
    assert np.isfinite(probabilities).all()
    assert probabilities.min() >= 0
    assert probabilities.max() <= 1
    assert ("global" in clf.stacking_weights_) == guard
    if not guard:
        assert list(clf.stacking_weights_.values()) == [1.0]


@pytest.mark.parametrize(
    ("base", "decision"),
    [
        *((name, "auto") for name in BASES),
        ("logistic", "labels"), ("logistic", "sets"), ("ranking", "labels"),
    ],
)  # fmt: skip
def test_labels_that_never_or_always_occur(small_set, base, decision):
    X, Y, base = small_set[0], small_set[1].copy(), BASES[base]
    Y[:, 0], Y[:, 3] = 0, 1
    clf = MendedClassifier(base, decision=decision, criterion="macro_f1", random_state=0).fit(X, Y)
    probabilities = clf.predict_proba(X)
    if not isinstance(base, CalibratedLabelRanking) or decision != "labels":
        # One classifier per label gives (0 + 1) / (80 + 2).
        assert probabilities[:, 0].max() <= 1 / 80
        assert probabilities[:, 3].min() >= 1 - 1 / 80
    assert not clf.predict(X)[:, 0].any()
    assert clf.predict(X)[:, 3].all()
    for constant in (0, 1):
        same = clone(clf).fit(X, np.full_like(Y, constant))
        assert (same.predict(X) == constant).all()
        assert abs(same.predict_proba(X) - constant).max() < 0.2


@every_base
def test_one_label(small_set, base):
    X, Y = small_set[0], small_set[1][:, :1]
    clf = MendedClassifier(base, random_state=0).fit(X, Y)
    assert clf.predict_proba(X).shape == clf.predict(X).shape == (80, 1)
    assert (clf.predict(X) == Y).mean() > 0.7
    for constant in (0, 1):
        clf.fit(X, np.full_like(Y, constant))
        assert (clf.predict(X) == constant).all()
        assert abs(clf.predict_proba(X) - constant).max() < 0.05


@every_base
def test_classes_instead_of_labels(small_set, base):
    X = small_set[0]
    y = np.array(["ant", "bee", "cat"])[X[:, :3].argmax(axis=1)]
    clf = MendedClassifier(base, criterion="macro_f1", random_state=0).fit(X, y)
    probabilities = clf.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[probabilities.argmax(axis=1)])
    assert clf.score(X, y) > 0.6
    assert clf.fit(X, y == "ant").classes_.tolist() == [False, True]


def test_too_few_rows_are_refused(small_set):
    X, Y = small_set
    for cv in (2, LeaveOneOut()):
        clf = quick(cv=cv, criterion="macro_f1").fit(X[:2], Y[:2])
        assert np.isfinite(clf.predict_proba(X)).all()
    with pytest.raises(ValueError, match="n_splits=5 greater than .* n_samples=3"):
        quick().fit(X[:3], Y[:3])
    with pytest.raises(ValueError, match="n_samples = 1 in the test parts"):
        quick(cv=[(np.arange(10), [11])]).fit(X, Y)
    with pytest.raises(ValueError, match="n_samples = 0 in the test parts"):
        quick(cv=[(np.arange(10), np.empty(0, dtype=int))]).fit(X, Y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32])
def test_equal_rows_get_the_shares_of_labels(small_set, form):
    Y = small_set[1]
    X = form(np.full((80, 3), 1e6 + 0.1))
    clf = MendedClassifier(random_state=0).fit(X, Y)
    shares = np.tile(Y.mean(axis=0), (80, 1))
    np.testing.assert_allclose(clf.predict_proba(X), shares, atol=0.03)


def test_repeated_rows_and_constant_features(small_set):
    X, Y = small_set
    rows = np.tile(np.arange(40), 2)
    same = quick().fit(X[rows], Y[rows]).predict_proba(X[rows])
    np.testing.assert_allclose(same[:40], same[40:], atol=1e-12)
    padded = np.hstack([X, np.full((80, 2), 7.0)])
    plain = MendedClassifier(None, random_state=0).fit(X, Y).predict_proba(X)
    wide = MendedClassifier(None, random_state=0).fit(padded, Y).predict_proba(padded)
    np.testing.assert_allclose(wide, plain, atol=1e-4)


def test_search_on_some_of_the_rows(small_set, monkeypatch):
    X, Y = small_set
    monkeypatch.setattr(corrector, "N_SEARCH_ROWS", 30)
    monkeypatch.setattr(corrector, "N_STACKING_ROWS", 50)
    clf = quick(criterion="micro_f1").fit(X, Y)
    again = quick(criterion="micro_f1").fit(X, Y)
    np.testing.assert_array_equal(clf.predict_proba(X), again.predict_proba(X))
    assert len(clf.validation_indices_) == 80
    assert LOSSES["micro_f1"](Y, clf.predict(X)) < 0.3


def test_more_rows_than_are_stacked(rng):
    X = rng.randn(5200, 2)
    Y = (X + 0.5 * rng.randn(5200, 2) > 0).astype(int)
    clf = quick(cv=2, scaling="range", reference="identity", beta=9.0).fit(X, Y)
    assert len(clf.validation_indices_) == 5200
    assert (clf.predict(X) == Y).mean() > 0.8


def test_landmarks_bound_the_model(rng):
    """Its size does not grow with the rows, and repeated rows lose nothing."""
    X = np.repeat(rng.randn(60, 3), 20, axis=0)
    Y = np.repeat(rng.rand(60, 4) < 0.4, 20, axis=0)
    order = rng.permutation(1200)
    few = quick(max_landmarks=300).fit(X[order], Y[order])
    assert len(few.landmark_indices_) == 300
    assert len(few.validation_indices_) == 1200
    assert len(pickle.dumps(few)) < 0.6 * len(pickle.dumps(quick().fit(X[order], Y[order])))
    assert (few.predict(X) == Y).mean() > 0.95
    (explanation,) = few.explain(X[:1])
    listed = {n.row for problem in explanation.problems for n in problem.neighbours}
    assert listed <= set(few.landmark_indices_.tolist())
    with pytest.raises(ValueError, match="max_landmarks"):
        quick(max_landmarks=1).fit(X, Y)


def test_extreme_rows_that_are_no_landmarks(rng):
    X = rng.normal(size=(120, 3))
    Y = (X[:, :2] + rng.normal(size=(120, 2)) > 0).astype(int)
    for value in (1e45, -1e90):
        X[5, 2] = value
        clf = quick(cv=2, max_landmarks=30).fit(X, Y)
        assert 5 not in clf.landmark_indices_
        assert np.isfinite(clf.predict_proba(X)).all()


def test_landmarks_of_weighted_rows_estimate_the_scaling_of_all_rows(rng):
    X = np.column_stack([np.r_[rng.randn(400), 10 * rng.randn(400)], rng.randn(800)])
    Y = (X + rng.randn(800, 2) > 0).astype(int)
    weights = np.repeat([10.0, 1.0], 400)
    fitted = quick(scaling="standard", beta=1.0, guard=False)
    scale = {}
    for n_landmarks in (None, 200):
        found = []
        for seed in range(5):
            clf = clone(fitted).set_params(max_landmarks=n_landmarks, random_state=seed)
            clf.fit(X, Y, sample_weight=weights)
            found.append(clf._corrector.by_label.scalings["standard"].neighbourhood.scale_[0])
        scale[n_landmarks] = np.mean(found)
    assert scale[200] == pytest.approx(scale[None], rel=0.15)


def test_chunks_change_nothing(small_set):
    X, Y = small_set
    whole = quick(criterion="macro_f1").fit(X, Y)
    with sklearn.config_context(working_memory=0.02):  # a few rows at a time
        pieces = quick(criterion="macro_f1").fit(X, Y)
        np.testing.assert_allclose(pieces.predict_proba(X), whole.predict_proba(X), atol=1e-12)
        assert pieces.beta_ == whole.beta_
        np.testing.assert_array_equal(pieces.predict(X), whole.predict(X))


def test_an_array_of_dates_is_one_of_days(rng):
    days = rng.randint(20_000, size=(60, 2))
    Y = (days + 4000 * rng.randn(60, 2) > 12_000).astype(int)
    dates = days.astype("datetime64[D]")
    clf = MendedClassifier(random_state=0)
    expected = clone(clf).fit(days.astype(float), Y).predict_proba(days.astype(float))
    found = clf.fit(dates, Y).predict_proba(dates)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_missing_values_and_categories(small_set):
    X, Y = small_set
    holes = X.copy()
    holes[::3, 0] = np.nan
    boosted = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype")
    clf = MendedClassifier(boosted, cv=2, random_state=0).fit(holes, Y)
    assert {"range", "standard", "log_odds"} <= set(clf.search_["scaling"])
    assert np.isfinite(clf.predict_proba(holes)).all()
    with pytest.raises(ValueError, match="NaN"):
        MendedClassifier(LogisticRegression()).fit(holes, Y)

    frame = pd.DataFrame(X).add_prefix("f")
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 3, "high", "low"))
    frame.loc[3, "kind"] = None
    for base in (None, boosted, RandomSubspaceNB()):
        clf = MendedClassifier(base, cv=2, random_state=0).fit(
            frame, pd.DataFrame(Y, columns=[*"abcd"])
        )
        assert clf.classes_.tolist() == [*"abcd"]
        assert clf.feature_names_in_.tolist() == frame.columns.tolist()
        assert set(clf.search_["scaling"]) == {"global", "range", "standard", "log_odds"}
        assert clf.predict(frame).shape == Y.shape


def test_texts_and_dictionaries(small_set):
    Y = small_set[1]
    texts = [" ".join(f"w{k}" for k in np.flatnonzero(y)) + " and" for y in Y]
    words = make_pipeline(TfidfVectorizer(), LogisticRegression(C=100))
    clf = MendedClassifier(words, cv=2, random_state=0)
    for rows in (texts, np.array(texts, dtype=object), pd.Series(texts)):
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


def test_sparse_rows(rng):
    X = sparse.csr_array(rng.rand(80, 60) * (rng.rand(80, 60) < 0.05))
    Y = (X[:, :3].toarray() + 0.3 * rng.rand(80, 3) > 0.3).astype(int)
    clf = MendedClassifier(random_state=0).fit(X, Y)
    assert set(clf.search_["scaling"]) == {"global", "unit", "log_odds"}
    expected = clf.predict_proba(X)
    for form in (sparse.csc_matrix, sparse.coo_array, sparse.csr_matrix):
        np.testing.assert_allclose(
            clone(clf).fit(form(X), Y).predict_proba(form(X)), expected, atol=1e-12
        )
    np.testing.assert_allclose(clf.predict_proba(X.toarray()), expected, atol=1e-12)


def test_whole_weights_equal_repeated_rows(small_set):
    """With fixed parameters: the search leaves out a row with all of its weight."""
    X, Y = small_set
    weights = np.random.RandomState(0).randint(1, 4, size=80)
    rows = np.repeat(np.arange(80), weights)
    folds = list(KFold(4).split(X))
    numbered = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in folds]
    fixed = {"beta": 2.0, "scaling": "range", "shrinkage": 1.0, "guard": False,
             "reference": "beta", "decision": "labels"}  # fmt: skip
    weighted = quick(cv=folds, **fixed).fit(X, Y, sample_weight=weights)
    repeated = quick(cv=numbered, **fixed).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-10)
    unweighted = quick(cv=folds, **fixed).fit(X, Y)
    assert abs(weighted.predict_proba(X) - unweighted.predict_proba(X)).max() > 0.01


def test_rows_of_weight_zero_are_ignored(small_set):
    X, Y = small_set
    weights = np.random.RandomState(1).randint(3, size=80) / 2
    kept = weights > 0
    infinite = np.where(kept[:, np.newaxis], X, np.inf)
    clf = quick(criterion="macro_f1").fit(infinite, Y, sample_weight=weights)
    without = quick(criterion="macro_f1").fit(X[kept], Y[kept], sample_weight=weights[kept])
    np.testing.assert_array_equal(clf.predict_proba(X), without.predict_proba(X))
    np.testing.assert_array_equal(clf.predict(X), without.predict(X))
    np.testing.assert_array_equal(np.sort(clf.validation_indices_), np.flatnonzero(kept))
    with pytest.raises(ValueError, match="non-zero"):
        quick().fit(X, Y, sample_weight=np.zeros(80))


def test_weights_reach_the_base_classifier(small_set):
    X, Y = small_set
    weights = np.where(np.arange(80) % 2, 1.0, 0.01)
    plain = MendedClassifier(random_state=0).fit(X, Y)
    weighted = clone(plain).fit(X, Y, sample_weight=weights)
    assert abs(plain.predict_proba(X) - weighted.predict_proba(X)).max() > 0.01
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(plain).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(routed.predict_proba(X), weighted.predict_proba(X))
        requesting = quick().set_params(estimator=GaussianNB().set_fit_request(sample_weight=True))
        expected = requesting.fit(X, Y, sample_weight=weights).predict_proba(X)
        refusing = quick().set_params(estimator=GaussianNB().set_fit_request(sample_weight=False))
        with pytest.raises(TypeError, match="sample_weight"):
            refusing.fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(
        quick().fit(X, Y, sample_weight=weights).predict_proba(X), expected
    )
    with pytest.raises(TypeError, match="takes no sample_weight"):
        MendedClassifier(KNeighborsClassifier()).fit(X, Y, sample_weight=weights)


def test_splits_in_all_forms(small_set):
    X, Y = small_set
    splits = list(KFold(4, shuffle=True, random_state=1).split(X))
    expected = quick(cv=KFold(4, shuffle=True, random_state=1)).fit(X, Y).predict_proba(X)
    for cv in (splits, iter(splits), [tuple(map(list, split)) for split in splits]):
        np.testing.assert_array_equal(quick(cv=cv).fit(X, Y).predict_proba(X), expected)
    single = quick(cv=ShuffleSplit(1, test_size=0.4, random_state=0), criterion="macro_f1")
    assert len(single.fit(X, Y).validation_indices_) == 32
    assert np.isfinite(single.decisions_["loss"]).all()


def test_results_are_reproducible(small_set):
    X, Y = small_set
    forest = RandomForestClassifier(3, max_depth=3)
    clf = MendedClassifier(forest, random_state=3).fit(X, Y)
    expected = clf.predict_proba(X)
    assert forest.random_state is None
    for other in (
        clone(clf).fit(X, Y),
        clone(clf).fit(X, Y).fit(X, Y),
        clone(clf).set_params(random_state=np.random.RandomState(3)).fit(X, Y),
        pickle.loads(pickle.dumps(clf)),
    ):
        np.testing.assert_array_equal(other.predict_proba(X), expected)
    other = clone(clf).set_params(random_state=4).fit(X, Y)
    assert abs(other.predict_proba(X) - expected).max() > 1e-3


def test_grid_search(small_set):
    X, Y = small_set
    grid = {"criterion": ["hamming", "micro_f1"], "estimator__var_smoothing": [1e-9, 0.1]}
    assert GridSearchCV(quick(cv=2), grid, cv=2).fit(X, Y).best_score_ > 0


def test_base_classifiers_without_probabilities_are_refused(small_set):
    X, Y = small_set

    class AlwaysNaN(GaussianNB):
        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    with pytest.raises(ValueError, match="AlwaysNaN must give .* with 32 values NaN"):
        MendedClassifier(AlwaysNaN()).fit(X, Y)
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        MendedClassifier(LinearSVC()).fit(X, Y)


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


def test_the_default_base_takes_frames_with_texts_and_missing_values(small_set):
    X, Y = small_set
    frame = pd.DataFrame(X[:, :2].copy(), columns=["a", "b"])  # X is read-only
    frame["text"] = np.where(Y[:, 0] > 0, "sea", "town")
    frame.loc[::5, "a"] = None
    frame.loc[1, "text"] = None
    clf = MendedClassifier(cv=2, random_state=0).fit(frame, Y)
    assert set(clf.search_["scaling"]) == {"global", "range", "standard", "log_odds"}
    assert np.mean(clf.predict(frame)[:, 0] == Y[:, 0]) > 0.9
    new = frame[:3].assign(text=["sea", None, "moon"])
    assert np.isfinite(clf.predict_proba(new)).all()


def test_scorers_by_name(small_set):
    X, Y = small_set
    clf = MendedClassifier(cv=2, criterion="jaccard_samples", random_state=0).fit(X, Y)
    same = MendedClassifier(cv=2, criterion=get_scorer("jaccard_samples"), random_state=0)
    np.testing.assert_array_equal(clf.predict(X), same.fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="criterion='micro' is neither one of 'hamming'"):
        MendedClassifier(criterion="micro").fit(X, Y)


def test_a_class_instead_of_an_instance_is_refused(small_set):
    with pytest.raises(TypeError, match=r"pass an instance, LogisticRegression\(\)"):
        MendedClassifier(LogisticRegression).fit(*small_set)

"""What the base classifier used: Shapley values against brute force, coefficients, sums, names."""

from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logit
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pairmend import MendedClassifier, PairwiseClassifier, ThresholdedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.explanation import explain
from pairmend.explanation.evidence import shapley_values
from pairmend.forests.estimator import MultiLabelBoosting, MultiLabelForest
from pairmend.mended.base_models import MultiLabelKernelRidge


def shapley_by_orders(value, n_features):
    """The mean over all orders of what each feature adds to the value of those before it."""
    value, orders = cache(value), list(permutations(range(n_features)))
    amounts = [0.0] * n_features
    for order in orders:
        for k, feature in enumerate(order):
            gain = value(frozenset(order[: k + 1])) - value(frozenset(order[:k]))
            amounts[feature] = amounts[feature] + gain / len(orders)
    return np.array(amounts)


@pytest.fixture(scope="module")
def game():
    """A function of six features with interactions, at a row and at background rows."""
    rng = np.random.RandomState(0)
    row, background = rng.randn(6), rng.randn(8, 6)

    def value(present, places):
        x = np.where(present, row, background[places])
        mixed = x[..., 0] * x[..., 1] * x[..., 2] / 4 + np.sin(x[..., 3] * x[..., 4])
        return np.stack([mixed + x[..., 5], np.abs(x[..., 5] - x[..., 0])], axis=-1)

    def mean(features):
        present = np.tile(np.isin(range(6), list(features)), (8, 1))
        return value(present, np.arange(8)).mean(axis=0)

    return value, shapley_by_orders(mean, 6), mean(range(6)), mean([])


@pytest.mark.parametrize(("max_rows", "error"), [(2**9, 1e-12), (2**9 - 1, 0.05)])
def test_shapley_values_equal_brute_force(game, max_rows, error):
    value, expected, full, empty = game
    amounts, reference, total = shapley_values(value, 6, 8, max_rows)
    np.testing.assert_allclose(amounts, expected, atol=error)
    np.testing.assert_allclose([total, reference], [full, empty], atol=1e-12)
    np.testing.assert_allclose(amounts.sum(axis=0), total - reference, atol=1e-12)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.RandomState(0)
    X = rng.randn(150, 7)
    Y = np.column_stack([X[:, 0] * X[:, 1] > 0, X[:, 2] + X[:, 3] > 0.5, np.abs(X[:, 4]) > 1])
    return X, Y.astype(int)


def assert_sums(explanations, estimator, X):
    """Sums are the probabilities of the classifier, and the log-odds of its base classifier."""
    base = estimator.estimator_.predict_proba(estimator._row_encoder.encode(X)[0])
    base = np.column_stack([p[:, 1] for p in base]) if isinstance(base, list) else base
    for proba, before, each in zip(estimator.predict_proba(X), base, explanations, strict=True):
        for label in each.labels:
            assert label.proba == proba[label.label]
            total = label.base + sum(change.amount for change in label.changes)
            assert total == pytest.approx(label.proba, abs=1e-12)
            if label.base_parts:
                total = sum(weight * proba for _, weight, proba in label.base_parts)
                assert total == pytest.approx(label.base, abs=1e-12)
            total = label.reference + sum(one.amount for one in label.contributions)
            assert total == pytest.approx(label.log_odds, abs=1e-9)
            if 1e-3 < before[label.label] < 1 - 1e-3:
                assert label.log_odds == pytest.approx(logit(before[label.label]), abs=1e-9)


@pytest.mark.parametrize(
    "base",
    [
        "auto",
        ScaledLogisticRegression(),
        make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
        MultiLabelForest(20, random_state=0),
        MultiLabelKernelRidge(random_state=0),
        MultiLabelBoosting(20, random_state=0),
        GaussianNB(),
    ],
    ids=lambda base: getattr(type(base), "__name__", base),
)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_sums_are_exact_for_every_base(rows, base, is_sparse):
    X, Y = rows
    if is_sparse:
        if isinstance(base, GaussianNB):
            pytest.skip("takes no sparse rows")
        X = sparse.csr_array(np.where(X > 0.5, X, 0))
    clf = MendedClassifier(base, random_state=0).fit(X, Y)
    assert_sums(clf.explain(X[:4], labels=[0, 1, 2]), clf, X[:4])


def tickets():
    rng = np.random.RandomState(0)
    said = np.array(["we were charged twice", "the page is slow", "please add a dark theme"])
    drawn, words = rng.randint(0, 3, 90), [f"word{k}" for k in range(12)]
    X = pd.DataFrame({
        "seats": rng.randint(1, 50, 90), "plan": rng.choice(["free", "team"], 90),
        "opened": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.randint(0, 300, 90), unit="D"),
        "message": [" ".join([said[k], *rng.choice(words, 6)]) for k in drawn],
    })  # fmt: skip
    Y = pd.DataFrame({"billing": drawn == 0, "slow": (drawn == 1) | (X["seats"] > 40)}).astype(int)
    return X, Y


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("base", ["auto", ScaledLogisticRegression()], ids=["auto", "linear"])
def test_words_columns_and_categories_are_named(base, library):
    X, Y = tickets()
    if library == "polars":
        X = pytest.importorskip("polars").from_pandas(X)
    elif library == "pyarrow":
        X = pytest.importorskip("pyarrow").Table.from_pandas(X)
    clf = MendedClassifier(base, random_state=0).fit(X, Y)
    billing = int(np.flatnonzero(Y["billing"][:30])[0])
    rows = X.slice(billing, 2) if hasattr(X, "slice") else X.iloc[billing : billing + 2]
    found = clf.explain(rows, labels=["billing", "slow"], n_contributions=30)
    assert_sums(found, clf, rows)
    used = {one.name: one for one in found[0].labels[0].contributions}
    assert used["message: charged"].amount > 0.05
    assert {"seats", "opened"} <= set(used)
    assert {"plan", "plan = free", "plan = team"} & set(used)
    assert used["seats"].value == float(tickets()[0]["seats"][billing])


def test_contributions_of_a_linear_base_are_coefficients_times_values():
    X, Y = tickets()
    clf = MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(X, Y)
    (fitted,) = clf.estimator_.models_
    names = fitted.scaler_.get_feature_names_out().tolist()
    values = fitted.scaler_.transform(X.iloc[[5]]).toarray()[0]
    assert len(names) == len(values) > 100
    for label in clf.explain(X.iloc[[5]], labels=[0, 1], n_contributions=1000)[0].labels:
        products = pd.Series(fitted.classifier_.coef_[label.label] * values, names)
        expected = products.groupby(level=0).sum()
        for one in label.contributions:
            assert one.amount == pytest.approx(expected[one.name], abs=1e-12)
        left = expected.drop([one.name for one in label.contributions])
        np.testing.assert_allclose(left, 0, atol=1e-12)
        assert label.reference == fitted.classifier_.intercept_[label.label]


def test_a_users_own_classifier_of_frames_needs_background_rows():
    X, Y = tickets()
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["plan"]), (TfidfVectorizer(), "message"),
        ("passthrough", ["seats"]),
    )  # fmt: skip
    base = make_pipeline(columns, RandomForestClassifier(10, random_state=0))
    clf = MendedClassifier(base, random_state=0).fit(X, Y)
    (without,) = clf.explain(X[:1], labels=[0])
    assert without.labels[0].contributions == ()
    assert "not known without rows to compare with" in str(without)
    found = clf.explain(X[:3], labels=[0, 1], background=X, n_contributions=30)
    assert_sums(found, clf, X[:3])
    assert "seats" in {one.name for one in found[0].labels[1].contributions}
    linear = MendedClassifier(make_pipeline(columns, LogisticRegression()), random_state=0)
    (explanation,) = linear.fit(X, Y).explain(X[:1], labels=[0])
    assert explanation.about_reference == "the intercept"
    assert "tfidfvectorizer__charged" in str(explanation) or Y["billing"][0] == 0


TEXTS = ["the sea is warm", "sea and sand", "a city at night", "lights of the city"] * 15
TOPICS = np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 15)


@pytest.mark.parametrize(
    "clf",
    [
        MendedClassifier(random_state=0),
        make_pipeline(TfidfVectorizer(), MendedClassifier(random_state=0)),
        MendedClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), random_state=0),
        make_pipeline(TfidfVectorizer(), ThresholdedClassifier(
            MendedClassifier(ScaledLogisticRegression(), random_state=0), 0.45, cv=2)),
        GridSearchCV(MendedClassifier(ScaledLogisticRegression(), random_state=0),
                     {"scaling": ["log_odds"]}, cv=2),
    ],
    ids=["auto", "pipeline", "own pipeline", "threshold", "search"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Distances between rows")
def test_words_are_named_through_pipelines_thresholds_and_searches(clf):
    clf = clf.fit(TEXTS, TOPICS)
    (explanation,) = explain(clf, ["sea lights"], labels=["coast"], label_names=["coast", "town"])
    (label,) = explanation.labels
    best = max(label.contributions, key=lambda each: each.amount)
    assert "sea" in best.name
    assert label.proba == clf.predict_proba(["sea lights"])[0, 0]
    assert label.predicted == clf.predict(["sea lights"])[0, 0]
    if "thresholdedclassifier" in getattr(clf, "named_steps", ()):
        assert label.threshold == 0.45


def test_names_of_features_pass_through_the_steps_of_a_pipeline(rows):
    X, Y = rows
    clf = make_pipeline(StandardScaler(), MendedClassifier(random_state=0)).fit(X, Y)
    given = {"feature_names": list("abcdefg"), "label_names": ["x", "y", "z"]}
    (explanation,) = explain(clf, X[:1], labels=["z"], **given)
    assert {one.name for one in explanation.labels[0].contributions} == set("abcdefg")
    (itself,) = explain(clf, X[:1], background=X[:1], labels=["z"], **given)
    assert itself.labels[0].contributions == ()  # compared with itself
    with pytest.raises(ValueError, match="features"):
        explain(clf, X[:1], background=X[:, :2])
    with pytest.raises(ValueError, match="PairwiseClassifier, which has no explanations"):
        explain(PairwiseClassifier().fit(X, Y), X)


def test_many_columns_and_long_texts_are_explained_in_parts():
    rng = np.random.RandomState(0)
    X = rng.randn(60, 900)
    clf = MendedClassifier(MultiLabelKernelRidge(random_state=0), random_state=0)
    clf.fit(X, (X[:, :2] > 0).astype(int))
    found = clf.explain(X[:1], labels=[0], n_contributions=400)
    assert_sums(found, clf, X[:1])
    assert "feature 0 to feature 2" in {one.name for one in found[0].labels[0].contributions}
    words = [" ".join(rng.choice(["sea", "sand", "sun", "sky"], 70)) for _ in range(40)]
    clf = MendedClassifier(random_state=0).fit(words, rng.randint(0, 2, (40, 2)))
    (explanation,) = clf.explain(words[:1], labels=[0], n_contributions=100)
    is_linear = explanation.about_reference == "the intercept"
    assert is_linear or len(explanation.labels[0].contributions) <= 40

"""Weights of rows, in every baseline with a base classifier that takes them."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairmend import BinaryRelevance, ClassifierChainEnsemble, LabelPowerset, RAkEL

LOGISTIC = LogisticRegression(C=0.01, tol=1e-7, max_iter=2000)
KINDS = {
    "relevance": BinaryRelevance(),
    "powerset": LabelPowerset(),
    "chains": ClassifierChainEnsemble(n_chains=3),
    "rakel": RAkEL(k=2),
}
every = pytest.mark.parametrize("baseline", KINDS.values(), ids=KINDS)


def with_base(baseline, base):
    return clone(baseline).set_params(estimator=base, random_state=0)


@every
@pytest.mark.parametrize("base", [None, LOGISTIC], ids=["nb", "logistic"])
def test_whole_numbers_are_repetitions(baseline, base, small_set):
    X, Y = small_set
    weights = np.random.RandomState(0).randint(3, size=len(Y))
    rows = np.repeat(np.arange(len(Y)), weights)
    clf = with_base(baseline, base)
    if isinstance(clf, ClassifierChainEnsemble):
        clf.set_params(max_samples=1.0)
    weighted = clone(clf).fit(X, Y, sample_weight=weights).predict_proba(X)
    np.testing.assert_allclose(
        weighted, clone(clf).fit(X[rows], Y[rows]).predict_proba(X), atol=1e-4
    )
    assert abs(weighted - clone(clf).fit(X, Y).predict_proba(X)).max() > 0.01


@every
def test_rows_of_weight_zero_are_ignored(baseline, small_set):
    X, Y = small_set
    Y = Y.copy()
    weights = np.random.RandomState(1).randint(3, size=len(Y)) / 2
    kept = weights > 0
    Y[:, 0], Y[:, 1] = ~kept, kept  # constant where weights are
    X = np.where(kept[:, np.newaxis], X, np.inf)  # reading these rows fails
    clf = with_base(baseline, GaussianNB())
    weighted = clone(clf).fit(X, Y, sample_weight=weights)
    without = clone(clf).fit(X[kept], Y[kept], sample_weight=weights[kept])
    scores = weighted.predict_proba(X[kept])
    np.testing.assert_array_equal(scores, without.predict_proba(X[kept]))
    assert not weighted.predict(X[kept])[:, 0].any()
    assert weighted.predict(X[kept])[:, 1].all()
    if isinstance(clf, BinaryRelevance | ClassifierChainEnsemble):
        n = weights.sum() / 0.5  # the lightest of the rows count as one
        np.testing.assert_allclose(scores[0, :2], [1 / (n + 2), (n + 1) / (n + 2)])
    with pytest.raises(ValueError, match="at least one non-zero"):
        clone(clf).fit(X, Y, sample_weight=np.zeros(len(Y)))


@every
def test_metadata_routing(baseline, small_set):
    X, Y = small_set
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 1e-6)
    direct = with_base(baseline, GaussianNB()).fit(X, Y, sample_weight=weights).predict_proba(X)
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = GaussianNB().set_fit_request(sample_weight=True)
        routed = with_base(baseline, requesting).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(routed.predict_proba(X), direct)
        silent = with_base(baseline, GaussianNB().set_fit_request(sample_weight=False))
        with pytest.raises(TypeError, match="sample_weight"):
            silent.fit(X, Y, sample_weight=weights)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        inside = with_base(baseline, make_pipeline(scaler, requesting)).fit(
            X, Y, sample_weight=weights
        )
        outside = make_pipeline(scaler, with_base(baseline, requesting)).fit(
            X, Y, sample_weight=weights
        )
    named = with_base(baseline, make_pipeline(StandardScaler(), GaussianNB()))
    named.fit(X, Y, gaussiannb__sample_weight=weights)
    np.testing.assert_array_equal(inside.predict_proba(X), named.predict_proba(X))
    scaled = StandardScaler().fit_transform(X)
    alone = with_base(baseline, GaussianNB()).fit(scaled, Y, sample_weight=weights)
    np.testing.assert_array_equal(outside.predict_proba(X), alone.predict_proba(scaled))


@every
def test_bases_that_pass_parameters_on(baseline, small_set):
    X, Y = small_set
    weights = np.linspace(0.1, 1, len(Y))
    plain = with_base(baseline, LOGISTIC).fit(X, Y, sample_weight=weights)
    search = GridSearchCV(LOGISTIC, {"C": [0.01]}, cv=[(np.arange(40), np.arange(40))])
    searched = with_base(baseline, search).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(searched.predict_proba(X), plain.predict_proba(X))
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        with_base(baseline, KNeighborsClassifier()).fit(X, Y, sample_weight=weights)
    with pytest.raises(ValueError, match="[Nn]egative"):
        with_base(baseline, GaussianNB()).fit(X, Y, sample_weight=-weights)
    with pytest.raises(TypeError, match="colour"):
        with_base(baseline, GaussianNB()).fit(X, Y, colour="red")

"""What every overlap-aware member must do."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from pairmend import RandomSubspaceNB
from pairmend.pairwise import (
    BradleyTerryClassifier,
    FourClassPairsClassifier,
    ParallelHyperplanesSVM,
    SharedFirstClassifier,
)

LOGISTIC = LogisticRegression(C=0.1, tol=1e-8, max_iter=1000)
MEMBERS = {
    "bradley-terry": BradleyTerryClassifier(LOGISTIC),
    "shared-first": SharedFirstClassifier(LOGISTIC),
    "four-classes": FourClassPairsClassifier(LOGISTIC),
    "parallel-hyperplanes": ParallelHyperplanesSVM(C=0.1, tol=1e-9),
}
WRAPPING = {name: member for name, member in MEMBERS.items() if "estimator" in member.get_params()}
every = pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)
every_wrapping = pytest.mark.parametrize("member", WRAPPING.values(), ids=WRAPPING)


@every_wrapping
def test_the_default_base(member, small_set):
    X, Y = small_set
    X = np.where(X > 12, np.nan, X)
    default = clone(member).set_params(estimator=None, random_state=0).fit(X, Y)
    named = clone(member).set_params(estimator=RandomSubspaceNB(), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(default.predict_proba(X), named.predict_proba(X))
    assert np.mean(default.predict(X) == Y) > 0.7


@every
def test_it_learns(member, small_set):
    X, Y = small_set
    predicted = clone(member).fit(X, Y).predict(X)
    assert np.mean(predicted == Y) > 0.75
    # Neither all nor none: how many labels a row has is learnt, too.
    assert abs(predicted.sum() - Y.sum()) < 0.3 * Y.sum()


@every
def test_labels_that_never_or_always_occur(member, small_set):
    X, Y = small_set
    Y = Y.copy()
    Y[:, 0], Y[:, 3] = 0, 1
    predicted = clone(member).fit(X, Y).predict(X)
    assert not predicted[:, 0].any()
    assert predicted[:, 3].all()
    constant = np.tile([1, 0, 1], (80, 1))
    np.testing.assert_array_equal(clone(member).fit(X, constant).predict(X), constant)


@every
def test_one_label(member, small_set):
    X, Y = small_set
    one = clone(member).fit(X, Y[:, :1])
    assert one.predict(X).shape == one.predict_proba(X).shape == (80, 1)
    assert np.mean(one.predict(X) == Y[:, :1]) > 0.7


@every
def test_weights_are_repetitions(member, small_set):
    X, Y = small_set
    weights = 1 + np.arange(80) % 3
    weighted = clone(member).fit(X, Y, sample_weight=weights.astype(float))
    repeated = clone(member).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=2e-5)
    half = np.where(np.arange(80) < 40, 1.0, 0.0)
    zero = clone(member).fit(X, Y, sample_weight=half)
    np.testing.assert_allclose(
        zero.predict_proba(X), clone(member).fit(X[:40], Y[:40]).predict_proba(X), atol=2e-5
    )


@every_wrapping
def test_bases_that_will_not_do(member, small_set):
    X, Y = small_set
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        clone(member).set_params(estimator=LinearSVC()).fit(X, Y)
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        clone(member).set_params(estimator=KNeighborsClassifier()).fit(
            X, Y, sample_weight=np.ones(80)
        )

    class Shouting(GaussianNB):
        def predict_proba(self, X):
            return 2 * super().predict_proba(X)

    loud = clone(member).set_params(estimator=Shouting()).fit(X, Y)
    with pytest.raises(ValueError, match=r"must give a column of probabilities in \[0, 1\]"):
        loud.predict(X)

    class Failing(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise ArithmeticError("no")

    with pytest.raises(ArithmeticError) as caught:
        clone(member).set_params(estimator=Failing()).fit(X, Y)
    assert "while training" in caught.value.__notes__[0]


def test_machines_that_do_not_converge_are_told(small_set):
    X, Y = small_set
    hasty = ParallelHyperplanesSVM(max_iter=1)
    with pytest.warns(ConvergenceWarning, match="of 10 pairs did not converge in 1 steps"):
        hasty.fit(X, Y)
    assert hasty.n_iter_ == 1

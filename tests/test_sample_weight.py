"""Sample weights in every public classifier: only their ratios count."""

import inspect

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import pairmend
from classifier_checks import WEIGHT_CHECKS, check_weight_two_equals_the_row_twice
from pairmend import (
    BinaryRelevance,
    BradleyTerryClassifier,
    CalibratedLabelRanking,
    ClassifierChainEnsemble,
    CorrectedBinaryRelevance,
    CorrectedMulticlassClassifier,
    CorrectedPairwiseClassifier,
    FourClassPairsClassifier,
    GaussianNeighbourhood,
    LabelPowerset,
    MendedClassifier,
    PairwiseClassifier,
    PairwisePerceptrons,
    ParallelHyperplanesSVM,
    QWeightedVoting,
    RAkEL,
    RandomSubspaceNB,
    SharedFirstClassifier,
    ThresholdedClassifier,
    TwoStageVoting,
)
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.forests.estimator import MultiLabelForest
from pairmend.thresholds import F1Thresholds
from public_classifiers import CLASSIFIERS as PUBLIC
from public_classifiers import data_for, made

BASES = {
    "gaussian": GaussianNB(),
    "nb": RandomSubspaceNB(5, 0.5),
    "tree": DecisionTreeClassifier(max_depth=3),
}
WRAPPING = {
    "lpw": PairwiseClassifier(),
    "clr": CalibratedLabelRanking(),
    "qweighted": QWeightedVoting(),
    "two-stage": TwoStageVoting(),
    "fcm": CorrectedPairwiseClassifier(),
    "fcm-o": CorrectedPairwiseClassifier(
        balance="labels",
        overlap=0.5,
        calibration_label=True,
        weighting="information",
        neighbourhood=GaussianNeighbourhood(scale="standard"),
    ),
    "bradley-terry": BradleyTerryClassifier(),
    "shared-first": SharedFirstClassifier(),
    "four-classes": FourClassPairsClassifier(),
    "corrected-relevance": CorrectedBinaryRelevance(),
    "corrected-classes": CorrectedMulticlassClassifier(),
    "relevance": BinaryRelevance(),
    "powerset": LabelPowerset(),
    "chains": ClassifierChainEnsemble(n_chains=2, max_samples=1.0),
    "rakel": RAkEL(k=2),
    "mended-hamming": MendedClassifier(cv=3),
    "mended-zero-one": MendedClassifier(cv=3, criterion="zero_one"),
    "mended-micro": MendedClassifier(cv=3, criterion="micro_f1"),
    "mended-macro": MendedClassifier(cv=3, criterion="macro_f1"),
    "mended-scorer": MendedClassifier(cv=3, criterion="accuracy", decision="labels"),
}
# Where corrections are chosen, a row is left out of its own neighbourhood with all of its weight;
# of a row that is there twice, one copy stays. Nothing is chosen here.
FIXED = {
    "beta": 2.0, "scaling": "standard", "shrinkage": 1.0, "guard": False, "reference": "beta",
    "decision": "labels", "threshold": 0.5,
}  # fmt: skip
CLASSIFIERS = {
    **{
        f"{name}-{base}": clone(clf).set_params(estimator=clone(BASES[base]), random_state=0)
        for name, clf in WRAPPING.items()
        for base in BASES
    },
    "nb": RandomSubspaceNB(5, 0.5, random_state=0),
    "perceptrons": PairwisePerceptrons(average=True, voting="soft", random_state=0),
    "svm": ParallelHyperplanesSVM(0.1, tol=1e-9, voting="soft"),
    "thresholded": ThresholdedClassifier(BinaryRelevance(GaussianNB()), random_state=0),
    "thresholded-f1": ThresholdedClassifier(
        CalibratedLabelRanking(GaussianNB()), F1Thresholds(shrinkage=5.0), random_state=0
    ),
    "mended-fixed": MendedClassifier(GaussianNB(), cv=3, random_state=0, **FIXED),
}


# Corrected relevance and classes take no splits; a perceptron's step of twice the size is not two
# steps; the variance floor of GaussianNB, which its weights do not change, shows in chains.
NOT_TWICE = ("corrected-", "perceptrons", "chains-gaussian")


def is_not_twice(name):
    return name.startswith(NOT_TWICE) or (name.startswith("mended") and name != "mended-fixed")


@pytest.mark.parametrize("check", WEIGHT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_weight_check(name, check):
    if check is check_weight_two_equals_the_row_twice and is_not_twice(name):
        pytest.skip("twice the weight is not two rows")
    check(clone(CLASSIFIERS[name]))


def test_every_public_classifier_is_checked():
    public = {
        name
        for name in pairmend.__all__
        if inspect.isclass(found := getattr(pairmend, name)) and issubclass(found, ClassifierMixin)
    }
    takes_no_weights = {"MLkNN"}
    assert public - takes_no_weights == {type(clf).__name__ for clf in CLASSIFIERS.values()}


def bases_of(name):
    """Return the base classifiers of the library that a classifier takes, as arguments."""
    if "estimator" not in inspect.signature(getattr(pairmend, name)).parameters:
        return [{}]
    if name == "ThresholdedClassifier":
        bases = [BinaryRelevance(), BinaryRelevance(ScaledLogisticRegression())]
        return [{"estimator": base} for base in bases]
    bases = [{}, {"estimator": ScaledLogisticRegression()}]
    if name == "MendedClassifier":
        bases += [{"cv": 3, "scaling": "auto"}, {"estimator": MultiLabelForest(random_state=0)}]
    return bases


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "MLkNN"])
def test_all_weights_times_a_constant_change_nothing(name, weighted):
    X, y = data_for(name)
    weights = np.where(np.arange(len(X)) % 3, 1.0, 1.7) if weighted else np.ones(len(X))
    for own in bases_of(name):
        expected = made(name, **own).fit(X, y, sample_weight=weights).predict_proba(X)
        for factor in (5.0, 1e-6, 1 / len(X)):
            found = made(name, **own).fit(X, y, sample_weight=factor * weights).predict_proba(X)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10, err_msg=str(own))
        if not weighted:
            found = made(name, **own).fit(X, y).predict_proba(X)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10, err_msg=str(own))


CRITERIA = ["hamming", "zero_one", "micro_f1", "macro_f1"]


@pytest.fixture(scope="module")
def clean():
    return make_multilabel_classification(
        150, n_features=6, n_classes=4, n_labels=1, random_state=0
    )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_rows_of_tiny_weight(clean, criterion):
    """As many rows of all labels as there are others, each of the weight 1e-9."""
    X, Y = clean
    clf = MendedClassifier(GaussianNB(), criterion=criterion, random_state=0)
    rows = np.vstack([X, X[::-1] + 0.1]), np.vstack([Y, np.ones_like(Y)])
    alone = clone(clf).fit(X, Y)
    found = clone(clf).fit(*rows, sample_weight=np.repeat([1.0, 1e-9], 150))
    np.testing.assert_array_equal(found.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(found.predict(X), alone.predict(X))
    np.testing.assert_array_equal(found.validation_indices_, np.arange(150))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_small_weights_count_little(clean, criterion):
    """Weights that are not negligible: what is chosen follows them by degrees."""
    X, Y = clean
    folds = [(np.flatnonzero(np.arange(300) % 5 != k), np.flatnonzero(np.arange(300) % 5 == k))
             for k in range(5)]  # fmt: skip
    clf = MendedClassifier(GaussianNB(), criterion=criterion, cv=folds, random_state=0)
    rows = np.vstack([X, X[::-1] + 0.1]), np.vstack([Y, np.ones_like(Y)])
    counts = {}
    for weight in (0.0, 1e-4, 1.0):
        weights = np.repeat([1.0, weight], 150)
        counts[weight] = clone(clf).fit(*rows, sample_weight=weights).predict(X).sum() / 150
    assert abs(counts[1e-4] - counts[0.0]) < 0.02
    assert counts[1.0] > counts[0.0] + 0.3


def test_thresholds_follow_the_weights(clean):
    """One heavy label set moves thresholds and decisions although probabilities stay."""
    X, Y = clean
    clf = MendedClassifier(
        GaussianNB(), criterion="micro_f1", decision="labels", threshold=F1Thresholds("micro"),
        random_state=0,
    )  # fmt: skip
    weights = np.where(Y.sum(axis=1) > 1, 30.0, 1.0)
    plain, heavy = clone(clf).fit(X, Y), clone(clf).fit(X, Y, sample_weight=weights)
    assert heavy.threshold_.thresholds_[0] != plain.threshold_.thresholds_[0]
    # The threshold is the one that the weighted left-out rows give.
    left_out = heavy._out_of_fold
    expected = F1Thresholds("micro").fit(
        left_out.corrected.by_label, left_out.Y, sample_weight=weights[heavy.validation_indices_]
    )
    np.testing.assert_array_equal(heavy.threshold_.thresholds_, expected.thresholds_)


def test_the_unit_of_partial_fit_is_that_of_the_first_call(clean):
    X, Y = clean
    clf = CorrectedPairwiseClassifier(RandomSubspaceNB(5, 0.5), random_state=0)

    def streamed(*factors):
        learner = clone(clf)
        for part, factor in zip(np.split(np.arange(150), 3), factors, strict=True):
            weights = factor * (1.0 + np.arange(50) % 2)
            learner.partial_fit(X[part], Y[part], sample_weight=weights)
        return learner.predict_proba(X)

    plain = streamed(1, 1, 1)
    np.testing.assert_allclose(streamed(1e-3, 1e-3, 1e-3), plain, atol=1e-8)
    np.testing.assert_allclose(streamed(1e3, 1e3, 1e3), plain, atol=1e-8)
    # Later rows keep what they weigh relative to earlier ones.
    assert abs(streamed(1, 1, 100) - plain).max() > 0.01

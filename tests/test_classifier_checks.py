"""Own checks and scikit-learn's, for pairwise classifiers and MendedClassifier."""

import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from classifier_checks import (
    CHECKS,
    OF_PAIRS,
    check_label_permutation_permutes_the_output,
    check_sparse_rows,
)
from pairmend import (
    AdaptiveNeighbourhood,
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GlobalNeighbourhood,
    MendedClassifier,
    PairwiseClassifier,
    QWeightedVoting,
    RandomSubspaceNB,
    TwoStageVoting,
)

BASES = {
    "nb": RandomSubspaceNB(subspace=0.5),
    "multinomial": MultinomialNB(),
    "logistic": LogisticRegression(C=0.1, tol=1e-10, max_iter=1000),
    "forest": RandomForestClassifier(5, max_depth=3),
}
CLASSIFIERS = {
    "lpw": PairwiseClassifier(random_state=0),
    "clr": CalibratedLabelRanking(random_state=0),
    "clr-votes": CalibratedLabelRanking(voting="votes", random_state=0),
    "qweighted": QWeightedVoting(random_state=0),
    "two-stage": TwoStageVoting(random_state=0),
    "fcm": CorrectedPairwiseClassifier(random_state=0),
    "fcm-w": CorrectedPairwiseClassifier(balance="labels", random_state=0),
    "fcm-w-pairs-o": CorrectedPairwiseClassifier(balance="pairs", overlap=0.3, random_state=0),
    "crossed": CorrectedPairwiseClassifier(
        overlap=0.5, validation=3, neighbourhood=AdaptiveNeighbourhood(), random_state=0
    ),
    "weighted": CorrectedPairwiseClassifier(weighting="information", random_state=0),
    "global-crisp": CorrectedPairwiseClassifier(
        neighbourhood=GlobalNeighbourhood(), reference="crisp", random_state=0
    ),
    "virtual": CorrectedPairwiseClassifier(calibration_label=True, random_state=0),
    "virtual-crossed": CorrectedPairwiseClassifier(
        calibration_label=True, balance="labels", overlap=0.5, validation=3, random_state=0
    ),
}


# Slow base classifiers are checked with three classifiers: they differ from the fast ones in
# iterations and in their own randomness only.
SLOW_BASES = ("logistic", "forest")
WITH_SLOW_BASES = ("lpw", "qweighted", "fcm")
SETTINGS = [
    (name, base)
    for name in CLASSIFIERS
    for base in BASES
    if base not in SLOW_BASES or name in WITH_SLOW_BASES
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("name", "base"), SETTINGS)
def test_own_check(name, base, check):
    check(clone(CLASSIFIERS[name]).set_params(estimator=clone(BASES[base])))


# Labels in another order are cut into other folds.
NOT_OF_MENDED = {*OF_PAIRS, check_label_permutation_permutes_the_output}
FIXED = {"cv": 2, "beta": 1.0, "shrinkage": 1.0}  # little to search for, so that checks are fast
MENDED = {
    "default": MendedClassifier(cv=2),
    "nb": MendedClassifier(RandomSubspaceNB(4), scaling="range", **FIXED),
    "forest": MendedClassifier(
        RandomForestClassifier(3, max_depth=3), criterion="micro_f1", scaling="standard", **FIXED
    ),
    "ranking": MendedClassifier(
        CalibratedLabelRanking(RandomSubspaceNB(4)), scaling="log_odds", guard=False, **FIXED
    ),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MENDED)
def test_own_check_of_mended(name, check):
    # The default base scales dense rows only.
    if check in NOT_OF_MENDED or (name, check) == ("default", check_sparse_rows):
        pytest.skip("does not apply")
    check(clone(MENDED[name]).set_params(random_state=0))


@parametrize_with_checks(
    [
        RandomSubspaceNB(),
        PairwiseClassifier(GaussianNB()),
        CorrectedPairwiseClassifier(),
        CalibratedLabelRanking(),
        QWeightedVoting(GaussianNB()),
        TwoStageVoting(GaussianNB()),
        MENDED["default"],
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)

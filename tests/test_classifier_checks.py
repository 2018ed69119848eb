"""The project's own checks and scikit-learn's, for every classifier."""

import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from classifier_checks import CHECKS
from pairmend import (
    AdaptiveNeighbourhood,
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    GlobalNeighbourhood,
    PairwiseClassifier,
    RandomSubspaceNB,
)

BASES = {
    "nb": RandomSubspaceNB(subspace=0.5),
    "logistic": LogisticRegression(C=0.1, tol=1e-10, max_iter=1000),
    "forest": RandomForestClassifier(5, max_depth=3),
}
CLASSIFIERS = {
    "lpw": PairwiseClassifier(random_state=0),
    "clr": CalibratedLabelRanking(random_state=0),
    "clr-votes": CalibratedLabelRanking(voting="votes", random_state=0),
    "fcm": CorrectedPairwiseClassifier(random_state=0),
    "fcm-w": CorrectedPairwiseClassifier(balance="labels", random_state=0),
    "fcm-w-pairs-o": CorrectedPairwiseClassifier(balance="pairs", overlap=0.3, random_state=0),
    "crossed": CorrectedPairwiseClassifier(
        overlap=0.5, validation=3, neighbourhood=AdaptiveNeighbourhood(), random_state=0
    ),
    "global-crisp": CorrectedPairwiseClassifier(
        neighbourhood=GlobalNeighbourhood(), reference="crisp", random_state=0
    ),
    "virtual": CorrectedPairwiseClassifier(calibration_label=True, random_state=0),
    "virtual-crossed": CorrectedPairwiseClassifier(
        calibration_label=True, balance="labels", overlap=0.5, validation=3, random_state=0
    ),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_own_check(name, base, check):
    check(clone(CLASSIFIERS[name]).set_params(estimator=clone(BASES[base])))


@parametrize_with_checks(
    [
        RandomSubspaceNB(),
        PairwiseClassifier(),
        CorrectedPairwiseClassifier(),
        CalibratedLabelRanking(),
        PairwiseClassifier(LogisticRegression()),
        CalibratedLabelRanking(LogisticRegression(), voting="votes"),
        CorrectedPairwiseClassifier(LogisticRegression(), validation=3, balance="labels"),
        CorrectedPairwiseClassifier(LogisticRegression(), calibration_label=True),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)

"""Every public classifier passes the own checks and those of scikit-learn."""

import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import classifier_checks as checks
import pairmend
from pairmend import MendedClassifier, RandomSubspaceNB, pairwise
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance, ClassifierChainEnsemble, LabelPowerset, MLkNN, RAkEL
from pairmend.forests.estimator import MultiLabelBoosting, MultiLabelForest
from pairmend.thresholds import F1Thresholds
from public_classifiers import CLASSIFIERS, made

BASES = {
    "nb": RandomSubspaceNB(5, 0.5),
    "gaussian": GaussianNB(),
    "multinomial": MultinomialNB(),
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(5, max_depth=3),
    "logistic": LogisticRegression(C=0.1, tol=1e-10, max_iter=1000),
    "scaled": ScaledLogisticRegression(),
}
PAIRWISE = {
    "lpw": pairmend.PairwiseClassifier(),
    "clr": pairmend.CalibratedLabelRanking(),
    "clr-votes": pairmend.CalibratedLabelRanking(voting="votes"),
    "qweighted": pairwise.QWeightedVoting(),
    "two-stage": pairwise.TwoStageVoting(),
    "fcm": pairmend.CorrectedPairwiseClassifier(),
    "fcm-w-pairs-o": pairmend.CorrectedPairwiseClassifier(balance="pairs", overlap=0.3),
    "overlap": pairmend.CorrectedPairwiseClassifier(
        balance="labels", overlap=0.5, calibration_label=True, weighting="information",
        neighbourhood=pairmend.GaussianNeighbourhood(scale="standard"),
    ),
    "crossed": pairmend.CorrectedPairwiseClassifier(
        overlap=0.5, validation=3, neighbourhood=pairmend.AdaptiveNeighbourhood()
    ),
    "global-crisp": pairmend.CorrectedPairwiseClassifier(
        neighbourhood=pairmend.GlobalNeighbourhood(), reference="crisp"
    ),
    "virtual-crossed": pairmend.CorrectedPairwiseClassifier(
        calibration_label=True, balance="labels", overlap=0.5, validation=3
    ),
    "bradley-terry": pairwise.BradleyTerryClassifier(),
    "shared-first": pairwise.SharedFirstClassifier(),
    "four-classes": pairwise.FourClassPairsClassifier(),
}  # fmt: skip
OTHERS = {
    "corrected-relevance": pairwise.CorrectedBinaryRelevance(validation=3),
    "corrected-classes": pairwise.CorrectedMulticlassClassifier(),
    "relevance": BinaryRelevance(),
    "powerset": LabelPowerset(),
    "chains": ClassifierChainEnsemble(n_chains=2, max_samples=1.0),
    "rakel": RAkEL(k=2),
}
WITHOUT_BASE = {
    "naive-bayes": RandomSubspaceNB(5, 0.5, random_state=0),
    "perceptrons": pairwise.PairwisePerceptrons(average=True, voting="soft", random_state=0),
    "svm": pairwise.ParallelHyperplanesSVM(0.1, tol=1e-9, voting="soft"),
    "thresholded": pairmend.ThresholdedClassifier(BinaryRelevance(GaussianNB()), random_state=0),
    "thresholded-f1": pairmend.ThresholdedClassifier(
        pairmend.CalibratedLabelRanking(GaussianNB()), F1Thresholds(shrinkage=5.0), random_state=0
    ),
}


def with_base(name, base):
    clf = clone({**PAIRWISE, **OTHERS}[name])
    return clf.set_params(estimator=clone(BASES[base]), random_state=0)


FIXED = {"cv": 2, "beta": 1.0, "shrinkage": 1.0, "random_state": 0}  # little to search for
CHECKED = {
    **{f"{name}-nb": with_base(name, "nb") for name in {**PAIRWISE, **OTHERS}},
    **{
        f"{name}-{base}": with_base(name, base)
        for name in ("lpw", "fcm")
        for base in ("multinomial", "forest", "logistic")
    },
    **WITHOUT_BASE,
    "virtual-crossed-multinomial": with_base("virtual-crossed", "multinomial"),
    "mlpp": pairwise.PairwisePerceptrons(calibration_label=False, random_state=0),
    "cmlpp": pairwise.PairwisePerceptrons(random_state=0),
    "ml-knn": MLkNN(5),
    "mended": MendedClassifier(cv=2, random_state=0),
    "mended-landmarks": MendedClassifier(cv=2, max_landmarks=20, random_state=0),
    "mended-nb": MendedClassifier(RandomSubspaceNB(4), scaling="range", **FIXED),
    "mended-forest": MendedClassifier(
        RandomForestClassifier(3, max_depth=3), criterion="micro_f1", scaling="standard", **FIXED
    ),
    "mended-boosting": MendedClassifier(MultiLabelBoosting(5, random_state=0), **FIXED),
    "mended-ranking": MendedClassifier(
        pairmend.CalibratedLabelRanking(RandomSubspaceNB(4)), scaling="log_odds", **FIXED
    ),
}
MENDED = {
    "hamming": {},
    "zero-one": {"criterion": "zero_one"},
    "micro": {"criterion": "micro_f1"},
    "macro": {"criterion": "macro_f1"},
    "scorer": {"criterion": "accuracy", "decision": "labels"},
}
# Two copies of a row are in one neighbourhood, and each is left out of its own alone: where
# corrections are compared, twice the weight is not two rows.
WEIGHED = {
    **{f"{name}-nb": with_base(name, "nb") for name in {**PAIRWISE, **OTHERS}},
    **{
        f"{name}-{base}": with_base(name, base)
        for name in ("lpw", "overlap", "relevance")
        for base in ("gaussian", "tree", "scaled")
    },
    **WITHOUT_BASE,
    **{
        f"mended-{name}": MendedClassifier(GaussianNB(), cv=3, random_state=0, **own)
        for name, own in MENDED.items()
    },
    "mended-scaled": MendedClassifier(BASES["scaled"], cv=2, random_state=0),
    "mended-own-forest": MendedClassifier(MultiLabelForest(random_state=0), cv=2, random_state=0),
}  # fmt: skip
OF_CLASSES = ("corrected-classes", "naive-bayes")
NOT_FOR = {
    # Labels in another order are drawn, and cut into folds, in another order.
    "label_permutation_permutes_the_output":
        ("mended", "thresholded", "chains", "rakel", *OF_CLASSES),
    # Weights of pairs by their information.
    "labels_that_never_or_always_occur": ("overlap", *OF_CLASSES),
    # The others need two labels; boosting is a part of the default, which gives it 2-D targets.
    "one_label_and_classes_are_learnt":
        ("lpw", "fcm", "overlap", "crossed", "global-crisp", "mlpp", "mended-boosting"),
    "frames_and_forms_of_targets": OF_CLASSES,
    # The default base scales dense rows only.
    "sparse_rows": ("mended",),
    # A margin of 0, or a distance, that rounding moves.
    "float32": ("mlpp", "cmlpp", "perceptrons", "ml-knn"),
    # Corrected relevance and classes take no splits; a row twice is two of k neighbours; a
    # perceptron's step of twice the size is not two steps.
    "weight_two_equals_the_row_twice":
        ("corrected-", "crossed", "perceptrons", "mended-"),
}  # fmt: skip


def cases():
    for name in {**CHECKED, **WEIGHED}:  # first by name, as checks share fitted classifiers
        for check in checks.CHECKS:
            of_check = check.__name__.removeprefix("check_")
            in_table = name in (WEIGHED if check in checks.OF_WEIGHTS else CHECKED)
            if in_table and not name.startswith(NOT_FOR.get(of_check, ())):
                yield pytest.param(check, name, id=f"{name}-{of_check}")


@pytest.mark.parametrize(("check", "name"), [*cases()])
def test_own_check(check, name):
    check(clone({**CHECKED, **WEIGHED}[name]))


# The default base of MendedClassifier is checked above; without, it is several times faster.
FASTER = {"MendedClassifier": {"estimator": None}}
SCIKIT_LEARNS = [
    *(made(name, **FASTER.get(name, {})) for name in CLASSIFIERS), ScaledLogisticRegression(),
]  # fmt: skip


def expected_failures(estimator):
    if not isinstance(estimator, pairwise.PairwisePerceptrons):
        return {}
    return dict.fromkeys(
        [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
        "a step of twice the size is not two steps",
    )


@parametrize_with_checks(SCIKIT_LEARNS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_every_public_classifier_is_checked():
    classifiers = set(CLASSIFIERS.values())
    assert classifiers == {type(clf) for clf in CHECKED.values()}
    assert classifiers - {MLkNN} == {type(clf) for clf in WEIGHED.values()}

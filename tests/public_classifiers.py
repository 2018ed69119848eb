"""All public classifiers, found by themselves, and small data for each."""

import inspect
from functools import cache

from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression

import pairmend

QUICK = {"cv": 2, "scaling": "range", "beta": 1.0, "shrinkage": 1.0}
ARGUMENTS = {
    "MendedClassifier": QUICK,
    "ThresholdedClassifier": {
        "estimator": pairmend.baselines.BinaryRelevance(LogisticRegression(C=0.1), random_state=0),
        "cv": 2,
    },
    "ClassifierChainEnsemble": {"n_chains": 2},
    "ParallelHyperplanesSVM": {"tol": 0.1},
}
"""Parameters without which a classifier cannot be made, or takes long."""
CLASSIFIERS = {
    name: member
    for module in (pairmend, pairmend.baselines, pairmend.pairwise)
    for name in module.__all__
    if hasattr(member := getattr(module, name), "predict")
}
ONE_DIMENSIONAL = ("CorrectedMulticlassClassifier", "RandomSubspaceNB")
"""Those that take no label indicators."""


def made(name, **params):
    """Make a classifier that is quick to fit and not random."""
    known = inspect.signature(CLASSIFIERS[name]).parameters
    seed = {"random_state": 0} if "random_state" in known else {}
    own = {key: clone(value, safe=False) for key, value in ARGUMENTS.get(name, {}).items()}
    return CLASSIFIERS[name](**{**seed, **own, **params})


@cache
def rows():
    """Return features between 0 and 1, and label indicators."""
    X, Y = make_multilabel_classification(60, n_features=5, n_classes=4, random_state=3)
    return X / X.max(axis=0), Y


def data_for(name):
    """Return features and a target that a classifier takes."""
    X, Y = rows()
    return X, X[:, :3].argmax(axis=1) if name in ONE_DIMENSIONAL else Y

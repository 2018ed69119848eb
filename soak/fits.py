"""Degenerate fits of all classifiers: an error with a message, or valid predictions."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pairmend import (
    CalibratedLabelRanking,
    CorrectedPairwiseClassifier,
    MendedClassifier,
    PairwiseClassifier,
    RandomSubspaceNB,
    ThresholdedClassifier,
)
from pairmend.baselines import BinaryRelevance, ClassifierChainEnsemble, LabelPowerset, MLkNN, RAkEL
from pairmend.pairwise import (
    BradleyTerryClassifier,
    CorrectedBinaryRelevance,
    FourClassPairsClassifier,
    PairwisePerceptrons,
    ParallelHyperplanesSVM,
    QWeightedVoting,
    SharedFirstClassifier,
    TwoStageVoting,
)
from soak.state import State
from soak.workers import run_seeds

NAME = "fits"
TARGET = 10_000

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "binary": lambda: BinaryRelevance(LogisticRegression()),
    "bradley-terry": lambda: BradleyTerryClassifier(),
    "ranking": lambda: CalibratedLabelRanking(),
    "ranking-logistic": lambda: CalibratedLabelRanking(LogisticRegression(), voting="votes"),
    "chains": lambda: ClassifierChainEnsemble(GaussianNB(), n_chains=2),
    "corrected": lambda: CorrectedPairwiseClassifier(),
    "corrected-folds": lambda: CorrectedPairwiseClassifier(GaussianNB(), validation=2, overlap=0.5),
    "corrected-virtual": lambda: CorrectedPairwiseClassifier(calibration_label=True),
    "corrected-binary": lambda: CorrectedBinaryRelevance(),
    "four-class": lambda: FourClassPairsClassifier(),
    "powerset": lambda: LabelPowerset(DecisionTreeClassifier()),
    "mended": lambda: MendedClassifier(cv=2),
    "mended-nb": lambda: MendedClassifier(
        RandomSubspaceNB(2), cv=2, beta=1.0, shrinkage=1.0, scaling="standard"
    ),
    "neighbours": lambda: MLkNN(3),
    "pairwise": lambda: PairwiseClassifier(),
    "perceptrons": lambda: PairwisePerceptrons(),
    "hyperplanes": lambda: ParallelHyperplanesSVM(),
    "qweighted": lambda: QWeightedVoting(),
    "rakel": lambda: RAkEL(GaussianNB()),
    "shared-first": lambda: SharedFirstClassifier(),
    "thresholded": lambda: ThresholdedClassifier(BinaryRelevance(GaussianNB()), cv=2),
    "two-stage": lambda: TwoStageVoting(),
}

EXTREMES = (0.0, 1.0, -1.0, 1e300, -1e300, 1.7e308, 1e-300, 5e-324, 1e16, np.inf, np.nan)


def run_slice(state: State, deadline: float) -> None:
    """Check the classifier with the fewest fits so far."""
    done = {kind: n for campaign, kind, n, *_ in state.rows() if campaign == NAME}
    kind = min(CLASSIFIERS, key=lambda name: done.get(name, 0))
    run_seeds(state, NAME, kind, 200, deadline, max_seconds=60)


def check(kind: str, seed: int) -> None:
    """Fit a classifier to degenerate data, and predict."""
    rng = np.random.RandomState(seed % 2**32)
    X, Y, weights, new = degenerate(rng)
    classifier = CLASSIFIERS[kind]()
    if "random_state" in classifier.get_params():
        classifier.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted = classifier.fit(X, Y) if weights is None else classifier.fit(X, Y, weights)
        except (ValueError, TypeError) as error:
            expect(len(str(error)) > 10, f"an error without message: {error!r}")
            return
        try:
            predicted = fitted.predict(new)
            found = {"predict": predicted}
            if hasattr(fitted, "predict_proba"):
                found["predict_proba"] = fitted.predict_proba(new)
        except ValueError as error:
            ordinary = _is_ordinary(new) and "base classifier" not in str(error)
            expect(not ordinary, f"ordinary rows are refused: {error}")
            return
    for method, values in found.items():
        values = np.asarray(values.toarray() if sparse.issparse(values) else values)
        expect(values.shape == (new.shape[0], Y.shape[1]), f"{method}: shape {values.shape}")
        expect(np.isfinite(values).all(), f"{method}: values that are not finite")
        expect(bool(((values >= 0) & (values <= 1)).all()), f"{method}: values outside [0, 1]")
    expect(bool(np.isin(predicted, (0, 1)).all()), "predict: values other than 0 and 1")


def expect(condition: bool, problem: str) -> None:
    """Raise an AssertionError unless a condition holds."""
    if not condition:
        raise AssertionError(problem)


def _is_ordinary(X: Any) -> bool:
    values = X.data if sparse.issparse(X) else X
    return bool(np.isfinite(values).all() and (np.abs(values) < 1e100).all())


def degenerate(rng: np.random.RandomState) -> tuple[Any, Any, Any, Any]:
    """Return rows, labels, weights or None, and rows to predict."""
    n_rows = int(rng.choice([1, 2, 3, 5, 12, 30]))
    n_features = int(rng.choice([1, 1, 2, 4, 7]))
    n_labels = int(rng.choice([1, 2, 3, 5]))
    X = rng.normal(size=(n_rows, n_features)) * rng.choice([1, 1, 1e-6, 1e6])
    match rng.randint(8):
        case 0:
            X[:] = rng.choice(EXTREMES)  # constant
        case 1:
            X[rng.rand(*X.shape) < 0.2] = rng.choice(EXTREMES)
        case 2:
            X[:, 0] = rng.choice(EXTREMES)
        case 3:
            X = np.round(X)  # many equal values
        case 4:
            X *= rng.choice([1e300, 1e150, 1e-150, 1e-300, 1e-310])
        case 5:
            X[:] = X[0]  # equal rows
    Y = (rng.rand(n_rows, n_labels) < rng.choice([0, 0.05, 0.5, 0.95, 1])).astype(int)
    match rng.randint(5):
        case 0:
            Y[:, 0] = 0
        case 1:
            Y[:, -1] = 1
        case 2:
            Y[:] = Y[:, :1]  # equal labels
    weights = None
    if rng.rand() < 0.3:
        weights = rng.choice([0, 1, 1e-300, 1e300, 0.5], size=n_rows).astype(float)
    new = X if rng.rand() < 0.5 else rng.normal(size=(3, n_features)) * rng.choice([1, 1e300, 0])
    if rng.rand() < 0.2:
        with np.errstate(all="ignore"):
            X, new = sparse.csr_array(X), sparse.csr_array(new)
    return X, Y, weights, new

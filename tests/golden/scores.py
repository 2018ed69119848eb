"""Scores of the classifiers on fixed rows, and the files that hold those of a known state.

    python tests/golden/scores.py                # renew all files
    python tests/golden/scores.py mended         # renew mended.npz only

A file is renewed only by a change that is meant to change scores, in a commit that says why.
"""

import platform
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
import sklearn
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info

import pairmend
from pairmend.datasets import load, one_hot

FOLDER = Path(__file__).parent
DATA = Path(__file__).parents[3] / "shared" / "data"

N_TRAIN, N_TEST = 150, 50
N_STORED = 4
"""Test rows whose probabilities are stored. Of the others, the sums of each label are."""
REAL = ("emotions", "yeast", "medical", "birds", "corel5k")

FCM = {"FCM": {}, "FCM-W": {"balance": "labels"}, "FCM-O": {"overlap": 0.5}}
RANKING = ("CalibratedLabelRanking", "QWeightedVoting", "TwoStageVoting")
ONE_TARGET = ("RandomSubspaceNB", "CorrectedMulticlassClassifier")
ALL = (
    *RANKING, *ONE_TARGET, "BradleyTerryClassifier", "CorrectedBinaryRelevance",
    "FourClassPairsClassifier", "PairwisePerceptrons", "ParallelHyperplanesSVM",
    "SharedFirstClassifier", "BinaryRelevance", "LabelPowerset", "ClassifierChainEnsemble",
    "RAkEL", "MLkNN", "ThresholdedClassifier",
)  # fmt: skip
PARAMS: dict[str, dict[str, Any]] = {
    "ParallelHyperplanesSVM": {"tol": 0.01},
    "ClassifierChainEnsemble": {"n_chains": 2},
    "RAkEL": {"n_models": 4},
    "ThresholdedClassifier": {
        "estimator": pairmend.baselines.BinaryRelevance(LogisticRegression()),
        "cv": 2,
    },
}


class Case(NamedTuple):
    """A classifier on a set; labels beyond the most frequent `n_labels` are left out."""

    data: str
    name: str
    classifier: Any
    n_labels: int | None = None
    weighted: bool = False

    @property
    def key(self) -> str:
        return "/".join([self.data, self.name, *["weighted"] * self.weighted])


def logistic() -> LogisticRegression:
    """Return a logistic regression fitted to a tolerance that leaves no room for rounding."""
    return LogisticRegression(tol=1e-10, max_iter=1000)


def made(name: str, **params: Any) -> Any:
    """Return a classifier of pairmend with a fixed seed, if it has one."""
    modules = (pairmend, pairmend.pairwise, pairmend.baselines)
    make = next(getattr(module, name) for module in modules if name in module.__all__)
    seed = {"random_state": 0} if "random_state" in signature(make).parameters else {}
    return make(**seed, **PARAMS.get(name, {}), **params)


def pairwise_cases() -> Iterator[Case]:
    """Yield all classifiers other than MendedClassifier."""

    def voting(data: str, base: str, n_labels: int | None = None, weighted: bool = False) -> Any:
        params = {"estimator": logistic()} if base == "logistic" else {}
        lpw = made("PairwiseClassifier", **params)
        yield Case(data, f"LPW-{base}", lpw, n_labels, weighted)
        for name, variant in FCM.items():
            fcm = made("CorrectedPairwiseClassifier", **variant, **params)
            yield Case(data, f"{name}-{base}", fcm, n_labels, weighted)

    def named(data: str, names: Iterable[str], weighted: bool = False) -> Any:
        for name in names:
            yield Case(data, name, made(name), None, weighted)

    for data in ("emotions", "yeast", "medical", "birds", "dense", "csr", "frame"):
        yield from voting(data, "nb")
    for case in voting("corel5k", "nb"):  # two cases with 69,751 pairs, as these take seconds
        full = case.name in ("LPW-nb", "FCM-O-nb")
        yield case if full else case._replace(n_labels=50)
    for data in ("emotions", "medical", "dense", "csr"):
        yield from voting(data, "logistic", 5)
    for base in ("nb", "logistic"):
        yield from voting("dense", base, None, weighted=True)
    yield from voting("csr", "nb", None, weighted=True)
    for data in ("emotions", "csr"):
        yield from named(data, ALL)
    for data in ("yeast", "medical", "birds", "frame"):
        yield from named(data, RANKING + ONE_TARGET)
    yield from named("dense", (name for name in ALL if name != "MLkNN"), weighted=True)
    votes = made("CalibratedLabelRanking", voting="votes", estimator=logistic())
    yield Case("emotions", "CalibratedLabelRanking-votes-logistic", votes)
    virtual = {"calibration_label": True, "validation": 3, "weighting": "information"}
    yield Case("yeast", "FCM-virtual", made("CorrectedPairwiseClassifier", **virtual))


def mended_cases() -> Iterator[Case]:
    """Yield MendedClassifier with its base classifiers."""
    forest = RandomForestClassifier(10, max_depth=5, random_state=0)
    bases = {
        "default": {},
        "logistic": {"estimator": logistic(), "criterion": "macro_f1"},
        "forest": {"estimator": forest, "criterion": "zero_one"},
    }

    def mended(data: str, *names: str, **settings: Any) -> Iterator[Case]:
        for name in names:
            classifier = pairmend.MendedClassifier(**bases[name], cv=3, random_state=0)
            yield Case(data, f"Mended-{name}", classifier, **settings)

    for data in ("emotions", "dense"):
        yield from mended(data, *bases)
        yield from mended(data, *bases, weighted=True)
    yield from mended("yeast", "default", "logistic")
    yield from mended("medical", "default", "logistic", n_labels=12)
    yield from mended("birds", "default")
    yield from mended("corel5k", "default", n_labels=20)
    yield from mended("frame", "default")
    yield from mended("texts", "default")
    yield from mended("csr", "default", "logistic")


FILES = {"pairwise": pairwise_cases, "mended": mended_cases}


@cache
def rows(name: str) -> tuple[Any, np.ndarray]:
    """Return features and labels of N_TRAIN + N_TEST rows."""
    n_rows = N_TRAIN + N_TEST
    if name in REAL:
        data = one_hot(load(name, data_dir=DATA, download=False))
        order = np.random.RandomState(0).permutation(len(data.Y))[:n_rows]
        X = data.X[order]
        if name in ("medical", "corel5k"):
            return sparse.csr_matrix(X), np.asarray(data.Y)[order].astype(int)
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        return X / np.maximum(np.abs(X).max(axis=0), 1e-9), np.asarray(data.Y)[order].astype(int)
    random = np.random.RandomState(1)
    X = random.normal(size=(n_rows, 12))
    scores = X @ random.normal(size=(12, 5)) + 2 * np.sin(3 * X[:, :5]) + random.normal(size=5)
    Y = (scores + random.normal(size=scores.shape) > 0.5).astype(int)
    if name == "csr":
        return sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0)), Y
    if name == "dense":
        return X, Y
    frame = _frame(X, random)
    if name == "texts":
        words = np.array([f"{letter}{vowel}ro" for letter in "bdfgklmnpst" for vowel in "aeiou"])
        chances = np.exp(3 * X[:, :1] * np.sin(np.arange(len(words))))
        drawn = (words[random.choice(len(words), 6, p=row / row.sum())] for row in chances)
        frame["note"] = [" ".join(note) for note in drawn]
    return frame, Y


def _frame(X: np.ndarray, random: np.random.RandomState) -> pd.DataFrame:
    """Return a frame with numbers, missing numbers, categories, booleans and dates."""
    frame = pd.DataFrame(X[:, :6], columns=list("abcdef"))
    frame.loc[random.uniform(size=len(X)) < 0.2, "b"] = np.nan
    place = np.array(["coast", "town", "forest", "hill"])[np.digitize(X[:, 6], [-1, 0, 1])]
    frame["place"] = pd.Series(place).mask(random.uniform(size=len(X)) < 0.1)
    frame["kind"] = pd.Categorical(np.where(X[:, 7] > 0, "x", "y"))
    frame["open"] = X[:, 8] > 0
    days = np.round(X[:, 9] * 100).astype(int)
    frame["day"] = np.datetime64("2024-06-01") + days.astype("timedelta64[D]")
    return frame


def scores(case: Case) -> dict[str, np.ndarray]:
    """Return probabilities of the first test rows, and sums over all test rows."""
    X, Y = rows(case.data)
    if case.n_labels is not None:
        Y = Y[:, np.sort(np.argsort(-Y.sum(axis=0), kind="stable")[: case.n_labels])]
    y = Y[:, :3].argmax(axis=1) if case.name in ONE_TARGET else Y
    train, test = slice(None, N_TRAIN), slice(N_TRAIN, None)
    weights = {}
    if case.weighted:
        weights["sample_weight"] = np.random.RandomState(2).uniform(0.2, 2, N_TRAIN)
    classifier = case.classifier.fit(X[train], y[train], **weights)
    proba = classifier.predict_proba(X[test])
    labels = classifier.predict(X[test])
    return {
        "proba": proba[:N_STORED],
        "sums": proba.sum(axis=0),
        "labels": labels.sum(axis=0, keepdims=labels.ndim == 1),
    }


def environment() -> list[str]:
    """Return what the last digits of the scores depend on."""
    blas = sorted(
        f"{pool['internal_api']} {pool.get('version')} {pool.get('architecture')}"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    )
    packages = [f"{package.__name__} {package.__version__}" for package in (np, scipy, sklearn)]
    return [*packages, platform.machine(), *sorted(set(blas))]


def main() -> None:
    for file in sys.argv[1:] or FILES:
        values = {
            f"{case.key}/{part}": array
            for case in FILES[file]()
            for part, array in scores(case).items()
        }
        path = FOLDER / f"{file}.npz"
        np.savez_compressed(path, environment=environment(), **values)
        print(f"{path}: {len(values) // 3} classifiers, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

"""From mended probabilities to labels: which way, and above what."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from pairmend._utils.fit_params import fit_with_weights
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.mended.label_sets import LabelSets, Own
from pairmend.mended.losses import Judge
from pairmend.thresholds.strategies import F1Thresholds, FixedThreshold

FEW = 10.0
"""Rows of a label, or their weight in units, with which its own threshold and the common one count
alike."""


def thresholds_for(criterion: Any) -> list[Any]:
    """List the thresholds that compete under a criterion, the simplest first.

    Probabilities above 1/2 are best for the Hamming and the zero-one loss; F1 needs lower ones.
    """
    half = FixedThreshold(0.5)
    common = [F1Thresholds("micro", expected=expected) for expected in (True, False)]
    own = [
        F1Thresholds("macro", expected=expected, shrinkage=shrinkage)
        for expected, shrinkage in product((True, False), (FEW, 0.0))
    ]
    if criterion in ("hamming", "zero_one"):
        return [half]
    return [half, *common] if criterion == "micro_f1" else [half, *common, *own]


@dataclass(frozen=True)
class Decision:
    """A way to decide on labels.

    Attributes
    ----------
    kind : {"labels", "sets"}
        Label by label, or on whole label sets.
    threshold : threshold or None
        What probabilities of labels must exceed, if decided label by label.
    loss : float
        Its cross-validated loss.
    """

    kind: str
    threshold: Any
    loss: float


@dataclass(frozen=True)
class Chances:
    """Probabilities that decisions are made of.

    Attributes
    ----------
    labels : ndarray of shape (n, L)
        Mended probabilities, for decisions label by label.
    alone : ndarray of shape (n, L)
        Those of each label taken alone, for decisions on sets.
    own : Own or None
        The set each row is known to carry, if it is a training row.
    """

    labels: FloatArray
    alone: FloatArray
    own: Own | None = None

    def without_sets(self) -> "Chances":
        """Return the same without the influence of label sets on the probabilities of labels."""
        return Chances(self.alone, self.alone, self.own)


@dataclass(frozen=True)
class LeftOut:
    """What is said of validation rows, each left out: decisions are chosen on them.

    Attributes
    ----------
    Y : ndarray of bool, shape (n, L)
        Truth.
    weights : ndarray of shape (n,)
        Weights of the rows.
    folds : sequence of ndarray of int
        Rows that are judged together.
    chances : Chances
        What is said.
    """

    Y: BoolArray
    weights: FloatArray
    folds: Sequence[IntArray]
    chances: Chances


def choose_decision(
    kinds: Iterable[str], thresholds: Iterable[Any], judge: Judge, chances: Chances, sets: LabelSets
) -> tuple[Decision, list[Decision]]:
    """Choose the decision of the least loss.

    Thresholds are fitted on all folds but one and judged on that one.

    Parameters
    ----------
    kinds : iterable of {"labels", "sets"}
        Ways that compete.
    thresholds : iterable of threshold
        Unfitted thresholds that compete label by label.
    judge : Judge
        Has the labels, the weights and the folds of rows, and the criterion.
    chances : Chances
        What is said of the judge's rows.
    sets : LabelSets
        Sets to decide on.

    Returns
    -------
    decision : Decision
        The best; of equals, the first. Its threshold is fitted on all rows.
    candidates : list of Decision
        All that competed.
    """
    candidates = []
    for kind in kinds:
        if kind == "sets":
            said = sets.most_likely(chances.alone, chances.own)
            candidates.append(Decision(kind, None, judge.loss(said, chances.labels)))
            continue
        for threshold in thresholds:
            said = _decide_left_out(threshold, chances.labels, judge)
            candidates.append(Decision(kind, threshold, judge.loss(said, chances.labels)))
    best = min(candidates, key=lambda candidate: candidate.loss)
    if best.threshold is not None:
        given = chances.labels, judge.Y
        fitted = fit_with_weights(clone(best.threshold), given, judge.weights)
        best = replace(best, threshold=fitted)
    return best, candidates


def _decide_left_out(threshold: Any, scores: FloatArray, judge: Judge) -> IntArray:
    """Decide on each fold by a threshold fitted on the others."""
    said = np.empty(scores.shape, dtype=np.int64)
    rest = np.ones(len(scores), dtype=bool)
    for fold in judge.folds:
        rest[fold] = False
        weights = None if judge.weights is None else judge.weights[rest]
        fitted = fit_with_weights(clone(threshold), (scores[rest], judge.Y[rest]), weights)
        said[fold] = fitted.decide(scores[fold])
        rest[fold] = True
    return said

"""How a mended classifier came to its labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairmend._utils.chunking import row_chunks
from pairmend._utils.typing import BoolArray, FloatArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.explanation import (
    Explanation,
    LabelExplanation,
    ProblemExplanation,
    SetExplanation,
    explain_problem,
)
from pairmend.kernels.leave_one_out import shrink
from pairmend.kernels.ranking import sum_to_one, vote
from pairmend.mended.corrector import Mender
from pairmend.mended.decisions import Chances
from pairmend.mended.stacking import blended
from pairmend.thresholds.strategies import CardinalityThreshold, F1Thresholds, FixedThreshold

BELOW_ALL = float(np.nextafter(0, -1))
"""A threshold that all probabilities exceed, 0 among them."""
UNCORRECTED, EVERYWHERE = "uncorrected", "errors everywhere"
RARE_LABELS, LABEL_SETS, SCALED, ONE_CLASS = (
    "back towards uncorrected", "label sets seen", "scaled", "classes sum to 1",
)  # fmt: skip


def name_of(opinion: str) -> str:
    """Name the step of an opinion."""
    return {"uncorrected": UNCORRECTED, "global": EVERYWHERE}.get(
        opinion, f"neighbours ({opinion})"
    )


def explain_rows(
    classifier: Any,
    X: MatrixLike,
    supports: FloatArray,
    *,
    n_neighbors: int,
    n_problems: int | None,
) -> list[Explanation]:
    """Explain the predictions of a fitted mended classifier.

    Parameters
    ----------
    classifier : MendedClassifier
        Fitted.
    X : array-like
        Rows.
    supports : ndarray of shape (n, L)
        What the base classifier says of them.
    n_neighbors : int
        How many neighbours to list.
    n_problems : int or None
        How many problems to explain; None means all.

    Returns
    -------
    list of Explanation
    """
    for name, value in (("n_neighbors", n_neighbors), ("n_problems", n_problems or 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}.")
    mender: Mender = classifier._current_mender()
    n_validation, n_labels = mender.evidence.Y.shape
    decision = _Decision(classifier.decision_, classifier.threshold_, mender)
    names = [str(name) for name in classifier.classes_.tolist()]
    problems = _ProblemExplainer(
        mender, names, classifier.validation_indices_, n_neighbors, n_problems
    )
    chances = mender.chances(X, supports)
    explained: list[Explanation] = []
    for rows in row_chunks(len(supports), 4 * n_validation + 12 * n_labels):
        said = mender.opinions(take_rows(X, rows), supports[rows])
        part = Chances(chances.labels[rows], chances.alone[rows])
        labels = _explain_labels(mender, names, said, part, decision)
        sets = _explain_sets(mender, names, said["uncorrected"], part, decision)
        for k, found in enumerate(problems.explain(take_rows(X, rows), said)):
            explained.append(Explanation(rows.start + k, labels[k], *found, sets[k]))
    return explained


@dataclass(frozen=True)
class _Decision:
    """How labels are decided on."""

    kind: str
    threshold: Any
    mender: Mender

    def accepted(self, labels: FloatArray, alone: FloatArray) -> BoolArray:
        if self.kind == "classes":
            return np.asarray(
                np.argmax(labels, axis=1)[:, np.newaxis] == np.arange(labels.shape[1])
            )
        if self.kind == "sets":
            return self.mender.sets.most_likely(alone) == 1
        return np.asarray(self.threshold.decide(labels)) == 1

    def cuts(self, n_labels: int) -> list[float | None]:
        """Return what the probability of each label must exceed, where that is a number."""
        match self.threshold:
            case FixedThreshold(value=cut) | CardinalityThreshold(threshold_=cut):
                found = np.full(n_labels, cut, dtype=np.float64)
            case F1Thresholds(thresholds_=cuts):
                found = np.asarray(cuts, dtype=np.float64)
            case _:
                return [None] * n_labels
        # Probabilities lie in [0, 1]: a threshold of 1 accepts none, as infinity does. One below 0
        # accepts all, as minus infinity does. JSON has no infinities.
        return np.clip(found, BELOW_ALL, 1.0).tolist()


def _explain_labels(
    mender: Mender,
    names: list[str],
    said: dict[str, FloatArray],
    chances: Chances,
    decision: _Decision,
) -> list[tuple[LabelExplanation, ...]]:
    """Add up what opinions say of all labels of rows."""
    base = said["uncorrected"]
    before, after = base, chances.labels
    nothing = np.zeros_like(base)
    # Name, kind and weight of each step, and what it adds before and after.
    steps: list[tuple[str, str, float | None, FloatArray, FloatArray]] = []
    for opinion in ("uncorrected", *(name for name in said if name != "uncorrected")):
        weight = mender.blend.get(opinion, 0.0)
        first = base if opinion == "uncorrected" else nothing
        steps.append((name_of(opinion), "opinion", weight, first, weight * said[opinion]))
    if mender.guard:
        back = chances.alone - blended(said, mender.blend)
        steps.append((RARE_LABELS, "change", None, nothing, back))
    if mender.sets_blend != {"alone": 1.0}:
        name = LABEL_SETS if mender.sets_blend.get("sets", 0.0) > 0 else SCALED
        steps.append((name, "change", None, nothing, chances.labels - chances.alone))
    if decision.kind == "classes":
        before, after = sum_to_one(base), sum_to_one(chances.labels)
        steps.append((ONE_CLASS, "change", None, before - base, after - chances.labels))
    accepted_before = decision.accepted(base, base)
    accepted = decision.accepted(chances.labels, chances.alone)
    called, kinds, weights, *_ = zip(*steps, strict=True)
    against: list[tuple[int | None, str]] = [(None, name) for name in called]
    cuts = decision.cuts(len(names))
    return [
        tuple(
            LabelExplanation.of(
                label,
                name,
                against,
                [float(step[3][row, label]) for step in steps],
                [float(step[4][row, label]) for step in steps],
                scores=(float(before[row, label]), float(after[row, label])),
                accepted=(bool(accepted_before[row, label]), bool(accepted[row, label])),
                threshold=cuts[label],
                kinds=kinds,
                weights=weights,
            )
            for label, name in enumerate(names)
        )
        for row in range(len(base))
    ]


def _explain_sets(
    mender: Mender, names: list[str], base: FloatArray, chances: Chances, decision: _Decision
) -> list[tuple[SetExplanation, ...]]:
    """Tell which label set won, which came next, and which would have won before."""
    if decision.kind != "sets":
        return [()] * len(base)
    sets = mender.sets
    won_before = sets.ranked(base, 1)
    leading = np.hstack([sets.ranked(chances.alone, 2), won_before])
    before = sets.probabilities_of(leading, base)
    after = sets.probabilities_of(leading, chances.alone)
    explained = []
    for row, numbers in enumerate(leading.tolist()):
        found: dict[int, SetExplanation] = {}
        for place, number in enumerate(numbers):
            labels = tuple(np.flatnonzero(sets.members[[number]].toarray()[0]).tolist())
            found.setdefault(
                number,
                SetExplanation(
                    labels,
                    tuple(names[label] for label in labels),
                    float(before[row, place]),
                    float(after[row, place]),
                    number == numbers[-1],
                    place == 0,
                ),
            )
        explained.append(tuple(found.values()))
    return explained


class _ProblemExplainer:
    """Explains local corrections, with what does not depend on the row worked out once."""

    def __init__(
        self, mender: Mender, names: list[str], rows: Any, n_neighbors: int, n_problems: int | None
    ):
        self.mender, self.names, self.rows = mender, names, rows
        self.n_neighbors, self.n_problems = n_neighbors, n_problems
        self.p_decide: dict[str, FloatArray] = {}
        self.extra: dict[str, FloatArray] = {}
        for name in mender.scalings:
            correction = mender.corrections[name]
            witness = mender.evidence.witnesses[correction.reference]
            self.p_decide[name] = witness.decide(mender.evidence.supports)
            nothing = np.zeros_like(witness.everywhere)
            self.extra[name] = shrink(nothing, witness.everywhere, correction.shrinkage)[0]

    def explain(
        self, X: MatrixLike, said: dict[str, FloatArray]
    ) -> Iterator[tuple[tuple[ProblemExplanation, ...], int, int]]:
        """Yield for each row its problems, how many there are, and how many changed their vote."""
        mender, base = self.mender, said["uncorrected"]
        scalings = list(mender.scalings)
        n_labels = len(self.names)
        weights = {
            name: mender.nearness(name, X, base) * mender.evidence.weights for name in scalings
        }
        p_decide = {
            name: mender.evidence.witnesses[mender.corrections[name].reference].decide(base)
            for name in scalings
        }
        # Problems of a label one after another: label by label, scaling by scaling.
        every = [(label, name) for label in range(n_labels) for name in scalings]
        for row in range(len(base)):
            before = np.array([base[row, label] for label, _ in every])
            after = np.array([said[name][row, label] for label, name in every])
            turned = vote(before) != vote(after)
            chosen = np.arange(len(every))
            if self.n_problems is not None:
                moved = np.abs(after - before)
                chosen = np.sort(np.lexsort((-moved, ~turned))[: self.n_problems])
            problems = tuple(
                self._problem(
                    *every[k],
                    before=float(before[k]),
                    after=float(after[k]),
                    p_decide=float(p_decide[every[k][1]][row, every[k][0]]),
                    weights=weights[every[k][1]][row],
                )
                for k in chosen.tolist()
            )
            yield problems, len(every), int(np.count_nonzero(turned))

    def _problem(
        self, label: int, name: str, *, before: float, after: float, p_decide: float,
        weights: FloatArray,
    ) -> ProblemExplanation:  # fmt: skip
        carried = self.mender.evidence.Y[:, label]
        return explain_problem(
            (label, None),
            (self.names[label], f"not {self.names[label]}"),
            before=before,
            p_decide=p_decide,
            weights=weights,
            truth=np.column_stack([carried, ~carried]),
            decisions=self.p_decide[name][:, label],
            rows=self.rows,
            shrinkage=self.extra[name][label],
            after=after,
            n_neighbors=self.n_neighbors,
            opinion=name_of(name),
            reference=self.mender.corrections[name].reference,
        )

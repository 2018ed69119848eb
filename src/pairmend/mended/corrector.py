"""What mends supports: several opinions, each a correction, and how much each counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pairmend._utils.chunking import row_chunks
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend._utils.weights import draw_rows
from pairmend.kernels.correction import correct, p_true_given_decision
from pairmend.kernels.leave_one_out import corrected_by, nearness_scale
from pairmend.mended.decisions import Chances
from pairmend.mended.distances import Scaling
from pairmend.mended.label_sets import LabelSets, Own
from pairmend.mended.search import (
    Correction,
    best_of,
    betas_around,
    said_globally,
    said_locally,
    search_global,
    search_scaling,
)
from pairmend.mended.stacking import blend_weights, blended, lean_on
from pairmend.mended.validation_set import Evidence

TRIED = 1000
"""Rows on which corrections are tried; beyond, more would change no choice. Where rows have
weights, heavier ones are more likely to be among them."""
BLENDED = 2500
"""Rows on which opinions are blended and decisions chosen."""
PAIRS = 2_500_000
"""Pairs of a row tried and its neighbour from which on fewer rows are tried, down to half."""
RARE = 10.0
"""Examples of a label, or their weight in units, with which its corrected and its uncorrected
probability count alike."""

DEPENDENCES = (0.0, 0.25, 0.5, 1.0)
"""How much it counts that label sets were seen more often than by chance: those that are tried."""


@dataclass(frozen=True)
class Choices:
    """What is fixed, and what is searched for.

    Attributes
    ----------
    beta : float or None
        How fast weights fall; None means to search.
    shrinkages : sequence of float
        Those that compete.
    guard : bool
        Whether no correction and a global one compete, and all are blended; else the best local
        one is taken alone.
    with_sets : bool
        Whether seen label sets have a say in the probabilities of labels.
    """

    beta: float | None
    shrinkages: Sequence[float]
    guard: bool
    with_sets: bool


@dataclass(frozen=True)
class Mender:
    """Mends supports.

    Attributes
    ----------
    evidence : Evidence
        Validation rows.
    scalings : mapping of Scaling
        By name, those that local corrections use.
    corrections : mapping of Correction
        By name of the scaling, the best of each; "global" is that over all rows.
    blend : mapping of float
        Weight of each opinion: "uncorrected", "global" and the scalings.
    sets : LabelSets
        Label sets seen.
    sets_blend : mapping of float
        Weights of labels taken "alone" and of label "sets".
    """

    evidence: Evidence
    scalings: Mapping[str, Scaling]
    corrections: Mapping[str, Correction]
    blend: Mapping[str, float]
    guard: bool
    sets: LabelSets
    sets_blend: Mapping[str, float]

    def without_sets(self) -> "Mender":
        """Return the same without the influence of label sets on the probabilities of labels."""
        return replace(self, sets=replace(self.sets, dependence=0.0), sets_blend={"alone": 1.0})

    def chances(self, X: MatrixLike, supports: FloatArray) -> Chances:
        """Mend the supports of rows.

        Parameters
        ----------
        X : array-like
            Rows.
        supports : ndarray of shape (n, L)
            What the classifier says of them.

        Returns
        -------
        Chances
        """
        n_validation, n_labels = self.evidence.Y.shape
        alone = np.empty(supports.shape)
        for rows in row_chunks(len(supports), 4 * n_validation + 12 * n_labels):
            opinions = self.opinions(take_rows(X, rows), supports[rows])
            alone[rows] = self._mended(opinions)
        return self._with_sets(alone, None)

    def opinions(self, X: MatrixLike, supports: FloatArray) -> dict[str, FloatArray]:
        """Return what each opinion that counts says of rows."""
        said = {"uncorrected": supports}
        for name, weight in self.blend.items():
            if weight == 0 or name == "uncorrected":
                continue
            correction = self.corrections[name]
            witness = self.evidence.witnesses[correction.reference]
            p_decide = witness.decide(supports)
            if name == "global":
                said[name] = correct(p_decide, witness.everywhere)
                continue
            sums = self.nearness(name, X, supports) @ witness.table
            everywhere = p_true_given_decision(witness.everywhere)
            said[name] = corrected_by(p_decide, sums, everywhere, correction.shrinkage)
        return said

    def nearness(self, name: str, X: MatrixLike, supports: FloatArray) -> FloatArray:
        """Return the weights of validation rows around rows in a scaling, (n, M)."""
        weights = self.scalings[name].weights(X, supports)
        scale = nearness_scale(weights, self.evidence.weights, axis=1)
        return weights if scale is None else weights * scale[:, np.newaxis]

    def _mended(self, opinions: Mapping[str, FloatArray]) -> FloatArray:
        mended = blended(opinions, self.blend)
        if not self.guard:
            return mended
        return lean_on(opinions["uncorrected"], mended, self.evidence.n_examples, RARE)

    def _with_sets(self, alone: FloatArray, own: Own | None) -> Chances:
        if self.sets_blend.get("sets", 0.0) == 0:
            return Chances(blended({"alone": alone}, self.sets_blend), alone, own)
        said = {"alone": alone, "sets": self.sets.marginals(alone, own)}
        return Chances(blended(said, self.sets_blend), alone, own)


def learn_to_mend(
    evidence: Evidence, scalings: Sequence[Scaling], choices: Choices, rng: np.random.RandomState
) -> tuple[Mender, list[Correction], IntArray, FloatArray, Chances]:
    """Search for the best corrections, and blend them.

    Parameters
    ----------
    evidence : Evidence
        Validation rows.
    scalings : sequence of Scaling
        Where they lie.
    choices : Choices
        What to search for.
    rng : RandomState
        Draws the rows to try on, if there are many.

    Returns
    -------
    mender : Mender
    search : list of Correction
        All that was tried.
    rows : ndarray of int
        Validation rows to choose a decision on.
    weights : ndarray
        Their weights.
    chances : Chances
        What the mender says of them, each left out.
    """
    order = rng.permutation(len(evidence.Y))
    # All rows are neighbours of each: where they are many, fewer are looked at.
    n_tried = min(TRIED, max(TRIED // 2, PAIRS // len(order)))
    rows, weights = draw_rows(order, evidence.weights, BLENDED * n_tried // TRIED, rng)
    few, tried_weights = draw_rows(np.arange(len(rows)), weights[rows], n_tried, rng)
    # Ascending, and where those tried are among them.
    ascending = np.argsort(rows)
    few = np.sort(np.argsort(ascending)[few])
    rows, tried_weights = rows[ascending], tried_weights[ascending][few]
    weights, tried = weights[rows], rows[few]
    search = search_global(evidence, tried, tried_weights) if choices.guard else []
    known = {scaling.name: scaling for scaling in scalings}
    for scaling in scalings:
        typical = scaling.typical(rng, evidence.weights)
        # Where no rows differ, nothing is local.
        betas = betas_around(typical or 1.0) if choices.beta is None else [choices.beta]
        search += search_scaling(evidence, scaling, tried, tried_weights, betas, choices.shrinkages)
    best = {correction.scaling: correction for correction in best_of(search)}

    opinions = {"uncorrected": evidence.supports[rows]}
    if not choices.guard:
        only = min(best.values(), key=lambda correction: correction.loss)
        best = {only.scaling: only}
    for name, correction in best.items():
        if name == "global":
            opinions[name] = said_globally(evidence, correction.reference, rows)
            continue
        known[name].neighbourhood.set_params(beta=correction.beta)
        opinions[name] = said_locally(evidence, known[name], correction, rows)
    blend = (
        blend_weights(opinions, evidence.Y[rows], weights)
        if choices.guard
        else dict.fromkeys(best, 1.0)
    )
    sets, number = LabelSets.seen_in(evidence.Y, evidence.weights)
    used = {name: known[name] for name in best if blend[name] > 0 and name in known}
    mender = Mender(evidence, used, best, blend, choices.guard, sets, {"alone": 1.0})
    alone, own = mender._mended(opinions), Own(number[rows], evidence.weights[rows])
    if not choices.with_sets:
        return mender, search, rows, weights, mender._with_sets(alone, own)

    def loss(dependence: float) -> float:
        dependent = replace(sets, dependence=dependence)
        said = {"alone": alone[few], "sets": dependent.marginals(alone[few], own.at(few))}
        both = blend_weights(said, evidence.Y[tried], tried_weights)
        return evidence.loss(blended(said, both), tried, tried_weights)

    dependent = replace(sets, dependence=min(DEPENDENCES, key=loss))
    said = {"alone": alone, "sets": dependent.marginals(alone, own)}
    both = blend_weights(said, evidence.Y[rows], weights)
    mender = replace(mender, sets=dependent, sets_blend=both)
    return mender, search, rows, weights, Chances(blended(said, both), alone, own)

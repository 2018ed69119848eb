"""What an explanation holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import numpy as np

from pairmend.explanation.frames import frame_of
from pairmend.explanation.text import tell
from pairmend.kernels.correction import p_true_given_decision

Cells = tuple[tuple[float, float], tuple[float, float]]
"""A confusion matrix, [truth][decision], index 0 standing for the first label."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A validation row that a problem's confusion matrix was made of.

    Attributes
    ----------
    row : int
        Its position among the rows given to fit.
    weight : float
        How much it counts around the row in question, next to other rows.
    share : float
        How much of the mass of the problem's confusion matrix it brings, in [0, 1].
    truth : tuple of two bools
        Whether it belongs to the first label, and to the second.
    p_decide : float
        Probability with which the classifier, asked about it, decided for the first label.
    """

    row: int
    weight: float
    share: float
    truth: tuple[bool, bool]
    p_decide: float


@dataclass(frozen=True, slots=True)
class ProblemExplanation:
    """One binary problem at one row: what was said, how it errs nearby, what came out.

    Attributes
    ----------
    labels : tuple of int and (int or None)
        The two labels of a pair; None means that the first stands against all else.
    names : tuple of two str
        What the two sides are called.
    before : float
        Support of the base classifier for the first label.
    p_decide : float
        Probability of deciding for the first label that was made of it.
    after : float
        Corrected support for the first label.
    votes : tuple of two floats
        Vote for the first label before and after: 1, 0, or 1/2 for a tie.
    masses : 2 x 2 floats
        Local fuzzy confusion matrix, [truth][decision].
    shrinkage : float
        How much of its mass does not come from neighbours.
    n_effective : float
        How many neighbours of equal weight would be as much evidence.
    neighbours : tuple of Neighbour
        The neighbours that weigh most, the heaviest first.
    opinion : str
        Where a label has several problems, which differ in what counts as near: the name of the
        step that this one makes. Else empty.
    reference : str
        How the support became a decision; empty if that is not told.
    """

    labels: tuple[int, int | None]
    names: tuple[str, str]
    before: float
    p_decide: float
    after: float
    votes: tuple[float, float]
    masses: Cells
    shrinkage: float
    n_effective: float
    neighbours: tuple[Neighbour, ...]
    opinion: str = ""
    reference: str = ""

    @property
    def changed(self) -> bool:
        """Whether the vote went to another side than before."""
        return self.votes[0] != self.votes[1]

    @property
    def mass(self) -> float:
        """Mass of the whole confusion matrix; 0 where nothing is known."""
        return sum(map(sum, self.masses))

    @property
    def shares(self) -> Cells:
        """Confusion matrix as shares of its mass, which sum to 1, or are 0."""
        return _cells(np.array(self.masses) / (self.mass or 1.0))

    @property
    def given_truth(self) -> Cells:
        """How often, of rows that truly belong to a side, each side was decided for."""
        sums = np.sum(self.masses, axis=1, keepdims=True)
        return _cells(np.array(self.masses) / np.where(sums > 0, sums, 1))

    @property
    def p_true_given_decision(self) -> tuple[float, float]:
        """How often the first label is true, where it was decided for and where it was not.

        A decision that no neighbour speaks of is taken at its word: 1 and 0.
        """
        first, second = p_true_given_decision(np.array(self.masses))
        return float(first), float(second)


@dataclass(frozen=True, slots=True)
class Step:
    """What one problem, or one of several opinions, adds to a label's score.

    Attributes
    ----------
    against : int or None
        The label on the other side; None if that is all else, or if there is no other side. The
        number of labels stands for the virtual label: what all labels together say against it,
        part of every score.
    name : str
        What the other side is called; the name of an opinion or of a change.
    before, after : float
        What is added, uncorrected and corrected.
    total_before, total_after : float
        The score up to here.
    kind : {"pair", "opinion", "change"}
        Whether it is a problem with another side, an opinion on the label, or something that
        changes what they add up to.
    weight : float or None
        How much the opinion counts; None if the step is none.
    """

    against: int | None
    name: str
    before: float
    after: float
    total_before: float
    total_after: float
    kind: str = "pair"
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class LabelExplanation:
    """The score of one label at one row, step by step.

    Attributes
    ----------
    label : int
        Number of the label.
    name : str
        What it is called.
    before, after : float
        Its score, uncorrected and corrected.
    accepted_before, accepted : bool
        Whether it is predicted for the row, by the uncorrected and by the corrected scores.
    threshold : float or None
        What the score must exceed; None if labels are not decided on one by one.
    steps : tuple of Step
        What its problems add, in the order in which they add up.
    """

    label: int
    name: str
    before: float
    after: float
    accepted_before: bool
    accepted: bool
    threshold: float | None
    steps: tuple[Step, ...]

    @classmethod
    def of(
        cls,
        label: int,
        name: str,
        against: Sequence[tuple[int | None, str]],
        before: Sequence[float],
        after: Sequence[float],
        *,
        scores: tuple[float, float],
        accepted: tuple[bool, bool],
        threshold: float | None,
        kinds: Sequence[str] | None = None,
        weights: Sequence[float | None] | None = None,
    ) -> Self:
        """Add up what the problems of a label, or opinions on it, say.

        Parameters
        ----------
        label : int
            Number of the label.
        name : str
            What it is called.
        against : sequence of (int or None, str)
            The other side of each problem: its number, None for all else, and its name. Of an
            opinion or a change None and its name.
        before, after : sequence of float
            What each adds to the score, uncorrected and corrected.
        scores : tuple of two floats
            The score as the classifier gives it, uncorrected and corrected.
        accepted : tuple of two bools
            Whether the label is predicted, by the one and by the other.
        threshold : float or None
            What the score must exceed; None if labels are not decided on one by one.
        kinds : sequence of {"pair", "opinion", "change"}, default=None
            What the steps are; None means that all are pairs.
        weights : sequence of (float or None), default=None
            How much opinions count.

        Returns
        -------
        LabelExplanation

        Examples
        --------
        >>> sea = LabelExplanation.of(
        ...     0, "sea", [(1, "beach"), (2, "city")], [0.25, 0.25], [0.5, 0.25],
        ...     scores=(0.5, 0.75), accepted=(False, True), threshold=0.5)
        >>> [step.total_after for step in sea.steps], sea.changed
        ([0.5, 0.75], True)
        """
        steps = (
            Step(other, called, *values)
            for (other, called), *values in zip(
                against,
                before,
                after,
                accumulate(before),
                accumulate(after),
                kinds or ["pair"] * len(against),
                weights or [None] * len(against),
                strict=True,
            )
        )
        return cls(label, name, *scores, *accepted, threshold, tuple(steps))

    @property
    def changed(self) -> bool:
        """Whether the label was decided on differently before."""
        return self.accepted_before != self.accepted


@dataclass(frozen=True, slots=True)
class SetExplanation:
    """How likely a whole set of labels is at one row.

    Attributes
    ----------
    labels : tuple of int
        Numbers of its labels.
    names : tuple of str
        What they are called.
    before, after : float
        Its probability among the sets seen in training, uncorrected and corrected.
    accepted_before, accepted : bool
        Whether it is the set predicted, by the uncorrected and by the corrected probabilities.
    """

    labels: tuple[int, ...]
    names: tuple[str, ...]
    before: float
    after: float
    accepted_before: bool
    accepted: bool

    @property
    def changed(self) -> bool:
        """Whether it was decided on differently before."""
        return self.accepted_before != self.accepted


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a row got its labels.

    Attributes
    ----------
    row : int
        Position of the row among those that were asked about.
    labels : tuple of LabelExplanation
        All labels, in their order.
    problems : tuple of ProblemExplanation
        The binary problems, in their order: all, or those that changed most.
    n_problems : int
        How many there are in all.
    n_changed : int
        How many of all changed their vote.
    sets : tuple of SetExplanation
        If whole sets of labels are decided on: the one predicted, the runner-up, and the one
        that uncorrected probabilities would predict if that is another. Else empty.
    """

    row: int
    labels: tuple[LabelExplanation, ...]
    problems: tuple[ProblemExplanation, ...]
    n_problems: int
    n_changed: int
    sets: tuple[SetExplanation, ...] = ()

    def most_changed(self, n_problems: int | None = None) -> tuple[ProblemExplanation, ...]:
        """Return the problems by how much the correction moved them.

        Parameters
        ----------
        n_problems : int, default=None
            How many; None means all.

        Returns
        -------
        tuple of ProblemExplanation
            Those whose vote went to the other side first, then by how far the support moved.
        """
        found = sorted(self.problems, key=lambda p: (not p.changed, -abs(p.after - p.before)))
        return tuple(found[:n_problems])

    def telling_labels(self, n_labels: int | None = None) -> tuple[LabelExplanation, ...]:
        """Return the labels by how much there is to tell of them.

        Parameters
        ----------
        n_labels : int, default=None
            How many; None means all.

        Returns
        -------
        tuple of LabelExplanation
            Those decided differently first, then those predicted, then by how far scores moved.
        """
        found = sorted(
            self.labels,
            key=lambda lb: (not lb.changed, not lb.accepted, -abs(lb.after - lb.before)),
        )
        return tuple(found[:n_labels])

    def to_frame(self, of: str = "problems") -> Any:
        """Return a part of the explanation as a pandas DataFrame.

        Parameters
        ----------
        of : {"problems", "neighbours", "labels", "steps", "sets"}, default="problems"
            What has a row each.

        Returns
        -------
        DataFrame
        """
        return frame_of(self, of)

    def text(self, *, n_labels: int = 10, n_problems: int = 3, n_scores: int = 2) -> str:
        """Tell the explanation in words, what changed first.

        Parameters
        ----------
        n_labels : int, default=10
            How many labels are listed; the others are counted.
        n_problems : int, default=3
            How many problems are told of, those that changed most.
        n_scores : int, default=2
            How many scores are added up step by step, of labels that are decided differently.

        Returns
        -------
        str
            Lines of plain text.
        """
        return tell(self, n_labels=n_labels, n_problems=n_problems, n_scores=n_scores)

    def __str__(self) -> str:
        return self.text()


def _cells(matrix: np.ndarray[Any, Any]) -> Cells:
    (a, b), (c, d) = matrix.tolist()
    return (a, b), (c, d)

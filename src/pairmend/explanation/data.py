"""Dataclasses of an explanation."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import numpy as np

from pairmend.explanation.frames import frame_of
from pairmend.explanation.html import cell_of, page_of
from pairmend.explanation.text import text_of
from pairmend.kernels.pairs import p_true_given_decision

Cells = tuple[tuple[float, float], tuple[float, float]]
"""A confusion matrix, [truth][decision], index 0 standing for the first label."""

Value = float | str | None
"""A feature value; None if it is missing."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A validation row in the local confusion matrix of a binary problem.

    Attributes
    ----------
    row : int
        Position among the rows given to fit.
    weight : float
        Weight of the row in the neighbourhood. A landmark of a MendedClassifier has the weight of
        all validation rows that it represents.
    share : float
        Share of the mass of the confusion matrix that comes from the row, in [0, 1].
    truth : tuple of two bools
        Whether the row belongs to the first class, and to the second.
    p_decide : float
        Probability that the reference classifier decides for the first class, from the row's
        out-of-fold support.
    """

    row: int
    weight: float
    share: float
    truth: tuple[bool, bool]
    p_decide: float


@dataclass(frozen=True, slots=True)
class ProblemExplanation:
    """One binary problem at one row: support, local confusion matrix, corrected support.

    Attributes
    ----------
    labels : tuple of int and (int or None)
        The two labels of a pair; None if the problem is the first label against the rest.
    names : tuple of two str
        Names of the two classes.
    before : float
        Support of the base classifier for the first label.
    p_decide : float
        Probability that the reference classifier decides for the first label.
    after : float
        Corrected support for the first label.
    votes : tuple of two floats
        Vote for the first label before and after: 1, 0, or 1/2 for a tie.
    masses : 2 x 2 floats
        Local fuzzy confusion matrix, [truth][decision].
    shrinkage : float
        Prior mass: the part of its mass that comes from the global confusion matrix.
    n_effective : float
        Effective number of neighbours, (sum of weights)^2 / (sum of squared weights).
    neighbours : tuple of Neighbour
        The neighbours of largest weight, in descending order.
    correction : str
        Name of the step of the problem, where a label has several problems, one for each
        scaling. Else empty.
    reference : str
        Name of the reference classifier; empty if not given.
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
    correction: str = ""
    reference: str = ""

    @property
    def changed(self) -> bool:
        """Whether the correction changed the vote."""
        return self.votes[0] != self.votes[1]

    @property
    def mass(self) -> float:
        """Total mass of the confusion matrix."""
        return sum(map(sum, self.masses))

    @property
    def shares(self) -> Cells:
        """Confusion matrix divided by its mass; zeros if the mass is 0."""
        return _cells(np.array(self.masses) / (self.mass or 1.0))

    @property
    def given_truth(self) -> Cells:
        """Confusion matrix normalized over the true classes: P(decision given truth)."""
        sums = np.sum(self.masses, axis=1, keepdims=True)
        return _cells(np.array(self.masses) / np.where(sums > 0, sums, 1))

    @property
    def p_true_given_decision(self) -> tuple[float, float]:
        """P(first label is true given the decision), for both decisions.

        It is 1 and 0 for a decision without mass: such a decision is not corrected.
        """
        first, second = p_true_given_decision(np.array(self.masses))
        return float(first), float(second)


@dataclass(frozen=True, slots=True)
class Step:
    """One summand of a label's score.

    Attributes
    ----------
    against : int or None
        The other label of a pair; None if the problem is the label against the rest, or if the
        step is no pair. The number of labels stands for the virtual label, whose summand is the
        same in all scores.
    name : str
        Name of the other class of a pair, of the term, or of the change.
    before, after : float
        Summand in the uncorrected and in the corrected score.
    total_before, total_after : float
        Cumulative sums up to this step.
    kind : {"pair", "term", "change"}
        Whether it is a pair of labels, a term of the stacked correction, or a later change of
        the sum.
    weight : float or None
        Stacking weight of a term; None for other kinds.
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
        Name of the label.
    before, after : float
        Uncorrected and corrected score.
    accepted_before, accepted : bool
        Whether the label is predicted by uncorrected and by corrected scores.
    threshold : float or None
        Threshold of the score, which is exceeded if the label is predicted; None if the decision
        has no threshold of single labels.
    steps : tuple of Step
        Summands of the score, in the order of summation.
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
        """Build the explanation of a label from the summands of its score.

        Parameters
        ----------
        label : int
            Number of the label.
        name : str
            Name of the label.
        against : sequence of (int or None, str)
            `against` and `name` of each :class:`Step`.
        before, after : sequence of float
            Summands in the uncorrected and in the corrected score.
        scores : tuple of two floats
            Uncorrected and corrected score of the classifier.
        accepted : tuple of two bools
            Whether the label is predicted by each of them.
        threshold : float or None
            Threshold of the score; None if the decision has no threshold of single labels.
        kinds : sequence of {"pair", "term", "change"}, default=None
            Kinds of the steps; None means that all are pairs.
        weights : sequence of (float or None), default=None
            Stacking weights of the steps; None means that no step has one.

        Returns
        -------
        LabelExplanation
            With cumulative sums in its steps.

        Examples
        --------
        >>> from pairmend.explanation import LabelExplanation
        >>> sea = LabelExplanation.of(
        ...     0, "sea", [(1, "beach"), (2, "city")], [0.25, 0.25], [0.5, 0.25],
        ...     scores=(0.5, 0.75), accepted=(False, True), threshold=0.5)
        >>> [step.total_after for step in sea.steps], sea.changed
        ([0.5, 0.75], True)
        """
        steps = (
            Step(other, step_name, *values)
            for (other, step_name), *values in zip(
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
        """Whether the correction changed the prediction of the label."""
        return self.accepted_before != self.accepted


@dataclass(frozen=True, slots=True)
class SetExplanation:
    """The probability of a label set at one row.

    Attributes
    ----------
    labels : tuple of int
        Numbers of its labels.
    names : tuple of str
        Names of its labels.
    before, after : float
        Its probability among the sets seen in training, uncorrected and corrected.
    accepted_before, accepted : bool
        Whether it is the predicted set, by uncorrected and by corrected probabilities.
    """

    labels: tuple[int, ...]
    names: tuple[str, ...]
    before: float
    after: float
    accepted_before: bool
    accepted: bool

    @property
    def changed(self) -> bool:
        """Whether the correction changed the prediction of the set."""
        return self.accepted_before != self.accepted


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """A training row that is a neighbour in at least one of the explained problems.

    Attributes
    ----------
    row : int
        Position among the rows given to fit.
    share : float
        Largest share of the mass of a confusion matrix that comes from the row.
    labels : tuple of int
        Numbers of its true labels.
    index : int, str or None
        Its index in the frame given as `training`; None without it.
    values : tuple of float, str or None
        Its values of `Explanation.features`; empty if `training` was not given.
    """

    row: int
    share: float
    labels: tuple[int, ...]
    index: int | str | None = None
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class FeatureExplanation:
    """A feature of the explained row, compared with those of its neighbours.

    Attributes
    ----------
    name : str
        Name of the feature.
    value : float, str or None
        Value in the explained row; None if it is missing.
    difference : float or None
        Mean difference from the neighbours, weighted by their shares: of numbers and dates
        divided by the range in training, of categories and texts 0 if equal and 1 if not
        (Gower's difference). None without a neighbour other than the row itself.
    """

    name: str
    value: Value
    difference: float | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """The prediction of one row, explained.

    Attributes
    ----------
    row : int
        Position of the row among those passed to ``explain``.
    labels : tuple of LabelExplanation
        All labels, in their order.
    problems : tuple of ProblemExplanation
        The binary problems, in their order: all, or those with the largest changes.
    n_problems : int
        Number of all problems.
    n_changed : int
        Number of all problems whose vote changed.
    sets : tuple of SetExplanation
        With label powerset decoding: the predicted set, the second most likely one, and the one
        predicted by uncorrected probabilities if it is another. Else empty.
    index : int, str or None
        Index of the row in the pandas frame passed to ``explain``; None for other inputs.
    training_rows : tuple of TrainingRow
        The neighbours of all `problems`, each once, in descending order of their shares.
    same_rows : tuple of int
        Positions of training rows with the same feature values as the row: the row itself, if it
        was in training. Without `training` only neighbours are compared, and none if distances
        are measured by probabilities only.
    features : tuple of FeatureExplanation
        Features of the row, and how far they are from those of the neighbours; empty if `training`
        was not given. Of sparse rows, those that are not zero in the row or a neighbour.

    Examples
    --------
    >>> from pairmend import MendedClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_classes=3, random_state=0)
    >>> (explanation,) = MendedClassifier(random_state=0).fit(X, Y).explain(X[:1])
    >>> [label.name for label in explanation.labels]
    ['0', '1', '2']
    >>> explanation.to_frame("labels").columns.tolist()
    ['label', 'before', 'after', 'accepted_before', 'accepted', 'threshold']
    """

    row: int
    labels: tuple[LabelExplanation, ...]
    problems: tuple[ProblemExplanation, ...]
    n_problems: int
    n_changed: int
    sets: tuple[SetExplanation, ...] = ()
    index: int | str | None = None
    training_rows: tuple[TrainingRow, ...] = ()
    same_rows: tuple[int, ...] = ()
    features: tuple[FeatureExplanation, ...] = ()

    @property
    def name(self) -> str:
        """Index of the row if it has one, else its position."""
        return str(self.row if self.index is None else self.index)

    def most_changed(self, n_problems: int | None = None) -> tuple[ProblemExplanation, ...]:
        """Return the problems with the largest changes.

        Parameters
        ----------
        n_problems : int, default=None
            Number of problems; None means all.

        Returns
        -------
        tuple of ProblemExplanation
            Problems whose vote changed first, then by the change of the support.
        """
        found = sorted(self.problems, key=lambda p: (not p.changed, -abs(p.after - p.before)))
        return tuple(found[:n_problems])

    def most_changed_labels(self, n_labels: int | None = None) -> tuple[LabelExplanation, ...]:
        """Return the labels with the largest changes.

        Parameters
        ----------
        n_labels : int, default=None
            Number of labels; None means all.

        Returns
        -------
        tuple of LabelExplanation
            Labels whose prediction changed first, then predicted labels, then by the change of
            the score.
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
        of : {"problems", "neighbours", "labels", "steps", "sets", "training_rows", \
"features"}, default="problems"
            The part, which has one row of the frame for each element.

        Returns
        -------
        DataFrame
            One row per element.
        """
        return frame_of(self, of)

    def text(self, *, n_labels: int = 10, n_problems: int = 3, n_scores: int = 2) -> str:
        """Return the explanation as plain text, changes first.

        Parameters
        ----------
        n_labels : int, default=10
            Number of labels to list; the others are counted.
        n_problems : int, default=3
            Number of problems to describe, those with the largest changes.
        n_scores : int, default=2
            Number of labels whose score is listed step by step, among those whose prediction
            changed.

        Returns
        -------
        str
            Lines of plain text.
        """
        return text_of(self, n_labels=n_labels, n_problems=n_problems, n_scores=n_scores)

    def to_html(self, *, title: str | None = None) -> str:
        """Return the explanation as an HTML page in one file.

        Parameters
        ----------
        title : str, default=None
            Title of the page.

        Returns
        -------
        str
            The page. It loads nothing, and follows the light or dark mode of the browser.
        """
        return page_of([self], title=title)

    def _repr_html_(self) -> str | None:
        """Return the explanation for a notebook; None without jinja2."""
        return cell_of([self])

    def __str__(self) -> str:
        return self.text()


class Explanations(list[Explanation]):
    """A list of explanations, which notebooks show as tables that can be sorted and filtered.

    Examples
    --------
    >>> from pairmend import MendedClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_classes=3, random_state=0)
    >>> explanations = MendedClassifier(random_state=0).fit(X, Y).explain(X[:4], training=X)
    >>> len(explanations), explanations[1].row
    (4, 1)
    >>> explanations.to_html(title="Four rows")[:15]
    '<!DOCTYPE html>'
    """

    def to_html(self, *, title: str | None = None) -> str:
        """Return the explanations as an HTML page in one file.

        Parameters
        ----------
        title : str, default=None
            Title of the page.

        Returns
        -------
        str
            The page. It loads nothing, and follows the light or dark mode of the browser.
        """
        return page_of(self, title=title)

    def _repr_html_(self) -> str | None:
        """Return the explanations for a notebook; None without jinja2."""
        return cell_of(self)


def _cells(matrix: np.ndarray[Any, Any]) -> Cells:
    (a, b), (c, d) = matrix.tolist()
    return (a, b), (c, d)

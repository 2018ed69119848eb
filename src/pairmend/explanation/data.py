"""Dataclasses of an explanation: rows, labels, and the terms of their probabilities."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any
from uuid import uuid4

from pairmend._utils import pages
from pairmend.explanation import view

Value = float | str | None
"""The value of a feature; None if it is missing."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a word, a column or a category adds to the log-odds of the base classifier."""

    name: str
    value: Value
    amount: float


@dataclass(frozen=True, slots=True)
class Change:
    """A term that is added to the base classifier's probability.

    `part` is "correction", "votes" (of pairs), "label sets" or "classes". `before` and `after` are
    what the term replaces and by what: probabilities, or the votes of a pair. `given` are, for a
    correction, the shares of similar rows with the label: among those for which the base classifier
    decides for the label, and among the others.
    """

    part: str
    name: str
    before: float
    after: float
    amount: float
    given: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelExplanation:
    """The probability of one label at one row, term by term.

    Attributes
    ----------
    label : int
        Number of the label.
    name : str
        Name of the label.
    proba : float
        Its probability: `base` plus the amounts of `changes`.
    threshold : float or None
        The label is predicted if the probability exceeds it; None if the decision has no threshold
        of single labels.
    predicted : bool
        Whether the label is predicted.
    base : float
        Probability of the base classifier, or the score of a pairwise classifier before the
        correction.
    predicted_before : bool
        Whether the label is predicted without the correction, by the same decision.
    changes : tuple of Change
        What the correction and label sets change, with attributes `part`, `name`, `before`,
        `after`, `amount` and `given`.
    base_parts : tuple of (str, float, float)
        Name, weight and probability of each of several base classifiers.
    log_odds : float or None
        Log-odds of the base classifier: `reference` plus the amounts of `contributions`. None if
        contributions are not known.
    reference : float or None
        Log-odds without the contributions.
    contributions : tuple of Contribution
        What the base classifier used, the largest amounts first, with attributes `name`, `value`
        and `amount`. The last one may be the sum of those that are not listed.

    Examples
    --------
    >>> from pairmend import MendedClassifier
    >>> from pairmend.base_classifiers import ScaledLogisticRegression
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_features=3, random_state=0)
    >>> clf = MendedClassifier(ScaledLogisticRegression(), random_state=0).fit(X, Y)
    >>> (label,) = clf.explain(X[:1], labels=[3])[0].labels
    >>> changed = sum(change.amount for change in label.changes)
    >>> bool(abs(label.base + changed - label.proba) < 1e-12)
    True
    >>> used = sum(each.amount for each in label.contributions)
    >>> bool(abs(label.reference + used - label.log_odds) < 1e-9)
    True
    """

    label: int
    name: str
    proba: float
    threshold: float | None
    predicted: bool
    base: float
    predicted_before: bool
    changes: tuple[Change, ...]
    base_parts: tuple[tuple[str, float, float], ...] = ()
    log_odds: float | None = None
    reference: float | None = None
    contributions: tuple[Contribution, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the correction changed the prediction."""
        return self.predicted_before != self.predicted

    def amount(self, part: str) -> float:
        """Return the sum of the changes of a part.

        Parameters
        ----------
        part : {"correction", "votes", "label sets", "classes"}
            The part.

        Returns
        -------
        float
        """
        return sum(change.amount for change in self.changes if change.part == part)


@dataclass(frozen=True, slots=True)
class LabelSet:
    """A label set seen in training, and its probability by the base classifier and corrected."""

    labels: tuple[str, ...]
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class SimilarRow:
    """A training row of large weight in the correction.

    `share` is its share of all weights, `labels` are its true labels, and `base` holds the base
    classifier's out-of-fold probabilities of the explained labels.
    """

    row: int
    share: float
    labels: tuple[str, ...]
    base: tuple[float, ...] = ()


class _Page:
    """The methods that show one or more explanations as HTML."""

    __slots__ = ()

    def to_html(self, *, title: str | None = None) -> str:
        """Return what is explained as an HTML page in one file.

        Parameters
        ----------
        title : str, default=None
            Title of the page.

        Returns
        -------
        str
            The page. It loads nothing, and follows the light or dark mode of the browser.
        """
        title = title or "Explanations of predictions"
        return pages.page(title, self._rendered(title, "row"), style=_style())

    def _repr_html_(self) -> str | None:
        """Return what is explained for a notebook; None without jinja2."""
        # A notebook may show the same explanation twice, and outputs of an earlier process.
        try:
            body = self._rendered("", f"pairmend-{uuid4().hex}")
        except ImportError:
            return None
        return pages.cell(body, style=_style())

    def _rendered(self, title: str, prefix: str) -> str:
        environment = pages.environment("pairmend.explanation", "an explanation as HTML")
        explained = self if isinstance(self, Explanations) else [self]
        rows = [(f"{prefix}-{number}", row) for number, row in enumerate(explained)]
        template = environment.get_template("explanations.html.jinja")
        return str(template.render(title=title, rows=rows, view=view))


def _style() -> str:
    folder = resources.files("pairmend.explanation") / "templates"
    return (folder / "style.css").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Explanation(_Page):
    """The prediction of one row, explained.

    Attributes
    ----------
    row : int
        Position of the row among those passed to ``explain``.
    labels : tuple of LabelExplanation
        The labels asked for, or those that are predicted or close to the threshold.
    n_labels : int
        Number of all labels.
    predicted : tuple of str
        Names of all labels that are predicted.
    about_reference : str
        What the reference of the log-odds stands for; why there are no contributions, if there are
        none.
    sets : tuple of LabelSet
        If label sets are used: the two most likely ones, and the most likely one by the base
        classifier, with attributes `labels`, `before` and `after`.
    similar : tuple of SimilarRow
        Training rows of the largest weights in the correction, with attributes `row`, `share`,
        `labels` and `base`. ``X.iloc[row]`` of the rows given to fit shows their values.
    index : int, str or None
        Index of the row in the pandas frame passed to ``explain``; None for other inputs.

    Examples
    --------
    >>> from pairmend import MendedClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_classes=3, random_state=0)
    >>> (explanation,) = MendedClassifier(random_state=0).fit(X, Y).explain(X[:1], labels=[0, 2])
    >>> [label.name for label in explanation.labels]
    ['0', '2']
    >>> explanation.to_frame("labels")["name"].tolist()
    ['0', '2']
    """

    row: int
    labels: tuple[LabelExplanation, ...]
    n_labels: int
    predicted: tuple[str, ...]
    about_reference: str = ""
    sets: tuple[LabelSet, ...] = ()
    similar: tuple[SimilarRow, ...] = ()
    index: int | str | None = None

    def to_frame(self, of: str = "terms") -> Any:
        """Return a part of the explanation as a pandas DataFrame.

        Parameters
        ----------
        of : {"terms", "labels", "sets", "similar"}, default="terms"
            "terms": the terms of each label. Those of the unit "log-odds" sum to the log-odds of
            the base classifier, those of the unit "probability" to the probability.

        Returns
        -------
        DataFrame
            One row per element.
        """
        parts = ("terms", "labels", "sets", "similar")
        if of not in parts:
            raise ValueError(f"of={of!r} is no part of an explanation; choose one of {parts}.")
        import pandas as pd

        if of == "terms":
            columns = ["label", "unit", "part", "name", "value", "amount"]
            return pd.DataFrame(list(_terms(self)), columns=columns)
        frame = pd.DataFrame([asdict(each) for each in getattr(self, of)])
        return frame.drop(columns=["changes", "base_parts", "contributions"], errors="ignore")

    def __str__(self) -> str:
        return view.text_of(self)


def _terms(explanation: Explanation) -> Iterator[tuple[Any, ...]]:
    for label in explanation.labels:
        if label.reference is not None:
            unit = label.name, "log-odds"
            yield *unit, "reference", explanation.about_reference, None, label.reference
            for each in label.contributions:
                yield *unit, "contribution", each.name, each.value, each.amount
        yield label.name, "probability", "base", "base classifier", None, label.base
        for change in label.changes:
            yield label.name, "probability", change.part, change.name, None, change.amount


class Explanations(_Page, list[Explanation]):
    """A list of explanations, which is a page, or in a notebook an output, with a table of rows.

    Examples
    --------
    >>> from pairmend import MendedClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_classes=3, random_state=0)
    >>> explanations = MendedClassifier(random_state=0).fit(X, Y).explain(X[:4])
    >>> len(explanations), explanations[1].row
    (4, 1)
    >>> explanations.to_html(title="Four rows")[:15]
    '<!DOCTYPE html>'
    """

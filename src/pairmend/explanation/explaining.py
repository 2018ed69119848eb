"""explain: through pipelines and thresholds to the classifier; the requested labels and rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairmend._utils.arrays import refuse_arrays
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.explanation import data
from pairmend.explanation.data import Explanation, Explanations, LabelExplanation
from pairmend.explanation.evidence import Evidence
from pairmend.explanation.tables import index_of, names_after, names_of

CLOSE = 0.1
"""Distance from the threshold up to which labels that are not predicted are explained, too."""
N_CONTRIBUTIONS = 10
N_NEIGHBORS = 5


@dataclass(frozen=True)
class Request:
    """What to explain: the parameters of :func:`explain`, for rows after the steps of a pipeline.

    `names` are those of the features, `threshold` is a fitted one in place of the classifier's.
    """

    labels: Sequence[int | str] | None
    background: MatrixLike
    n_contributions: int
    n_neighbors: int
    names: Sequence[str]
    label_names: Sequence[str]
    threshold: Any


Term = tuple[str, str, FloatArray, FloatArray, FloatArray, Sequence[FloatArray]]
"""Part, name, before, after, amount, and `given` of a change, each of rows and labels; NaN as the
amount of labels that do not have it."""


@dataclass(frozen=True)
class Scores:
    """Scores of rows and labels, (n_rows, n_labels), from which explanations are built.

    Attributes
    ----------
    names : sequence of str
        Names of the labels.
    base, proba : ndarray
        Scores before the changes, and after.
    predicted_before, predicted : ndarray of bool
        Whether labels are predicted by these.
    cuts : sequence of (float or None)
        Thresholds of the labels.
    terms : sequence of Term
        The changes.
    weights : ndarray of shape (n_rows, n_validation)
        Weights of the validation rows.
    rows : ndarray of shape (n_validation,)
        Their numbers among the training rows.
    Y : ndarray of bool, shape (n_validation, n_labels)
        Their labels.
    base_there : ndarray of shape (n_validation, n_labels) or None, default=None
        Out-of-fold probabilities of the base classifier.
    parts : sequence of (str, float, ndarray), default=()
        Name, weight and probabilities of several base classifiers.
    """

    names: Sequence[str]
    base: FloatArray
    proba: FloatArray
    predicted_before: BoolArray
    predicted: BoolArray
    cuts: Sequence[float | None]
    terms: Sequence[Term]
    weights: FloatArray
    rows: IntArray
    Y: BoolArray
    base_there: FloatArray | None = None
    parts: Sequence[tuple[str, float, FloatArray]] = ()

    def explanation(
        self, row: int, start: int, request: Request, evidence: Evidence | None = None
    ) -> Explanation:
        """Return the explanation of a row; `start` is the number of the first row."""
        chosen, weights = self._chosen(row, request), self.weights[row]
        labels = tuple(self._label(row, label, request, evidence) for label in chosen)
        heaviest = np.argsort(-weights, kind="stable")[: request.n_neighbors]
        similar = tuple(
            data.SimilarRow(
                int(self.rows[place]),
                float(weights[place] / weights.sum()),
                self._named(self.Y[place]),
                () if self.base_there is None else tuple(self.base_there[place, chosen].tolist()),
            )
            for place in heaviest[weights[heaviest] > 0].tolist()
        )
        about, n_labels = evidence.about if evidence else "", len(self.names)
        given = start + row, labels, n_labels, self._named(self.predicted[row]), about
        return Explanation(*given, similar=similar)

    def _named(self, indicators: BoolArray) -> tuple[str, ...]:
        return tuple(self.names[label] for label in np.flatnonzero(indicators).tolist())

    def _chosen(self, row: int, request: Request) -> list[int]:
        """Return the numbers of the labels to explain at a row.

        Without a request, they are those that are predicted, or close to the threshold; if there
        is none, the one of the largest probability.
        """
        if request.labels is not None:
            return [_number_of(label, self.names) for label in request.labels]
        limits = np.array([0.5 if cut is None else cut for cut in self.cuts])
        order = np.lexsort((-self.proba[row], ~self.predicted[row]))
        near = self.predicted[row] | (np.abs(self.proba[row] - limits) <= CLOSE)
        return order[near[order]].tolist() or order[:1].tolist()

    def _label(
        self, row: int, label: int, request: Request, evidence: Evidence | None
    ) -> LabelExplanation:
        at, used = (row, label), dict[str, Any]()
        if evidence is not None and len(evidence.log_odds):
            used["contributions"] = tuple(evidence.largest(label, request.n_contributions))
            used["log_odds"] = float(evidence.log_odds[label])
            used["reference"] = float(evidence.reference[label])
        return LabelExplanation(
            label, self.names[label], float(self.proba[at]), self.cuts[label],
            bool(self.predicted[at]), float(self.base[at]), bool(self.predicted_before[at]),
            tuple(
                data.Change(
                    part, name, float(before[at]), float(after[at]), float(amount[at]),
                    tuple(float(each[at]) for each in given),
                )
                for part, name, before, after, amount, given in self.terms
                if not np.isnan(amount[at])
            ),
            tuple((name, weight, float(part[at])) for name, weight, part in self.parts),
            **used,
        )  # fmt: skip


def finite(cuts: Any, n_labels: int) -> list[float | None]:
    """Return the threshold of each label without infinities, which JSON does not have.

    Probabilities lie in [0, 1]: 1 accepts none, as infinity does, and a number below 0 accepts
    all, as minus infinity does. None stands for decisions without thresholds of labels.
    """
    if cuts is None:
        return [None] * n_labels
    found = np.broadcast_to(np.asarray(cuts, dtype=np.float64), n_labels)
    return np.clip(found, np.nextafter(0, -1), 1.0).tolist()


def _number_of(label: int | str, names: Sequence[str]) -> int:
    if str(label) in names:
        return list(names).index(str(label))
    if isinstance(label, int | np.integer) and 0 <= label < len(names):
        return int(label)
    raise ValueError(
        f"{label!r} is no label; expected names among {', '.join(names[:20])}, or numbers from 0 "
        f"to {len(names) - 1}."
    )


def explain(
    estimator: Any,
    X: MatrixLike,
    *,
    labels: Sequence[int | str] | None = None,
    background: MatrixLike | None = None,
    n_contributions: int = N_CONTRIBUTIONS,
    n_neighbors: int = N_NEIGHBORS,
    feature_names: Sequence[str] = (),
    label_names: Sequence[str] = (),
) -> Explanations:
    """Explain the predictions of a classifier, or of a pipeline that ends in one.

    Parameters
    ----------
    estimator : estimator
        A fitted :class:`~pairmend.MendedClassifier` or
        :class:`~pairmend.CorrectedPairwiseClassifier`, a
        :class:`~pairmend.ThresholdedClassifier` of one, whose threshold is then shown, a search
        whose best estimator is one, or a pipeline that ends in one.
    X : array-like of shape (n_samples, n_features)
        Rows, in any form that the estimator takes.
    labels : sequence of int or str, default=None
        The labels to explain, by name or number. None means those that are predicted, or whose
        probability is within 0.1 of the threshold.
    background : array-like of shape (n_background, n_features), default=None
        Rows that Shapley values compare with, such as those given to fit, in place of those that
        the classifier keeps. It keeps none if its base classifier takes frames that are not
        encoded; a linear one needs none.
    n_contributions : int, default=10
        Number of contributions of words, columns and categories to list; the others are summed.
        With 0 they are not computed.
    n_neighbors : int, default=5
        Number of similar training rows to list.
    feature_names, label_names : sequence of str, default=()
        Names of the features of arrays, and of the labels.

    Returns
    -------
    Explanations
        A list with an :class:`Explanation` for each row.

    Examples
    --------
    >>> from pairmend import MendedClassifier
    >>> from pairmend.explanation import explain
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["the sea", "sea and sand", "a city", "city lights"] * 10
    >>> Y = [[1, 0], [1, 0], [0, 1], [0, 1]] * 10
    >>> clf = make_pipeline(TfidfVectorizer(), MendedClassifier(random_state=0)).fit(texts, Y)
    >>> (explanation,) = explain(clf, ["sea"], label_names=["coast", "town"])
    >>> [(label.name, label.contributions[0].name) for label in explanation.labels]
    [('coast', 'sea')]
    """
    for name, number in (("n_contributions", n_contributions), ("n_neighbors", n_neighbors)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
            raise ValueError(f"{name} must be a whole number of at least 0, got {number!r}.")
    labels = [labels] if isinstance(labels, str) else labels
    rows, names, threshold = X, list(feature_names), None
    while not hasattr(estimator, "_explain"):
        if hasattr(estimator, "steps"):
            if len(first := estimator[:-1]):
                names = names_after(first, names_of(rows, names)) or []
                rows = first.transform(rows)
                background = None if background is None else first.transform(background)
            estimator = estimator[-1]
        elif hasattr(estimator, "threshold_") and hasattr(estimator, "estimator_"):
            threshold, estimator = estimator.threshold_, estimator.estimator_
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            raise ValueError(
                f"the model is a {type(estimator).__name__}, which has no explanations; expected a "
                "MendedClassifier or a CorrectedPairwiseClassifier"
            )
    refuse_arrays(rows, "explain", "Move the classifier and the rows to numpy, see docs/gpu.md.")
    names = names or [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    given = labels, background, n_contributions, n_neighbors, names, label_names, threshold
    found = estimator._explain(rows, Request(*given))
    return Explanations(replace(each, index=index_of(X, each.row)) for each in found)


class ExplainMixin:
    """The method ``explain`` of classifiers that have ``_explain``."""

    def explain(
        self, X: MatrixLike, *, labels: Any = None, background: Any = None, **options: int
    ) -> Explanations:
        """Explain predictions: what the base classifier used, and what the correction changed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        labels : sequence of int or str, default=None
            The labels to explain, by name or number. None means those that are predicted, or whose
            probability is within 0.1 of the threshold.
        background : array-like of shape (n_background, n_features), default=None
            Rows that Shapley values compare with, such as those given to fit, in place of those
            that the classifier keeps. It keeps none if its base classifier takes frames that are
            not encoded; a linear one needs none.
        **options : int
            `n_contributions`, default 10: how many contributions of words, columns and categories
            to list; with 0 they are not computed. `n_neighbors`, default 5: how many similar
            training rows to list.

        Returns
        -------
        Explanations
            A list with an :class:`~pairmend.explanation.Explanation` for each row. ``print`` shows
            it as text, notebooks as tables; ``to_html`` returns a page, ``to_frame`` data frames,
            and :func:`pairmend.plots.plot_explanation` draws it.
        """
        return explain(self, X, labels=labels, background=background, **options)  # type: ignore[arg-type]

"""MendedClassifier.explain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.chunking import row_chunks
from pairmend._utils.namespaces import refuse_arrays
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from pairmend._utils.validation import check_features, take_rows
from pairmend.explanation import (
    Explanation,
    Explanations,
    LabelExplanation,
    ProblemExplanation,
    SetExplanation,
    add_features,
    explain_problem,
)
from pairmend.explanation.neighbours import equal_points, list_training_rows, row_numbers
from pairmend.explanation.problem import N_NEIGHBORS
from pairmend.kernels.local_sums import confusion_from_sums, shrink
from pairmend.kernels.pairs import sum_to_one, vote
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.base import base_parts
from pairmend.mended.corrector import Corrector, LabelCorrector, stack
from pairmend.mended.decisions import CorrectedProba, Decision
from pairmend.mended.label_sets import LabelSets
from pairmend.thresholds.risk_control import RiskControl
from pairmend.thresholds.strategies import (
    BatchF1Thresholds,
    CardinalityThreshold,
    F1Thresholds,
    FixedThreshold,
)

BELOW_ZERO = float(np.nextafter(0, -1))
"""A threshold that every probability exceeds, 0 included."""
UNCORRECTED, GLOBAL_CORRECTION = "uncorrected", "global correction"
RARE_LABELS, LABEL_SETS, SCALED, SUM_TO_ONE = (
    "shrinkage of rare labels", "label sets", "scaling", "classes sum to 1",
)  # fmt: skip


def step_name(term: str) -> str:
    """Return the name of the step of a term of the stacked correction."""
    return {"uncorrected": UNCORRECTED, "global": GLOBAL_CORRECTION}.get(
        term, f"neighbours ({term})"
    )


class ExplainMixin:
    """The method ``explain`` of MendedClassifier."""

    def explain(
        self,
        X: MatrixLike,
        *,
        training: MatrixLike | None = None,
        n_neighbors: int = N_NEIGHBORS,
        n_problems: int | None = None,
    ) -> Explanations:
        """Explain the predictions of rows, term by term of the stacked correction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Time and memory grow with their number times the number of labels.
        training : array-like of shape (n_training, n_features), default=None
            The rows given to fit, in the same order. With them the explanation has the index and
            the feature values of the neighbours, which a classifier does not keep. Other rows
            are an error, unless all scalings of positive stacking weight are "log_odds".
        n_neighbors : int, default=5
            How many landmarks to list for each label and scaling: those of largest weight, by
            their positions among the rows given to fit.
        n_problems : int, default=None
            How many local corrections of a row to explain: those with the largest change. None
            means all, one for each label and each scaling of positive stacking weight.

        Returns
        -------
        list of Explanation
            One for each row, with conversions to text (``print``), to a page (``to_html``, also of
            the list), to frames (``to_frame``) and to a figure
            (:func:`pairmend.plots.plot_explanation`). Notebooks show it as tables. Steps add up
            to ``predict_proba``; "before" is the base classifier's probability, and the prediction
            by the same decision.

        Examples
        --------
        >>> from pairmend import MendedClassifier
        >>> from sklearn.datasets import make_multilabel_classification
        >>> X, Y = make_multilabel_classification(random_state=0)
        >>> clf = MendedClassifier(random_state=0).fit(X, Y)
        >>> (explanation,) = clf.explain(X[:1])
        >>> [round(label.after, 2) for label in explanation.labels]
        [0.07, 0.25, 0.51, 0.72, 0.78]
        """
        check_is_fitted(self)
        refuse_arrays(X, "explain", "Move the classifier to numpy, see docs/gpu.md.")
        classifier: Any = self
        classifier._check_namespace(X, "explain")
        rows = check_features(classifier, X)
        base_rows, distance_rows = classifier._row_encoder.encode(rows)
        if training is not None:
            training = check_features(classifier, training)
        explained = explain_rows(
            classifier, distance_rows, classifier._base_proba(base_rows),
            base_parts(classifier.estimator_, base_rows),
            numbers=_landmark_numbers(classifier, training), n_neighbors=n_neighbors,
            n_problems=n_problems,
        )  # fmt: skip
        names = getattr(self, "feature_names_in_", ())
        return Explanations(add_features(explained, rows, training, names=names))


def _landmark_numbers(classifier: Any, training: MatrixLike | None) -> IntArray:
    """Return the numbers of the landmarks among the training rows."""
    corrector: LabelCorrector = classifier._current_corrector().by_label

    def points_of(rows: IntArray) -> tuple[Matrix, Matrix] | None:
        base_rows, distance_rows = classifier._row_encoder.encode(take_rows(training, rows))
        found = _points(corrector, distance_rows, classifier._base_proba(base_rows))
        return None if found is None else (found.rows, found.landmarks)

    known = getattr(classifier, "landmark_indices_", None)
    n_training = None if training is None else count_rows(training)
    return row_numbers(known, len(corrector.landmarks.Y), n_training, points_of)


def explain_rows(
    classifier: Any,
    X: MatrixLike,
    proba: FloatArray,
    parts: Mapping[str, FloatArray],
    *,
    numbers: IntArray,
    n_neighbors: int,
    n_problems: int | None,
) -> list[Explanation]:
    """Explain the predictions of a fitted MendedClassifier, given its base's probabilities.

    `parts` are the probabilities by each of several base classifiers; it is empty if there is one.
    `numbers` are those of the landmarks among the training rows.
    """
    for name, value in (("n_neighbors", n_neighbors), ("n_problems", n_problems or 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}.")
    corrector: Corrector = classifier._current_corrector()
    n_landmarks, n_labels = corrector.by_label.landmarks.Y.shape
    decision = _DecisionRule(classifier._decision()[0])
    names = [str(name) for name in classifier.classes_.tolist()]
    problems = _ProblemExplainer(corrector.by_label, names, numbers, n_neighbors, n_problems)
    corrected = corrector.corrected_proba(X, proba)
    position = {row: k for k, row in enumerate(numbers.tolist())}
    has_label = corrector.by_label.landmarks.Y
    explained: list[Explanation] = []
    for rows in row_chunks(len(proba), 4 * n_landmarks + 12 * n_labels):
        terms = corrector.by_label.terms(take_rows(X, rows), proba[rows])
        part = CorrectedProba(corrected.proba[rows], corrected.by_label[rows])
        by_base = {
            name: (classifier.base_weights_[name], each[rows]) for name, each in parts.items()
        }
        labels = _explain_labels(corrector, names, by_base, terms, part, decision)
        sets = _explain_sets(names, terms["uncorrected"], part, decision)
        points = _points(corrector.by_label, take_rows(X, rows), proba[rows])
        for k, found in enumerate(problems.explain(take_rows(X, rows), terms)):
            neighbours = list_training_rows(found[0], lambda row: has_label[position[row]])
            same: tuple[int, ...] = ()
            if points is not None and neighbours:
                listed = np.array([position[each.row] for each in neighbours])
                equal = equal_points(points.landmarks[listed], points.rows[[k]])
                same = tuple(sorted(neighbours[at].row for at in np.flatnonzero(equal)))
            explained.append(
                Explanation(
                    rows.start + k, labels[k], *found, sets[k],
                    training_rows=neighbours, same_rows=same,
                )
            )  # fmt: skip
    return explained


@dataclass(frozen=True)
class _Points:
    """Rows and landmarks as points by their features."""

    rows: Matrix
    landmarks: Matrix


def _points(corrector: LabelCorrector, X: MatrixLike, proba: FloatArray) -> _Points | None:
    """Return the points of rows in a scaling of features; None if there is none."""
    for name, scaling in corrector.scalings.items():
        if name != "log_odds":
            return _Points(scaling.points(X, proba), scaling.neighbourhood.points_)
    return None


@dataclass(frozen=True)
class _DecisionRule:
    """The fitted decision of a classifier."""

    decision: Decision

    @property
    def kind(self) -> str:
        """Kind of the decision."""
        return self.decision.kind

    def accepted(self, proba: FloatArray, by_label: FloatArray) -> BoolArray:
        """Return which labels are predicted, (n_rows, n_labels)."""
        if self.kind == "classes":
            return np.asarray(np.argmax(proba, axis=1)[:, np.newaxis] == np.arange(proba.shape[1]))
        return self.decision.decide(proba, by_label) == 1

    @property
    def label_sets(self) -> LabelSets:
        """Label sets of a decision on sets."""
        assert self.decision.label_sets is not None
        return self.decision.label_sets

    def thresholds(self, n_labels: int) -> list[float | None]:
        """Return the threshold of each label, None where the decision has no fixed one."""
        match self.decision.threshold:
            case (
                FixedThreshold(value=cut)
                | CardinalityThreshold(threshold_=cut)
                | RiskControl(threshold_=cut)
            ):
                found = np.full(n_labels, cut, dtype=np.float64)
            case F1Thresholds(thresholds_=cuts) | BatchF1Thresholds(thresholds_=cuts):
                found = np.asarray(cuts, dtype=np.float64)
            case _:
                return [None] * n_labels
        # JSON has no infinities. Probabilities lie in [0, 1]: a threshold of 1 accepts none, as
        # infinity does, and one below 0 accepts all, as minus infinity does.
        return np.clip(found, BELOW_ZERO, 1.0).tolist()


def _explain_labels(
    corrector: Corrector,
    names: list[str],
    by_base: Mapping[str, tuple[float, FloatArray]],
    terms: dict[str, FloatArray],
    corrected: CorrectedProba,
    decision: _DecisionRule,
) -> list[tuple[LabelExplanation, ...]]:
    """List the steps that add up to the probability of each label of each row."""
    base = terms["uncorrected"]
    before, after = base, corrected.proba
    zeros = np.zeros_like(base)
    # Name, kind and stacking weight of each step, and its summand before and after.
    steps: list[tuple[str, str, float | None, FloatArray, FloatArray]] = []
    for term in ("uncorrected", *(name for name in terms if name != "uncorrected")):
        weight = corrector.by_label.stacking_weights.get(term, 0.0)
        if term == "uncorrected" and by_base:
            for name, (share, proba) in by_base.items():
                part = share * proba
                own_name = f"{UNCORRECTED} ({name})"
                steps.append((own_name, "term", weight * share, part, weight * part))
            continue
        first = base if term == "uncorrected" else zeros
        steps.append((step_name(term), "term", weight, first, weight * terms[term]))
    if corrector.by_label.guard:
        change = corrected.by_label - stack(terms, corrector.by_label.stacking_weights)
        steps.append((RARE_LABELS, "change", None, zeros, change))
    if corrector.label_set_weights != {"labels": 1.0}:
        name = LABEL_SETS if corrector.label_set_weights.get("sets", 0.0) > 0 else SCALED
        steps.append((name, "change", None, zeros, corrected.proba - corrected.by_label))
    if decision.kind == "classes":
        before, after = sum_to_one(base), sum_to_one(corrected.proba)
        steps.append((SUM_TO_ONE, "change", None, before - base, after - corrected.proba))
    accepted_before = decision.accepted(base, base)
    accepted = decision.accepted(corrected.proba, corrected.by_label)
    step_names, kinds, weights, *_ = zip(*steps, strict=True)
    against: list[tuple[int | None, str]] = [(None, name) for name in step_names]
    thresholds = decision.thresholds(len(names))
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
                threshold=thresholds[label],
                kinds=kinds,
                weights=weights,
            )
            for label, name in enumerate(names)
        )
        for row in range(len(base))
    ]


def _explain_sets(
    names: list[str],
    base: FloatArray,
    corrected: CorrectedProba,
    decision: _DecisionRule,
) -> list[tuple[SetExplanation, ...]]:
    """Return the two most likely label sets of each row, and the one predicted uncorrected."""
    if decision.kind != "sets":
        return [()] * len(base)
    sets = decision.label_sets
    best_before = sets.top_sets(base, 1)
    listed = np.hstack([sets.top_sets(corrected.by_label, 2), best_before])
    before = sets.proba_of_sets(listed, base)
    after = sets.proba_of_sets(listed, corrected.by_label)
    explained = []
    for row, indices in enumerate(listed.tolist()):
        found: dict[int, SetExplanation] = {}
        for place, index in enumerate(indices):
            labels = tuple(np.flatnonzero(sets.members[[index]].toarray()[0]).tolist())
            found.setdefault(
                index,
                SetExplanation(
                    labels,
                    tuple(names[label] for label in labels),
                    float(before[row, place]),
                    float(after[row, place]),
                    index == indices[-1],
                    place == 0,
                ),
            )
        explained.append(tuple(found.values()))
    return explained


class _ProblemExplainer:
    """Explains local corrections; what does not depend on the row is computed once."""

    def __init__(
        self,
        corrector: LabelCorrector,
        names: list[str],
        rows: Any,
        n_neighbors: int,
        n_problems: int | None,
    ):
        self.corrector, self.names, self.rows = corrector, names, rows
        self.n_neighbors, self.n_problems = n_neighbors, n_problems
        self.landmark_p_decide: dict[str, FloatArray] = {}
        self.prior_masses: dict[str, FloatArray] = {}
        for name in corrector.scalings:
            correction = corrector.corrections[name]
            self.landmark_p_decide[name] = corrector.landmarks.p_decide(correction.reference)
            everywhere = corrector.total.confusion(correction.reference)
            self.prior_masses[name] = shrink(
                np.zeros_like(everywhere), everywhere, correction.shrinkage
            )[0]

    def explain(
        self, X: MatrixLike, terms: dict[str, FloatArray]
    ) -> Iterator[tuple[tuple[ProblemExplanation, ...], int, int]]:
        """Yield for each row its problems, their number, and how many changed their vote."""
        corrector, base = self.corrector, terms["uncorrected"]
        scalings = list(corrector.scalings)
        weights = {name: corrector.landmark_weights(name, X, base) for name in scalings}
        confusion = {
            name: confusion_from_sums(weights[name] @ corrector.tables[name]) for name in scalings
        }
        p_decide = {
            name: REFERENCES[corrector.corrections[name].reference](base) for name in scalings
        }
        # Label by label, and within a label scaling by scaling.
        every = [(label, name) for label in range(len(self.names)) for name in scalings]
        for row in range(len(base)):
            before = np.array([base[row, label] for label, _ in every])
            after = np.array([terms[name][row, label] for label, name in every])
            changed = vote(before) != vote(after)
            chosen = np.arange(len(every))
            if self.n_problems is not None:
                change = np.abs(after - before)
                chosen = np.sort(np.lexsort((-change, ~changed))[: self.n_problems])
            problems = tuple(
                self._problem(
                    *every[k],
                    before=float(before[k]),
                    after=float(after[k]),
                    p_decide=float(p_decide[every[k][1]][row, every[k][0]]),
                    weights=weights[every[k][1]][row],
                    confusion=confusion[every[k][1]][row, every[k][0]],
                )
                for k in chosen.tolist()
            )
            yield problems, len(every), int(np.count_nonzero(changed))

    def _problem(
        self, label: int, name: str, *, before: float, after: float, p_decide: float,
        weights: FloatArray, confusion: FloatArray,
    ) -> ProblemExplanation:  # fmt: skip
        has_label = self.corrector.landmarks.Y[:, label]
        return explain_problem(
            (label, None),
            (self.names[label], f"not {self.names[label]}"),
            before=before,
            p_decide=p_decide,
            weights=weights * self.corrector.tables[name][:, -1],
            truth=np.column_stack([has_label, ~has_label]),
            decisions=self.landmark_p_decide[name][:, label],
            confusion=confusion,
            rows=self.rows,
            shrinkage=self.prior_masses[name][label],
            after=after,
            n_neighbors=self.n_neighbors,
            correction=step_name(name),
            reference=self.corrector.corrections[name].reference,
        )

"""MendedClassifier.explain."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.arrays import check_features, refuse_arrays, take_rows
from pairmend._utils.computing import row_chunks
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
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
from pairmend.kernels.pairs import sum_to_one
from pairmend.kernels.rrc import REFERENCES, vote
from pairmend.mended.base import base_parts, stack
from pairmend.mended.corrector import Corrector, LabelCorrector
from pairmend.mended.decisions import CorrectedProba, Decision
from pairmend.thresholds.rules import fitted_cuts

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
        for name, value in (("n_neighbors", n_neighbors), ("n_problems", n_problems or 0)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
                raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}.")
        classifier: Any = self
        classifier._check_namespace(X, "explain")
        rows = check_features(classifier, X)
        if training is not None:
            training = check_features(classifier, training)
        numbers = _landmark_numbers(classifier, training)
        corrector: Corrector = classifier._current_corrector()
        row_size = 4 * len(corrector.by_label.landmarks) + 4 * len(corrector.label_sets.counts)
        explained: list[Explanation] = []
        for chunk in row_chunks(count_rows(rows), row_size + 12 * len(classifier.classes_)):
            given = classifier, take_rows(rows, chunk), chunk.start, numbers
            explained += _explain_chunk(*given, n_neighbors, n_problems)
        names = getattr(self, "feature_names_in_", ())
        return Explanations(add_features(explained, rows, training, names=names))


def _landmark_numbers(classifier: Any, training: MatrixLike | None) -> IntArray:
    """Return the numbers of the landmarks among the training rows."""
    corrector: LabelCorrector = classifier._current_corrector().by_label

    def points_of(rows: IntArray) -> tuple[Matrix, Matrix] | None:
        base_rows, distance_rows = classifier._row_encoder.encode(take_rows(training, rows))
        return _points(corrector, distance_rows, classifier._base_proba(base_rows))

    known = getattr(classifier, "landmark_indices_", None)
    n_training = None if training is None else count_rows(training)
    return row_numbers(known, len(corrector.landmarks), n_training, points_of)


def _points(
    corrector: LabelCorrector, X: MatrixLike, proba: FloatArray
) -> tuple[Matrix, Matrix] | None:
    """Return rows and landmarks as points by their features; None if distances use none."""
    for name, scaling in corrector.scalings.items():
        if name != "log_odds":
            return scaling.points(X, proba), scaling.landmarks
    return None


def _explain_chunk(
    classifier: Any,
    X: MatrixLike,
    first: int,
    numbers: IntArray,
    n_neighbors: int,
    n_problems: int | None,
) -> Iterator[Explanation]:
    """Explain the predictions of rows, of which the first has this number.

    `numbers` are those of the landmarks among the training rows.
    """
    corrector: Corrector = classifier._current_corrector()
    decision: Decision = classifier._decision()[0]
    names = [str(name) for name in classifier.classes_.tolist()]
    base_rows, X = classifier._row_encoder.encode(X)
    proba = classifier._base_proba(base_rows)
    by_base = {
        name: (classifier.base_weights_[name], part)
        for name, part in base_parts(classifier.estimator_, base_rows).items()
    }
    terms = corrector.by_label.terms(X, proba)
    corrected = corrector.with_label_sets(corrector.by_label.stacked(terms), None)
    labels = _explain_labels(corrector, names, by_base, terms, corrected, decision)
    sets = _explain_sets(names, proba, corrected, decision)
    points = _points(corrector.by_label, X, proba)
    position = {row: k for k, row in enumerate(numbers.tolist())}
    has_label = corrector.by_label.landmarks.Y
    problems = _explain_problems(
        corrector.by_label, names, numbers, X, terms, n_neighbors, n_problems
    )
    for k, found in enumerate(problems):
        neighbours = list_training_rows(found[0], lambda row: has_label[position[row]])
        same: tuple[int, ...] = ()
        if points is not None and neighbours:
            listed = np.array([position[each.row] for each in neighbours])
            equal = equal_points(points[1][listed], points[0][[k]])
            same = tuple(sorted(neighbours[at].row for at in np.flatnonzero(equal)))
        yield Explanation(
            first + k, labels[k], *found, sets[k], training_rows=neighbours, same_rows=same
        )


def _accepted(decision: Decision, proba: FloatArray, by_label: FloatArray) -> BoolArray:
    """Return which labels are predicted, (n_rows, n_labels)."""
    if decision.kind == "classes":
        return np.asarray(np.argmax(proba, axis=1)[:, np.newaxis] == np.arange(proba.shape[1]))
    return decision.decide(proba, by_label) == 1


def _thresholds(decision: Decision, n_labels: int) -> list[float | None]:
    """Return the threshold of each label, None where the decision has no fixed one."""
    cuts = fitted_cuts(decision.threshold)
    if cuts is None:
        return [None] * n_labels
    # JSON has no infinities. Probabilities lie in [0, 1]: a threshold of 1 accepts none, as
    # infinity does, and one below 0 accepts all, as minus infinity does.
    found = np.broadcast_to(np.asarray(cuts, dtype=np.float64), n_labels)
    return np.clip(found, BELOW_ZERO, 1.0).tolist()


def _explain_labels(
    corrector: Corrector,
    names: list[str],
    by_base: Mapping[str, tuple[float, FloatArray]],
    terms: Mapping[str, FloatArray],
    corrected: CorrectedProba,
    decision: Decision,
) -> list[tuple[LabelExplanation, ...]]:
    """List the steps that add up to the probability of each label of each row.

    `by_base` are the weights and the probabilities of each of several base classifiers; it is empty
    if there is one.
    """
    base, stacking_weights = terms["uncorrected"], corrector.by_label.stacking_weights
    before, after, zeros = base, corrected.proba, np.zeros_like(base)
    # Name, kind and stacking weight of each step, and its summand before and after.
    steps: list[tuple[str, str, float | None, FloatArray, FloatArray]] = []
    weight = stacking_weights.get("uncorrected", 0.0)
    for name, (share, proba) in (by_base or {"": (1.0, base)}).items():
        own_name = f"{UNCORRECTED} ({name})" if name else UNCORRECTED
        steps.append((own_name, "term", weight * share, share * proba, weight * share * proba))
    for name, term in terms.items():
        if name != "uncorrected":
            weight = stacking_weights.get(name, 0.0)
            steps.append((step_name(name), "term", weight, zeros, weight * term))
    change = corrected.by_label - stack(terms, stacking_weights)
    steps.append((RARE_LABELS, "change", None, zeros, change))
    if corrector.label_set_weights != {"labels": 1.0}:
        name = LABEL_SETS if corrector.label_set_weights.get("sets", 0.0) > 0 else SCALED
        steps.append((name, "change", None, zeros, corrected.proba - corrected.by_label))
    if decision.kind == "classes":
        before, after = sum_to_one(base), sum_to_one(corrected.proba)
        steps.append((SUM_TO_ONE, "change", None, before - base, after - corrected.proba))
    accepted_before = _accepted(decision, base, base)
    accepted = _accepted(decision, corrected.proba, corrected.by_label)
    step_names, kinds, weights, *_ = zip(*steps, strict=True)
    against: list[tuple[int | None, str]] = [(None, name) for name in step_names]
    thresholds = _thresholds(decision, len(names))
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
    names: list[str], base: FloatArray, corrected: CorrectedProba, decision: Decision
) -> list[tuple[SetExplanation, ...]]:
    """Return the two most likely label sets of each row, and the one predicted uncorrected."""
    if (sets := decision.label_sets) is None:
        return [()] * len(base)
    scores = [sets.log_scores(proba) for proba in (base, corrected.by_label)]
    before, after = (softmax(each, axis=1) for each in scores)
    first = scores[0].argmax(axis=1)
    ranked = np.argsort(-scores[1], axis=1, kind="stable")[:, :2]
    explained = []
    for row, listed in enumerate(np.column_stack([ranked, first]).tolist()):
        found = []
        for number in dict.fromkeys(listed):
            labels = tuple(np.flatnonzero(sets.members[[number]].toarray()[0]).tolist())
            proba = float(before[row, number]), float(after[row, number])
            accepted = number == first[row], number == ranked[row, 0]
            own_names = tuple(names[label] for label in labels)
            found.append(SetExplanation(labels, own_names, *proba, *map(bool, accepted)))
        explained.append(tuple(found))
    return explained


def _explain_problems(
    corrector: LabelCorrector,
    names: list[str],
    numbers: IntArray,
    X: MatrixLike,
    terms: Mapping[str, FloatArray],
    n_neighbors: int,
    n_problems: int | None,
) -> Iterator[tuple[tuple[ProblemExplanation, ...], int, int]]:
    """Yield for each row its problems, their number, and how many changed their vote."""
    base = terms["uncorrected"]
    weights, confusion, p_decide, p_decide_there, prior = {}, {}, {}, {}, {}
    for name in corrector.scalings:
        correction = corrector.corrections[name]
        weights[name] = corrector.landmark_weights(name, X, base)
        confusion[name] = confusion_from_sums(weights[name] @ corrector.tables[name])
        p_decide[name] = REFERENCES[correction.reference](base)
        p_decide_there[name] = corrector.landmarks.p_decide(correction.reference)
        everywhere = corrector.total.confusion(correction.reference)
        prior[name] = shrink(np.zeros_like(everywhere), everywhere, correction.shrinkage)[0]

    def explain(row: int, label: int, name: str) -> ProblemExplanation:
        has_label = corrector.landmarks.Y[:, label]
        return explain_problem(
            (label, None),
            (names[label], f"not {names[label]}"),
            before=float(base[row, label]),
            p_decide=float(p_decide[name][row, label]),
            weights=weights[name][row] * corrector.tables[name][:, -1],
            truth=np.column_stack([has_label, ~has_label]),
            decisions=p_decide_there[name][:, label],
            confusion=confusion[name][row, label],
            rows=numbers,
            shrinkage=prior[name][label],
            after=float(terms[name][row, label]),
            n_neighbors=n_neighbors,
            correction=step_name(name),
            reference=corrector.corrections[name].reference,
        )

    # Label by label, and within a label scaling by scaling.
    every = [(label, name) for label in range(len(names)) for name in corrector.scalings]
    for row in range(len(base)):
        before = np.array([base[row, label] for label, _ in every])
        after = np.array([terms[name][row, label] for label, name in every])
        changed = vote(before) != vote(after)
        chosen = np.arange(len(every))
        if n_problems is not None:
            chosen = np.sort(np.lexsort((-np.abs(after - before), ~changed))[:n_problems])
        problems = tuple(explain(row, *every[k]) for k in chosen.tolist())
        yield problems, len(every), int(np.count_nonzero(changed))

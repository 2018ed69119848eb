"""CorrectedPairwiseClassifier.explain."""

from itertools import chain
from typing import Any

import numpy as np

from pairmend._utils.arrays import check_rows, take_rows
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from pairmend.explanation import (
    Explanation,
    Explanations,
    LabelExplanation,
    ProblemExplanation,
    add_features,
    explain_problem,
)
from pairmend.explanation.neighbours import equal_points, list_training_rows, row_numbers
from pairmend.kernels.pairs import sum_supports
from pairmend.kernels.rrc import REFERENCES, unfold, vote

VIRTUAL = "the virtual label"


def explain_rows(
    classifier: Any,
    X: MatrixLike,
    training: MatrixLike | None,
    *,
    n_neighbors: int,
    n_problems: int | None,
) -> Explanations:
    """Explain the predictions of a fitted corrected pairwise classifier."""
    _check_number("n_neighbors", n_neighbors)
    if n_problems is not None:
        _check_number("n_problems", n_problems)
    given, X = check_rows(X), classifier._check_predict(X)
    if training is not None:
        training = check_rows(training)
    numbers = _validation_numbers(classifier, training)
    position = {row: k for k, row in enumerate(numbers.tolist())}
    before, after = classifier.pair_support(X), classifier.pair_corrected(X)
    labels = _explain_labels(classifier, X, before)
    problems = _PairExplainer(classifier, numbers, n_neighbors)
    n_pairs = len(classifier.pairs_)
    turned = vote(before) != vote(after)
    explanations = []
    chunks = (classifier._weights(take_rows(X, rows)) for rows in classifier._chunks(X))
    for row, weights in enumerate(chain.from_iterable(chunks)):
        pairs = np.arange(n_pairs)
        if n_problems is not None and n_problems < n_pairs:
            moved = np.abs(after[row] - before[row])
            pairs = np.sort(np.lexsort((-moved, ~turned[row]))[:n_problems])
        explained = tuple(
            problems.explain(pair, before[row, pair], after[row, pair], weights)
            for pair in pairs.tolist()
        )
        n_turned = int(np.count_nonzero(turned[row]))
        neighbours = list_training_rows(
            explained, lambda row: classifier._decisions.Y[position[row]]
        )
        rows = np.array([each.row for each in neighbours], dtype=np.intp)
        listed = np.array([position[each.row] for each in neighbours], dtype=np.intp)
        equal = _equal_points(classifier, take_rows(X, slice(row, row + 1)), listed)
        explanations.append(
            Explanation(
                row, tuple(labels[row]), explained, n_pairs, n_turned,
                training_rows=neighbours, same_rows=tuple(sorted(rows[equal].tolist())),
            )
        )  # fmt: skip
    names = getattr(classifier, "feature_names_in_", ())
    return Explanations(add_features(explanations, given, training, names=names))


def _equal_points(classifier: Any, X: MatrixLike, numbers: IntArray) -> BoolArray:
    """Return which validation rows are equal to rows of X; none if distances have no points."""
    neighbourhood = classifier.neighbourhood_
    if not hasattr(neighbourhood, "to_points") or len(numbers) == 0:
        return np.zeros(len(numbers), dtype=bool)
    return equal_points(neighbourhood.points_[numbers], neighbourhood.to_points(X))


def _validation_numbers(classifier: Any, training: MatrixLike | None) -> IntArray:
    """Return the numbers of the validation rows among the training rows."""
    neighbourhood = classifier.neighbourhood_

    def points_of(rows: IntArray) -> tuple[Matrix, Matrix] | None:
        if not hasattr(neighbourhood, "to_points"):
            return None
        chosen = classifier._check_predict(take_rows(training, rows))
        return neighbourhood.to_points(chosen), neighbourhood.points_

    known = getattr(classifier, "validation_indices_", None)
    n_training = None if training is None else count_rows(training)
    return row_numbers(known, len(classifier._row_weights), n_training, points_of)


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}.")


def _explain_labels(
    classifier: Any, X: MatrixLike, before: FloatArray
) -> list[list[LabelExplanation]]:
    """Add up the scores of all labels of all rows."""
    n_labels, n_ranked = len(classifier.classes_), classifier._n_voting_labels
    names = [str(name) for name in classifier.classes_.tolist()]
    votes = [
        each.astype(np.float64)
        for each in (classifier._pair_votes(before), classifier._collect(X, classifier._votes))
    ]
    means = [
        sum_supports(each, slice(0, n_ranked - 1), n_ranked) / (n_ranked - 1) for each in votes
    ]
    scalings = [classifier._scaling(each) for each in means]
    uncorrected = classifier._scale(means[0])
    if classifier.multilabel_:
        uncorrected = classifier._round(uncorrected)
    scores = np.stack([uncorrected, classifier.predict_proba(X)])
    accepted = np.stack([_accepted(classifier, each) for each in scores])
    threshold = float(classifier.threshold) if classifier.multilabel_ else None

    # Pairs of each label, with the labels below it first: the order in which they add up.
    pair_of = np.zeros((n_ranked, n_ranked), dtype=np.intp)
    first, second = classifier.pairs_.T
    pair_of[first, second] = pair_of[second, first] = np.arange(len(first))
    explained: list[list[LabelExplanation]] = [[] for _ in range(len(before))]
    for label, name in enumerate(names):
        others = np.delete(np.arange(n_ranked), label)
        against: list[tuple[int | None, str]]
        against = [(other, names[other]) for other in others.tolist() if other < n_labels]
        gains = [
            _for_label(each, pair_of[label, others], label < others) / (n_ranked - 1) * factor
            for each, (factor, _) in zip(votes, scalings, strict=True)
        ]
        if n_ranked > n_labels:
            against.append((None, _absence(name)))
        if n_ranked > n_labels and classifier.multilabel_:
            # The mean support of the virtual label is part of every score.
            against.append((n_labels, VIRTUAL))
            gains = [
                np.hstack([each, summand])
                for each, (_, summand) in zip(gains, scalings, strict=True)
            ]
        for row, labels in enumerate(explained):
            labels.append(
                LabelExplanation.of(
                    label,
                    name,
                    against,
                    gains[0][row].tolist(),
                    gains[1][row].tolist(),
                    scores=(float(scores[0, row, label]), float(scores[1, row, label])),
                    accepted=(bool(accepted[0, row, label]), bool(accepted[1, row, label])),
                    threshold=threshold,
                )
            )
    return explained


def _absence(name: str) -> str:
    """Return the name of the absence of a label: its pair with the virtual label."""
    return f"not {name}"


def _for_label(votes: FloatArray, pairs: IntArray, is_first: BoolArray) -> FloatArray:
    """Return the votes of pairs for a label, which is the first label of some of them."""
    return np.where(is_first, votes[:, pairs], 1 - votes[:, pairs])


def _accepted(classifier: Any, scores: FloatArray) -> BoolArray:
    decisions = classifier._decide(scores)
    if classifier.multilabel_:
        return np.asarray(decisions == 1)
    return np.asarray(decisions[:, np.newaxis] == classifier.classes_)


class _PairExplainer:
    """Explanations of the pairs of a classifier; class weights are computed once."""

    def __init__(self, classifier: Any, numbers: IntArray, n_neighbors: int):
        self.classifier, self.numbers, self.n_neighbors = classifier, numbers, n_neighbors
        balance = classifier._balance(slice(0, classifier._n_voting_labels - 1))
        self.class_weights = np.ones((2, len(classifier.pairs_))) if balance is None else balance

    def explain(
        self, pair: int, before: Any, after: Any, weights: FloatArray
    ) -> ProblemExplanation:
        """Explain a pair at a row with these weights of the validation rows around it."""
        classifier = self.classifier
        first, second = classifier.pairs_[pair].tolist()
        is_virtual = second == len(classifier.classes_)
        name = str(classifier.classes_[first])
        rows, decisions = self._decisions(first, second)
        truth = classifier._decisions.Y[rows][:, [first, second]]
        if is_virtual:
            truth[:, 1] = ~truth[:, 0]
        w_first, w_second = (float(each[pair]) for each in self.class_weights)
        return explain_problem(
            (first, None if is_virtual else second),
            (name, _absence(name) if is_virtual else str(classifier.classes_[second])),
            before=before,
            p_decide=float(REFERENCES[classifier._reference](np.atleast_1d(before))[0]),
            weights=weights[rows],
            truth=truth,
            decisions=decisions,
            rows=self.numbers[rows],
            overlap=float(classifier.overlap),
            class_weights=(w_first, w_second),
            after=after,
            n_neighbors=self.n_neighbors,
            reference=classifier.reference,
        )

    def _decisions(self, first: int, second: int) -> tuple[IntArray, FloatArray]:
        """Return the validation rows of a pair and its probabilities of deciding for each label."""
        decisions = self.classifier._decisions
        own, other = decisions.label_rows.entries(first), decisions.label_rows.entries(second)
        alone = ~decisions.Y[decisions.label_rows.rows[other], first]
        rows = np.concatenate(
            [decisions.label_rows.rows[own], decisions.label_rows.rows[other][alone]]
        )
        for_first, for_second = unfold(decisions.p_decide[own, second].astype(np.float64))
        mirrored = unfold(decisions.p_decide[other, first][alone].astype(np.float64))
        return rows, np.column_stack(
            [np.concatenate([for_first, mirrored[1]]), np.concatenate([for_second, mirrored[0]])]
        )

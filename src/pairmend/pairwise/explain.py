"""CorrectedPairwiseClassifier.explain: the votes of pairs, and which the correction changed."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pairmend._utils.arrays import take_rows
from pairmend._utils.computing import row_chunks
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, FloatArray, MatrixLike
from pairmend.explanation import explaining
from pairmend.explanation.data import Explanation
from pairmend.kernels.pairs import p_true_given_decision, sum_supports
from pairmend.thresholds.rules import fitted_cuts


class ExplainedPairs(explaining.ExplainMixin):
    """The method ``explain`` of CorrectedPairwiseClassifier."""

    def _explain(self, X: MatrixLike, request: explaining.Request) -> explaining.Explained:
        classifier: Any = self
        X = classifier._check_predict(X)
        if classifier._is_movable:
            raise ValueError(
                "explain needs a classifier that was fitted on arrays of numpy; this one was "
                "fitted on those of another library. Fit it again."
            )
        training, neighbourhood = request.training, classifier.neighbourhood_
        if training is not None:
            training = classifier._check_predict(training)
        size = 8 * len(classifier.classes_) ** 2 + 4 * len(classifier._row_weights)
        explained: list[Explanation] = []
        for chunk in row_chunks(count_rows(X), size):
            explained += _explain_chunk(classifier, take_rows(X, chunk), request, chunk.start)
        known = getattr(classifier, "validation_indices_", None)
        points_of = getattr(neighbourhood, "to_points", None)
        points = neighbourhood.points_ if points_of else None
        return explained, explaining.numbers_of(explained, training, known, points_of, points)


def _explain_chunk(
    classifier: Any, X: MatrixLike, request: explaining.Request, start: int
) -> list[Explanation]:
    names = [str(name) for name in request.label_names or classifier.classes_.tolist()]
    votes = [
        each.astype(np.float64)
        for each in (
            classifier._pair_votes(classifier.pair_support(X)),
            classifier._collect(X, classifier._votes),
        )
    ]
    n_ranked = classifier._n_voting_labels
    means = [sum_supports(v, slice(0, n_ranked - 1), n_ranked) / (n_ranked - 1) for v in votes]
    before, after = classifier._scale(means[0]), classifier._scores(X)
    cuts = fitted_cuts(request.threshold) if request.threshold else classifier._threshold
    if classifier.multilabel_:
        before = classifier._round(before)
    limits = explaining.finite(cuts if classifier.multilabel_ else None, len(names))
    terms = list(_terms(classifier, X, names, votes, [classifier._scaling(m) for m in means]))
    predicted = [_predicted(classifier, each, request) for each in (before, after)]
    there = classifier._weights(X), classifier._decisions.Y[:, : len(names)]
    scores = explaining.Scores(
        names, before, after, predicted[0], predicted[1], limits, terms, *there
    )
    return [scores.explanation(row, start, request) for row in range(len(after))]


def _terms(
    classifier: Any, X: MatrixLike, names: list[str], votes: list[FloatArray], scalings: Any
) -> Iterator[explaining.Term]:
    """Yield what the pairs of all labels with each label change of their scores."""
    n_labels, n_ranked = len(names), classifier._n_voting_labels

    def shares_of(rows: MatrixLike) -> Any:
        for block, _, confusion in classifier._correct(rows):
            yield block, np.stack(p_true_given_decision(confusion), axis=-1)

    # P(first label is true | decision) of pairs, for both decisions.
    shares, labels = classifier._collect(X, shares_of), np.arange(n_labels)
    pair_of = np.zeros((n_ranked, n_ranked), dtype=np.intp)
    first, second = classifier.pairs_.T
    pair_of[first, second] = pair_of[second, first] = np.arange(len(first))
    factors = [factor / (n_ranked - 1) for factor, _ in scalings]
    for other in range(n_ranked):
        pairs, is_first = pair_of[:n_labels, other], labels < other
        own = [np.where(is_first, vote[:, pairs], 1 - vote[:, pairs]) for vote in votes]
        given = [
            np.where(is_first, shares[:, pairs, k], 1 - shares[:, pairs, 1 - k]) for k in (0, 1)
        ]
        amount = own[1] * factors[1] - own[0] * factors[0]
        if other < n_labels:
            amount[:, other] = np.nan
        name = f"against {names[other]}" if other < n_labels else "against its absence"
        yield "votes", name, own[0], own[1], amount, given
    if n_ranked > n_labels and classifier.multilabel_:
        # The mean support of the virtual label is part of every score.
        own = [np.repeat(summand, n_labels, axis=1) for _, summand in scalings]
        yield "votes", "the virtual label", own[0], own[1], own[1] - own[0], ()


def _predicted(classifier: Any, scores: FloatArray, request: explaining.Request) -> BoolArray:
    if request.threshold is not None:
        return np.asarray(request.threshold.decide(scores)) == 1
    decisions = classifier._decide(scores)
    if classifier.multilabel_:
        return np.asarray(decisions == 1)
    return np.asarray(decisions[:, np.newaxis] == classifier.classes_)

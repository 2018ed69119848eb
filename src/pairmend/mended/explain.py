"""MendedClassifier.explain: what the base classifier used, and the terms of the correction."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.arrays import check_features, take_rows
from pairmend._utils.computing import row_chunks
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import BoolArray, FloatArray, MatrixLike
from pairmend.explanation import explaining
from pairmend.explanation.data import Explanation, LabelSet
from pairmend.explanation.evidence import Evidence, Row, background_rows, linear_evidence
from pairmend.explanation.tables import names_of, values_of
from pairmend.kernels.local_sums import confusion_from_sums, shrink
from pairmend.kernels.pairs import p_true_given_decision, sum_to_one
from pairmend.mended.base_models import StackedBase
from pairmend.mended.corrector import RARE_LABEL_MASS, CorrectedProba, Corrector, Decision
from pairmend.thresholds.rules import fitted_cuts

KINDS = {"log_odds": "similar probabilities", "global": "all rows"}
"""Names of terms of the correction; others are rows with similar features."""


class MendedExplain(explaining.ExplainMixin):
    """The method ``explain`` of MendedClassifier."""

    def _explain(self, X: MatrixLike, request: explaining.Request) -> list[Explanation]:
        check_is_fitted(self)
        return _Explainer(self, request).explain(X)


class _Explainer:
    """Explains rows by a fitted `MendedClassifier`."""

    def __init__(self, classifier: Any, request: explaining.Request):
        self.classifier, self.request = classifier, request
        self.corrector: Corrector = classifier._current_corrector()
        self.decision: Decision = classifier._decision()[0]
        if request.threshold is not None:
            self.decision = Decision("labels", request.threshold, np.nan)
        self.labels = [str(name) for name in request.label_names or classifier.classes_.tolist()]

    def explain(self, X: MatrixLike) -> list[Explanation]:
        """Return the explanations of rows."""
        self.classifier._check_namespace(X, "explain")
        X, by_label = check_features(self.classifier, X), self.corrector.by_label
        size = 4 * len(by_label.landmarks) + 4 * len(self.corrector.label_sets.counts)
        explained: list[Explanation] = []
        for chunk in row_chunks(count_rows(X), size + 12 * len(self.labels)):
            explained += self._chunk(X, chunk)
        return explained

    def _chunk(self, X: MatrixLike, chunk: slice) -> Iterator[Explanation]:
        """Yield the explanations of some of the rows."""
        rows, classifier, by_label = take_rows(X, chunk), self.classifier, self.corrector.by_label
        base_rows, distance_rows = classifier._row_encoder.encode(rows)
        base = classifier._base_proba(base_rows)
        terms = by_label.terms(distance_rows, base)
        corrected = self.corrector.with_label_sets(by_label.stacked(terms), None)
        weights, given = self._neighbourhoods(distance_rows, base)
        model = classifier.estimator_
        parts = model.proba_by_classifier(base_rows) if isinstance(model, StackedBase) else {}
        scores = explaining.Scores(
            self.labels,
            base,
            sum_to_one(corrected.proba) if self.decision.kind == "classes" else corrected.proba,
            self._predicted(base, base),
            self._predicted(corrected.proba, corrected.by_label),
            explaining.finite(fitted_cuts(self.decision.threshold), len(self.labels)),
            self._terms(base, terms, corrected, given),
            weights,
            classifier.landmark_indices_,
            by_label.landmarks.Y,
            by_label.landmarks.proba,
            [(name, classifier.base_weights_[name], part) for name, part in parts.items()],
        )
        evidence: list[Any] = [None] * len(base)
        if self.request.n_contributions:
            evidence = self._evidence(rows, base_rows, count_rows(X))
        for k, sets in enumerate(self._sets(base, corrected)):
            explanation = scores.explanation(k, chunk.start, self.request, evidence[k])
            yield replace(explanation, sets=sets)

    def _neighbourhoods(
        self, X: MatrixLike, base: FloatArray
    ) -> tuple[FloatArray, dict[str, tuple[FloatArray, FloatArray]]]:
        """Return the weights of landmarks over all scalings, and the shares of rows with labels.

        The shares are P(true | decision) near each row, by scaling, for both decisions.
        """
        by_label = self.corrector.by_label
        total = np.zeros((len(base), len(by_label.landmarks)))
        given = {}
        for name, table in by_label.tables.items():
            weights = by_label.landmark_weights(name, X, base)
            mass = weights * table[:, -1]
            total += by_label.stacking_weights[name] * mass / mass.sum(axis=1, keepdims=True)
            correction = by_label.corrections[name]
            everywhere = by_label.total.confusion(correction.reference)
            local = confusion_from_sums(weights @ table)
            given[name] = p_true_given_decision(shrink(local, everywhere, correction.shrinkage))
        return total, given

    def _terms(
        self,
        base: FloatArray,
        terms: Mapping[str, FloatArray],
        corrected: CorrectedProba,
        given: Mapping[str, tuple[FloatArray, FloatArray]],
    ) -> list[explaining.Term]:
        """Return what the correction, label sets and the sum of classes change."""
        by_label = self.corrector.by_label
        found: list[explaining.Term] = []
        trust = by_label.total.n_examples / (by_label.total.n_examples + RARE_LABEL_MASS)
        rest = corrected.by_label - base
        for term, after in terms.items():
            if term != "uncorrected":
                amount = trust * by_label.stacking_weights[term] * (after - base)
                name = KINDS.get(term, f"similar features ({term})")
                found.append(("correction", name, base, after, amount, given.get(term, ())))
                rest = rest - amount
        if np.abs(rest).max(initial=0.0) > 1e-12:
            found.append(
                ("correction", "weights whose sum is below 1", base, base + rest, rest, ())
            )
        before, after = corrected.by_label, corrected.proba
        if self.corrector.label_set_weights != {"labels": 1.0}:
            found.append(("label sets", "label sets", before, after, after - before, ()))
        if self.decision.kind == "classes":
            scaled = sum_to_one(after)
            found.append(("classes", "classes sum to 1", after, scaled, scaled - after, ()))
        return found

    def _predicted(self, proba: FloatArray, by_label: FloatArray) -> BoolArray:
        """Return which labels are predicted, (n_rows, n_labels)."""
        if self.decision.kind == "classes":
            best = np.argmax(proba, axis=1)[:, np.newaxis]
            return np.asarray(best == np.arange(proba.shape[1]))
        return self.decision.decide(proba, by_label) == 1

    def _sets(self, base: FloatArray, corrected: CorrectedProba) -> list[tuple[LabelSet, ...]]:
        """Return the two most likely label sets of rows, and the most likely one by the base."""
        sets = self.decision.label_sets
        if sets is None and self.corrector.label_set_weights.get("sets", 0.0) > 0:
            sets = self.corrector.label_sets
        if sets is None:
            return [()] * len(base)
        before, after = (
            softmax(sets.log_scores(proba), axis=1) for proba in (base, corrected.by_label)
        )
        explained: list[tuple[LabelSet, ...]] = []
        for own, first in zip(after, before.argmax(axis=1), strict=True):
            listed = [*dict.fromkeys([*np.argsort(-own, kind="stable")[:2], first])]
            members, row = sets.members[listed].toarray() > 0, len(explained)
            named = ([name for name, y in zip(self.labels, each, strict=True) if y]
                     for each in members)  # fmt: skip
            proba = before[row, listed].tolist(), own[listed].tolist()
            explained.append(tuple(map(LabelSet, map(tuple, named), *proba)))
        return explained

    def _evidence(self, X: MatrixLike, base_rows: MatrixLike, n_explained: int) -> list[Evidence]:
        """Return what the base classifier used of each row."""
        classifier, model = self.classifier, self.classifier.estimator_

        def encode(rows: MatrixLike) -> MatrixLike:
            return classifier._row_encoder.encode(rows)[0]

        if isinstance(model, StackedBase) and [*model.weights.values()] == [1.0]:
            model = model if model.calibrations else next(iter(model.estimators.values()))
        names = names_of(X, self.request.names)
        each = [take_rows(X, slice(k, k + 1)) for k in range(count_rows(X))]
        background = self.request.background
        if background is not None:
            background = background_rows(encode(check_features(classifier, background)))
        elif (stored := getattr(classifier, "_background_rows", None)) is not None:
            scaled, scaler = stored
            background = scaler.inverse_transform(scaled)
        if (found := linear_evidence(model, base_rows, names)) is None:
            given = encode, classifier._base_proba, background, names
            found = [Row(row, *given).evidence(n_explained) for row in each]
        values = (values_of(row, names)[0] for row in each)
        return [replace(one, values=own) for one, own in zip(found, values, strict=True)]

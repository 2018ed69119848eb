"""Criterion, a metric of a study; and those that are known by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn import metrics

from pairmend._utils.sklearn_private import StrOptions, validate_parameter_constraints
from pairmend._utils.typing import FloatArray, IntArray
from pairmend.metrics import LOSS_TITLES, LOSSES


@dataclass(frozen=True)
class Criterion:
    """A metric that scores predictions.

    Attributes
    ----------
    function : callable
        Called with the true label indicators and the predictions; returns a number.
    title : str
        Name in tables and figures.
    greater_is_better : bool
        Whether greater values are better.
    needs : {"labels", "scores"}
        Whether the predictions are label indicators or the scores of ``predict_proba`` or, where
        a classifier has none, ``decision_function``.
    params : mapping
        Further parameters of the function.

    Examples
    --------
    >>> from sklearn.metrics import label_ranking_loss
    >>> ranking = Criterion(label_ranking_loss, "ranking loss", needs="scores")
    >>> ranking([[1, 0]], [[0.2, 0.7]])
    1.0
    """

    function: Callable[..., Any]
    title: str
    greater_is_better: bool = False
    needs: Literal["labels", "scores"] = "labels"
    params: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        allowed: dict[str, list[Any]] = {"function": [callable], "title": [str]}
        allowed |= {"greater_is_better": ["boolean"], "params": [Mapping, None]}
        allowed["needs"] = [StrOptions({"labels", "scores"})]
        validate_parameter_constraints(allowed, vars(self), caller_name="Criterion")

    def __call__(self, Y_true: Any, predicted: Any) -> float:
        """Return the value of the metric, which must be a finite number."""
        # Copies: a function that writes into its arguments must not change other metrics.
        arguments = np.array(Y_true), np.array(predicted)
        value = float(self.function(*arguments, **(self.params or {})))
        if not np.isfinite(value):
            raise ValueError(f"{self.title} is {value}, expected a finite number")
        return value


def own_names(known: Iterable[str], names: Iterable[str], what: str, absent: str = "") -> list[str]:
    """Return names in their own spelling, whatever their case; unknown ones are an error."""
    spelled, names = {name.casefold(): name for name in known}, list(names)
    if unknown := [name for name in names if name.casefold() not in spelled]:
        raise ValueError(
            f"there is no {what} {', '.join(map(repr, unknown))}; there are "
            f"{', '.join(spelled.values())}" + (absent and f". Not installed: {absent}")
        )
    return [spelled[name.casefold()] for name in names]


def one_error(truth: IntArray, scores: FloatArray) -> float:
    """Return the share of rows whose label with the highest score is not true."""
    return float(1 - truth[np.arange(len(truth)), scores.argmax(axis=1)].mean())


def roc_auc(truth: IntArray, scores: FloatArray, average: str) -> float:
    """Return the area under the ROC curve; a macro average leaves out labels of one class."""
    kept = np.ptp(truth, axis=0) > 0 if average == "macro" else slice(None)
    return float(metrics.roc_auc_score(truth[:, kept], scores[:, kept], average=average))


row_precision = metrics.label_ranking_average_precision_score


def label_precision(truth: IntArray, scores: FloatArray, average: str) -> float:
    """Return the area under the precision-recall curve; macro: of labels that occur."""
    kept = truth.any(axis=0) if average == "macro" else slice(None)
    return float(metrics.average_precision_score(truth[:, kept], scores[:, kept], average=average))


CRITERIA = {name: Criterion(function, LOSS_TITLES[name]) for name, function in LOSSES.items()}
CRITERIA["subset_accuracy"] = Criterion(metrics.accuracy_score, "subset accuracy", True)
CRITERIA |= {
    f"{name}_{average}": Criterion(
        getattr(metrics, f"{name}_score"),
        f"{name.capitalize()} ({average})",
        greater_is_better=True,
        params={"average": average, "zero_division": 0.0},
    )
    for average in ("samples", "micro", "macro")
    for name in ("jaccard", "precision", "recall", "f1")
}
CRITERIA |= {
    name: Criterion(function, title, greater, "scores", {"average": average} if average else None)
    for name, function, title, greater, average in (
        ("roc_auc_micro", roc_auc, "ROC AUC (micro)", True, "micro"),
        ("average_precision_micro", label_precision, "average precision (micro)", True, "micro"),
        ("roc_auc_macro", roc_auc, "ROC AUC (macro)", True, "macro"),
        ("average_precision_macro", label_precision, "average precision (macro)", True, "macro"),
        ("one_error", one_error, "one-error", False, ""),
        ("coverage", metrics.coverage_error, "coverage", False, ""),
        ("ranking_loss", metrics.label_ranking_loss, "ranking loss", False, ""),
        ("average_precision", row_precision, "average precision", True, ""),
    )
}
"""Metrics of studies by name.

The losses of `pairmend.metrics.LOSSES`, and the example-based, label-based and ranking-based
measures of J. Bogatinovski et al. (2022), Comprehensive comparative study of multi-label
classification methods: functions of scikit-learn where it has them, undefined values being 0.
"""

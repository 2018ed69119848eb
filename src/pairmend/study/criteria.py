"""Criterion, a metric of a study; CRITERIA, those with names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pairmend.metrics import LOSS_TITLES, LOSSES
from pairmend.study.objects import describe


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

    def __call__(self, Y_true: Any, predicted: Any) -> float:
        """Return the value of the metric, which must be a finite number."""
        # Copies: a function that writes into its arguments must not change other metrics.
        arguments = np.array(Y_true), np.array(predicted)
        value = float(self.function(*arguments, **(self.params or {})))
        if not np.isfinite(value):
            raise ValueError(f"{self.title} is {value}, expected a finite number")
        return value

    def definition(self) -> dict[str, Any]:
        """Return the metric as plain data, as in a study file.

        Returns
        -------
        dict

        Examples
        --------
        >>> CRITERIA["hamming"].definition()["function"]
        'sklearn.metrics.hamming_loss'
        """
        function = describe(self.function)
        return {
            "function": function.get("object", function),
            "title": self.title,
            "greater_is_better": self.greater_is_better,
            "needs": self.needs,
            "params": describe(dict(self.params or {})),
        }


CRITERIA = {name: Criterion(function, LOSS_TITLES[name]) for name, function in LOSSES.items()}
"""The losses of `pairmend.metrics.LOSSES` as metrics of a study, by name."""

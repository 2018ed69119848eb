"""Estimators of studies: parameters chosen by cross-validation, labels with one class left out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from pairmend._utils.classifiers import (
    label_scores,
    predicted_labels,
    predicted_scores,
    varying_labels,
)
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.model_selection import MultilabelStratifiedKFold
from pairmend.study.objects import CRITERIA, Criterion

INNER_FOLDS = 5
"""Number of folds in which parameters are chosen, by default."""


class CriterionScorer(BaseEstimator):
    """A metric of a study as a scorer of scikit-learn; greater is better.

    Parameters
    ----------
    function : callable
        Called with the true label indicators and the predictions.
    greater_is_better : bool, default=False
        Whether greater values are better.
    needs : {"labels", "scores"}, default="labels"
        Whether predictions are label indicators or scores.
    params : dict, default=None
        Further parameters of the function.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        greater_is_better: bool = False,
        needs: str = "labels",
        params: Mapping[str, Any] | None = None,
    ):
        self.function = function
        self.greater_is_better = greater_is_better
        self.needs = needs
        self.params = params

    def __call__(self, classifier: Any, X: Any, Y: IntArray) -> float:
        """Return the score of a fitted classifier."""
        predict = predicted_scores if self.needs == "scores" else predicted_labels
        criterion = Criterion(
            self.function, getattr(self.function, "__name__", "the metric"), params=self.params
        )
        value = criterion(Y, predict(classifier, X, Y.shape[1]))
        return value if self.greater_is_better else -value


class InnerFolds(BaseEstimator):
    """Folds with similar label frequencies, on shuffled rows.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    random_state : int, RandomState or None, default=None
        Shuffles the rows.
    """

    def __init__(self, n_splits: int = INNER_FOLDS, *, random_state: Any = None):
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: IntArray, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows of training and test of each fold."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        yield from MultilabelStratifiedKFold(self.n_splits, random_state=seed).split(X, y)


def tuned(
    classifier: Any,
    grid: Mapping[str, Sequence[Any]],
    criterion: str | Criterion = "hamming",
    *,
    folds: int = INNER_FOLDS,
) -> Any:
    """Return a classifier that chooses its parameters by cross-validation when it is fitted.

    In a study this is nested cross-validation: each training part is split again, all
    combinations of the grid are fitted on these folds, and the best by the metric is fitted on
    the training part. The test part is not used.

    Parameters
    ----------
    classifier : classifier
        An unfitted multi-label classifier.
    grid : mapping of str to sequence
        Values to compare by name of parameter, such as ``{"estimator__C": [0.1, 1, 10]}``.
    criterion : str or Criterion, default="hamming"
        Name in `CRITERIA`, or a metric.
    folds : int, default=5
        Number of folds within a training part.

    Returns
    -------
    GridSearchCV

    Examples
    --------
    >>> from pairmend.baselines import BinaryRelevance
    >>> from pairmend.study import tuned
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> grid = {"estimator__C": [0.001, 1.0]}
    >>> tuned(BinaryRelevance(LogisticRegression()), grid, "micro_f1").fit(X, Y).best_params_
    {'estimator__C': 1.0}
    """
    if isinstance(criterion, str):
        if criterion not in CRITERIA:
            raise ValueError(
                f"criterion must be one of {', '.join(CRITERIA)}, or a Criterion; got {criterion!r}"
            )
        criterion = CRITERIA[criterion]
    _check_grid(grid)
    if not isinstance(folds, int) or isinstance(folds, bool) or folds < 2:
        raise ValueError(f"folds must be a whole number of at least 2, got {folds!r}")
    scorer = CriterionScorer(
        criterion.function,
        greater_is_better=criterion.greater_is_better,
        needs=criterion.needs,
        params=None if criterion.params is None else dict(criterion.params),
    )
    search = {
        "estimator": classifier,
        "param_grid": {name: list(values) for name, values in grid.items()},
        "scoring": scorer,
        "cv": InnerFolds(folds),
        "error_score": "raise",  # a combination that fails must not be left out silently
    }
    known = classifier.get_params()
    if unknown := [name for name in grid if name not in known]:
        raise ValueError(
            f"tune: {type(classifier).__name__} has no parameter "
            f"{', '.join(map(repr, unknown))}; it has {', '.join(sorted(known))}"
        )
    return GridSearchCV(**search)


def _check_grid(grid: Any) -> None:
    if not isinstance(grid, Mapping) or not grid:
        raise ValueError(
            "tune must name parameters with lists of values, such as "
            f'{{ "estimator__C" = [0.1, 1, 10] }}; got {grid!r}'
        )
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise ValueError(f"tune.{name} must be a list of at least one value, got {values!r}")


class VaryingLabelsClassifier(ClassifierMixin, BaseEstimator):
    """Fit a multi-label classifier on the labels with both classes; predict the others' class.

    CatBoost, for example, raises an error if a label has one class in the training rows, which
    happens to rare labels in cross-validation. Sparse arrays become sparse matrices, the only
    sparse input of CatBoost.

    Parameters
    ----------
    estimator : classifier
        An unfitted multi-label classifier.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier; absent if no label has both classes.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, Y = np.arange(6)[:, None], np.array([[0, 0, 1]] * 3 + [[1, 0, 1]] * 3)
    >>> model = VaryingLabelsClassifier(RandomForestClassifier(random_state=0)).fit(X, Y)
    >>> model.predict([[0], [5]])
    array([[0, 0, 1],
           [1, 0, 1]])
    """

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: MatrixLike, y: IntArray) -> Self:
        """Fit a clone of the classifier.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples, n_labels)
            Label indicators.

        Returns
        -------
        self
        """
        Y = np.asarray(y)
        varying = varying_labels(Y)
        fitted = clone(self.estimator).fit(_as_matrix(X), Y[:, varying]) if len(varying) else None
        self.__dict__.pop("estimator_", None)
        if fitted is not None:
            self.estimator_ = fitted
        self.varying_, self.constant_ = varying, Y[0]
        return self

    def predict(self, X: MatrixLike) -> IntArray:
        """Predict label indicators.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        predicted = np.tile(self.constant_, (count_rows(X), 1))
        if len(self.varying_):
            found = np.asarray(self.estimator_.predict(_as_matrix(X)))
            predicted[:, self.varying_] = found.reshape(len(predicted), -1)
        return predicted

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Predict probabilities of labels, 0 or 1 for labels with one class.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        proba = np.tile(self.constant_.astype(float), (count_rows(X), 1))
        if n_varying := len(self.varying_):
            proba[:, self.varying_] = label_scores(
                self.estimator_, _as_matrix(X), "predict_proba", n_varying
            )
        return proba


def _as_matrix(X: MatrixLike) -> Any:
    return sparse.csr_matrix(X) if sparse.issparse(X) else X

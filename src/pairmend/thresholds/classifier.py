"""ThresholdedClassifier: any classifier with a threshold fitted on out-of-fold scores."""

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from pairmend._base import MultiLabelClassifier
from pairmend._utils.classifiers import label_scores, new_seed, scoring_method, seed_estimator
from pairmend._utils.progress import report
from pairmend._utils.sklearn_private import HasMethods, Interval, fit_context
from pairmend._utils.training import Target, all_equal, fit_with_weights, take_present
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike, TargetLike
from pairmend.model_selection import cross_fit, split_rows
from pairmend.thresholds.rules import CardinalityThreshold, FixedThreshold


def _if_estimator_has(method: str) -> Any:
    """Make a method available if the estimator has it."""
    return available_if(
        lambda classifier: hasattr(getattr(classifier, "estimator_", classifier.estimator), method)
    )


class ThresholdedClassifier(MultiLabelClassifier):
    """Any multi-label classifier, with a threshold fitted on out-of-fold scores.

    Each row is scored by a clone of the classifier that was fitted without the row, and the
    threshold is fitted on these out-of-fold scores. The final classifier is fitted on all rows.

    Parameters
    ----------
    estimator : classifier
        Multi-label classifier with ``predict_proba``, from which scores are taken, or else with
        ``decision_function``. Wrap a binary classifier, as in
        ``BinaryRelevance(LogisticRegression())``.
    threshold : threshold or float, default=None
        A number that scores must exceed, an object of :mod:`pairmend.thresholds`, or any object
        with ``fit(scores, Y)`` and ``decide(scores)``. None means
        :class:`~pairmend.thresholds.CardinalityThreshold`.
    cv : int, splitter or iterable, default=5
        Splits for the out-of-fold scores. An int is the number of folds of a
        :class:`~pairmend.model_selection.MultilabelStratifiedKFold`. The threshold is not fitted
        on rows that are in no test part.
    verbose : bool or int, default=False
        Whether to print the progress of ``fit``.
    n_jobs : int, default=None
        Number of processes that fit on the splits.
    random_state : int, RandomState or None, default=None
        Shuffles the rows before they are split, if `cv` is an int, and seeds the classifier where
        its own ``random_state`` is None.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted on all rows.
    threshold_ : threshold
        The fitted threshold; None after a fit on 1-D classes.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels: the columns of a frame, else their numbers; after a fit on 1-D
        classes, the classes.
    multilabel_ : bool
        Whether fit saw label indicators, not 1-D classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if fit saw a frame with string names.

    Notes
    -----
    After a fit on 1-D classes no threshold is used: predictions are those of the classifier.
    Sample weights are passed to the classifier, and to the threshold if its ``fit`` has a
    parameter ``sample_weight``. Rows of weight 0, or of less than a millionth of what counts as
    one row (see :class:`~pairmend.RandomSubspaceNB`), are left out. All parameters need a new
    ``fit``.

    Examples
    --------
    >>> from pairmend import PairwiseClassifier, ThresholdedClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_labels=1, random_state=0)
    >>> plain = PairwiseClassifier(random_state=0)
    >>> clf = ThresholdedClassifier(plain, random_state=0).fit(X, Y)
    >>> [round(float(labels.sum(axis=1).mean()), 1)
    ...  for labels in (Y, plain.fit(X, Y).predict(X), clf.predict(X))]
    [1.0, 2.4, 1.1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "threshold": [HasMethods(["fit", "decide"]), Real, None],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), "array-like",
               Iterator],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }  # fmt: skip

    def __init__(
        self,
        estimator: Any,
        threshold: Any = None,
        *,
        cv: Any = 5,
        verbose: bool | int = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.threshold = threshold
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike, **fit_params: Any) -> Self:
        """Fit the threshold on out-of-fold scores, and the classifier on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, in any form that the classifier takes.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1, or a 1-D array of classes.
        **fit_params : dict
            Parameters of the classifier's ``fit``; those with one value per row, such as
            ``sample_weight``, are cut to the rows of each split. With metadata routing
            enabled, those the classifier requests.

        Returns
        -------
        self
            Fitted classifier.
        """
        X, target, params, row_weights = self._check_fit_input(X, y, fit_params)
        seed = new_seed(check_random_state(self.random_state))
        seeded = seed_estimator(self.estimator, seed)
        if not target.multilabel:  # the classifier itself handles rows of weight 0
            model = seeded.fit(X, target.as_given(np.arange(len(target.Y))), **params)
            return self._set_fitted(X, target, estimator_=model, threshold_=None, _method="")
        method = scoring_method(self.estimator)
        splits = split_rows(self.cv, X, target, row_weights > 0, self.random_state)
        parts = cross_fit(
            seeded, X, target, params, splits, method=method,
            purpose="scores for a threshold", n_jobs=self.n_jobs, owner=self,
        )  # fmt: skip
        tested = np.concatenate([test for _, test in splits])
        threshold = self._fit_threshold(np.concatenate(parts), target, tested, row_weights)
        report(self, lambda: f"threshold: {threshold}")
        rows, params, present = take_present(X, params, row_weights)
        report(self, f"fitting {type(seeded).__name__} on {len(present)} rows")
        model = seeded.fit(rows, target.as_given(present), **params)
        return self._set_fitted(X, target, estimator_=model, threshold_=threshold, _method=method)

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            Decisions of the threshold, 0 or 1. After a fit on 1-D classes: shape (n_samples,),
            the predictions of the classifier.
        """
        X = self._check_predict(X)
        if not self.multilabel_:
            return np.asarray(self.estimator_.predict(X))
        return np.asarray(self.threshold_.decide(self._scores(X)))

    @_if_estimator_has("predict_proba")
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the classifier's probabilities, on which the threshold has no effect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Probabilities of labels, or of 1-D classes.
        """
        return self._scores(self._check_predict(X), "predict_proba")

    @_if_estimator_has("decision_function")
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the classifier's decision function, on which the threshold has no effect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Scores of labels, or of 1-D classes.
        """
        return self._scores(self._check_predict(X), "decision_function")

    def _fit_threshold(
        self, scores: FloatArray, target: Target, tested: IntArray, row_weights: FloatArray
    ) -> Any:
        """Return a threshold fitted on the scores of the tested rows."""
        threshold: Any = CardinalityThreshold()
        if isinstance(self.threshold, Real):
            threshold = FixedThreshold(float(self.threshold))
        elif self.threshold is not None:
            threshold = clone(self.threshold)
        weights = None if all_equal(row_weights[tested]) else row_weights[tested]
        return fit_with_weights(threshold, (scores, target.as_given(tested)), weights)

    def _scores(self, X: MatrixLike, method: str | None = None) -> FloatArray:
        method = method or self._method
        if not self.multilabel_:
            return np.asarray(getattr(self.estimator_, method)(X))
        return label_scores(self.estimator_, X, method, len(self.classes_))

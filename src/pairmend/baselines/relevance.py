"""BinaryRelevance: a classifier for each label, on scikit-learn."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from pairmend._base import MultiLabelMetaClassifier
from pairmend._utils.classifiers import (
    check_base_classifier,
    fit_per_label,
    new_seed,
    predict_per_label,
    seed_estimator,
    smoothed_share,
    varying_labels,
)
from pairmend._utils.sklearn_private import HasMethods
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike


class BinaryRelevance(MultiLabelMetaClassifier):
    """Multi-label classification by a binary classifier for each label (BR).

    Labels whose classifiers give them more than 1/2 are predicted (Tsoumakas and Katakis,
    2007). The first baseline for every other method.

    :class:`sklearn.multioutput.MultiOutputClassifier` with probabilities in one array, and with
    labels that never or always occur.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each label. None means
        :class:`~pairmend.RandomSubspaceNB`.
    verbose : bool or int, default=False
        Whether to print the progress of ``fit``.
    n_jobs : int, default=None
        Number of processes that train, and of threads that predict. A
        :class:`~pairmend.base_classifiers.ScaledLogisticRegression` is fitted for all labels at
        once, in the calling process.
    random_state : int, RandomState or None, default=None
        Seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    models_ : list of classifiers
        The trained classifiers of the labels of ``varying_``.
    varying_ : ndarray of int
        Indices of the labels that vary among the training rows.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels; after a fit on 1-D classes, the classes.
    multilabel_ : bool
        True after a fit on label indicators, False after a fit on 1-D classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a frame with string names.

    Notes
    -----
    A label that never or always occurs in training has no classifier, and its score is the
    smoothed share of rows with it, 1 / (n + 2) or (n + 1) / (n + 2), n being their weight.

    References
    ----------
    Tsoumakas, G., Katakis, I. (2007). Multi-label classification: an overview. International
    Journal of Data Warehousing and Mining 3(3), 1-13.

    Examples
    --------
    >>> from pairmend.baselines import BinaryRelevance
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = BinaryRelevance(LogisticRegression(max_iter=1000)).fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    models_: list[Any]
    varying_: IntArray

    def __init__(
        self,
        estimator: Any = None,
        *,
        verbose: bool | int = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_rows(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        base = self._base_classifier()
        check_base_classifier(base)
        base = seed_estimator(base, new_seed(check_random_state(self.random_state)))
        varying = varying_labels(Y)
        models = fit_per_label(base, X, Y[:, varying], fit_params, self.n_jobs, owner=self)
        return {"models_": models, "varying_": varying, "_share": smoothed_share(Y, weights)}

    def _scores(self, X: MatrixLike) -> FloatArray:
        return predict_per_label(self.models_, self.varying_, self._share, X, self.n_jobs)

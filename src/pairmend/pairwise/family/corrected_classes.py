"""CorrectedMulticlassClassifier: a multi-class classifier with local correction."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from pairmend._utils.fit_params import take_params
from pairmend._utils.sklearn_private import StrOptions, count_rows
from pairmend._utils.targets import Target, check_target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend._utils.validation import class_probabilities, take_rows
from pairmend._utils.weights import unit_weight
from pairmend.kernels.class_rrc import CLASS_REFERENCES
from pairmend.kernels.classes import class_confusion, correct_classes
from pairmend.pairwise.family.locally_corrected import LocallyCorrected


@dataclass(frozen=True)
class ClassModel:
    """A base classifier trained on some rows.

    Attributes
    ----------
    classifier : classifier or None
        None if all rows are of one class.
    seen : ndarray of int
        Indices of the classes seen in training, in its own order.
    shares : ndarray of shape (n_classes,)
        Smoothed shares of all classes among the rows.
    """

    classifier: Any
    seen: IntArray
    shares: FloatArray


class CorrectedMulticlassClassifier(LocallyCorrected):
    """Multiclass classification corrected by local fuzzy confusion matrices.

    One base classifier is trained on all C classes. A C x C local fuzzy confusion matrix, estimated
    on a validation set with larger weights near the row to predict, corrects its probabilities
    (Trajdos and Kurzynski, 2016). Use it for single-label problems in which a classifier confuses
    certain classes, differently in different regions. With two classes the result is that of
    :class:`~pairmend.CorrectedPairwiseClassifier`.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``. None means :class:`~pairmend.RandomSubspaceNB`.
    validation : float or int, default=0.6
        A float in (0, 1): the share of training rows; the others are the validation set.
        An int K of at least 2: K-fold cross-fitting: the validation set is all rows, with
        out-of-fold predictions, and the final classifier is trained on all rows.
    neighbourhood : neighbourhood, default=None
        Weights of the validation rows around a row. None means
        ``GaussianNeighbourhood(beta=1.0)``.
    reference : {"beta", "identity", "crisp"}, default="beta"
        The probabilities of deciding for classes as a function of the supports. "beta" is the
        randomized reference classifier of C independent beta variables; "identity" is the supports
        themselves; "crisp" is 1 for the largest support.
    n_jobs : int, default=None
        Number of processes that train the classifiers of cross-fitting.
    random_state : int, RandomState or None, default=None
        Splits the rows, and seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    model_ : ClassModel
        The trained base classifier, as ``model_.classifier``.
    neighbourhood_ : neighbourhood
        The fitted neighbourhood.
    train_indices_, validation_indices_ : ndarray of int
        Training rows and validation rows; all rows in both after cross-fitting.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    multilabel_ : bool
        False.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a frame with string names.

    Notes
    -----
    A class without rows in the training part has support 0. If all rows there are of one class,
    there is nothing to train, and supports are the smoothed shares of classes, (n_c + 1) / (n + C).
    If all validation rows with some decision have weight 0, the decision is not corrected.

    References
    ----------
    Trajdos, P., Kurzynski, M. (2016). A dynamic model of classifier competence based on the local
    fuzzy confusion matrix and the random reference classifier. International Journal of Applied
    Mathematics and Computer Science 26(1), 175-189.

    Examples
    --------
    >>> from pairmend import CorrectedMulticlassClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> base = LogisticRegression(max_iter=1000)
    >>> clf = CorrectedMulticlassClassifier(base, validation=5, random_state=0).fit(X, y)
    >>> clf.predict(X[::50]).tolist()
    [0, 1, 2]
    >>> clf.predict_proba(X[50:51]).round(2).tolist()
    [[0.0, 0.9, 0.1]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LocallyCorrected._parameter_constraints,
        "reference": [StrOptions(set(CLASS_REFERENCES))],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    def _read_target(self, X: MatrixLike, y: TargetLike) -> Target:
        target = check_target(self, X, y)
        if target.multilabel:
            raise ValueError(
                f"y has {len(target.classes)} columns, but {type(self).__name__} learns classes, a "
                "1-D y. For label indicators take CorrectedBinaryRelevance or "
                "CorrectedPairwiseClassifier."
            )
        return target

    def _train(
        self,
        base: Any,
        X: MatrixLike,
        target: Target,
        fit_params: dict[str, Any],
        parts: list[IntArray],
    ) -> list[Any]:
        return list(
            Parallel(n_jobs=self.n_jobs)(
                delayed(_train_classes)(base, X, target, fit_params, rows) for rows in parts
            )
        )

    def _supports_of(self, model: Any, X: MatrixLike, n_labels: int) -> FloatArray:
        if model.classifier is None:
            return np.tile(model.shares, (count_rows(X), 1))
        supports = np.zeros((count_rows(X), n_labels))
        supports[:, model.seen] = class_probabilities(model.classifier, X)
        total = supports.sum(axis=1, keepdims=True)
        return np.where(total > 0, supports / np.where(total > 0, total, 1), 1 / n_labels)

    def _validation_attributes(self, Y: BoolArray, supports: FloatArray) -> dict[str, Any]:
        return {"_Y": Y, "_p_decide": CLASS_REFERENCES[self.reference](supports)}

    def _confusion(self, weights: FloatArray) -> FloatArray:
        return class_confusion(weights, self._Y, self._p_decide)

    def _correct(self, supports: FloatArray, confusion: FloatArray) -> FloatArray:
        return correct_classes(CLASS_REFERENCES[self._reference](supports), confusion)


def _train_classes(
    base: Any, X: MatrixLike, target: Target, fit_params: dict[str, Any], rows: IntArray
) -> ClassModel:
    params = take_params(X, fit_params, rows)
    weights = params.get("sample_weight", np.ones(len(rows)))
    counts = weights @ target.Y[rows] / unit_weight(weights)
    shares = (counts + 1) / (counts.sum() + len(counts))
    seen = np.flatnonzero(counts)
    if len(seen) == 1:
        return ClassModel(None, seen, shares)
    y = target.as_given(rows)
    classifier = clone(base, safe=False).fit(take_rows(X, rows), y, **params)
    return ClassModel(classifier, np.searchsorted(target.classes, classifier.classes_), shares)

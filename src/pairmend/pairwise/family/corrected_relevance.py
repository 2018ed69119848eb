"""CorrectedBinaryRelevance: binary relevance with local correction."""

from typing import Any, ClassVar

import numpy as np

from pairmend._utils.fit_params import take_params
from pairmend._utils.sklearn_private import StrOptions
from pairmend._utils.targets import Target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import take_rows
from pairmend.baselines import BinaryRelevance
from pairmend.kernels.classes import label_cells, label_confusion
from pairmend.kernels.correction import correct
from pairmend.kernels.folding import fold_rounded
from pairmend.kernels.rrc import REFERENCES, decide
from pairmend.pairwise.family.locally_corrected import LocallyCorrected


class CorrectedBinaryRelevance(LocallyCorrected):
    """Binary relevance corrected by local fuzzy confusion matrices.

    The probability of each label is corrected by the local confusion matrix of its binary
    classifier, estimated on a validation set (Trajdos and Kurzynski, 2015). This is the published
    method; :class:`~pairmend.MendedClassifier` is the extension with chosen parameters. Labels
    whose corrected support exceeds 1/2 are predicted.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each label. None means
        :class:`~pairmend.RandomSubspaceNB`.
    validation : float or int, default=0.6
        A float in (0, 1): the share of training rows; the others are the validation set.
        An int K of at least 2: K-fold cross-fitting: the validation set is all rows, with
        out-of-fold predictions, and the final classifiers are trained on all rows.
    neighbourhood : neighbourhood, default=None
        Weights of the validation rows around a row. None means
        ``GaussianNeighbourhood(beta=1.0)``.
    reference : {"beta", "constrained", "identity", "crisp"}, default="beta"
        The probability of deciding for the label as a function of its support; see
        :class:`~pairmend.CorrectedPairwiseClassifier`.
    n_jobs : int, default=None
        Number of processes that train labels, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Splits the rows, and seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    model_ : BinaryRelevance
        The trained classifiers.
    neighbourhood_ : neighbourhood
        The fitted neighbourhood.
    train_indices_, validation_indices_ : ndarray of int
        Training rows and validation rows; all rows in both after cross-fitting.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels; after a fit on 1-D classes, the classes.
    multilabel_ : bool
        True after a fit on label indicators, False after a fit on 1-D classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, after a fit on a frame with string names.

    See Also
    --------
    BinaryRelevance : The same, uncorrected.
    CorrectedPairwiseClassifier : The same correction of pairs of labels.

    Notes
    -----
    If all validation rows with some decision have weight 0, the decision is not corrected. A label
    that never or always occurs in the validation set gets the support 0 or 1.

    References
    ----------
    Trajdos, P., Kurzynski, M. (2015). An extension of multi-label binary relevance models based
    on randomized reference classifier and local fuzzy confusion matrix. Intelligent Data
    Engineering and Automated Learning, IDEAL 2015. Lecture Notes in Computer Science 9375.

    Examples
    --------
    >>> from pairmend import CorrectedBinaryRelevance
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = CorrectedBinaryRelevance(LogisticRegression(), validation=5, random_state=0)
    >>> clf.fit(X, Y).predict(X[:2]).tolist()
    [[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LocallyCorrected._parameter_constraints,
        "reference": [StrOptions(set(REFERENCES))],
    }

    def _train(
        self,
        base: Any,
        X: MatrixLike,
        target: Target,
        fit_params: dict[str, Any],
        parts: list[IntArray],
    ) -> list[Any]:
        return [
            BinaryRelevance(base, n_jobs=self.n_jobs, random_state=0).fit(
                take_rows(X, rows),
                target.Y[rows].astype(np.int64),
                **take_params(X, fit_params, rows),
            )
            for rows in parts
        ]

    def _supports_of(self, model: Any, X: MatrixLike, n_labels: int) -> FloatArray:
        return np.clip(model.predict_proba(X), 0, 1)

    def _validation_attributes(self, Y: BoolArray, supports: FloatArray) -> dict[str, Any]:
        decisions = decide(fold_rounded(supports), REFERENCES[self.reference])
        return {"_cells": label_cells(Y, decisions)}

    def _confusion(self, weights: FloatArray) -> FloatArray:
        return label_confusion(weights, self._cells)

    def _correct(self, supports: FloatArray, confusion: FloatArray) -> FloatArray:
        return correct(REFERENCES[self._reference](supports), confusion)

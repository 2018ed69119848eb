"""Binary relevance, corrected by local fuzzy confusion matrices."""

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
from pairmend.kernels.rrc import REFERENCES, decide
from pairmend.pairwise.family.correcting import LocallyCorrected


class CorrectedBinaryRelevance(LocallyCorrected):
    """Multi-label classification by a classifier for each label, mended by how it errs nearby.

    The support for each label is corrected by how often its classifier decides for and against
    the label on validation rows near the point, against what is true there (Trajdos and
    Kurzynski, 2015). Choose it where the one-vs-rest problems are not too imbalanced, and as the
    plain form of what :class:`~pairmend.MendedClassifier` develops further. Labels whose
    corrected support exceeds 1/2 are predicted.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each label. None means
        :class:`~pairmend.RandomSubspaceNB`.
    validation : float or int, default=0.6
        A float in (0, 1): the share of rows trained on; the others are the validation rows.
        An int K of at least 2: K-fold cross-fitting, by which every row is a validation row, and
        the final classifiers see all rows.
    neighbourhood : neighbourhood, default=None
        How validation rows are weighted around a point. None means
        ``GaussianNeighbourhood(beta=1.0)``.
    reference : {"beta", "constrained", "identity", "crisp"}, default="beta"
        How a support becomes the probability of deciding for the label; see
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
        Rows trained on and validation rows; all rows in both after cross-fitting.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels; after a fit on 1-D classes, the classes.
    multilabel_ : bool
        Whether fit saw label indicators, not 1-D classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if fit saw a frame with string names.

    See Also
    --------
    BinaryRelevance : The same, uncorrected.
    CorrectedPairwiseClassifier : The same correction of pairs of labels.

    Notes
    -----
    A decision that no validation row near the point speaks of is taken at its word. A label that
    never or always occurs among the validation rows is corrected all the way to what it is there.

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

    def _ask(self, model: Any, X: MatrixLike, n_labels: int) -> FloatArray:
        return np.clip(model.predict_proba(X), 0, 1)

    def _note(self, Y: BoolArray, supports: FloatArray) -> dict[str, Any]:
        return {"_cells": label_cells(Y, decide(supports, REFERENCES[self.reference]))}

    def _confusion(self, weights: FloatArray) -> FloatArray:
        return label_confusion(weights, self._cells)

    def _correct(self, supports: FloatArray, confusion: FloatArray) -> FloatArray:
        return correct(REFERENCES[self._reference](supports), confusion)

"""Local correction without pairs: CorrectedBinaryRelevance, CorrectedMulticlassClassifier."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from pairmend._utils.classifiers import class_probabilities, seed_estimator
from pairmend._utils.sklearn_private import StrOptions, count_rows
from pairmend._utils.training import Target, check_target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend.baselines import BinaryRelevance
from pairmend.kernels import pairs
from pairmend.kernels.rrc import CLASS_REFERENCES, REFERENCES, decide, fold_rounded
from pairmend.pairwise.learners.generic import ConstantClassifier, SmallProblem, train_problems
from pairmend.pairwise.voting import Blocks, LocallyCorrected, TrainingInput


class CorrectedWithoutPairs(LocallyCorrected):
    """A base classifier whose supports for all labels are corrected around each point."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        validation: float | int = 0.6,
        neighbourhood: Any = None,
        reference: str = "beta",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state)
        self.validation = validation
        self.neighbourhood = neighbourhood
        self.reference = reference

    @abstractmethod
    def _supports(self, model: Any, X: MatrixLike, n_labels: int) -> FloatArray:
        """Return a model's supports for labels, of shape (n, L), in [0, 1]."""

    @abstractmethod
    def _decisions_of(self, Y: BoolArray, supports: FloatArray) -> Any:
        """Return what `_confusion` needs of the decisions at validation rows."""

    @abstractmethod
    def _confusion(self, weights: FloatArray) -> FloatArray:
        """Return local confusion matrices."""

    @abstractmethod
    def _correct(self, supports: FloatArray, confusion: FloatArray) -> FloatArray:
        """Return corrected supports."""

    def _decide_at(self, validation: Any, folds: list[IntArray], models: Iterator[Any]) -> Any:
        Y = validation.Y
        supports = np.empty(Y.shape)
        for fold, model in zip(folds or [np.arange(len(Y))], models, strict=True):
            supports[fold] = self._supports(model, validation.take(fold).X, Y.shape[1])
        return self._decisions_of(Y, supports)

    def _confusion_shares(self, X: MatrixLike) -> Blocks:
        found = self._confusion(self._weights(X))
        yield slice(None), pairs.share(found, found.sum(axis=(-2, -1), keepdims=True), 0.0)

    def _scores(self, X: MatrixLike) -> FloatArray:
        def corrected(X: MatrixLike) -> Blocks:
            supports = self._supports(self.learner_, X, len(self.classes_))
            yield slice(None), self._correct(supports, self._confusion(self._weights(X)))

        return np.clip(self._collect(X, corrected), 0, 1)

    def _row_size(self) -> int:
        return super()._row_size() + 4 * len(self.classes_) ** 2


class CorrectedBinaryRelevance(CorrectedWithoutPairs):
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
    reference : {"beta", "identity", "crisp"}, default="beta"
        The probability of deciding for the label as a function of its support; see
        :class:`~pairmend.CorrectedPairwiseClassifier`.
    n_jobs : int, default=None
        Number of processes that train labels, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Splits the rows, and seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    learner_ : BinaryRelevance
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
    >>> from pairmend.pairwise import CorrectedBinaryRelevance
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = CorrectedBinaryRelevance(LogisticRegression(), validation=5, random_state=0)
    >>> clf.fit(X, Y).predict(X[:2]).tolist()
    [[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]
    """

    def _train(self, data: TrainingInput, rows: Any, parts: list[IntArray]) -> Iterator[Any]:
        base = seed_estimator(data.base, data.seed)
        for part in map(rows.take, parts):
            model = BinaryRelevance(base, n_jobs=self.n_jobs, random_state=0)
            yield model.fit(part.X, part.Y.astype(np.int64), **part.fit_params)

    def _supports(self, model: Any, X: MatrixLike, n_labels: int) -> FloatArray:
        return np.clip(model.predict_proba(X), 0, 1)

    def _decisions_of(self, Y: BoolArray, supports: FloatArray) -> FloatArray:
        return pairs.label_cells(Y, decide(fold_rounded(supports), REFERENCES[self.reference]))

    def _confusion(self, weights: FloatArray) -> FloatArray:
        return pairs.label_confusion(weights, self._decisions)

    def _correct(self, supports: FloatArray, confusion: FloatArray) -> FloatArray:
        return pairs.correct(REFERENCES[self._reference](supports), confusion)


@dataclass(frozen=True)
class ClassModel:
    """A classifier of some of the classes, and their columns in the scores."""

    classifier: Any
    columns: IntArray


class CorrectedMulticlassClassifier(CorrectedWithoutPairs):
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
    learner_ : ClassModel
        The trained base classifier, ``learner_.classifier``, and the columns of its classes.
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
    >>> from pairmend.pairwise import CorrectedMulticlassClassifier
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
        **CorrectedWithoutPairs._parameter_constraints,
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

    def _train(self, data: TrainingInput, rows: Any, parts: list[IntArray]) -> Iterator[Any]:
        base, classes = seed_estimator(data.base, data.seed), data.target.classes

        def calls() -> Iterator[Any]:
            for own in map(rows.take, parts):
                y = own.Y.argmax(axis=1)
                problem = SmallProblem("the classes", np.arange(len(y)), y, len(classes), classes)
                yield delayed(train_problems)(base, own.X, [problem], own.fit_params, n_jobs=None)

        for (model,) in Parallel(n_jobs=self.n_jobs)(calls()):
            is_constant = isinstance(model, ConstantClassifier)
            names = np.arange(len(classes)) if is_constant else classes
            yield ClassModel(model, np.searchsorted(names, model.classes_))

    def _supports(self, model: Any, X: MatrixLike, n_labels: int) -> FloatArray:
        supports = np.zeros((count_rows(X), n_labels))
        supports[:, model.columns] = class_probabilities(model.classifier, X)
        return pairs.sum_to_one(supports)

    def _decisions_of(self, Y: BoolArray, supports: FloatArray) -> tuple[BoolArray, FloatArray]:
        return Y, CLASS_REFERENCES[self.reference](supports)

    def _confusion(self, weights: FloatArray) -> FloatArray:
        return pairs.class_confusion(weights, *self._decisions)

    def _correct(self, supports: FloatArray, confusion: FloatArray) -> FloatArray:
        return pairs.correct_classes(CLASS_REFERENCES[self._reference](supports), confusion)

"""Baselines that turn a multi-label problem into binary or multi-class ones."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from itertools import combinations
from math import ceil, comb
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.multioutput import ClassifierChain
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed

from pairmend._base import MultiLabelClassifier
from pairmend._utils.arrays import take_rows
from pairmend._utils.classifiers import (
    check_base_classifier,
    class_probabilities,
    fit_per_label,
    new_seed,
    predict_per_label,
    seed_estimator,
    smoothed_share,
    varying_labels,
)
from pairmend._utils.progress import iterate_calls, run_calls
from pairmend._utils.sklearn_private import HasMethods, Interval, count_rows, fit_context
from pairmend._utils.training import take_params, take_present
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend.frames.columns import require_numbers
from pairmend.frames.encoder import encoded_once
from pairmend.naive_bayes.estimator import RandomSubspaceNB


class MultiLabelMetaClassifier(MultiLabelClassifier):
    """A classifier that trains clones of a base classifier on all rows."""

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {"estimator": RandomSubspaceNB}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    encodes_frames = True
    """Whether frames may be encoded once for all base classifiers."""

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

    def _seeded_base(self, rng: np.random.RandomState) -> Any:
        """Return a clone of the base classifier, seeded where it has no seed."""
        base = self._base_classifier()
        check_base_classifier(base)
        return seed_estimator(base, new_seed(rng))

    @abstractmethod
    def _fit_rows(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the fitted attributes by name; all weights are positive."""

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: TargetLike, **fit_params: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: whatever the base classifier takes.
        y : {array-like, DataFrame, sparse matrix} of shape (n_samples, n_labels)
            Label indicators, 0 or 1, or the tags of each row, as lists or sets of strings.
            A 1-D array of classes is learnt as indicators of which
            each row has one.
        **fit_params : dict
            Parameters of the base classifier's ``fit``, such as ``sample_weight``; rows of
            weight 0, or of less than a millionth of what counts as one row, are left out. With
            metadata routing enabled, those the base classifier requests.

        Returns
        -------
        self
        """
        base = self._base_classifier()
        X, target, params, weights = self._check_fit_input(X, y, fit_params)
        rows, params, present = take_present(X, params, weights)
        rows, encoder = encoded_once(base, rows) if self.encodes_frames else (rows, None)
        fitted = self._fit_rows(rows, target.Y[present], weights[present], params)
        return self._set_fitted(X, target, **fitted, frame_encoder_=encoder)


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
        The trained classifiers of the labels of ``varying_``; a single one of all these labels if
        the base classifier is a :class:`~pairmend.base_classifiers.ScaledLogisticRegression`.
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

    def _fit_rows(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        base = self._seeded_base(check_random_state(self.random_state))
        varying = varying_labels(Y)
        models = fit_per_label(base, X, Y[:, varying], fit_params, self.n_jobs, owner=self)
        return {"models_": models, "varying_": varying, "_share": smoothed_share(Y, weights)}

    def _scores(self, X: MatrixLike) -> FloatArray:
        return predict_per_label(self.models_, self.varying_, self._share, X, self.n_jobs)


class ClassifierChainEnsemble(MultiLabelMetaClassifier):
    """Multi-label classification by classifier chains in random orders (ECC).

    In a chain the labels before a label are further features of its classifier. Chains in several
    random orders, :class:`sklearn.multioutput.ClassifierChain` each, are trained on random parts
    of the rows and give probabilities, and labels are predicted whose mean exceeds 1/2 (Read et
    al., 2011). A strong baseline if labels depend on each other.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each label of each chain. None means
        :class:`~pairmend.RandomSubspaceNB`.
    n_chains : int, default=10
        Number of chains.
    max_samples : float, default=0.67
        Share of the rows that each chain is trained on, drawn without replacement.
    verbose : bool or int, default=False
        Whether to print the progress of ``fit``.
    n_jobs : int, default=None
        Number of processes that train chains, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Draws orders and rows, and seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    chains_ : list of ClassifierChain or None
        The chains, each over its labels of ``chain_labels_``; None for one that has none.
    chain_labels_ : list of ndarray of int
        Indices of the labels that vary among the rows of each chain.
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
    Classifiers are trained with true labels as features, and predict with predicted ones. For a
    label that is constant among the rows of a chain, the chain has no classifier; its probability
    is the smoothed share of all training rows with the label: 1 / (n + 2) or (n + 1) / (n + 2) for
    a label that never or always occurs, n being the weight of the rows.

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G., Frank, E. (2011). Classifier chains for multi-label
    classification. Machine Learning 85(3), 333-359.

    Examples
    --------
    >>> from pairmend.baselines import ClassifierChainEnsemble
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = ClassifierChainEnsemble(LogisticRegression(max_iter=1000), random_state=0)
    >>> clf.fit(X, Y).predict(X[:2]).tolist()
    [[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MultiLabelMetaClassifier._parameter_constraints,
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Real, 0, 1, closed="right")],
    }
    encodes_frames = False  # a chain appends labels to the features, which must be an array

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_chains: int = 10,
        max_samples: float = 0.67,
        verbose: bool | int = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, verbose=verbose, n_jobs=n_jobs, random_state=random_state)
        self.n_chains = n_chains
        self.max_samples = max_samples

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's chains take finite numbers only, whatever their base takes.
        tags.input_tags.allow_nan = tags.input_tags.string = False
        return tags

    def _fit_rows(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        rng = check_random_state(self.random_state)
        base = self._seeded_base(rng)
        # Chains look at their own parts only, and a row that is in none is still wrong.
        require_numbers(X, type(self).__name__)
        check_array(X, accept_sparse=True, input_name="X", estimator=self)
        n_rows, n_labels = Y.shape
        size = ceil(self.max_samples * n_rows)
        # First of all orders, which then do not depend on the number of rows.
        orders = [rng.permutation(n_labels) for _ in range(self.n_chains)]
        samples = [np.sort(rng.permutation(n_rows)[:size]) for _ in range(self.n_chains)]
        varying = [varying_labels(Y[rows]) for rows in samples]
        calls = (
            delayed(_train_chain)(base, order, labels, rows, X, Y, fit_params)
            for order, labels, rows in zip(orders, varying, samples, strict=True)
        )
        chains = run_calls(self, calls, self.n_chains, "chain", "trained", n_jobs=self.n_jobs)
        return {"chains_": chains, "chain_labels_": varying, "_share": smoothed_share(Y, weights)}

    def _scores(self, X: MatrixLike) -> FloatArray:
        calls = (
            delayed(class_probabilities)(chain, X) for chain in self.chains_ if chain is not None
        )
        proba = iterate_calls(calls, n_jobs=self.n_jobs, prefer="threads")
        scores = np.zeros((count_rows(X), len(self._share)))
        for chain, labels in zip(self.chains_, self.chain_labels_, strict=True):
            part = np.tile(self._share, (len(scores), 1))
            if chain is not None:
                part[:, labels] = next(proba)
            scores += part
        return scores / len(self.chains_)


def _gives_probabilities(classifier: Any) -> bool:
    # After fit, what counts is the classifier that was trained, if there was anything to learn.
    fitted = getattr(classifier, "estimator_", None)
    base = classifier._base_classifier() if fitted is None else fitted
    return hasattr(base, "predict_proba")


class LabelPowerset(MultiLabelMetaClassifier):
    """Multi-label classification as one problem whose classes are label sets (LP).

    One classifier of many classes predicts the most probable of the label sets that occur in
    training (Tsoumakas and Katakis, 2007). It models the dependence of labels and minimises the
    zero-one loss, but never predicts a new combination, and label sets with few rows are hard to
    learn.

    Parameters
    ----------
    estimator : classifier, default=None
        Classifier for any number of classes. None means :class:`~pairmend.RandomSubspaceNB`.
    random_state : int, RandomState or None, default=None
        Seeds the classifier where its own ``random_state`` is None.

    Attributes
    ----------
    label_sets_ : ndarray of shape (n_sets, n_labels)
        The label sets seen in training.
    estimator_ : classifier or None
        The trained classifier, whose classes are the numbers of the label sets; None where
        there is one set only.
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
    ``predict_proba``, there if the classifier has it, adds up the probabilities of all sets
    with the label. The most probable set need not be that of the labels above 1/2. A label
    that never occurs in training is in no set: its probability is 0; one that always does has
    1.

    References
    ----------
    Tsoumakas, G., Katakis, I. (2007). Multi-label classification: an overview. International
    Journal of Data Warehousing and Mining 3(3), 1-13.

    Examples
    --------
    >>> from pairmend.baselines import LabelPowerset
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = LabelPowerset(LogisticRegression(max_iter=1000)).fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 1, 1, 1], [0, 0, 1, 0, 0]]
    """

    def __init__(
        self, estimator: Any = None, *, random_state: int | np.random.RandomState | None = None
    ):
        self.estimator = estimator
        self.random_state = random_state

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        """Predict the label sets of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            Label sets seen in training. After a fit on 1-D classes: shape (n_samples,).
        """
        X = self._check_predict(X)
        constant = np.zeros(count_rows(X), dtype=np.int64)
        found = constant if self.estimator_ is None else self.estimator_.predict(X)
        labels = self.label_sets_[found]
        return labels if self.multilabel_ else np.asarray(self.classes_[labels.argmax(axis=1)])

    @available_if(_gives_probabilities)
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of labels: of all sets that hold them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
        """
        return super().predict_proba(X)

    def _fit_rows(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        seed = new_seed(check_random_state(self.random_state))
        sets, number = np.unique(Y, axis=0, return_inverse=True)
        estimator = None
        if len(sets) > 1:
            estimator = seed_estimator(self._base_classifier(), seed)
            estimator = estimator.fit(X, number.reshape(-1), **fit_params)
        return {"label_sets_": sets.astype(np.int64), "estimator_": estimator}

    def _scores(self, X: MatrixLike) -> FloatArray:
        if self.estimator_ is None:
            return np.tile(self.label_sets_.astype(np.float64), (count_rows(X), 1))
        # Sums of probabilities may exceed 1 by rounding.
        return np.minimum(class_probabilities(self.estimator_, X) @ self.label_sets_, 1.0)


class RAkEL(MultiLabelMetaClassifier):
    """Multi-label classification by overlapping random k-labelsets (RAkELo).

    Each of several :class:`LabelPowerset` classifiers decides on k labels drawn at random. A
    label is predicted if more than half of the classifiers of its labelsets predict it (Tsoumakas
    et al., 2011). Use it instead of the label powerset if labels are many.

    Parameters
    ----------
    estimator : classifier, default=None
        Classifier for any number of classes. None means :class:`~pairmend.RandomSubspaceNB`.
    k : int, default=3
        Number of labels in a labelset; all of them if there are fewer.
    n_models : int, default=None
        Number of labelsets, all different, or all there are if these are fewer. None means
        twice the number of labels.
    verbose : bool or int, default=False
        Whether to print the progress of ``fit``.
    n_jobs : int, default=None
        Number of processes that train, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Draws the labelsets, and seeds the classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    labelsets_ : ndarray of shape (n_models, k)
        Numbers of the labels in each labelset.
    models_ : list of LabelPowerset
        The trained classifiers.
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
    A label's score is its smoothed share of votes, (votes + 1) / (voters + 2), which lies above
    1/2 where the share itself does. A label may be in none of the labelsets. Its score is then
    the smoothed share of training rows with the label; raise `n_models` to include it.

    References
    ----------
    Tsoumakas, G., Katakis, I., Vlahavas, I. (2011). Random k-labelsets for multilabel
    classification. IEEE Transactions on Knowledge and Data Engineering 23(7), 1079-1089.

    Examples
    --------
    >>> from pairmend.baselines import RAkEL
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = RAkEL(LogisticRegression(max_iter=1000), random_state=0).fit(X, Y)
    >>> clf.predict(X[:2]).tolist()
    [[0, 0, 1, 1, 1], [0, 0, 1, 0, 0]]
    >>> clf.labelsets_[:2].tolist()
    [[0, 1, 2], [0, 1, 3]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MultiLabelMetaClassifier._parameter_constraints,
        "k": [Interval(Integral, 1, None, closed="left")],
        "n_models": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        k: int = 3,
        n_models: int | None = None,
        verbose: bool | int = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(estimator, verbose=verbose, n_jobs=n_jobs, random_state=random_state)
        self.k = k
        self.n_models = n_models

    def _fit_rows(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        rng = check_random_state(self.random_state)
        seed = new_seed(rng)
        n_labels = Y.shape[1]
        n_models = 2 * n_labels if self.n_models is None else self.n_models
        labelsets = _draw_labelsets(n_labels, min(self.k, n_labels), n_models, rng)
        base = self._base_classifier()
        calls = (
            delayed(LabelPowerset(base, random_state=seed).fit)(X, Y[:, labels], **fit_params)
            for labels in labelsets
        )
        models = run_calls(self, calls, len(labelsets), "model", "trained", n_jobs=self.n_jobs)
        return {"labelsets_": labelsets, "models_": models, "_share": smoothed_share(Y, weights)}

    def _scores(self, X: MatrixLike) -> FloatArray:
        predictions = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(model.predict)(X) for model in self.models_
        )
        votes = np.zeros((count_rows(X), len(self._share)))
        for labels, predicted in zip(self.labelsets_, predictions, strict=True):
            votes[:, labels] += predicted
        n_voters = np.bincount(self.labelsets_.ravel(), minlength=len(self._share))
        return np.where(n_voters > 0, (votes + 1) / (n_voters + 2), self._share)


def _train_chain(
    base: Any,
    order: IntArray,
    labels: IntArray,
    rows: IntArray,
    X: MatrixLike,
    Y: BoolArray,
    fit_params: dict[str, Any],
) -> ClassifierChain | None:
    """Train a chain of some labels, in the order that all have, on some rows."""
    if not len(labels):
        return None
    # scikit-learn passes fit parameters on with metadata routing only.
    bound = _Bound(base, take_params(X, fit_params, rows))
    chain = ClassifierChain(bound, order=np.searchsorted(labels, order[np.isin(order, labels)]))
    chain.fit(take_rows(X, rows), Y[np.ix_(rows, labels)].astype(np.int64))
    chain.estimators_ = [each.estimator for each in chain.estimators_]
    return chain.set_params(estimator=base)


class _Bound(ClassifierMixin, BaseEstimator):
    """A classifier with bound fit parameters."""

    def __init__(self, estimator: Any, fit_params: dict[str, Any]):
        self.estimator = estimator
        self.fit_params = fit_params

    def __sklearn_clone__(self) -> "_Bound":
        return _Bound(clone(self.estimator), self.fit_params)  # fit parameters are not copied

    def fit(self, X: MatrixLike, y: np.ndarray[Any, Any]) -> Self:
        self.classes_ = self.estimator.fit(X, y, **self.fit_params).classes_
        return self

    def predict(self, X: MatrixLike) -> np.ndarray[Any, Any]:
        return np.asarray(self.estimator.predict(X))


def _draw_labelsets(n_labels: int, k: int, n_sets: int, rng: np.random.RandomState) -> IntArray:
    """Draw different sets of k labels, each as likely as any other; all if these are fewer.

    Sets are in ascending order, labels within a set likewise.
    """
    if comb(n_labels, k) <= n_sets:
        return np.array(list(combinations(range(n_labels), k)))
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < n_sets:
        drawn.add(tuple(sorted(rng.choice(n_labels, k, replace=False).tolist())))
    return np.array(sorted(drawn))

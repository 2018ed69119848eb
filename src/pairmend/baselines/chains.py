"""ClassifierChainEnsemble: an ensemble of scikit-learn's classifier chains."""

from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.multioutput import ClassifierChain
from sklearn.utils import check_array, check_random_state
from sklearn.utils.parallel import delayed

from pairmend._base import MultiLabelMetaClassifier
from pairmend._utils.arrays import take_rows
from pairmend._utils.classifiers import (
    check_base_classifier,
    class_probabilities,
    new_seed,
    seed_estimator,
    smoothed_share,
    varying_labels,
)
from pairmend._utils.progress import iterate_calls, run_calls
from pairmend._utils.sklearn_private import HasMethods, Interval, count_rows
from pairmend._utils.training import take_params
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.frames.columns import require_numbers


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
        "estimator": [HasMethods(["fit"]), None],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Real, 0, 1, closed="right")],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    chains_: list[Any]
    chain_labels_: list[IntArray]

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
        self.estimator = estimator
        self.n_chains = n_chains
        self.max_samples = max_samples
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    encodes_frames = False  # a chain appends labels to the features, which must be an array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's chains take finite numbers only, whatever their base takes.
        tags.input_tags.allow_nan = tags.input_tags.string = False
        return tags

    def _fit_rows(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        base = self._base_classifier()
        check_base_classifier(base)
        rng = check_random_state(self.random_state)
        base = seed_estimator(base, new_seed(rng))
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

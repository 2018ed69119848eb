"""An ensemble of scikit-learn's classifier chains."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.multioutput import ClassifierChain
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from pairmend._typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._validation import (
    HasMethods,
    Interval,
    check_base_classifier,
    count_rows,
    new_seed,
    seed_estimator,
)
from pairmend.rivals.base import WrappingRival, smoothed_share


class ClassifierChainEnsemble(WrappingRival):
    """Multi-label classification by classifier chains in random orders (ECC).

    In a chain the classifier of a label also sees the labels before it. Chains in several
    random orders, :class:`sklearn.multioutput.ClassifierChain` each, give probabilities, and
    labels are predicted whose mean exceeds 1/2 (Read et al., 2011). A strong rival wherever
    labels depend on each other.

    Parameters
    ----------
    estimator : classifier, default=None
        Base classifier with ``predict_proba``, cloned for each label of each chain. None means
        :class:`~pairmend.RandomSubspaceNB`.
    n_chains : int, default=10
        Number of chains.
    n_jobs : int, default=None
        Number of processes that train chains, and of threads that predict.
    random_state : int, RandomState or None, default=None
        Draws the orders, and seeds the base classifiers whose own ``random_state`` is None.

    Attributes
    ----------
    chains_ : list of ClassifierChain
        The chains, over the labels of ``varying_``.
    varying_ : ndarray of int
        Numbers of the labels that some training rows carry and some do not.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels; after a fit on 1-D classes, the classes.
    multilabel_ : bool
        Whether fit saw label indicators, not 1-D classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if fit saw a frame with string names.

    Notes
    -----
    All chains train on all rows; the published method draws a sample for each. A label that
    never or always occurs in training has no classifier, and its score is the smoothed share
    of rows that carry it, 1 / (n + 2) or (n + 1) / (n + 2).

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G., Frank, E. (2011). Classifier chains for multi-label
    classification. Machine Learning 85(3), 333-359.

    Examples
    --------
    >>> from pairmend import ClassifierChainEnsemble
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
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    chains_: list[Any]
    varying_: IntArray

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_chains: int = 10,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.n_chains = n_chains
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's chains take finite numbers only, whatever their base takes.
        tags.input_tags.allow_nan = tags.input_tags.string = False
        return tags

    def _learn(self, X: MatrixLike, Y: BoolArray) -> dict[str, Any]:
        base = self._base_classifier()
        check_base_classifier(base)
        rng = check_random_state(self.random_state)
        base = seed_estimator(base, new_seed(rng))
        varying = np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
        orders = [rng.permutation(len(varying)) for _ in range(self.n_chains)]
        chains = []
        if len(varying):
            target = Y[:, varying].astype(np.int64)
            chains = Parallel(n_jobs=self.n_jobs)(
                delayed(_train_chain)(base, order, X, target) for order in orders
            )
        return {"chains_": chains, "varying_": varying, "_share": smoothed_share(Y)}

    def _scores(self, X: MatrixLike) -> FloatArray:
        scores = np.tile(self._share, (count_rows(X), 1))
        if self.chains_:
            said = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(chain.predict_proba)(X) for chain in self.chains_
            )
            scores[:, self.varying_] = np.mean(said, axis=0)
        return scores


def _train_chain(base: Any, order: IntArray, X: MatrixLike, Y: IntArray) -> ClassifierChain:
    return ClassifierChain(base, order=order).fit(X, Y)

"""RAkEL: an ensemble of label powersets of k random labels each."""

from itertools import combinations
from math import comb
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from pairmend._base import MultiLabelMetaClassifier
from pairmend._utils.parallel import run_calls
from pairmend._utils.per_label import smoothed_share
from pairmend._utils.sklearn_private import HasMethods, Interval, count_rows
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import new_seed
from pairmend.baselines.powerset import LabelPowerset


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
    >>> from pairmend import RAkEL
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
        "estimator": [HasMethods(["fit", "predict"]), None],
        "k": [Interval(Integral, 1, None, closed="left")],
        "n_models": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    labelsets_: IntArray
    models_: list[LabelPowerset]

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
        self.estimator = estimator
        self.k = k
        self.n_models = n_models
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_rows(
        self, X: MatrixLike, Y: BoolArray, weights: FloatArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        rng = check_random_state(self.random_state)
        seed = new_seed(rng)
        n_labels = Y.shape[1]
        n_models = 2 * n_labels if self.n_models is None else self.n_models
        labelsets = draw_labelsets(n_labels, min(self.k, n_labels), n_models, rng)
        base = self._base_classifier()
        calls = (
            delayed(_train)(LabelPowerset(base, random_state=seed), X, Y[:, labels], fit_params)
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


def _train(
    model: LabelPowerset, X: MatrixLike, Y: BoolArray, fit_params: dict[str, Any]
) -> LabelPowerset:
    return model.fit(X, Y, **fit_params)


def draw_labelsets(n_labels: int, k: int, n_sets: int, rng: np.random.RandomState) -> IntArray:
    """Draw different sets of k labels, each as likely as any other.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    k : int
        Labels in a set, at most `n_labels`.
    n_sets : int
        How many sets; all there are if these are fewer.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_sets, k)
        Sets in ascending order, labels within a set likewise.

    Examples
    --------
    >>> draw_labelsets(3, 2, 10, np.random.RandomState(0)).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    if comb(n_labels, k) <= n_sets:
        return np.array(list(combinations(range(n_labels), k)))
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < n_sets:
        drawn.add(tuple(sorted(rng.choice(n_labels, k, replace=False).tolist())))
    return np.array(sorted(drawn))

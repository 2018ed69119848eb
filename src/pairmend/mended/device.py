"""MendedClassifier on arrays of other libraries than numpy: what is computed on their device.

Base classifiers are trained and predict on the device of X. There the nearest landmarks of training
rows are found, and predictions corrected. The search of corrections, of a bounded number of
rows, stacking weights, label sets and thresholds are computed with numpy.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from pairmend._logistic_solver import fit_logistic
from pairmend._utils.arrays import (
    Array,
    Namespace,
    as_numpy,
    check_device_rows,
    check_magnitude,
    warn_of_n_jobs,
)
from pairmend._utils.classifiers import (
    check_params,
    check_probabilities,
    is_auto,
    seed_estimator,
    smoothed_share,
    varying_labels,
)
from pairmend._utils.computing import batches
from pairmend._utils.training import relative_weights
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.kernels.local_sums import TIE, TOLERANCE
from pairmend.mended.base import LINEAR, GivenBase
from pairmend.mended.corrector import Corrector, LabelCorrector, stack
from pairmend.mended.decisions import CorrectedProba
from pairmend.mended.distances import Scaling, log_odds
from pairmend.mended.label_sets import PROBA_MARGIN, LabelSets
from pairmend.mended.rows import RowEncoder
from pairmend.mended.validation import ValidationRows

ARRAYS = 4
"""Number of arrays of the size of a chunk's weights, or scores, in memory at once."""


@dataclass(frozen=True)
class DeviceRows(ValidationRows):
    """Validation rows in memory, whose nearest landmarks are found on a device."""

    namespace: Namespace

    def take(self, rows: IntArray | slice) -> ValidationRows:
        """Select rows."""
        return DeviceRows(**vars(super().take(rows)), namespace=self.namespace)

    def nearest(self, scaling: Scaling) -> IntArray:
        """Return the nearest landmark of each row in a scaling."""
        points = scaling.points(self.X, self.proba)
        if sparse.issparse(points):
            return super().nearest(scaling)
        return nearest_landmark(scaling, points, self.namespace)


class LabelLogisticRegression(ClassifierMixin, BaseEstimator):
    """L2-penalized logistic regression of standardized features, for all labels at once.

    The optimum is that of :class:`~pairmend.base_classifiers.ScaledLogisticRegression` for each
    label. scikit-learn's ``LogisticRegression`` fits one label at a time, which on a GPU takes many
    times as long. A label with one class only has its smoothed share.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the strength of the L2 penalty.
    max_iter : int, default=1000
        Largest number of Newton steps.
    standardize : bool, default=True
        Whether features are standardized; ``ScaledLogisticRegression`` does not where rows are
        mostly zeros.

    Attributes
    ----------
    scaler_ : StandardScaler or None
        Standardizes features.
    coef_ : array of shape (n_features, n_labels)
        Coefficients of the standardized features.
    intercept_ : array of shape (n_labels,)
        Intercepts.
    classes_ : ndarray of shape (n_labels,)
        Numbers of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.mended.device import LabelLogisticRegression
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
    >>> clf = LabelLogisticRegression().fit(X, Y == 1)
    >>> clf.predict_proba(np.array([[1.5]])).round(2).tolist()
    [[0.5, 0.5]]
    """

    def __init__(self, C: float = 1.0, *, max_iter: int = 1000, standardize: bool = True):
        self.C = C
        self.max_iter = max_iter
        self.standardize = standardize

    def fit(self, X: Array, Y: BoolArray, sample_weight: FloatArray | None = None) -> Self:
        """Fit all labels.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows without missing values, of any array library.
        Y : ndarray of shape (n_samples, n_labels)
            Label indicators.
        sample_weight : ndarray of shape (n_samples,), default=None
            Weights of rows.

        Returns
        -------
        self
            Fitted classifier.
        """
        space = Namespace.of(X)
        xp = space.xp
        mass = np.ones(len(Y)) if sample_weight is None else relative_weights(sample_weight)
        X, Y = xp.astype(X, space.float64), np.asarray(Y, dtype=bool)
        self.scaler_ = None
        if self.standardize:
            with np.errstate(invalid="ignore"):  # of a constant feature, in array-api-strict
                self.scaler_ = StandardScaler().fit(X, sample_weight=space.asarray(mass))
        varying = varying_labels(Y)
        shares = smoothed_share(Y, mass)
        coef, intercept = np.zeros((X.shape[1], Y.shape[1])), np.log(shares) - np.log1p(-shares)
        given = self._scaled(X), Y[:, varying], mass
        optimum = fit_logistic(*given, self.C, self.max_iter, overwrite=True)
        optimum.warn_unless_converged()
        coef[:, varying], intercept[varying] = optimum.coef, optimum.intercept
        self.coef_, self.intercept_ = space.asarray(coef), space.asarray(intercept)
        self.classes_ = np.arange(Y.shape[1])
        return self

    def predict_proba(self, X: Array) -> Array:
        """Return the probabilities of labels.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows, of the array library of fit.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Probabilities.
        """
        check_is_fitted(self)
        xp = Namespace.of(self.coef_).xp
        scores = self._scaled(xp.astype(X, self.coef_.dtype)) @ self.coef_
        with np.errstate(over="ignore"):  # an exponential that overflows gives 0
            return 1 / (1 + xp.exp(-(scores + self.intercept_)))

    def _scaled(self, X: Array) -> Array:
        return X if self.scaler_ is None else self.scaler_.transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.array_api_support = True
        return tags


class ArrayPerLabelClassifier(ClassifierMixin, BaseEstimator):
    """One clone of a classifier per label that varies, on the device of its rows.

    The clones are trained and predict in double precision: log-likelihoods, for example, have few
    correct digits in single precision.
    """

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: Array, Y: BoolArray, **fit_params: Any) -> Self:
        """Fit the clones on label indicators."""
        space = Namespace.of(X)
        X = space.xp.astype(X, space.float64)
        weights = fit_params.get("sample_weight", np.ones(len(Y)))
        params = {name: space.asarray(value) for name, value in fit_params.items()}
        # Lists, which do not move with the arrays of the models.
        self.share_ = smoothed_share(Y, np.asarray(weights)).tolist()
        self.varying_ = varying_labels(Y).tolist()
        self.models_ = [
            clone(self.estimator).fit(X, space.asarray(Y[:, label].astype(np.int64)), **params)
            for label in self.varying_
        ]
        return self

    def predict_proba(self, X: Array) -> Array:
        """Return the probabilities of labels, (n_rows, n_labels)."""
        space = Namespace.of(X)
        xp, X = space.xp, space.xp.astype(X, space.float64)
        found = {}
        for label, model in zip(self.varying_, self.models_, strict=True):
            place = as_numpy(model.classes_).tolist().index(1)
            found[label] = xp.astype(model.predict_proba(X)[:, place], space.float64)
        constant = xp.ones(X.shape[0], dtype=space.float64, device=space.device)
        columns = [found.get(label, constant * own) for label, own in enumerate(self.share_)]
        proba = xp.stack(columns, axis=1)
        if bool(xp.all((proba >= 0) & (proba <= 1))):
            return proba
        return space.asarray(check_probabilities(space.numpy(proba), self.estimator))


def base_for_arrays(owner: Any, base: Any, seed: int, *, mostly_zeros: bool) -> GivenBase:
    """Return the base classifier that is trained on a device, seeded; an error if there is none.

    The logistic regression of the library is fitted for all labels at once. It standardizes
    features unless the rows are `mostly_zeros`.
    """
    name = LINEAR if is_auto(owner.estimator) else type(base).__name__
    if type(base) is ScaledLogisticRegression and base.class_weight is None:
        check_params(LogisticRegression(), base.get_params(deep=False))
        own = LabelLogisticRegression(base.C, max_iter=base.max_iter, standardize=not mostly_zeros)
        return GivenBase(own, name)
    if not get_tags(base).array_api_support:
        raise ValueError(
            f"The base classifier {base} takes arrays of numpy only. Pass these, or a base "
            "classifier that supports the array API, such as LogisticRegression or GaussianNB of "
            "scikit-learn."
        )
    return GivenBase(ArrayPerLabelClassifier(seed_estimator(base, seed)), name)


def takes_arrays(model: Any) -> bool:
    """Return whether a fitted base classifier is one of `base_for_arrays`."""
    return isinstance(model, LabelLogisticRegression | ArrayPerLabelClassifier)


def rows_of_device(
    owner: Any, X: Array, y: Any, fit_params: dict[str, Any], namespace: Namespace
) -> tuple[Array, FloatArray, Any, dict[str, Any]]:
    """Return the checked rows on the device, and with numpy the rows, targets and parameters."""
    X = check_device_rows(X, namespace, owner)
    check_magnitude(X)
    warn_of_n_jobs(owner, namespace)
    if is_auto(owner.estimator):
        warnings.warn(
            f"On arrays of {namespace.library}, estimator='auto' is the logistic regression: base "
            "classifiers are compared on arrays of numpy only. To choose it, pass estimator=None.",
            stacklevel=4,
        )
    params = {name: as_numpy(value) for name, value in fit_params.items()}
    return X, namespace.numpy(X).astype(np.float64), as_numpy(y), params


def warn_of_other_scalings(corrector: Corrector, namespace: Namespace) -> None:
    """Warn of scalings whose distances are not computed on the device."""
    scalings = corrector.by_label.scalings
    if left := [name for name, scaling in scalings.items() if scaling.affine_map() is None]:
        warnings.warn(
            f"Distances of the scaling {left[0]!r} are computed with numpy: predictions copy all "
            f"rows of {namespace.library} to the processor. Without a transformer, the scalings "
            "'range', 'standard' and 'log_odds' are computed on the device.",
            stacklevel=4,
        )


def corrected_on_device(
    corrector: Corrector, model: Any, encoder: RowEncoder, X: Array, namespace: Namespace
) -> CorrectedProba:
    """Return corrected probabilities, computed on the device of X, as numpy's.

    If a scaling is no affine function of dense rows, rows are encoded and corrected with numpy.
    """
    xp, by_label = namespace.xp, corrector.by_label
    X = check_device_rows(X, namespace)
    proba = model.predict_proba(X)
    if any(by_label.scalings[name].affine_map() is None for name in by_label.local_names):
        _, rows = encoder.encode(namespace.numpy(X).astype(np.float64))
        return corrector.corrected_proba(rows, namespace.numpy(proba))
    sums = {name: sums_around(by_label, name, X, proba, namespace) for name in by_label.local_names}
    p_true = {
        name: (namespace.asarray(on), namespace.asarray(off))
        for name, (on, off) in by_label.total.p_true.items()
    }
    terms = by_label.terms_of_sums(proba, sums, p_true, xp)
    corrected = by_label.stacked({name: namespace.numpy(term) for name, term in terms.items()})
    parts = {"labels": corrected}
    if corrector.label_set_weights.get("sets", 0.0) != 0:
        found = marginals(namespace.asarray(corrected), corrector.label_sets, namespace)
        parts["sets"] = namespace.numpy(found)
    return CorrectedProba(stack(parts, corrector.label_set_weights), corrected)


def sums_around(
    corrector: LabelCorrector, name: str, X: Array, proba: Array, namespace: Namespace
) -> Array:
    """Return the sums over the landmarks in one scaling, see `kernels.local_sums.LandmarkSums`.

    Weights have the precision of X, unless rows are so far from the landmarks' mean that their
    distances would lose their digits.
    """
    xp, scaling, beta = namespace.xp, corrector.scalings[name], corrector.corrections[name].beta
    given = log_odds(proba, xp=xp) if name == "log_odds" else xp.astype(X, namespace.float64)
    affine = scaling.affine_map()
    assert affine is not None
    mean, factor = (namespace.asarray(part) for part in affine)
    queries = (given - mean) * factor
    points = namespace.asarray(scaling.neighbourhood.points_)
    table = namespace.asarray(corrector.tables[name])
    rounding = beta * xp.max(xp.sum(queries * queries, axis=1)) * float(xp.finfo(X.dtype).eps)
    dtype = X.dtype if bool(rounding <= TOLERANCE) else namespace.float64
    offsets = xp.astype(beta * xp.sum(points * points, axis=1), dtype)
    # The nearest row has the weight 1; of light rows, see `kernels.local_sums.nearness_scale`.
    capped = xp.astype(xp.clip(table[:, -1], 0.0, 1.0), dtype)
    points, table = xp.astype(2 * beta * points, dtype), xp.astype(table, dtype)
    found = []
    for rows in batches(
        queries.shape[0], _chunk_size(len(scaling.neighbourhood.points_), namespace)
    ):
        weights = xp.astype(queries[rows, :], dtype) @ points.T
        weights -= offsets
        weights -= xp.max(weights, axis=1, keepdims=True)
        weights = xp.exp(weights)
        found.append(weights @ table / xp.max(weights * capped, axis=1, keepdims=True))
    return xp.concat(found, axis=0)


def nearest_landmark(scaling: Scaling, points: FloatArray, namespace: Namespace) -> IntArray:
    """Return the nearest landmark of each row, as `kernels.local_sums.nearest_landmark` does."""
    xp, landmarks = namespace.xp, namespace.asarray(scaling.neighbourhood.points_)
    squares = xp.sum(landmarks * landmarks, axis=1)
    found = []
    for rows in batches(len(points), _chunk_size(landmarks.shape[0], namespace)):
        queries = namespace.asarray(points[rows])
        exponents = queries @ landmarks.T - 0.5 * squares
        best = xp.sqrt(xp.take(squares, xp.argmax(exponents, axis=1)))
        slack = TIE * best * (xp.sqrt(xp.sum(queries * queries, axis=1)) + best / 2)
        least = xp.max(exponents, axis=1) - slack
        # The first of the ties: argmax of the array API takes numbers only.
        first = xp.argmax(xp.astype(exponents >= least[:, None], xp.float32), axis=1)
        found.append(namespace.numpy(first))
    return np.concatenate(found)


def marginals(proba: Array, label_sets: LabelSets, namespace: Namespace) -> Array:
    """Return the probability of each label over all sets, see `LabelSets.marginals`."""
    xp = namespace.xp
    members = namespace.asarray(np.asarray(label_sets.members.toarray(), dtype=np.float64))
    prior = namespace.asarray(label_sets.prior)
    found = []
    for rows in batches(proba.shape[0], _chunk_size(prior.shape[0], namespace)):
        scores = log_odds(proba[rows, :], PROBA_MARGIN, xp) @ members.T
        scores += prior
        scores -= xp.max(scores, axis=1, keepdims=True)
        scores = xp.exp(scores)
        scores /= xp.sum(scores, axis=1, keepdims=True)
        found.append(xp.clip(scores @ members, 0.0, 1.0))
    return xp.concat(found, axis=0)


def _chunk_size(n_columns: int, namespace: Namespace) -> int:
    """Return the number of rows whose arrays with these columns fit into memory."""
    return max(1, int(namespace.max_bytes) // (8 * ARRAYS * n_columns))

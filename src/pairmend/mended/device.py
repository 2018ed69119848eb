"""MendedClassifier on arrays of any library and device.

Base classifiers are trained and predict on the device of X, and so are the Gaussian sums of
predictions computed. Everything else is small and stays with numpy: the search of corrections, of
a bounded number of rows, stacking weights, label sets and thresholds.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from pairmend._logistic_solver import fit_logistic
from pairmend._utils.chunking import batches
from pairmend._utils.fit_params import take_params
from pairmend._utils.namespaces import (
    Array,
    Namespace,
    as_numpy,
    check_device_rows,
    warn_of_n_jobs,
)
from pairmend._utils.parameters import is_auto
from pairmend._utils.per_label import smoothed_share, varying_labels
from pairmend._utils.progress import report
from pairmend._utils.sklearn_private import check_params
from pairmend._utils.targets import numpy_target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.validation import (
    check_magnitude,
    check_probabilities,
    seed_estimator,
)
from pairmend._utils.weights import relative_weights
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.kernels.rrc import REFERENCES
from pairmend.mended.base import LINEAR, BaseRows, GivenBase
from pairmend.mended.corrector import Corrector, LabelCorrector
from pairmend.mended.decisions import CorrectedProba
from pairmend.mended.distances import PROBA_MARGIN
from pairmend.mended.label_sets import PROBA_MARGIN as SET_MARGIN
from pairmend.mended.landmark_sums import (
    DenseLandmarks,
    corrected_by,
    log_odds,
    sums_by_landmark,
)
from pairmend.mended.rows import RowEncoder
from pairmend.mended.stacking import stack
from pairmend.mended.validation import GlobalSums, LandmarkTables, OutOfFoldRows
from pairmend.model_selection.out_of_fold import first_predictions

MARGINAL_ARRAYS = 4
"""Number of arrays of the scores of label sets of a chunk in memory at once."""


@dataclass(frozen=True)
class DeviceRows(OutOfFoldRows):
    """Validation rows in memory, whose nearest landmarks and sums are computed on a device."""

    namespace: Namespace

    def add_others(self, tables: LandmarkTables, landmarks: IntArray) -> LandmarkTables:
        """Return the sums with those of all rows that are no landmarks."""
        is_other = np.ones(len(self.validation), dtype=bool)
        is_other[landmarks] = False
        scalings = {
            scaling.name: (*affine, scaling.neighbourhood.points_)
            for scaling in tables.scalings
            if (affine := scaling.affine_map()) is not None
        }
        if not is_other.any() or len(scalings) < len(tables.scalings):
            return super().add_others(tables, landmarks)
        others = self.validation.take(np.flatnonzero(is_other))
        given = others.X, others.Y, others.proba, others.weights
        references = list(tables.total.sums)
        total, sums = sums_by_landmark(*given, scalings, references, PROBA_MARGIN, self.namespace)
        return tables.plus(LandmarkTables(tables.scalings, GlobalSums(total), sums))


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
    mean_, scale_ : array of shape (n_features,)
        Mean and standard deviation of the features; 1 for constant ones. If features are not
        standardized, 0 and 1.
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
        Y : ndarray of bool, shape (n_samples, n_labels)
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
        weights = space.asarray(mass)
        X = xp.astype(X, space.float64)
        mean, scale = self._mean_and_scale(X, weights / float(mass.sum()), space)
        varying = varying_labels(Y)
        shares = smoothed_share(Y, mass)
        coef, intercept = np.zeros((X.shape[1], Y.shape[1])), np.log(shares) - np.log1p(-shares)
        scaled = (X - mean) / scale
        optimum = fit_logistic(scaled, Y[:, varying], mass, self.C, self.max_iter, overwrite=True)
        optimum.warn_unless_converged()
        coef[:, varying], intercept[varying] = optimum.coef, optimum.intercept
        self.mean_, self.scale_ = mean, scale
        self.coef_, self.intercept_ = space.asarray(coef), space.asarray(intercept)
        self.classes_ = np.arange(Y.shape[1])
        return self

    def _mean_and_scale(self, X: Array, share: Array, namespace: Namespace) -> tuple[Array, Array]:
        """Return what is subtracted from the features, and what they are divided by."""
        xp = namespace.xp
        mean = xp.sum(X * share[:, None], axis=0)
        if not self.standardize:
            return xp.zeros_like(mean), xp.ones_like(mean)
        variance = xp.sum((X - mean) ** 2 * share[:, None], axis=0)
        # The variance of a constant feature is rounding, with the bound of `StandardScaler`.
        rounding = X.shape[0] * float(xp.finfo(X.dtype).eps)
        is_constant = variance <= rounding * variance + (rounding * mean) ** 2
        return mean, xp.where(is_constant, xp.ones_like(mean), xp.sqrt(variance))

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
        Z = (xp.astype(X, self.mean_.dtype) - self.mean_) / self.scale_
        return _logistic(Z @ self.coef_ + self.intercept_, xp)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.array_api_support = True
        return tags


def _logistic(scores: Array, xp: Any) -> Array:
    """Return the logistic function; an exponential that overflows gives 0."""
    with np.errstate(over="ignore"):
        return 1 / (1 + xp.exp(-scores))


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
        X = space.xp.astype(X, space.float64)
        found = {}
        for label, model in zip(self.varying_, self.models_, strict=True):
            place = as_numpy(model.classes_).tolist().index(1)
            found[label] = space.xp.astype(model.predict_proba(X)[:, place], space.float64)
        constant = space.xp.ones(X.shape[0], dtype=space.float64, device=space.device)
        columns = [found.get(label, constant * own) for label, own in enumerate(self.share_)]
        return space.xp.stack(columns, axis=1)


def _classifier_for_arrays(base: Any, seed: int, *, mostly_zeros: bool) -> Any:
    """Return the classifier of all labels that is trained on a device; an error if there is none.

    The logistic regression of the library is fitted for all labels at once. It standardizes
    features unless the rows are `mostly_zeros`.
    """
    if type(base) is ScaledLogisticRegression and base.class_weight is None:
        check_params(LogisticRegression(), base.get_params(deep=False))
        return LabelLogisticRegression(base.C, max_iter=base.max_iter, standardize=not mostly_zeros)
    if not get_tags(base).array_api_support:
        raise ValueError(
            f"The base classifier {base} takes arrays of numpy only. Pass these, or a base "
            "classifier that supports the array API, such as LogisticRegression or GaussianNB of "
            "scikit-learn."
        )
    return ArrayPerLabelClassifier(seed_estimator(base, seed))


def takes_arrays(model: Any) -> bool:
    """Return whether a fitted base classifier is one of `_classifier_for_arrays`."""
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
    return X, namespace.numpy(X).astype(np.float64), numpy_target(y), params


@dataclass(frozen=True)
class DeviceBase(GivenBase):
    """A base classifier that is trained on a device, one split after the other.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        Rows on the device.
    """

    X: Array

    @classmethod
    def of(cls, owner: Any, base: Any, seed: int, X: Array, *, mostly_zeros: bool) -> "DeviceBase":
        """Return the base classifier of a `MendedClassifier`, seeded."""
        name = LINEAR if is_auto(owner.estimator) else type(base).__name__
        return cls(_classifier_for_arrays(base, seed, mostly_zeros=mostly_zeros), name, X)

    def out_of_fold(self, rows: BaseRows) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the validation rows, their out-of-fold probabilities, and their splits."""
        parts = []
        for train, test in rows.splits:
            proba = self._fit(rows, train).predict_proba(self._take(test))
            base = getattr(self.model, "estimator", self.model)
            parts.append(check_probabilities(Namespace.of(self.X).numpy(proba), base))
            report(rows.owner, f"out-of-fold predictions of {len(test)} rows")
        return first_predictions([test for _, test in rows.splits], parts, rows.target.Y.shape[1])

    def fit_on_all(self, rows: BaseRows) -> Any:
        """Return the classifier fitted on all rows."""
        return self._fit(rows, np.flatnonzero(rows.weights > 0))

    def _fit(self, rows: BaseRows, chosen: IntArray) -> Any:
        params = take_params(rows.X, rows.params, chosen)
        return clone(self.model).fit(self._take(chosen), rows.target.Y[chosen], **params)

    def _take(self, chosen: IntArray) -> Array:
        namespace = Namespace.of(self.X)
        return namespace.xp.take(self.X, namespace.asarray(chosen), axis=0)


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
    corrector: LabelCorrector, model: Any, encoder: RowEncoder, X: Array, namespace: Namespace
) -> FloatArray:
    """Return corrected probabilities of labels, computed on the device of X, as numpy's.

    `encoder` encodes rows for distances that are computed with numpy.
    """
    xp = namespace.xp
    single = X.dtype == xp.float32
    X = check_device_rows(X, namespace)
    proba = xp.astype(model.predict_proba(X), namespace.float64)
    if not bool(xp.all((proba >= 0) & (proba <= 1))):
        base = getattr(model, "estimator", model)
        proba = namespace.asarray(check_probabilities(namespace.numpy(proba), base))
    cache: dict[Any, Any] = corrector.__dict__.setdefault("_on_device", {})
    key = namespace.xp.__name__, str(namespace.device)
    if key not in cache:
        cache.clear()
        cache[key] = _DeviceCorrector.of(corrector, namespace)
    found = cache[key].terms(X, proba, xp.float32 if single else namespace.float64, namespace)
    terms = {name: namespace.numpy(term) for name, term in found.items()}
    missing = [name for name in corrector._local_names if name not in terms]
    if missing:  # scalings that are no affine functions of dense rows
        _, rows = encoder.encode(namespace.numpy(X).astype(np.float64))
        found = corrector.terms(rows, terms["uncorrected"])
        terms |= {name: found[name] for name in missing}
    return corrector.stacked(terms)


def with_label_sets(corrector: Corrector, by_label: FloatArray, namespace: Namespace) -> Any:
    """Stack probabilities of labels with the marginals of label sets, computed on a device."""
    sets = corrector.label_sets
    if corrector.label_set_weights.get("sets", 0.0) == 0 or sets.local_exponent != 0:
        return corrector.with_label_sets(by_label, None)
    members = np.asarray(sets.members.toarray(), dtype=np.float64)
    found = marginals(namespace.asarray(by_label), members, sets._prior, SET_MARGIN, namespace)
    parts = {"labels": by_label, "sets": namespace.numpy(found)}
    return CorrectedProba(stack(parts, corrector.label_set_weights), by_label, None)


def marginals(
    proba: Array,
    members: np.ndarray[Any, Any],
    prior: np.ndarray[Any, Any],
    margin: float,
    namespace: Namespace,
) -> Array:
    """Return the probability of each label over all sets, (n_rows, n_labels).

    `members`, (n_sets, n_labels), are the indicators of the sets, `prior` the logarithms of their
    factors. Probabilities are clipped to `margin` from 0 and 1.
    """
    xp = namespace.xp
    sets, factors = namespace.asarray(members), namespace.asarray(prior)
    step = max(1, namespace.max_bytes // (8 * MARGINAL_ARRAYS * len(prior)))
    found = []
    for rows in batches(proba.shape[0], step):
        p = xp.clip(proba[rows, :], margin, 1 - margin)
        scores = xp.log(p / (1 - p)) @ sets.T
        scores += factors
        scores -= xp.max(scores, axis=1, keepdims=True)
        scores = xp.exp(scores)
        scores /= xp.sum(scores, axis=1, keepdims=True)
        found.append(xp.clip(scores @ sets, 0.0, 1.0))
    return xp.concat(found, axis=0)


@dataclass(frozen=True)
class _DeviceCorrector:
    """The corrections of a `LabelCorrector` whose points are affine functions of dense rows."""

    corrector: LabelCorrector
    local: dict[str, tuple[Array, Array, DenseLandmarks]]
    p_true: dict[str, tuple[Array, Array]]

    @classmethod
    def of(cls, corrector: LabelCorrector, namespace: Namespace) -> "_DeviceCorrector":
        """Move what corrections need to a device."""
        local = {}
        for name in corrector._local_names:
            scaling = corrector.scalings[name]
            if (affine := scaling.affine_map()) is None:
                continue
            points = namespace.asarray(scaling.neighbourhood.points_)
            table = namespace.asarray(corrector.tables[name])
            landmarks = DenseLandmarks(points, table, corrector.corrections[name].beta)
            local[name] = (*(namespace.asarray(part) for part in affine), landmarks)
        p_true = {
            name: (namespace.asarray(on), namespace.asarray(off))
            for name, (on, off) in corrector._p_true.items()
        }
        return cls(corrector, local, p_true)

    def terms(self, X: Array, proba: Array, dtype: Any, namespace: Namespace) -> dict[str, Array]:
        """Return uncorrected probabilities, and corrections whose stacking weight is not 0."""
        xp, corrector = namespace.xp, self.corrector
        terms = {"uncorrected": proba}
        for name, (mean, factor, landmarks) in self.local.items():
            correction = corrector.corrections[name]
            given = log_odds(proba, PROBA_MARGIN) if name == "log_odds" else X
            queries = (xp.astype(given, namespace.float64) - mean) * factor
            sums = landmarks.sums(queries, dtype, namespace)
            towards, mass = self.p_true[correction.reference], correction.shrinkage
            terms[name] = corrected_by(proba, sums, towards, mass, correction.reference, dtype)
        if corrector.stacking_weights.get("global", 0) != 0:
            reference = corrector.corrections["global"].reference
            decided = REFERENCES[reference](proba, xp)
            on, off = self.p_true[reference]
            terms["global"] = decided * on + (1 - decided) * off
        return terms

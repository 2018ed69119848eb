"""MendedClassifier on arrays of any library and device.

Base classifiers are trained and predict on the device of X, and so are the Gaussian sums of
predictions computed. Everything else is small and stays with numpy: the search of corrections, of
a bounded number of rows, stacking weights, label sets and thresholds.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state, get_tags

from pairmend._utils.fit_params import route_fit_params, take_params
from pairmend._utils.namespaces import Array, Namespace, as_numpy, check_device_rows
from pairmend._utils.parameters import is_auto
from pairmend._utils.per_label import smoothed_share, varying_labels
from pairmend._utils.progress import report
from pairmend._utils.sklearn_private import check_params
from pairmend._utils.targets import check_target, numpy_target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray
from pairmend._utils.validation import (
    check_base_classifier,
    check_magnitude,
    check_probabilities,
    new_seed,
    seed_estimator,
)
from pairmend._utils.weights import relative_weights
from pairmend.array_api.label_sets import marginals
from pairmend.array_api.landmark_sums import (
    DenseLandmarks,
    corrected_by,
    log_odds,
    sums_by_landmark,
)
from pairmend.array_api.logistic import LabelLogisticRegression
from pairmend.array_api.supports import p_decide
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.mended.base import GivenBase, base_attributes
from pairmend.mended.base_choice import LINEAR
from pairmend.mended.corrector import Corrector, LabelCorrector
from pairmend.mended.decisions import CorrectedProba
from pairmend.mended.distances import PROBA_MARGIN
from pairmend.mended.label_sets import PROBA_MARGIN as SET_MARGIN
from pairmend.mended.landmarks import LandmarkTables
from pairmend.mended.out_of_fold_rows import LocalRows
from pairmend.mended.rows import RowEncoder, takes_sparse_rows
from pairmend.mended.scoring import find_metric
from pairmend.mended.stacking import stack
from pairmend.mended.validation_set import GlobalSums, ValidationRows
from pairmend.model_selection.out_of_fold import first_predictions, split_rows


@dataclass(frozen=True)
class DeviceRows(LocalRows):
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


def base_for_arrays(base: Any, seed: int, *, mostly_zeros: bool) -> Any:
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
    """Return whether a fitted base classifier is one of `base_for_arrays`."""
    return isinstance(model, LabelLogisticRegression | ArrayPerLabelClassifier)


def fit_on_arrays(
    owner: Any, X: Array, y: Any, fit_params: dict[str, Any], namespace: Namespace
) -> Any:
    """Fit a `MendedClassifier` on rows of another array library than numpy."""
    xp = namespace.xp
    X = check_device_rows(X, namespace, owner)
    check_magnitude(X)
    numbers = namespace.numpy(X).astype(np.float64)
    target = check_target(owner, numbers, numpy_target(y), min_labels=1)
    base = owner._base_classifier()
    check_base_classifier(base)
    find_metric(owner)
    params = {name: as_numpy(value) for name, value in fit_params.items()}
    params, row_weights = route_fit_params(owner, base, numbers, params)
    encoder = RowEncoder.fit(
        numbers, row_weights, for_base=False,
        for_distances=owner.transformer is None and owner.scaling != "log_odds",
        is_optional=False, sparse_for_base=takes_sparse_rows(base),
    )  # fmt: skip
    # On the device rows are dense in any case.
    encoder = replace(encoder, sparse_for_base=False)
    rng = check_random_state(owner.random_state)
    is_sparse = encoder.sparse_rows is not None
    model = base_for_arrays(base, new_seed(rng), mostly_zeros=is_sparse)
    splits = split_rows(owner.cv, numbers, target, row_weights > 0, new_seed(rng))

    def fit(rows: IntArray) -> Any:
        own = take_params(numbers, params, rows)
        at = xp.take(X, namespace.asarray(rows), axis=0)
        return clone(model).fit(at, target.Y[rows], **own)

    parts = []
    for train, test in splits:
        proba = fit(train).predict_proba(xp.take(X, namespace.asarray(test), axis=0))
        parts.append(check_probabilities(namespace.numpy(proba), base))
        report(owner, f"out-of-fold predictions of {len(test)} rows")
    rows, proba, folds = first_predictions([test for _, test in splits], parts, target.Y.shape[1])
    _, distance_rows = encoder.encode(numbers)
    validation = ValidationRows(
        distance_rows[rows], target.Y[rows], proba, relative_weights(row_weights)[rows]
    )
    fitted = owner._fit_correction(DeviceRows(validation, folds, namespace), rows, target, rng)
    for scaling in fitted["_corrector"].by_label.scalings.values():
        del scaling.namespace  # a fitted classifier may be used on other devices
    for name in ("validation_indices_", "landmark_indices_"):
        fitted[name] = namespace.asarray(fitted[name])
    name = LINEAR if is_auto(owner.estimator) else type(base).__name__
    return owner._set_fitted(
        X,
        target,
        estimator_=fit(np.flatnonzero(row_weights > 0)),
        **base_attributes(GivenBase(model, name)),
        frame_encoder_=None,
        _row_encoder=encoder,
        **fitted,
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
            decided = p_decide(reference, proba, namespace)
            on, off = self.p_true[reference]
            terms["global"] = decided * on + (1 - decided) * off
        return terms

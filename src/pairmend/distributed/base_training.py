"""Training of base classifiers and scalers by blocks, and of classifiers with all rows."""

from collections.abc import Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from typing import Any

import dask
import numpy as np
from dask import delayed
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from distributed import Client
from pairmend._logistic_solver import (
    MAX_ROTATED,
    TOLERANCE,
    LogisticOptimum,
    _blocks,
    _Labels,
    fit_logistic,
)
from pairmend._utils.arrays import (
    EncodedFrame,
    Namespace,
    is_frame,
    set_feature_attributes,
    take_rows,
)
from pairmend._utils.classifiers import (
    PerLabelClassifier,
    check_base_classifier,
    new_seed,
    seed_estimator,
    smoothed_share,
    varying_labels,
)
from pairmend._utils.computing import one_blas_thread
from pairmend._utils.training import Target, unit_weight
from pairmend._utils.typing import FloatArray, IntArray
from pairmend.base_classifiers import DenseScaler, ScaledLogisticRegression
from pairmend.baselines.transformation import BinaryRelevance
from pairmend.distributed.rows import Block, Rows, as_task, in_a_tree, stack
from pairmend.distributed.subspace_nb import NO_ENCODER, check_frame, train_labels
from pairmend.frames.encoder import FrameEncoder, takes_encoded_frames
from pairmend.mended.rows import RowEncoder
from pairmend.naive_bayes.estimator import RandomSubspaceNB

NUMPY = Namespace.of(np.empty(0))


def is_trained_by_blocks(model: Any) -> bool:
    """Return whether a classifier is trained without all rows in the memory of a worker.

    It must have a base classifier for each label, with ``partial_fit`` or in closed form. For
    indicators of all labels, scikit-learn does not define the `classes` of ``partial_fit``, and
    ``partial_fit`` of this library's classifiers keeps rows.
    """
    base = _trained_part(model)
    return base is not model and (
        hasattr(base, "partial_fit") or type(base) in (RandomSubspaceNB, ScaledLogisticRegression)
    )


def train_by_blocks(
    model: Any,
    rows: Rows,
    parts: list[IntArray],
    encoder: RowEncoder = NO_ENCODER,
    **options: Any,
) -> list[Any]:
    """Return a clone fitted on each part of the rows, whose labels are numbers.

    Rows are those that the encoder returns for the base classifier. `options` are those of the fit
    of a `PerLabelClassifier`.
    """
    base, Y = _trained_part(model), rows.target.Y
    if isinstance(model, BinaryRelevance):  # trained as its own fit does
        check_base_classifier(base)
        base = seed_estimator(base, new_seed(check_random_state(model.random_state)))
        if is_frame(rows.like) and takes_encoded_frames(base):
            encoder = RowEncoder(FrameEncoder().fit(rows.like), for_base=True, for_distances=False)
            check_frame(rows.like, encoder.encoder)
    varying = [varying_labels(Y[part]) for part in parts]
    if type(base) is RandomSubspaceNB:
        trained = [
            train_labels(base, rows, encoder, part, labels)
            for part, labels in zip(parts, varying, strict=True)
        ]
    elif type(base) is ScaledLogisticRegression:
        scalers = fit_scalers(rows, encoder, parts, standardize=base.standardize, words=True)
        trained = [
            train_logistic(base, rows, encoder, *given, **options)
            for given in zip(parts, varying, scalers, strict=True)
        ]
    else:
        trained = _train_in_turn(base, rows, encoder, parts, varying)
    fitted = []
    for models, labels, part in zip(trained, varying, parts, strict=True):
        share = smoothed_share(Y[part], rows.all_weights[part])
        if isinstance(model, PerLabelClassifier):
            fitted.append(clone(model).set_models(models, labels, share))
        else:
            attributes = {"models_": models, "varying_": labels, "_share": share}
            attributes["frame_encoder_"] = encoder.encoder if encoder.for_base else None
            target = Target(Y[:0], np.arange(Y.shape[1]), multilabel=True)
            fitted.append(clone(model)._set_fitted(rows.like, target, **attributes))
    return fitted


def _trained_part(model: Any) -> Any:
    """Return the classifier that is trained: that of each label, if there is one."""
    if isinstance(model, PerLabelClassifier):
        return model.estimator
    return model._base_classifier() if isinstance(model, BinaryRelevance) else model


def _train_in_turn(
    base: Any, rows: Rows, encoder: RowEncoder, parts: list[IntArray], labels: list[IntArray]
) -> list[list[Any]]:
    """Train a model for each of a part's labels on one block after the other, in one pass."""
    encode, chains = as_task(encoder), []
    for part, own in zip(parts, labels, strict=True):
        chain = as_task([clone(base) for _ in own])
        for block in rows.choose(part):
            chain = delayed(_continue)(chain, own, block, encode)
        chains.append(chain)
    return list(dask.compute(*chains))


def _continue(models: list[Any], labels: IntArray, block: Block, encoder: RowEncoder) -> list[Any]:
    """Return copies of models that are trained on further rows; a task may be repeated."""
    models, Y = deepcopy(models), block.Y.astype(np.int64)
    X, _ = encoder.encode(block.X)
    params = {} if block.weights is None else {"sample_weight": block.weights}
    for model, label in zip(models, labels, strict=True):
        model.partial_fit(X, Y[:, label], classes=np.array([0, 1]), **params)
    return models


def fit_on_worker(classifier: Any, rows: Rows, sample_weight: FloatArray | None) -> Any:
    """Return a clone of a classifier, fitted by its own ``fit`` on a worker with all rows.

    With `n_jobs`, what it would run in processes is distributed over the workers.
    """
    try:
        is_distributed = Client.current() is not None and classifier.get_params().get("n_jobs")
    except ValueError:  # there is no cluster
        is_distributed = False
    params = {} if sample_weight is None else {"sample_weight": sample_weight}
    target = replace(rows.target, Y=rows.target.Y[:0])
    given = as_task(classifier), rows.blocks, as_task(target), as_task(params)
    return delayed(_fit_here)(*given, bool(is_distributed)).compute()


def _fit_here(
    classifier: Any,
    blocks: list[Block],
    target: Target,
    params: dict[str, Any],
    is_distributed: bool,
) -> Any:
    X, Y, *_ = stack(blocks)
    y = replace(target, Y=Y).as_given(np.arange(len(Y)))
    with parallel_config("dask") if is_distributed else nullcontext():
        fitted = clone(classifier).fit(X, y, **params)
    if target.multilabel:
        fitted.classes_ = target.classes  # the names of the columns
    return fitted


def fit_scalers(
    rows: Rows, encoder: RowEncoder, parts: Sequence[IntArray], **params: Any
) -> list[DenseScaler]:
    """Return a DenseScaler fitted on each part of the rows, in one pass."""
    is_member = np.zeros((len(rows), len(parts)), dtype=bool)
    for number, part in enumerate(parts):
        is_member[part, number] = True
    chain = as_task([None for _ in parts])
    for block in rows.choose(np.flatnonzero(is_member.any(axis=1)), is_member):
        chain = delayed(_scale_further)(chain, block, as_task(encoder), params)
    scalers: list[DenseScaler] = chain.compute()
    return scalers


def _scale_further(
    scalers: list[Any], block: Block, encoder: RowEncoder, params: dict[str, Any]
) -> list[DenseScaler]:
    """Return scalers that are fitted on further rows; a task may be repeated."""
    X, found = encoder.encode(block.X)[0], []
    for before, is_member in zip(scalers, block.given.T, strict=True):
        own = np.flatnonzero(is_member)
        if len(own):
            scaler = DenseScaler(**params).fit(part := take_rows(X, own))
            if scaler.scaler_ is not None:
                numbers = part.numbers if isinstance(part, EncodedFrame) else part
                scaler.scaler_ = deepcopy(before.scaler_) if before else StandardScaler()
                with np.errstate(invalid="ignore"):
                    scaler.scaler_.partial_fit(numbers, sample_weight=block.all_weights[own])
                # A column without any value here has the statistics of the blocks before.
                for name, first in (("mean_", 0.0), ("var_", 0.0), ("scale_", 1.0)):
                    now = getattr(scaler.scaler_, name)
                    last = getattr(before.scaler_, name) if before else first
                    setattr(scaler.scaler_, name, np.where(np.isnan(now), last, now))
            if before and scaler.encoder_ is not None:
                pairs = zip(before.encoder_.categories_, scaler.encoder_.categories_, strict=True)
                codes = [np.union1d(*both) for both in pairs]
                n_rows = max(map(len, codes))
                scaler.encoder_ = clone(scaler.encoder_).fit(
                    np.column_stack([np.resize(column, n_rows) for column in codes])
                )
        found.append(scaler if len(own) else before)
    return found


def train_logistic(
    base: ScaledLogisticRegression,
    rows: Rows,
    encoder: RowEncoder,
    part: IntArray,
    labels: IntArray,
    scaler: DenseScaler,
    *,
    start: PerLabelClassifier | None = None,
    tolerance: float = TOLERANCE,
) -> list[ScaledLogisticRegression]:
    """Return the logistic regression of some labels on a part of the rows.

    The optimum of drawn rows comes first. Each product with the rows is then one pass over blocks.
    """
    if not len(labels):
        return []
    unit = 1.0 if rows.weights is None else unit_weight(rows.weights[part])
    read = as_task((encoder, scaler, labels, unit))
    drawn = np.sort(np.random.RandomState(0).permutation(part)[: rows.size])
    blocks = [delayed(_scaled)(block, read) for block in rows.choose(drawn)]
    sample = stack(dask.compute(*blocks))
    n_features, rotation = sample.X.shape[1], None
    if not sparse.issparse(sample.X) and n_features <= MAX_ROTATED:
        _, rotation = np.linalg.eigh(sample.X.T @ sample.X)
    first = np.zeros((n_features + 1, len(labels)))
    if start is not None and len(start.models_[0].classifier_.coef_.T) == n_features:
        optimum = start.models_[0]._optimum(np.searchsorted(start.varying_, labels))
        first = np.vstack([optimum.coef, optimum.intercept])
    elif len(varying := varying_labels(sample.Y)):
        C = base.C * len(part) / len(drawn)
        optimum = fit_logistic(sample.X, sample.Y[:, varying], sample.all_weights, C, base.max_iter)
        first[:, varying] = np.vstack([optimum.coef, optimum.intercept])
    blocks = [delayed(_scaled)(block, read) for block in rows.choose(part)]
    problem = _BlockLabels(blocks, base.C, rotation, n_features, len(part))
    first = problem.turned(first, back=True)
    coef, intercept, n_iter, converged = problem.solve(first, base.max_iter, tolerance)
    coef = problem.turned(np.vstack([coef, intercept]))[:-1]
    optimum = LogisticOptimum(coef, intercept, n_iter, converged)
    optimum.warn_unless_converged()
    model = clone(base)
    model.scaler_ = scaler
    set_feature_attributes(model, encoder.encode(rows.like)[0])
    return [model._set_optimum(optimum, coef)]


def _scaled(block: Block, read: tuple[RowEncoder, DenseScaler, IntArray, float]) -> Block:
    """Return scaled rows, some labels, and relative weights."""
    encoder, scaler, labels, unit = read
    X: Any = scaler.transform(encoder.encode(block.X)[0])
    return Block(X.astype(np.float64), block.Y[:, labels], block.all_weights / unit)


class _BlockLabels(_Labels):
    """The losses of labels, summed over delayed blocks.

    In place of the curvature in each row, the point at which it is computed is kept.
    """

    def __init__(self, blocks: list[Any], C: float, rotation: Any, n_features: int, n_rows: int):
        self.namespace, self.blocks, self.n_rows = NUMPY, blocks, n_rows
        self.rotation = rotation
        self.penalty = np.full((n_features + 1, 1), 1 / C)
        self.penalty[-1] = 0

    def turned(self, values: FloatArray, *, back: bool = False) -> FloatArray:
        """Return values for scaled features, or `back` those for their principal components."""
        if self.rotation is None:
            return values
        rotation = self.rotation.T if back else self.rotation
        return np.vstack([rotation @ values[:-1], values[-1:]])

    def _evaluate(self, V: Any, labels: IntArray) -> tuple[FloatArray, Any, list[Any]]:
        point = [V, labels[np.newaxis]]
        found = self._sum("_evaluate", point)
        loss = 0.5 * np.sum(self.penalty * V * V, axis=0) + found[0]
        return loss, self.penalty * V + found[1:], point

    def _hessian_product(self, vectors: Any, curvature: list[Any]) -> Any:
        return self.penalty * vectors + self._sum("_hessian_product", curvature, vectors)

    def _diagonal(self, curvature: list[Any]) -> Any:
        return self.penalty + self._sum("_diagonal", curvature)

    def _sum(self, method: str, point: list[Any], vectors: Any = None) -> Any:
        """Return the sum over blocks of what a method returns without the penalty."""
        given = as_task((method, self.rotation, *point, vectors))
        return in_a_tree([delayed(_of_block)(block, given) for block in self.blocks], sum).compute()


@one_blas_thread()
def _of_block(block: Block, given: tuple[Any, ...]) -> FloatArray:
    """Return the sums of a method over the rows of a block, without the penalty."""
    method, rotation, V, (labels,), vectors = given
    X = block.X if rotation is None else block.X @ rotation
    own = _Labels(_blocks(X, len(labels)), block.Y[:, labels], block.all_weights, np.inf, NUMPY)
    loss, gradient, curvature = own._evaluate(V, np.arange(len(labels)))
    if method == "_evaluate":
        return np.vstack([loss, gradient])
    return np.asarray(
        own._diagonal(curvature) if vectors is None else own._hessian_product(vectors, curvature)
    )

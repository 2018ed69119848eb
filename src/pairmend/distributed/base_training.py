"""Training of base classifiers block by block, and of classifiers with all rows on a worker."""

from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from typing import Any

import dask
import numpy as np
from dask import delayed
from joblib import parallel_config
from sklearn.base import clone
from sklearn.utils import check_random_state

from distributed import Client
from pairmend._utils.arrays import is_frame
from pairmend._utils.classifiers import (
    PerLabelClassifier,
    check_base_classifier,
    new_seed,
    seed_estimator,
    smoothed_share,
    varying_labels,
)
from pairmend._utils.training import Target
from pairmend._utils.typing import FloatArray, IntArray
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines.transformation import BinaryRelevance
from pairmend.distributed.linear import fit_scalers, train_logistic
from pairmend.distributed.rows import Block, Rows, as_task, stack
from pairmend.distributed.subspace_nb import NO_ENCODER, check_frame, train_labels
from pairmend.frames.encoder import FrameEncoder, takes_encoded_frames
from pairmend.mended.rows import RowEncoder
from pairmend.naive_bayes.estimator import RandomSubspaceNB


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

"""Training of base classifiers block by block, and of classifiers with all rows on a worker."""

from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from inspect import signature
from typing import Any

import dask
import numpy as np
from dask import delayed
from dask.sizeof import sizeof
from joblib import parallel_config
from sklearn.base import clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
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
from pairmend.baselines.transformation import BinaryRelevance
from pairmend.distributed.rows import Block, Rows, as_task, stack
from pairmend.distributed.subspace_nb import NO_ENCODER, check_frame, train_labels
from pairmend.frames.encoder import FrameEncoder, takes_encoded_frames
from pairmend.mended.rows import RowEncoder
from pairmend.naive_bayes.estimator import RandomSubspaceNB

BLOCKS_AT_ONCE = 16
"""Blocks between two copies of the models in this process. If a worker dies, training continues
from the last copy."""
COPIES = 2
"""Copies of all rows in the memory of a worker that trains on gathered rows: the rows, and those of
a split."""


def is_trained_by_blocks(model: Any, n_labels: int) -> bool:
    """Return whether a classifier is trained without all rows in the memory of a worker.

    Of the classifiers of all labels, only those are for which `_classes_of_labels` has the
    `classes` of ``partial_fit``. Other classes of scikit-learn do not define them, and
    ``partial_fit`` of this library's classifiers keeps rows.
    """
    part = _trained_part(model)
    if part is model:
        return _classes_of_labels(model, n_labels) is not None
    return hasattr(part, "partial_fit") or type(part) is RandomSubspaceNB


def train_by_blocks(
    model: Any, rows: Rows, parts: list[IntArray], encoder: RowEncoder = NO_ENCODER
) -> list[Any]:
    """Return a clone fitted on each part of the rows, whose labels are numbers.

    Rows are those that the encoder returns for the base classifier.
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
    else:
        has_all = base is model
        trained = _train_in_turn(base, rows, encoder, parts, None if has_all else varying)
        if has_all:
            return [models[0] for models in trained]
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


def _classes_of_labels(model: Any, n_labels: int) -> Any:
    """Return the `classes` of ``partial_fit`` with indicators of labels, None if unknown."""
    if isinstance(model, MLPClassifier) and n_labels > 1:
        return np.arange(n_labels)
    if isinstance(model, MultiOutputClassifier):
        return [np.array([0, 1])] * n_labels
    return None


def _trained_part(model: Any) -> Any:
    """Return the classifier that is trained: that of each label, if there is one."""
    if isinstance(model, PerLabelClassifier):
        return model.estimator
    return model._base_classifier() if isinstance(model, BinaryRelevance) else model


def _train_in_turn(
    base: Any,
    rows: Rows,
    encoder: RowEncoder,
    parts: list[IntArray],
    labels: list[IntArray] | None,
) -> list[list[Any]]:
    """Train on one block after the other, all parts in one pass.

    Each of a part's `labels` has a model; None means one model of all labels.
    """
    takes_weights = "sample_weight" in signature(base.partial_fit).parameters
    if rows.weights is not None and not takes_weights:
        raise ValueError(
            f"The base classifier {type(base).__name__} takes no sample_weight in partial_fit. "
            "Choose one that does."
        )
    n_models = [1] * len(parts) if labels is None else [len(own) for own in labels]
    trained = [[clone(base) for _ in range(n)] for n in n_models]
    encode, blocks = as_task(encoder), [rows.choose(part) for part in parts]
    for start in range(0, max(map(len, blocks)), BLOCKS_AT_ONCE):
        chains = [as_task(models) for models in trained]
        for part, own in enumerate(blocks):
            for block in own[start : start + BLOCKS_AT_ONCE]:
                of_part = None if labels is None else labels[part]
                chains[part] = delayed(_continue)(chains[part], of_part, block, encode)
        trained = list(dask.compute(*chains))
    return trained


def _continue(
    models: list[Any], labels: IntArray | None, block: Block, encoder: RowEncoder
) -> list[Any]:
    """Return copies of models that are trained on further rows; a task may be repeated."""
    models, Y = deepcopy(models), block.Y.astype(np.int64)
    X, _ = encoder.encode(block.X)
    params = {} if block.weights is None else {"sample_weight": block.weights}
    if labels is None:
        classes = _classes_of_labels(models[0], Y.shape[1])
        models[0].partial_fit(X, Y, classes=classes, **params)
        return models
    for model, label in zip(models, labels, strict=True):
        model.partial_fit(X, Y[:, label], classes=np.array([0, 1]), **params)
    return models


def fit_on_worker(classifier: Any, rows: Rows, sample_weight: FloatArray | None) -> Any:
    """Return a clone of a classifier, fitted by its own ``fit`` on a worker with all rows.

    With `n_jobs`, what it would run in processes is distributed over the workers.
    """
    workers = _workers()
    _check_memory(classifier, rows, workers)
    is_distributed = bool(workers) and getattr(classifier, "n_jobs", None) is not None
    params = {} if sample_weight is None else {"sample_weight": sample_weight}
    target = replace(rows.target, Y=rows.target.Y[:0])
    given = as_task(classifier), rows.blocks, as_task(target), as_task(params)
    return delayed(_fit_here)(*given, is_distributed).compute()


def _fit_here(
    classifier: Any,
    blocks: list[Block],
    target: Target,
    params: dict[str, Any],
    is_distributed: bool,
) -> Any:
    X, Y, _ = stack(blocks)
    y = replace(target, Y=Y).as_given(np.arange(len(Y)))
    with parallel_config("dask") if is_distributed else nullcontext():
        fitted = clone(classifier).fit(X, y, **params)
    if target.multilabel:
        fitted.classes_ = target.classes  # the names of the columns
    return fitted


def _workers() -> list[dict[str, Any]]:
    """Return descriptions of the current cluster's workers; none without a cluster."""
    try:
        return [*Client.current().scheduler_info(n_workers=-1)["workers"].values()]
    except ValueError:
        return []


def _check_memory(classifier: Any, rows: Rows, workers: list[dict[str, Any]]) -> None:
    """Raise an error if all rows do not fit into the memory of each worker, by an estimate.

    The size of a row is that in the first block.
    """
    limits = [worker["memory_limit"] for worker in workers if worker.get("memory_limit")]
    if not limits:
        return
    size = delayed(_n_bytes)(rows.blocks[0]).compute() / min(len(rows), rows.size)
    needed, limit = COPIES * size * len(rows), min(limits)
    if needed > limit:
        raise MemoryError(
            f"Training {type(classifier).__name__} needs all {len(rows)} rows on one worker, "
            f"about {needed / 2**30:.2g} GiB with a copy of the training part, but a worker has "
            f"{limit / 2**30:.2g} GiB. Choose a base classifier with partial_fit, such as "
            "SGDClassifier(loss='log_loss'), for a classifier that is trained block by block, or "
            "workers with more memory."
        )


def _n_bytes(block: Block) -> int:
    return int(sizeof(block.X) + sizeof(block.Y))

"""Training of a classifier on the splits of rows in blocks.

A classifier with ``partial_fit`` is trained block by block, RandomSubspaceNB from sums over blocks.
For any other, all rows are gathered on a worker.
"""

from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import dask
import numpy as np
from dask import delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.utils import check_random_state

from pairmend._utils.frames import is_frame
from pairmend._utils.per_label import PerLabelClassifier
from pairmend._utils.predictions import label_scores
from pairmend._utils.targets import Target
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend._utils.validation import check_base_classifier, new_seed, seed_estimator, take_rows
from pairmend._utils.weights import unit_weight
from pairmend.baselines.relevance import BinaryRelevance
from pairmend.distributed.blocks import Block, stack
from pairmend.distributed.subspace_nb import check_frame, train_subspace_nb_labels
from pairmend.distributed.training_rows import SplitBlock, SplitSummary, TrainingRows
from pairmend.frames.encoder import FrameEncoder, takes_encoded_frames
from pairmend.mended.rows import RowEncoder
from pairmend.model_selection.out_of_fold import fit_on_rows
from pairmend.naive_bayes.estimator import RandomSubspaceNB

BLOCKS_AT_ONCE = 16
"""Blocks between two copies of the models in this process. If a worker dies, training continues
from the last copy."""
COPIES = 2
"""Copies of all rows in the memory of a worker that trains on gathered rows: the rows, and those of
the split."""


def train_on_splits(
    model: Any, rows: TrainingRows, encoder: RowEncoder, target: Target, *, purpose: str
) -> list[Any]:
    """Return clones fitted on the training rows of each split, and one fitted on all rows.

    `target` has the names of the labels, but no rows. `purpose` is part of the note on an error. A
    split without test rows has None.
    """
    summary = rows.summary()
    used = [split for split in range(rows.n_splits) if summary.n_test[split]] + [rows.n_splits]
    if not is_trained_by_blocks(model, rows):
        fitted = _train_on_gathered_rows(model, rows, encoder, target, used, purpose)
    else:
        encoder = _encoder_of(model, rows.X.like, encoder)
        base = _seeded_base(model)
        if _is_sum_of_blocks(model, rows):
            states = _train_by_sums(base, rows, encoder, summary, used)
        else:
            states = _train_by_blocks(base, rows, encoder, summary, used, base is model)
        unit = 1.0 if rows.sample_weight is None else unit_weight(rows.sample_weight)
        shares = [summary.smoothed_share(split, unit) for split in used]
        fitted = [
            _finished(model, state, share, rows.X.like, target, encoder)
            for state, share in zip(states, shares, strict=True)
        ]
    by_split = dict(zip(used, fitted, strict=True))
    return [by_split.get(split) for split in range(rows.n_splits + 1)]


def is_trained_by_blocks(model: Any, rows: TrainingRows) -> bool:
    """Return whether a classifier is trained without all rows in the memory of a worker.

    Of the classifiers of all labels, only those are for which `_classes_of_labels` has the
    `classes` of ``partial_fit``. Other classes of scikit-learn do not define them, and
    ``partial_fit`` of this library's classifiers keeps rows.
    """
    part = _trained_part(model)
    if part is model and _classes_of_labels(model, len(rows.target.classes)) is None:
        return False
    return hasattr(part, "partial_fit") or _is_sum_of_blocks(model, rows)


def _classes_of_labels(model: Any, n_labels: int) -> Any:
    """Return the `classes` of ``partial_fit`` with indicators of labels, None if unknown."""
    if isinstance(model, MLPClassifier) and n_labels > 1:
        return np.arange(n_labels)
    if isinstance(model, MultiOutputClassifier):
        return [np.array([0, 1])] * n_labels
    return None


def _is_sum_of_blocks(model: Any, rows: TrainingRows) -> bool:
    """Return whether a classifier is estimated from sums over blocks."""
    part = _trained_part(model)
    return part is not model and type(part) is RandomSubspaceNB and rows.sample_weight is None


def _trained_part(model: Any) -> Any:
    """Return the classifier that is trained: that of each label, if there is one."""
    if isinstance(model, PerLabelClassifier):
        return model.estimator
    return model._base_classifier() if isinstance(model, BinaryRelevance) else model


def _seeded_base(model: Any) -> Any:
    """Return the classifier that is trained, seeded as the model's own fit does."""
    part = _trained_part(model)
    if not isinstance(model, BinaryRelevance):
        return part
    check_base_classifier(part)
    return seed_estimator(part, new_seed(check_random_state(model.random_state)))


def _encoder_of(model: Any, like: Any, encoder: RowEncoder) -> RowEncoder:
    """Return the encoder of frames; BinaryRelevance has its own."""
    if not isinstance(model, BinaryRelevance) or not is_frame(like):
        return encoder
    if not takes_encoded_frames(_trained_part(model)):
        return encoder
    fitted = FrameEncoder().fit(like)
    check_frame(like, fitted)
    return RowEncoder(fitted, for_base=True, for_distances=False)


@dataclass(frozen=True)
class _Incremental:
    """Classifiers that are trained block by block, of one label each or of all labels."""

    models: list[Any]
    labels: IntArray | None  # the label of each model; None if one model has all

    def continued(self, X: MatrixLike, Y: BoolArray, params: dict[str, Any]) -> "_Incremental":
        """Return copies that are trained on further rows; a task may be repeated."""
        models = deepcopy(self.models)
        if self.labels is None:
            classes = _classes_of_labels(models[0], Y.shape[1])
            models[0].partial_fit(X, Y.astype(np.int64), classes=classes, **params)
        else:
            for model, label in zip(models, self.labels, strict=True):
                y = Y[:, label].astype(np.int64)
                model.partial_fit(X, y, classes=np.array([0, 1]), **params)
        return replace(self, models=models)


def _train_by_blocks(
    base: Any,
    rows: TrainingRows,
    encoder: RowEncoder,
    summary: SplitSummary,
    used: list[int],
    has_all_labels: bool,
) -> list[_Incremental]:
    """Train on one block after the other, in one pass over the blocks, all splits at once."""
    takes_weights = "sample_weight" in signature(base.partial_fit).parameters
    if rows.sample_weight is not None and not takes_weights:
        raise ValueError(
            f"The base classifier {type(base).__name__} takes no sample_weight in partial_fit. "
            "Choose one that does."
        )
    states = []
    for split in used:
        labels = None if has_all_labels else summary.varying(split)
        n_models = 1 if labels is None else len(labels)
        states.append(_Incremental([clone(base) for _ in range(n_models)], labels))
    as_task, blocks = delayed(encoder, pure=False, traverse=False), rows.blocks()
    for start in range(0, len(blocks), BLOCKS_AT_ONCE):
        chains = [delayed(state, pure=False, traverse=False) for state in states]
        for block in blocks[start : start + BLOCKS_AT_ONCE]:
            chains = [
                delayed(_continue)(chain, block, as_task, split)
                for chain, split in zip(chains, used, strict=True)
            ]
        states = list(dask.compute(*chains))
    return states


def _train_by_sums(
    base: RandomSubspaceNB,
    rows: TrainingRows,
    encoder: RowEncoder,
    summary: SplitSummary,
    used: list[int],
) -> list[_Incremental]:
    """Estimate RandomSubspaceNB from sums over blocks, one split after the other."""
    as_task, like = delayed(encoder, pure=False, traverse=False), encoder.encode(rows.X.like)[0]
    states = []
    for split in used:
        labels = summary.varying(split)
        blocks = [delayed(_training_part)(block, as_task, split) for block in rows.blocks()]
        models = train_subspace_nb_labels(base, blocks, like, labels) if len(labels) else []
        states.append(_Incremental(models, labels))
    return states


def _training_part(block: SplitBlock, encoder: RowEncoder, split: int) -> Block:
    """Return the encoded training rows of a split, and their labels."""
    train = block.splits.train(split)
    X, _ = encoder.encode(block.X) if len(train) else (block.X, block.X)
    return Block(X if len(train) == len(block.Y) else take_rows(X, train), block.Y[train])


def _continue(
    state: _Incremental, block: SplitBlock, encoder: RowEncoder, split: int
) -> _Incremental:
    train = block.splits.train(split)
    if len(train) == 0:
        return state
    params = {} if block.weights is None else {"sample_weight": block.weights[train]}
    return state.continued(*_training_part(block, encoder, split), params)


def _finished(
    model: Any,
    state: _Incremental,
    share: FloatArray,
    like: Any,
    target: Target,
    encoder: RowEncoder,
) -> Any:
    """Return a fitted classifier with models that were trained on blocks."""
    if state.labels is None:
        return state.models[0]
    if isinstance(model, PerLabelClassifier):
        return clone(model).set_models(state.models, state.labels, share)
    return clone(model)._set_fitted(
        like, target, models_=state.models, varying_=state.labels, _share=share,
        frame_encoder_=encoder.encoder if encoder.for_base else None,
    )  # fmt: skip


def _train_on_gathered_rows(
    model: Any,
    rows: TrainingRows,
    encoder: RowEncoder,
    target: Target,
    used: list[int],
    purpose: str,
) -> list[Any]:
    """Train each split in a task with all rows."""
    check_memory(model, rows)
    gathered = delayed(_gather_training_rows)(rows.blocks())
    kept = delayed((model, encoder, target), pure=False, traverse=False)
    purposes = [purpose if split < rows.n_splits else None for split in used]
    tasks = (
        delayed(_fit_gathered)(kept, gathered, split, each)
        for split, each in zip(used, purposes, strict=True)
    )
    return list(dask.compute(*tasks))


@dataclass(frozen=True)
class _GatheredRows:
    """All rows, and their splits by block."""

    X: MatrixLike
    Y: BoolArray
    params: dict[str, FloatArray]  # sample weights, if there are any
    splits: list[Any]
    starts: IntArray  # number of the first row of each block

    def train(self, split: int) -> IntArray:
        """Return the training rows of a split."""
        parts = (splits.train(split) for splits in self.splits)
        return np.concatenate([s + part for s, part in zip(self.starts, parts, strict=True)])


def _gather_training_rows(blocks: Sequence[SplitBlock]) -> _GatheredRows:
    X, Y = stack([Block(block.X, block.Y) for block in blocks])
    sizes = np.array([len(block.Y) for block in blocks])
    params = {}
    if blocks[0].weights is not None:
        params["sample_weight"] = np.concatenate([block.weights for block in blocks])
    return _GatheredRows(X, Y, params, [block.splits for block in blocks], np.cumsum(sizes) - sizes)


def _fit_gathered(
    given: tuple[Any, RowEncoder, Target], rows: _GatheredRows, split: int, purpose: str | None
) -> Any:
    model, encoder, target = given
    X, _ = encoder.encode(rows.X)
    labels = replace(target, Y=rows.Y)
    return fit_on_rows(model, X, labels, rows.params, rows.train(split), purpose)


def fit_on_worker(classifier: Any, rows: TrainingRows) -> Any:
    """Return a clone of a classifier, fitted by its own ``fit`` on a worker with all rows."""
    check_memory(classifier, rows)
    target = delayed(rows.target, pure=False, traverse=False)
    task = delayed(classifier, pure=False, traverse=False)
    return delayed(_fit_here)(task, delayed(_gather_training_rows)(rows.blocks()), target).compute()


def _fit_here(classifier: Any, rows: _GatheredRows, target: Target) -> Any:
    y = replace(target, Y=rows.Y).as_given(np.arange(len(rows.Y)))
    fitted = clone(classifier).fit(rows.X, y, **rows.params)
    if target.multilabel:
        fitted.classes_ = target.classes  # the names of the columns
    return fitted


def check_memory(model: Any, rows: TrainingRows) -> None:
    """Raise an error if all rows do not fit into the memory of each worker, by an estimate.

    The size of a row is that in the first block with rows. Without a cluster, nothing is checked.
    """
    limit = _memory_limit()
    if limit is None:
        return
    first = int(np.flatnonzero(rows.sizes)[0])
    size = delayed(_n_bytes)(rows.blocks()[first]).compute() / rows.sizes[first]
    needed = COPIES * size * sum(rows.sizes)
    if needed > limit:
        raise MemoryError(
            f"Training {type(_trained_part(model)).__name__} needs all {sum(rows.sizes)} rows "
            f"on one worker, about {needed / 2**30:.2g} GiB with a copy of the training part, but "
            f"a worker has {limit / 2**30:.2g} GiB. Choose a base classifier with partial_fit, "
            "such as SGDClassifier(loss='log_loss'), which is trained block by block, or workers "
            "with more memory."
        )


def _memory_limit() -> int | None:
    """Return the smallest memory limit of the current cluster's workers; None without limits."""
    try:
        from distributed import Client

        workers = Client.current().scheduler_info(n_workers=-1)["workers"].values()
    except (ImportError, ValueError):
        return None
    limits = [worker["memory_limit"] for worker in workers if worker.get("memory_limit")]
    return min(limits, default=None)


def _n_bytes(block: SplitBlock) -> int:
    X = block.X
    if sparse.issparse(X):
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    elif hasattr(X, "memory_usage"):
        size = int(X.memory_usage(deep=True).sum())
    else:
        size = np.asarray(X).nbytes
    return int(size + block.Y.nbytes)


def scores_of_block(
    block: SplitBlock, models: Sequence[Any], encoder: RowEncoder, method: str, chosen: BoolArray
) -> tuple[list[IntArray], list[FloatArray], MatrixLike]:
    """Return the test rows of each split among chosen rows, their scores, and rows for distances.

    `models` has a fitted classifier for each split.
    """
    n_labels = block.Y.shape[1]
    tests, parts = [], []
    X, distance_rows = encoder.encode(block.X) if chosen.any() else (block.X, block.X)
    for split, model in enumerate(models):
        test = block.splits.test(split)
        test = test[chosen[test]]
        tests.append(test)
        if len(test):
            parts.append(label_scores(model, take_rows(X, test), method, n_labels))
        else:
            parts.append(np.empty((0, n_labels)))
    return tests, parts, distance_rows


def take_over(classifier: Any, fitted: Any) -> Any:
    """Give a classifier the fitted attributes of a clone, in place of its own."""
    parameters = classifier.get_params(deep=False)
    for name in [name for name in vars(classifier) if name not in parameters]:
        delattr(classifier, name)
    for name, value in vars(copy(fitted)).items():
        if name not in parameters:
            setattr(classifier, name, value)
    return classifier

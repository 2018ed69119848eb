"""Base classifiers of a MendedClassifier on blocks: their training, and out-of-fold predictions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, ClassVar

import dask
import numpy as np
from dask import delayed
from scipy import sparse
from sklearn.base import clone

from pairmend._utils.arrays import set_feature_attributes, stack_rows, take_rows
from pairmend._utils.classifiers import label_scores
from pairmend._utils.progress import report
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.distributed.base_training import fit_scalers, train_by_blocks
from pairmend.distributed.rows import Block, Rows, as_task, stack
from pairmend.forests.estimator import (
    MultiLabelBoosting,
    MultiLabelForest,
    Sample,
    as_trees_read,
    grow,
    large_offsets,
    mean_of_trees,
)
from pairmend.mended.base import BaseRows
from pairmend.mended.kernel_ridge import MultiLabelKernelRidge
from pairmend.mended.rows import RowEncoder

Predict = Callable[[MatrixLike, Block], FloatArray]
"""Returns the probabilities of encoded rows of a block by models that were not trained on them."""


@dataclass(frozen=True)
class BlockRows(BaseRows):
    """What base classifiers are trained on, in blocks. Drawn rows of a bounded number are fetched.

    Attributes
    ----------
    rows : Rows
        The rows.
    encoder : RowEncoder
        Encodes them for base classifiers.
    """

    rows: Rows
    encoder: RowEncoder

    def take(self, rows: IntArray) -> tuple[MatrixLike, dict[str, Any]]:
        """Return some rows, and their parameters of `fit`."""
        params = {name: value[rows] for name, value in self.params.items()}
        return self.fetch(_encoded, rows), params

    def on_host(self) -> "BlockRows":
        """Return the rows for classifiers that are trained with numpy."""
        return self

    def out_of_fold(self, model: Any, **options: Any) -> "BlockProba":
        """Fit a model on each split; return the probabilities of all rows."""
        fitted = self._fit(model, [train for train, _ in self.splits], **options)
        models = [each for each, _ in fitted]
        folds = self.folds.astype(np.min_scalar_type(len(models)))
        return BlockProba(self, partial(_by_fold, models, folds))

    def fit_once(self, model: Any) -> "BlockProba":
        """Fit a forest or a kernel ridge regression once, on all rows; return probabilities."""
        ((fitted, predict),) = self._fit(model, [self.rows.present])
        vars(model).update(vars(fitted))  # `fit_on_all` is not called
        return BlockProba(self, predict)

    def combined(
        self, proba: Mapping[str, Any], function: Callable[[Mapping[str, FloatArray]], FloatArray]
    ) -> "BlockProba":
        """Return a function of the probabilities of all rows by several classifiers."""
        parts = {name: each.predict for name, each in proba.items()}
        return BlockProba(self, partial(_combined, parts, function))

    def fit_on_all(self, model: Any) -> Any:
        """Fit a model on all rows."""
        ((fitted, _),) = self._fit(model, [self.rows.present])
        return fitted

    def fetch(self, function: Any, rows: IntArray, *given: Any) -> Any:
        """Return what a function returns of each row, in the order of the given rows."""
        numbers, places = np.unique(rows, return_inverse=True)
        encode, blocks = as_task(self.encoder), self.rows.choose(numbers)
        parts = dask.compute(*(delayed(function)(block, encode, *given) for block in blocks))
        return take_rows(stack_rows(parts), places)

    def _fit(self, model: Any, parts: list[IntArray], **options: Any) -> list[tuple[Any, Any]]:
        """Return a clone fitted on each part, and its predictions of rows that it is fitted on."""
        report(self.owner, f"fitting {type(model).__name__} on {len(parts)} parts of the rows")
        if type(model) not in self._fits:
            trained = train_by_blocks(model, self.rows, parts, self.encoder, **options)
            return [(each, None) for each in trained]
        standardize = type(model) is MultiLabelKernelRidge
        scalers = fit_scalers(self.rows, self.encoder, parts, standardize=standardize)
        fitted = []
        for part, scaler in zip(parts, scalers, strict=True):
            own = clone(model)
            own.scaler_ = scaler
            fitted.append((own, self._fits[type(model)](self, own, part)))
        return fitted

    def _tree_weights(self, model: Any, part: IntArray) -> tuple[FloatArray, int]:
        """Set the offset of trees; return weights of rows, and the number of encoded columns."""
        row = model.scaler_.transform(self.take(part[:1])[0])
        model.offset_ = None if sparse.issparse(row) else np.zeros(row.shape[1])
        if (numbers := model.scaler_.scaler_) is not None:
            found = large_offsets(numbers.mean_, np.sqrt(numbers.var_))
            model.offset_[: len(found)] = found
        given = self.params.get("sample_weight")
        return model.tree_weights(len(part), None if given is None else given[part]), row.shape[1]

    def _fit_forest(self, model: MultiLabelForest, part: IntArray) -> Predict:
        """Grow each tree from the rows in its bootstrap sample, which are gathered on a worker."""
        weights, n_columns = self._tree_weights(model, part)
        samples = [Sample.draw(seed, weights, model.max_samples) for seed in model.tree_seeds()]
        drawn = [part[sample.rows] for sample in samples]
        at_once = max(1, self.rows.size // model.max_samples)
        task, grown = as_task((model, self.encoder)), []
        for start in range(0, len(samples), at_once):
            some = slice(start, start + at_once)
            blocks = self.rows.choose(np.unique(np.concatenate(drawn[some])))
            grown.append(delayed(_grow)(task, as_task((samples[some], drawn[some])), *blocks))
        trees, tables = zip(*chain.from_iterable(dask.compute(*grown)), strict=True)
        model.set_trees(trees, tables, self.X, n_columns)
        return partial(_out_of_bag, model, drawn, weights @ self.target.Y[part] / weights.sum())

    def _fit_boosting(self, model: MultiLabelBoosting, part: IntArray) -> None:
        """Boost trees from drawn rows, which are gathered on a worker."""
        weights, n_columns = self._tree_weights(model, part)
        rows = model.draw(len(part), n_columns)
        given = as_task((model, self.encoder)), weights[rows], *self.rows.choose(part[rows])
        trees, tables = delayed(_boost)(*given).compute()
        model.set_trees(trees, tables, self.X, n_columns)

    def _fit_kernel_ridge(self, model: MultiLabelKernelRidge, part: IntArray) -> Predict:
        tests = [np.searchsorted(part, test) for _, test in self.splits]
        given = self.target.Y[part], self.weights[part], tests
        drawn, proba = model.fit_drawn(lambda rows: self.take(part[rows])[0], *given)
        set_feature_attributes(model, self.X)
        return partial(_out_of_test, model, part[drawn], proba)

    _fits: ClassVar[dict[type, Any]] = {
        MultiLabelForest: _fit_forest,
        MultiLabelBoosting: _fit_boosting,
        MultiLabelKernelRidge: _fit_kernel_ridge,
    }


@dataclass(frozen=True)
class BlockProba:
    """Out-of-fold probabilities of rows, which are computed where they are needed, and not kept."""

    rows: BlockRows
    predict: Predict

    def __getitem__(self, rows: IntArray) -> FloatArray:
        found: FloatArray = self.rows.fetch(_predicted, rows, as_task(self.predict))
        return found


def _encoded(block: Block, encoder: RowEncoder) -> MatrixLike:
    return encoder.encode(block.X)[0]


def _predicted(block: Block, encoder: RowEncoder, predict: Predict) -> FloatArray:
    return predict(encoder.encode(block.X)[0], block)


def _combined(
    parts: Mapping[str, Predict], function: Any, X: MatrixLike, block: Block
) -> FloatArray:
    """Return a function of several predictions."""
    found: FloatArray = function({name: predict(X, block) for name, predict in parts.items()})
    return found


def _by_fold(models: list[Any], folds: IntArray, X: MatrixLike, block: Block) -> FloatArray:
    """Predict by the model of each row's split; `folds` are those of all rows."""
    n_labels, own_folds = block.Y.shape[1], folds[block.numbers]
    proba: FloatArray = np.empty((len(block.Y), n_labels))
    for fold in np.unique(own_folds):
        own = np.flatnonzero(own_folds == fold)
        proba[own] = label_scores(models[fold], take_rows(X, own), "predict_proba", n_labels)
    return np.clip(proba, 0, 1, out=proba)


def _out_of_bag(
    model: MultiLabelForest,
    drawn: list[IntArray],
    otherwise: FloatArray,
    X: MatrixLike,
    block: Block,
) -> FloatArray:
    """Predict by the trees that were not grown on a row."""
    in_bag: BoolArray = np.column_stack([np.isin(block.numbers, own) for own in drawn])
    found = model.trees_.out_of_bag(model._encode(X), in_bag)
    return mean_of_trees(*found, otherwise)


def _out_of_test(
    model: MultiLabelKernelRidge,
    drawn: IntArray,
    proba: FloatArray,
    X: MatrixLike,
    block: Block,
) -> FloatArray:
    """Predict by a kernel ridge regression, drawn rows by that without their test."""
    found = model.predict_proba(X)
    at = np.flatnonzero(np.isin(block.numbers, drawn))
    found[at] = proba[np.searchsorted(drawn, block.numbers[at])]
    return found


def _boost(
    task: tuple[MultiLabelBoosting, RowEncoder], weights: FloatArray, *blocks: Block
) -> tuple[list[Any], list[Any]]:
    """Return the trees of rows, and the values of their leaves."""
    (model, encoder), rows = task, stack(blocks)
    return model.boost(model._encode(encoder.encode(rows.X)[0]), rows.Y, weights)


def _grow(
    task: tuple[MultiLabelForest, RowEncoder],
    drawn: tuple[list[Sample], list[IntArray]],
    *blocks: Block,
) -> list[tuple[Any, Any]]:
    """Return the nodes of trees, and the frequencies in their leaves."""
    (forest, encoder), rows, grown = task, stack(blocks), []
    X = as_trees_read(forest._encode(encoder.encode(rows.X)[0]))
    Y = sparse.csr_array(rows.Y, dtype=np.float64)
    for sample, numbers in zip(*drawn, strict=True):
        at = np.searchsorted(rows.numbers, numbers)
        grown.append(grow(X[at], Y[at], sample, forest.min_samples_leaf)[:2])
    return grown

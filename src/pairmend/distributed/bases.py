"""Base classifiers of a MendedClassifier on blocks: their training, and out-of-fold predictions."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import dask
import numpy as np
from dask import delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from pairmend._logistic_solver import (
    MAX_ROTATED,
    TOLERANCE,
    LogisticOptimum,
    LogisticRows,
    _blocks,
    _Labels,
)
from pairmend._utils import arrays, classifiers
from pairmend._utils.computing import batches, one_blas_thread
from pairmend._utils.progress import report
from pairmend._utils.training import relative_weights, unit_weight
from pairmend._utils.typing import FloatArray, IntArray, MatrixLike
from pairmend.base_classifiers import DenseScaler, ScaledLogisticRegression, fill_statistics
from pairmend.distributed.rows import Block, Rows, as_task, in_a_tree, stack
from pairmend.forests import estimator
from pairmend.mended.base import BaseRows
from pairmend.mended.base_models import MultiLabelKernelRidge
from pairmend.mended.rows import RowEncoder, Scaling
from pairmend.mended.validation import ValidationRows
from pairmend.naive_bayes.estimator import RandomSubspaceNB

NUMPY = arrays.Namespace.of(np.empty(0))
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
        Encodes them for base classifiers and distances.
    """

    rows: Rows
    encoder: RowEncoder

    def take(self, rows: IntArray) -> tuple[MatrixLike, dict[str, Any]]:
        """Return some rows, and their parameters of `fit`."""
        params = {name: value[rows] for name, value in self.params.items()}
        return self.fetch(lambda X, block: X, rows), params

    def validation(self, proba: "BlockProba", rows: IntArray) -> "RemoteRows":
        """Return some rows with their out-of-fold probabilities, of which all rows have one."""
        weights = None if self.rows.weights is None else relative_weights(self.rows.weights)
        relative = replace(self.rows, weights=weights)
        nothing = np.empty((len(rows), 0))
        parts = nothing, self.target.Y[rows], nothing, relative.all_weights[rows], self.folds[rows]
        return RemoteRows(*parts, replace(self, rows=relative), rows, proba.predict)

    def out_of_fold(self, model: Any, **options: Any) -> "BlockProba":
        """Fit a model on each split; return the probabilities of all rows."""
        fitted = self._fit(model, [train for train, _ in self.splits], **options)
        models = [each for each, _ in fitted]
        folds = self.folds.astype(np.min_scalar_type(len(models)))

        def predict(X: MatrixLike, block: Block) -> FloatArray:
            n_labels, own_folds = block.Y.shape[1], folds[block.numbers]
            proba: FloatArray = np.empty(block.Y.shape)
            for fold in np.unique(own_folds):
                own = np.flatnonzero(own_folds == fold)
                given = models[fold], arrays.take_rows(X, own), "predict_proba", n_labels
                proba[own] = classifiers.label_scores(*given)
            return np.clip(proba, 0, 1, out=proba)

        return BlockProba(self, predict)

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

        def predict(X: MatrixLike, block: Block) -> FloatArray:
            return function({name: part(X, block) for name, part in parts.items()})

        return BlockProba(self, predict)

    def fit_on_all(self, model: Any) -> Any:
        """Fit a model on all rows."""
        ((fitted, _),) = self._fit(model, [self.rows.present])
        return fitted

    def fetch(self, function: Predict, rows: IntArray, *, for_distances: bool = False) -> Any:
        """Return what a function of encoded rows returns, in the order of the given rows."""
        numbers, places = np.unique(rows, return_inverse=True)
        given = as_task((function, self.encoder, for_distances))
        parts = dask.compute(*(delayed(_apply)(each, given) for each in self.rows.choose(numbers)))
        return arrays.take_rows(arrays.stack_rows(parts), places)

    def _fit(self, model: Any, parts: list[IntArray], **options: Any) -> list[tuple[Any, Any]]:
        """Return a clone fitted on each part, and its predictions of rows that it is fitted on."""
        report(self.owner, f"fitting {type(model).__name__} on {len(parts)} parts of the rows")
        if type(model) not in self._fits:
            trained = train_by_blocks(model, self.rows, parts, self.encoder, **options)
            return [(each, None) for each in trained]
        fitted = []
        for part in parts:
            own, standardize = clone(model), type(model) is MultiLabelKernelRidge
            own.scaler_ = fit_scaler(self.rows, self.encoder, part, standardize=standardize)
            fitted.append((own, self._fits[type(model)](self, own, part)))
        return fitted

    def _tree_weights(self, model: Any, part: IntArray) -> tuple[FloatArray, int]:
        """Return weights of rows for trees, and the number of encoded columns."""
        row = model.scaler_.transform(self.take(part[:1])[0])
        given = self.params.get("sample_weight")
        return model.tree_weights(len(part), None if given is None else given[part]), row.shape[1]

    def _fit_forest(self, model: estimator.MultiLabelForest, part: IntArray) -> Predict:
        """Grow each tree from the rows in its bootstrap sample; those of some trees are fetched."""
        weights, n_columns = self._tree_weights(model, part)
        samples = [
            estimator.draw_sample(seed, weights, model.max_samples) for seed in model.tree_seeds()
        ]
        drawn, grown = [part[rows] for rows, *_ in samples], []
        for some in batches(len(samples), max(1, self.rows.size // model.max_samples)):
            fetched = np.unique(np.concatenate(drawn[some]))
            X = estimator.as_trees_read(model._encode(self.take(fetched)[0]))
            Y = sparse.csr_array(self.target.Y[fetched], dtype=np.float64)
            for (_, own, rng), numbers in zip(samples[some], drawn[some], strict=True):
                at = np.searchsorted(fetched, numbers)
                grown.append(estimator.grow(X[at], Y[at], own, rng)[:2])
        trees, tables = zip(*grown, strict=True)
        model.set_trees(trees, tables, self.X, n_columns)
        otherwise = weights @ self.target.Y[part] / weights.sum()

        def predict(X: MatrixLike, block: Block) -> FloatArray:
            in_bag = np.column_stack([np.isin(block.numbers, own) for own in drawn])
            sums = model.trees_.sums(model._encode(X), ~in_bag)
            return estimator.mean_of_trees(sums, np.count_nonzero(~in_bag, axis=1), otherwise)

        return predict

    def _fit_boosting(self, model: estimator.MultiLabelBoosting, part: IntArray) -> None:
        """Boost trees from drawn rows, which are fetched."""
        weights, n_columns = self._tree_weights(model, part)
        rows = model.draw(len(part), n_columns)
        X, Y = model._encode(self.take(part[rows])[0]), self.target.Y[part[rows]]
        model.set_trees(*model.boost(X, Y, weights[rows]), self.X, n_columns)

    def _fit_kernel_ridge(self, model: MultiLabelKernelRidge, part: IntArray) -> Predict:
        """Fit on drawn rows; those are predicted by the regression without their test."""
        tests = [np.searchsorted(part, test) for _, test in self.splits]
        given = self.target.Y[part], self.weights[part], tests
        places, proba = model.fit_drawn(lambda rows: self.take(part[rows])[0], *given)
        arrays.set_feature_attributes(model, self.X)
        drawn = part[places]

        def predict(X: MatrixLike, block: Block) -> FloatArray:
            found = model.predict_proba(X)
            at = np.flatnonzero(np.isin(block.numbers, drawn))
            found[at] = proba[np.searchsorted(drawn, block.numbers[at])]
            return found

        return predict

    _fits: ClassVar[dict[type, Any]] = {
        estimator.MultiLabelForest: _fit_forest,
        estimator.MultiLabelBoosting: _fit_boosting,
        MultiLabelKernelRidge: _fit_kernel_ridge,
    }


@dataclass(frozen=True)
class BlockProba:
    """Out-of-fold probabilities of rows, which are computed where they are needed, and not kept."""

    rows: BlockRows
    predict: Predict

    def __getitem__(self, rows: IntArray) -> FloatArray:
        found: FloatArray = self.rows.fetch(self.predict, rows)
        return found


@dataclass(frozen=True)
class RemoteRows(ValidationRows):
    """Validation rows of which labels and weights are in memory, and features in blocks.

    Out-of-fold probabilities are computed where they are needed, and not kept.

    Attributes
    ----------
    rows : BlockRows
        All rows, with the weights of the validation set.
    numbers : ndarray of int
        Numbers of the validation rows among all rows.
    predict : callable
        Returns the out-of-fold probabilities of rows in a block.
    """

    rows: BlockRows
    numbers: IntArray
    predict: Predict

    def take(self, rows: IntArray | slice) -> ValidationRows:
        """Select rows, with their features and probabilities."""
        taken, numbers = super().take(rows), self.numbers[rows]
        X = self.rows.fetch(lambda X, block: X, numbers, for_distances=True)
        return replace(taken, X=X, proba=self.rows.fetch(self.predict, numbers))

    def sums(
        self, rows: IntArray, scalings: Sequence[Scaling], references: Sequence[str]
    ) -> dict[str, FloatArray]:
        """Return the confusion sums of some rows by their nearest landmark, by scaling."""
        if not len(rows):
            return super().sums(rows, scalings, references)
        encoder, predict = self.rows.encoder, self.predict

        def sums_of(block: Block) -> dict[str, FloatArray]:
            (base_rows, X), every = encoder.encode(block.X), np.arange(len(block.Y))
            given = X, block.Y, predict(base_rows, block), block.all_weights, every
            return ValidationRows(*given).sums(every, scalings, references)

        def add(parts: list[dict[str, FloatArray]]) -> dict[str, FloatArray]:
            return {name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]}

        task, blocks = as_task(sums_of), self.rows.rows.choose(self.numbers[rows])
        return in_a_tree([delayed(_call)(task, block) for block in blocks], add).compute()


def _call(function: Any, block: Block) -> Any:
    return function(block)


def _apply(block: Block, given: tuple[Predict, RowEncoder, bool]) -> Any:
    """Return what a function of encoded rows returns for a block."""
    function, encoder, for_distances = given
    return function(encoder.encode(block.X)[for_distances], block)


def is_trained_by_blocks(model: Any) -> bool:
    """Return whether a classifier is trained without all rows in the memory of a worker.

    It must have a base classifier for each label, with ``partial_fit`` or the library's logistic
    regression. For indicators of all labels, scikit-learn does not define the `classes` of
    ``partial_fit``, and ``partial_fit`` of this library's classifiers keeps rows.
    """
    if not isinstance(model, classifiers.PerLabelClassifier):
        return False
    kind = type(model.estimator)
    is_streamed = hasattr(model.estimator, "partial_fit") and kind is not RandomSubspaceNB
    return is_streamed or kind is ScaledLogisticRegression


def train_by_blocks(
    model: classifiers.PerLabelClassifier,
    rows: Rows,
    parts: list[IntArray],
    encoder: RowEncoder,
    **options: Any,
) -> list[classifiers.PerLabelClassifier]:
    """Return a clone fitted on each part of the rows; `options` are those of its fit."""
    base, Y = model.estimator, rows.target.Y
    varying = [classifiers.varying_labels(Y[part]) for part in parts]
    pairs = zip(parts, varying, strict=True)
    if type(base) is ScaledLogisticRegression:
        trained = [train_logistic(base, rows, encoder, *each, **options) for each in pairs]
    else:  # all parts in one pass
        trained = dask.compute(*(_train_in_turn(base, rows, encoder, *each) for each in pairs))
    return [
        clone(model).set_models(
            models, labels, classifiers.smoothed_share(Y[part], rows.all_weights[part])
        )
        for models, labels, part in zip(trained, varying, parts, strict=True)
    ]


def _train_in_turn(
    base: Any, rows: Rows, encoder: RowEncoder, part: IntArray, labels: IntArray
) -> Any:
    """Return the delayed models of labels, trained on one block after the other."""
    encode, chain = as_task(encoder), as_task([clone(base) for _ in labels])
    for block in rows.choose(part):
        chain = delayed(_continue)(chain, labels, block, encode)
    return chain


def _continue(models: list[Any], labels: IntArray, block: Block, encoder: RowEncoder) -> list[Any]:
    """Return copies of models that are trained on further rows; a task may be repeated."""
    models, Y = deepcopy(models), block.Y.astype(np.int64)
    X, _ = encoder.encode(block.X)
    params = {} if block.weights is None else {"sample_weight": block.weights}
    for model, label in zip(models, labels, strict=True):
        model.partial_fit(X, Y[:, label], classes=np.array([0, 1]), **params)
    return models


def fit_scaler(rows: Rows, encoder: RowEncoder, part: IntArray, **params: Any) -> DenseScaler:
    """Return a DenseScaler fitted on a part of the rows."""
    chain, given = as_task(None), as_task((encoder, params))
    for block in rows.choose(part):
        chain = delayed(_scale_further)(chain, block, given)
    scaler: DenseScaler = chain.compute()
    return scaler


def _scale_further(
    before: DenseScaler | None, block: Block, given: tuple[RowEncoder, dict[str, Any]]
) -> DenseScaler:
    """Return a scaler that is fitted on further rows; a task may be repeated."""
    encoder, params = given
    X, _ = encoder.encode(block.X)
    scaler = DenseScaler(**params).fit(X)
    if scaler.scaler_ is not None:
        scaler.scaler_ = deepcopy(before.scaler_) if before else StandardScaler()
        numbers = X.numbers if isinstance(X, arrays.EncodedFrame) else X
        with np.errstate(invalid="ignore"):
            scaler.scaler_.partial_fit(numbers, sample_weight=block.all_weights)
        fill_statistics(scaler.scaler_, before and before.scaler_)
    if before and scaler.encoder_ is not None:
        both = zip(before.encoder_.categories_, scaler.encoder_.categories_, strict=True)
        codes = [np.union1d(*each) for each in both]
        scaler.encoder_ = clone(scaler.encoder_).set_params(categories=codes).fit(X.codes)
    return scaler


def train_logistic(
    base: ScaledLogisticRegression,
    rows: Rows,
    encoder: RowEncoder,
    part: IntArray,
    labels: IntArray,
    *,
    start: classifiers.PerLabelClassifier | None = None,
    tolerance: float = TOLERANCE,
) -> list[ScaledLogisticRegression]:
    """Return the logistic regression of some labels on a part of the rows.

    The optimum of drawn rows comes first. Each product with the rows is then one pass over blocks.
    """
    if not len(labels):
        return []
    scaler = fit_scaler(rows, encoder, part, standardize=base.standardize, words=True)
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
    elif len(varying := classifiers.varying_labels(sample.Y)):
        C = base.C * len(part) / len(drawn)
        sampled = LogisticRows(sample.X, sample.Y[:, varying], sample.all_weights)
        optimum = sampled.fit(C, base.max_iter)
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
    arrays.set_feature_attributes(model, encoder.encode(rows.like)[0])
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

"""fit, predict and predict_proba on Dask collections; training of each classifier by blocks."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from warnings import warn

import dask
import dask.array as da
import numpy as np
from dask import delayed
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pairmend._base import MultiLabelClassifier
from pairmend._utils.arrays import check_columns, stack_rows, take_rows
from pairmend._utils.classifiers import (
    check_params,
    for_all_labels,
    is_auto,
    label_scores,
    new_seed,
    scoring_method,
    seed_estimator,
)
from pairmend._utils.computing import lazy
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.training import relative_weights, route_fit_params
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.baselines.transformation import BinaryRelevance
from pairmend.distributed.base_training import (
    fit_on_worker,
    is_trained_by_blocks,
    train_by_blocks,
)
from pairmend.distributed.rows import (
    Block,
    Rows,
    as_task,
    in_a_tree,
    is_frame,
    with_whole_rows,
    without_rows,
)
from pairmend.distributed.subspace_nb import check_frame, train_pairs
from pairmend.mended.base import GivenBase, base_attributes
from pairmend.mended.estimator import MendedClassifier
from pairmend.mended.rows import ColumnSums, RowEncoder, Scaling
from pairmend.mended.validation import ValidationRows
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.corrected import CorrectedPairwiseClassifier
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner
from pairmend.pairwise.plain import CalibratedLabelRanking, PairwiseClassifier
from pairmend.thresholds.classifier import ThresholdedClassifier

PAIRWISE = (PairwiseClassifier, CalibratedLabelRanking, CorrectedPairwiseClassifier)
Classifier = TypeVar("Classifier", bound=MultiLabelClassifier)


def fit(classifier: Classifier, X: Any, y: Any, *, sample_weight: Any = None) -> Classifier:
    """Fit a classifier on Dask collections.

    The result is an ordinary fitted classifier. The chunks do not influence it. How it is trained
    depends on the base classifier:

    - :class:`~pairmend.RandomSubspaceNB` (the default) in :class:`~pairmend.PairwiseClassifier`,
      :class:`~pairmend.CalibratedLabelRanking`, :class:`~pairmend.CorrectedPairwiseClassifier` and
      :class:`~pairmend.baselines.BinaryRelevance`, and as base classifier of
      :class:`~pairmend.MendedClassifier`: rows stay on the workers, which compute the feature
      statistics and sums of their blocks. Probabilities differ from those of a local fit by less
      than 1e-9.
    - A classifier with ``partial_fit``, such as ``SGDClassifier(loss="log_loss")``, in
      :class:`~pairmend.MendedClassifier`, :class:`~pairmend.baselines.BinaryRelevance`, and
      :class:`~pairmend.ThresholdedClassifier` of a BinaryRelevance: it is trained block by block,
      in one pass.
    - Everything else, the default of :class:`~pairmend.MendedClassifier` included, is fitted by its
      own ``fit`` on a worker, which needs all rows in memory, and a copy of those it trains on. The
      result is that of a local fit. With `n_jobs`, joblib distributes the trainings over the
      workers.

    Parameters
    ----------
    classifier : classifier of pairmend
        The classifier to fit.
    X : dask array or dataframe of shape (n_samples, n_features)
        Rows; chunks of an array may be scipy's CSR. Columns of a dataframe that are encoded block
        by block must be numbers, or categories that are known (``X.categorize()``). It is computed
        several times: call ``X.persist()`` if that is expensive and the cluster has the memory.
    y : dask array, dataframe or series
        Label indicators of shape (n_samples, n_labels), or 1-D classes, in the same blocks of
        rows as X.
    sample_weight : dask array, series or array-like of shape (n_samples,), default=None
        Weights of rows, if ``fit`` of the classifier and of its base classifier take them.

    Returns
    -------
    classifier
        The same object, fitted.

    Notes
    -----
    Chunks are cut anew into blocks of 2^22 cells, at least 1,000 and at most 50,000 rows. A worker
    holds the chunks that it reads, a block, and the model.

    The labels of all rows are held in the memory of this process, one byte for each row and label,
    and the sample weights. Splits are therefore those of a local fit with the same
    ``random_state``. Of a MendedClassifier this process holds the landmarks and the rows on which
    corrections are compared. Other out-of-fold probabilities are computed on the workers, added to
    the sums of the landmarks, and dropped. A ThresholdedClassifier holds the out-of-fold scores of
    all rows, a CorrectedPairwiseClassifier its validation rows (with cross-fitting, all rows).

    With RandomSubspaceNB, distinct values of numeric features are counted exactly, which moves all
    distinct values of a feature to one worker, for a part of the features at a time.

    Examples
    --------
    >>> import dask.array as da
    >>> from pairmend import PairwiseClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> rows, labels = (da.from_array(part, chunks=(40, -1)) for part in (X, Y))
    >>> clf = fit(PairwiseClassifier(random_state=0), rows, labels)
    >>> here = PairwiseClassifier(random_state=0).fit(X, Y)
    >>> bool(abs(clf.predict_proba(X) - here.predict_proba(X)).max() < 1e-9)
    True
    """
    if not isinstance(classifier, MultiLabelClassifier):
        raise TypeError(
            "fit on Dask collections takes a classifier of pairmend, got "
            f"{type(classifier).__name__}. Wrap it, as in BinaryRelevance(...)."
        )
    check_params(classifier, classifier.get_params(deep=False))
    if sample_weight is not None:
        (sample_weight,) = dask.compute(sample_weight)
        sample_weight = np.asarray(sample_weight)
    rows = Rows.read(classifier, X, y)
    fit_by_blocks = _fit_by_blocks(classifier, rows)
    if fit_by_blocks is None:
        return _take_over(classifier, fit_on_worker(classifier, rows, sample_weight))
    if getattr(classifier, "n_jobs", None) is not None:
        warn(
            f"n_jobs={classifier.n_jobs} has no effect on training by blocks, which Dask "
            "distributes.",
            UserWarning,
            stacklevel=2,
        )
    if sample_weight is not None:
        base, given = classifier._base_classifier(), {"sample_weight": sample_weight}
        _, weights = route_fit_params(classifier, base, np.empty((len(rows), 0)), given)
        rows = replace(rows, weights=weights)
    return fit_by_blocks(classifier, rows)


def predict(classifier: MultiLabelClassifier, X: Any) -> Any:
    """Predict the labels of the rows of a Dask collection.

    The result is lazy. One block of rows at a time must fit into memory.

    Parameters
    ----------
    classifier : classifier of pairmend
        Fitted classifier. It is sent once to each worker.
    X : dask array or dataframe of shape (n_samples, n_features)
        Rows; chunks of an array may be scipy's CSR.

    Returns
    -------
    dask array
        The result of the classifier's own ``predict``, in the chunks of X. Chunk sizes that are
        unknown in X, such as those of a dataframe, are unknown in the result.

    Examples
    --------
    >>> import dask.array as da
    >>> from pairmend import PairwiseClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = PairwiseClassifier(random_state=0).fit(X, Y)
    >>> predicted = predict(clf, da.from_array(X, chunks=(40, -1)))
    >>> predicted.chunks
    ((40, 40, 20), (5,))
    >>> bool((predicted.compute() == clf.predict(X)).all())
    True
    """
    check_is_fitted(classifier)
    if classifier.multilabel_:
        like = np.empty((0, len(classifier.classes_)), dtype=np.int64)
    else:
        like = np.empty(0, dtype=classifier.classes_.dtype)
    return _by_blocks(classifier, X, "predict", like)


def predict_proba(classifier: MultiLabelClassifier, X: Any) -> Any:
    """Return the labels' scores for the rows of a Dask collection.

    The result is lazy. One block of rows at a time must fit into memory.

    Parameters
    ----------
    classifier : classifier of pairmend
        Fitted classifier. It is sent once to each worker.
    X : dask array or dataframe of shape (n_samples, n_features)
        Rows; chunks of an array may be scipy's CSR.

    Returns
    -------
    dask array of shape (n_samples, n_labels)
        The result of the classifier's own ``predict_proba``, in the chunks of X.

    Examples
    --------
    >>> import dask.array as da
    >>> from pairmend import PairwiseClassifier
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = PairwiseClassifier(random_state=0).fit(X, Y)
    >>> scores = predict_proba(clf, da.from_array(X, chunks=(40, -1)))
    >>> bool(abs(scores.compute() - clf.predict_proba(X)).max() < 1e-9)
    True
    """
    check_is_fitted(classifier)
    return _by_blocks(classifier, X, "predict_proba", np.empty((0, len(classifier.classes_))))


def _fit_by_blocks(classifier: Any, rows: Rows) -> Any:
    """Return the function that fits a classifier block by block; None if it needs all rows."""
    kind, base = type(classifier), classifier._base_classifier()
    if kind in PAIRWISE:
        return _fit_pairwise if type(base) is RandomSubspaceNB else None
    if kind is MendedClassifier and not is_auto(classifier.estimator):
        function, model = _fit_mended, for_all_labels(base, len(rows.target.classes))
    elif kind is ThresholdedClassifier and rows.target.multilabel:
        function, model = _fit_thresholded, base
    elif kind is BinaryRelevance:
        function, model = _fit_relevance, classifier
    else:
        return None
    return function if is_trained_by_blocks(model) else None


def _take_over(classifier: Any, fitted: Any) -> Any:
    """Give a classifier the fitted attributes of a clone, in place of its own."""
    classifier.__dict__ = vars(fitted) | classifier.get_params(deep=False)
    return classifier


def _fit_pairwise(classifier: Any, rows: Rows) -> Any:
    problem = classifier._training_input(rows.like, rows.target, {})
    problem = replace(problem, row_weights=rows.all_weights)
    return classifier._fit_rows(problem, _PairRows(rows, np.arange(len(rows))))


@dataclass(frozen=True)
class _PairRows:
    """Some rows in blocks, with the interface of `pairwise.voting.TrainingRows`."""

    rows: Rows
    numbers: IntArray

    @lazy
    def X(self) -> MatrixLike:
        """Rows in memory."""
        blocks = dask.compute(*self.rows.choose(self.numbers))
        return stack_rows([block.X for block in blocks])

    @property
    def Y(self) -> BoolArray:
        """Label indicators."""
        return self.rows.target.Y[self.numbers]

    def take(self, rows: IntArray) -> "_PairRows":
        """Return some of the rows."""
        return _PairRows(self.rows, self.numbers[rows])

    def train(
        self, learner: SubspaceNBPairLearner, pairs: IntArray, owner: Any
    ) -> SubspaceNBPairLearner:
        """Train all pairs on the rows."""
        return train_pairs(learner, self.rows, self.numbers, pairs)


def _fit_relevance(classifier: Any, rows: Rows) -> Any:
    (fitted,) = train_by_blocks(classifier, rows, [rows.present])
    fitted.classes_, fitted.multilabel_ = rows.target.classes, rows.target.multilabel
    return _take_over(classifier, fitted)


def _fit_thresholded(classifier: Any, rows: Rows) -> Any:
    """Fit the threshold on out-of-fold scores, which are gathered, and the classifier."""
    method, seeded = scoring_method(classifier.estimator), classifier._seeded_estimator()
    splits = rows.split(classifier.cv, classifier.random_state)
    *models, final = train_by_blocks(seeded, rows, [*(train for train, _ in splits), rows.present])
    parts = []
    for model, (_, test) in zip(models, splits, strict=True):
        task = as_task(model)
        parts += [delayed(_scores)(task, block, method) for block in rows.choose(test)]
    tested = np.concatenate([np.sort(test) for _, test in splits])
    scores = np.concatenate(dask.compute(*parts))
    threshold = classifier._fit_threshold(scores, rows.target, tested, rows.all_weights)
    return classifier._set_fitted(
        rows.like, rows.target, estimator_=final, threshold_=threshold, _method=method
    )


def _scores(model: Any, block: Block, method: str) -> FloatArray:
    return label_scores(model, block.X, method, block.Y.shape[1])


def _fit_mended(classifier: MendedClassifier, rows: Rows) -> Any:
    """Fit on blocks, as the classifier's own `fit` does on arrays."""
    base = classifier._checked_base()
    encoder = _fit_encoder(classifier, base, rows)
    rng = check_random_state(classifier.random_state)
    model = for_all_labels(seed_estimator(base, new_seed(rng)), len(rows.target.classes))
    splits = rows.split(classifier.cv, new_seed(rng))
    fold = np.full(len(rows), -1)
    for number, (_, test) in reversed(list(enumerate(splits))):
        fold[test] = number  # of several predictions of a row, the first is used
    numbers = np.flatnonzero(fold >= 0)
    weights = None if rows.weights is None else relative_weights(rows.weights)
    relative = replace(rows, weights=weights)
    nothing, Y = np.empty((len(numbers), 0)), rows.target.Y[numbers]
    given = nothing, Y, nothing, relative.all_weights[numbers], fold[numbers]
    parts = [*(train for train, _ in splits), rows.present]
    *models, final = train_by_blocks(model, rows, parts, encoder)
    tasks = [as_task(model) for model in models]
    remote = _RemoteRows(*given, relative, numbers, tasks, as_task(encoder))
    fitted = classifier._fit_correction(remote, numbers, rows.target, rng)
    return classifier._set_fitted(
        rows.like, rows.target, estimator_=final,
        **base_attributes(GivenBase(final, type(base).__name__)),
        frame_encoder_=encoder.encoder, _row_encoder=encoder, **fitted,
    )  # fmt: skip


@dataclass(frozen=True)
class _RemoteRows(ValidationRows):
    """Validation rows of which labels and weights are in memory, and features in blocks.

    Out-of-fold probabilities are computed where they are needed, and not kept.

    Attributes
    ----------
    rows : Rows
        All rows, with the weights of the validation set.
    numbers : ndarray of int
        Numbers of the validation rows among all rows.
    models : list of delayed
        The base classifier trained on each split.
    encoder : delayed
        The encoder of rows.
    """

    rows: Rows
    numbers: IntArray
    models: list[Any]
    encoder: Any

    def take(self, rows: IntArray | slice) -> ValidationRows:
        """Select rows, with their features and probabilities."""
        taken = super().take(rows)
        parts = dask.compute(*self._map(_predict, np.asarray(rows)))
        # Parts are in the order of the splits.
        order = np.argsort(np.argsort(taken.folds, kind="stable"))
        X = take_rows(stack_rows([X for X, _ in parts]), order)
        return replace(taken, X=X, proba=np.concatenate([proba for _, proba in parts])[order])

    def sums(
        self, rows: IntArray, scalings: Sequence[Scaling], references: Sequence[str]
    ) -> dict[str, FloatArray]:
        """Return the confusion sums of some rows by their nearest landmark, by scaling."""
        if not len(rows):
            return super().sums(rows, scalings, references)
        parts = self._map(_sum_rows, rows, as_task(scalings), references)
        return in_a_tree(parts, _add_sums).compute()

    def _map(self, function: Any, places: IntArray, *given: Any) -> list[Any]:
        """Return delayed calls with validation rows and a model, by split and block."""
        return [
            delayed(function)(block, model, self.encoder, *given)
            for split, model in enumerate(self.models)
            for block in self.rows.choose(self.numbers[places[self.folds[places] == split]])
        ]


def _predict(block: Block, model: Any, encoder: RowEncoder) -> tuple[MatrixLike, FloatArray]:
    """Return rows in the form that distances take, and their probabilities."""
    base_rows, X = encoder.encode(block.X)
    proba = label_scores(model, base_rows, "predict_proba", block.Y.shape[1])
    return X, np.clip(proba, 0, 1, out=proba)


def _sum_rows(
    block: Block, model: Any, encoder: RowEncoder, scalings: list[Scaling], references: list[str]
) -> dict[str, FloatArray]:
    """Return the sums of rows by their nearest landmarks."""
    X, proba = _predict(block, model, encoder)
    every = np.arange(len(proba))
    rows = ValidationRows(X, block.Y, proba, block.all_weights, every)
    return rows.sums(every, scalings, references)


def _add_sums(parts: list[dict[str, FloatArray]]) -> dict[str, FloatArray]:
    return {name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]}


def _fit_encoder(classifier: MendedClassifier, base: Any, rows: Rows) -> RowEncoder:
    """Fit the encoder of rows: of a frame by its columns, of an array by sums over all blocks."""
    encoder = classifier._fit_encoder(rows.like, np.empty(0), base)
    check_frame(rows.like, encoder.encoder)
    if encoder.means is None:
        return encoder
    parts = [delayed(_column_sums)(block) for block in rows.choose(rows.present)]
    return replace(encoder, means=in_a_tree(parts).compute().means())


def _column_sums(block: Block) -> ColumnSums:
    return ColumnSums.of(block.X, block.all_weights)


def _by_blocks(classifier: MultiLabelClassifier, X: Any, method: str, like: Any) -> Any:
    X = with_whole_rows(X, "X")
    check_columns(classifier, without_rows(X))
    model = copy(classifier)
    if isinstance(model, MendedClassifier):
        # One number for each training row, which prediction does not use.
        model.validation_indices_ = np.empty(0, dtype=np.int64)
    task = as_task(model)  # workers can recompute it if it is lost
    parts = np.ravel(X.to_delayed())
    sizes = [np.nan] * len(parts) if is_frame(X) else X.chunks[0]
    predicted = [
        da.from_delayed(
            delayed(_predict_block)(part, task, method, like),
            shape=(size, *like.shape[1:]),
            meta=like,
        )
        for part, size in zip(parts, sizes, strict=True)
    ]
    return da.concatenate(predicted, allow_unknown_chunksizes=True)


def _predict_block(block: MatrixLike, model: MultiLabelClassifier, method: str, like: Any) -> Any:
    return getattr(model, method)(block) if count_rows(block) else like

"""fit, predict and predict_proba on Dask collections; training of each classifier by blocks."""

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
from dask import delayed
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pairmend._base import MultiLabelClassifier
from pairmend._utils.arrays import check_columns, stack_rows
from pairmend._utils.arrays import is_frame as has_columns
from pairmend._utils.classifiers import (
    check_params,
    for_all_labels,
    label_scores,
    new_seed,
    scoring_method,
)
from pairmend._utils.computing import lazy
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.training import relative_weights, route_fit_params
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines.transformation import BinaryRelevance
from pairmend.distributed.base_training import (
    fit_on_worker,
    is_trained_by_blocks,
    train_by_blocks,
)
from pairmend.distributed.out_of_fold import BlockProba, BlockRows
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
from pairmend.frames import FrameEncoder
from pairmend.mended.base import base_attributes, base_to_fit
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
    - The default of :class:`~pairmend.MendedClassifier`, and the logistic regression alone
      (``estimator=None``): the logistic regression is trained in about a hundred passes over
      the blocks, each other base on drawn rows of a bounded number (boosting on at most 2^24 cells,
      128 MiB, on a worker). Probabilities differ from those of a local fit by less than 1e-6.
      Frames whose columns are not all numbers or known categories are trained on one
      worker, see below.
    - A classifier with ``partial_fit``, such as ``SGDClassifier(loss="log_loss")``, in
      :class:`~pairmend.MendedClassifier`, :class:`~pairmend.baselines.BinaryRelevance`, and
      :class:`~pairmend.ThresholdedClassifier` of a BinaryRelevance: it is trained block by block,
      in one pass.
    - Everything else is fitted by its own ``fit`` on a worker, which needs all rows in memory, and
      a copy of those it trains on. The result is that of a local fit. With `n_jobs`, joblib
      distributes the trainings over the workers.

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
        warnings.warn(
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
    if type(base) is ScaledLogisticRegression and not _is_encodable(rows.like):
        return None
    if kind in PAIRWISE:
        return _fit_pairwise if type(base) is RandomSubspaceNB else None
    if kind is MendedClassifier:
        function, model = _fit_mended, for_all_labels(base, len(rows.target.classes))
    elif kind is ThresholdedClassifier and rows.target.multilabel:
        function, model = _fit_thresholded, base
    elif kind is BinaryRelevance:
        function, model = _fit_relevance, classifier
    else:
        return None
    return function if is_trained_by_blocks(model) else None


def _is_encodable(like: Any) -> bool:
    """Return whether rows can be encoded block by block."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of columns without any rows
            check_frame(like, FrameEncoder().fit(like) if has_columns(like) else None)
    except ValueError:
        return False
    return True


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
    chosen = base_to_fit(classifier, base, len(rows.target.classes), new_seed(rng))
    splits = rows.split(classifier.cv, new_seed(rng))
    params = {} if rows.weights is None else {"sample_weight": rows.weights}
    labels = replace(rows.target, multilabel=True)
    like, _ = encoder.encode(rows.like)
    given = like, labels, params, rows.all_weights, splits, None, classifier, like
    training = BlockRows(*given, rows, encoder)
    proba = chosen.out_of_fold(training)
    numbers = np.flatnonzero(training.folds >= 0)
    weights = None if rows.weights is None else relative_weights(rows.weights)
    relative = replace(training, rows=replace(rows, weights=weights))
    nothing, of_rows = np.empty((len(numbers), 0)), relative.rows.all_weights[numbers]
    parts = nothing, labels.Y[numbers], nothing, of_rows, training.folds[numbers]
    remote = _RemoteRows(*parts, relative, numbers, as_task(proba.predict))
    fitted = classifier._fit_correction(remote, numbers, rows.target, rng)
    fitted |= classifier._background(training, fitted["landmark_indices_"])
    model = chosen.fit_on_all(training)
    return classifier._set_fitted(
        rows.like, rows.target, estimator_=model, **base_attributes(chosen),
        frame_encoder_=encoder.encoder, _row_encoder=encoder, **fitted,
    )  # fmt: skip


@dataclass(frozen=True)
class _RemoteRows(ValidationRows):
    """Validation rows of which labels and weights are in memory, and features in blocks.

    Out-of-fold probabilities are computed where they are needed, and not kept.

    Attributes
    ----------
    rows : BlockRows
        All rows, with the weights of the validation set.
    numbers : ndarray of int
        Numbers of the validation rows among all rows.
    predict : delayed
        Returns the out-of-fold probabilities of rows in a block.
    """

    rows: BlockRows
    numbers: IntArray
    predict: Any

    def take(self, rows: IntArray | slice) -> ValidationRows:
        """Select rows, with their features and probabilities."""
        taken, numbers = super().take(rows), self.numbers[rows]
        X = self.rows.fetch(_for_distances, numbers)
        return replace(taken, X=X, proba=BlockProba(self.rows, self.predict)[numbers])

    def sums(
        self, rows: IntArray, scalings: Sequence[Scaling], references: Sequence[str]
    ) -> dict[str, FloatArray]:
        """Return the confusion sums of some rows by their nearest landmark, by scaling."""
        if not len(rows):
            return super().sums(rows, scalings, references)
        given = as_task(self.rows.encoder), self.predict, as_task(scalings), references
        blocks = self.rows.rows.choose(self.numbers[rows])
        return in_a_tree([delayed(_sum_rows)(each, *given) for each in blocks], _add_sums).compute()


def _for_distances(block: Block, encoder: RowEncoder) -> MatrixLike:
    return encoder.encode(block.X)[1]


def _sum_rows(
    block: Block,
    encoder: RowEncoder,
    predict: Any,
    scalings: list[Scaling],
    references: list[str],
) -> dict[str, FloatArray]:
    """Return the sums of rows by their nearest landmarks."""
    base_rows, X = encoder.encode(block.X)
    every = np.arange(len(block.Y))
    given = X, block.Y, predict(base_rows, block), block.all_weights, every
    return ValidationRows(*given).sums(every, scalings, references)


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

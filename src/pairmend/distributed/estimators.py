"""fit, predict and predict_proba on Dask collections; training of each classifier by blocks."""

import warnings
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
from dask import delayed
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pairmend._base import MultiLabelClassifier
from pairmend._utils import classifiers
from pairmend._utils.arrays import check_columns, has_categories, stack_rows
from pairmend._utils.arrays import is_frame as has_columns
from pairmend._utils.computing import lazy
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.training import Target, route_fit_params
from pairmend._utils.typing import BoolArray, FloatArray, IntArray, MatrixLike
from pairmend.distributed.bases import BlockRows, is_trained_by_blocks
from pairmend.distributed.rows import (
    Block,
    Rows,
    as_task,
    in_a_tree,
    is_frame,
    with_whole_rows,
    without_rows,
)
from pairmend.distributed.subspace_nb import train_pairs
from pairmend.frames.kinds import MAX_CATEGORIES
from pairmend.mended.base import base_to_fit
from pairmend.mended.estimator import MendedClassifier
from pairmend.mended.rows import ColumnSums, RowEncoder
from pairmend.model_selection import split_rows
from pairmend.naive_bayes.estimator import RandomSubspaceNB
from pairmend.pairwise.corrected import CorrectedPairwiseClassifier
from pairmend.pairwise.learners.naive_bayes import SubspaceNBPairLearner
from pairmend.pairwise.plain import CalibratedLabelRanking, PairwiseClassifier

PAIRWISE = (PairwiseClassifier, CalibratedLabelRanking, CorrectedPairwiseClassifier)
Classifier = TypeVar("Classifier", bound=MultiLabelClassifier)


def fit(classifier: Classifier, X: Any, y: Any, *, sample_weight: Any = None) -> Classifier:
    """Fit a classifier on Dask collections.

    The result is an ordinary fitted classifier. The chunks do not influence it. How it is trained
    depends on the base classifier:

    - :class:`~pairmend.RandomSubspaceNB` (the default) in :class:`~pairmend.PairwiseClassifier`,
      :class:`~pairmend.CalibratedLabelRanking` and :class:`~pairmend.CorrectedPairwiseClassifier`:
      rows stay on the workers, which compute the feature statistics and sums of their blocks.
      Probabilities differ from those of a local fit by less than 1e-9.
    - The default of :class:`~pairmend.MendedClassifier`, and the logistic regression alone
      (``estimator=None``): the logistic regression is trained in about a hundred passes over
      the blocks, each other base on drawn rows of a bounded number, which this process holds
      (boosting on at most 2^24 cells, 128 MiB). Probabilities differ from those of a local fit by
      less than 1e-6.
    - A classifier with ``partial_fit``, such as ``SGDClassifier(loss="log_loss")``, in
      :class:`~pairmend.MendedClassifier`: it is trained block by block, in one pass.
    - Everything else, and frames whose columns are not all numbers or known categories: fitted by
      its own ``fit`` on a worker, which needs all rows in memory, and a copy of those it trains on.
      The result is that of a local fit. If all rows fit into the memory of this process, a local
      fit in ``joblib.parallel_config("dask")`` distributes the trainings over the workers instead.

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
    the sums of the landmarks, and dropped. Of a CorrectedPairwiseClassifier it holds the validation
    rows (with cross-fitting, all rows).

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
    classifiers.check_params(classifier, classifier.get_params(deep=False))
    if sample_weight is not None:
        (sample_weight,) = dask.compute(sample_weight)
        sample_weight = np.asarray(sample_weight)
    rows = Rows.read(classifier, X, y)
    fit_by_blocks = _fit_by_blocks(classifier, rows)
    if fit_by_blocks is None:
        return _fit_on_worker(classifier, rows, sample_weight)
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
    if kind in PAIRWISE and type(base) is RandomSubspaceNB:
        function = _fit_pairwise
    elif kind is MendedClassifier and is_trained_by_blocks(
        classifiers.for_all_labels(base, len(rows.target.classes))
    ):
        function = _fit_mended
    else:
        return None
    if (column := _unreadable_column(rows.like)) is None:
        return function
    warnings.warn(
        f"Column {column.name!r} holds {column.dtype}, and all rows are gathered on one worker. "
        f"Blocks can be read if columns hold numbers, or at most {MAX_CATEGORIES} categories that "
        f"are known: X = X.categorize(columns=[{column.name!r}]).",
        UserWarning,
        stacklevel=3,
    )
    return None


def _unreadable_column(like: Any) -> Any:
    """Return a column of a frame that can only be encoded with all of its rows, or None."""
    for place in range(like.shape[1] if has_columns(like) else 0):
        column = like.iloc[:, place]
        if not has_categories(column):
            is_readable = column.dtype.kind in "biuf"
        else:  # Dask represents unknown categories by a placeholder.
            found = column.cat.categories
            is_readable = "__UNKNOWN_CATEGORIES__" not in found and len(found) <= MAX_CATEGORIES
        if not is_readable:
            return column
    return None


def _fit_on_worker(classifier: Any, rows: Rows, sample_weight: FloatArray | None) -> Any:
    """Fit a classifier by its own ``fit`` on a worker with all rows."""
    params = {} if sample_weight is None else {"sample_weight": sample_weight}
    given = clone(classifier), rows.target, params
    fitted = delayed(_fit_here)(rows.blocks, as_task(given)).compute()
    # The fitted attributes replace those of an earlier fit.
    classifier.__dict__ = vars(fitted) | classifier.get_params(deep=False)
    return classifier


def _fit_here(blocks: list[MatrixLike], given: tuple[Any, Target, dict[str, Any]]) -> Any:
    classifier, target, params = given
    y = target.as_given(np.arange(len(target.Y)))
    fitted = classifier.fit(stack_rows(blocks), y, **params)
    if target.multilabel:
        fitted.classes_ = target.classes  # the names of the columns
    return fitted


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


def _fit_mended(classifier: MendedClassifier, rows: Rows) -> Any:
    """Fit on blocks, as the classifier's own `fit` does on arrays."""
    base = classifier._checked_base()
    encoder = RowEncoder.fit(classifier, rows.like, np.empty(0), base)
    if encoder.means is not None:
        parts = [delayed(_column_sums)(block) for block in rows.choose(rows.present)]
        encoder = replace(encoder, means=in_a_tree(parts).compute().means())
    rng = check_random_state(classifier.random_state)
    chosen = base_to_fit(classifier, base, len(rows.target.classes), classifiers.new_seed(rng))
    given = np.empty((len(rows), 0)), rows.target, rows.all_weights > 0
    splits = split_rows(classifier.cv, *given, classifiers.new_seed(rng))
    params = {} if rows.weights is None else {"sample_weight": rows.weights}
    like, _ = encoder.encode(rows.like)
    training = BlockRows(
        like, replace(rows.target, multilabel=True), params, rows.all_weights, splits, None,
        classifier, like, rows, encoder,
    )  # fmt: skip
    fitted = classifier._fit_rows(training, chosen, rows.target, encoder, rng)
    return classifier._set_fitted(rows.like, rows.target, **fitted)


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

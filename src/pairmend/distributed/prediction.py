"""Prediction on Dask collections, block by block."""

from copy import copy
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from sklearn.utils.validation import check_is_fitted

from pairmend._base import MultiLabelClassifier
from pairmend._utils.sklearn_private import count_rows
from pairmend._utils.typing import MatrixLike
from pairmend._utils.validation import check_columns
from pairmend.distributed.rows import is_frame, with_whole_rows, without_rows
from pairmend.mended.estimator import MendedClassifier


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


def _by_blocks(classifier: MultiLabelClassifier, X: Any, method: str, like: Any) -> Any:
    X = with_whole_rows(X, "X")
    check_columns(classifier, without_rows(X))
    model = _as_task(classifier)
    if is_frame(X):
        parts = [
            da.from_delayed(
                delayed(_predict_block)(block, model, method, like),
                shape=(np.nan, *like.shape[1:]),
                meta=like,
            )
            for block in X.to_delayed()
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)
    return X.map_blocks(
        _predict_block,
        model=model,
        method=method,
        like=like,
        meta=like,
        dtype=like.dtype,
        chunks=(X.chunks[0], *((n,) for n in like.shape[1:])),
        drop_axis=[1] if like.ndim == 1 else [],
    )


def _as_task(classifier: MultiLabelClassifier) -> Any:
    """Return a task that holds a copy of the classifier; workers can recompute it if lost."""
    sent = copy(classifier)
    if isinstance(sent, MendedClassifier):
        # One number for each training row, which prediction does not use.
        sent.validation_indices_ = np.empty(0, dtype=np.int64)
    return delayed(sent, pure=False, traverse=False)


def _predict_block(block: MatrixLike, model: MultiLabelClassifier, method: str, like: Any) -> Any:
    return getattr(model, method)(block) if count_rows(block) else like

"""Dask collections for tests, and a function that Dask's workers import from this module."""

import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from classifier_checks import outputs

da = pytest.importorskip("dask.array", reason="needs pip install 'pairmend[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs pip install 'pairmend[dask]'")

CHUNKS = (30, 7, 1, 42)  # of 80 rows
KINDS = [
    "dense", "two column chunks", "unknown sizes", "missing", "sparse", "sparse matrix", "frame",
]  # fmt: skip


def slow(block):
    time.sleep(0.2)
    return block


def in_chunks(array, chunks=CHUNKS):
    return da.from_array(np.asarray(array), chunks=(chunks, *np.shape(array)[1:]))


def in_partitions(frame, chunks=CHUNKS):
    """Return a dask frame with these partitions."""
    ends = np.cumsum([size for size in chunks if size])
    parts = dd.from_pandas(frame, sort=False, chunksize=len(frame))
    return parts.repartition(divisions=[0, *ends[:-1], len(frame) - 1])


def collections(kind, X, Y, chunks=CHUNKS):
    """Return rows of a kind, and the same and labels as Dask collections."""
    rng = np.random.RandomState(5)
    rows, labels = in_chunks(X, chunks), in_chunks(Y, chunks)
    if kind == "two column chunks":
        return X, rows.rechunk((chunks, (2, X.shape[1] - 2))), labels
    if kind == "unknown sizes":
        every = in_chunks(np.ones(len(X), dtype=bool), chunks)
        return X, rows[every], labels[every]
    if kind.startswith("sparse"):
        form = sparse.csr_matrix if kind == "sparse matrix" else sparse.csr_array
        few = np.where(np.quantile(X, 0.9) < X, X, 0)
        parts = in_chunks(few, chunks).map_blocks(form, meta=form((0, X.shape[1])))
        return form(few), parts, labels
    if kind == "dense":
        return X, rows, labels
    gaps = np.where(rng.uniform(size=X.shape) < 0.1, np.nan, X)
    gaps[:, 3] = np.where(np.isnan(gaps[:, 3]), np.nan, gaps[:, 3] > np.median(X[:, 3]))
    if kind == "missing":
        return gaps, in_chunks(gaps, chunks), labels
    frame = pd.DataFrame(gaps, columns=list("abcdef")[: X.shape[1]])
    sizes = np.where(X[:, 1] > np.median(X[:, 1]), "much", "little")
    frame["b"] = pd.Categorical(sizes, categories=["little", "much", "none"])
    named = pd.DataFrame(Y, columns=list("stuvwx")[: Y.shape[1]])
    return frame, in_partitions(frame, chunks), in_partitions(named, chunks)


def assert_same(ours, local, X, atol=1e-9):
    """Compare two fitted classifiers: attributes, scores and predictions."""
    assert vars(ours).keys() == vars(local).keys()
    assert ours.n_features_in_ == local.n_features_in_
    for found, expected in zip(outputs(ours, X), outputs(local, X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
    np.testing.assert_array_equal(ours.predict(X), local.predict(X))

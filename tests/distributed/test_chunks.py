"""The chunks of Dask collections do not influence a fit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from pairmend import (
    CorrectedPairwiseClassifier,
    MendedClassifier,
    PairwiseClassifier,
    RandomSubspaceNB,
    ThresholdedClassifier,
)
from pairmend.baselines import BinaryRelevance
from public_classifiers import CLASSIFIERS, data_for, made

da = pytest.importorskip("dask.array", reason="needs pip install 'pairmend[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs pip install 'pairmend[dask]'")

from pairmend import distributed  # noqa: E402
from pairmend.distributed import rows  # noqa: E402

TOLERANCE = 1e-9
CHUNKS = [(60,), (1,) * 60, (20, 20, 20), (3, 0, 40, 1, 16)]
SGD = SGDClassifier(loss="log_loss")
BY_BLOCKS = {
    "voting": PairwiseClassifier(random_state=0),
    "corrected": CorrectedPairwiseClassifier(validation=3, random_state=0),
    "relevance": BinaryRelevance(random_state=0),
    "relevance of sgd": BinaryRelevance(SGD, random_state=0),
    "mended sgd": MendedClassifier(SGD, cv=3, max_landmarks=20, random_state=0),
    "mended naive Bayes": MendedClassifier(
        RandomSubspaceNB(3), cv=3, max_landmarks=20, random_state=0
    ),
    "threshold": ThresholdedClassifier(BinaryRelevance(SGD, random_state=0), random_state=0),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Cut the 60 rows into several blocks."""
    monkeypatch.setattr(rows, "MAX_ROWS", 25)


def in_chunks(array, chunks, form="dense"):
    parts = da.from_array(np.asarray(array), chunks=(chunks, *np.shape(array)[1:]))
    if form == "sparse":
        return parts.map_blocks(sparse.csr_array, meta=sparse.csr_array((0, array.shape[1])))
    return parts


def in_partitions(frame, chunks):
    """Return a dask frame with these partitions."""
    ends = np.cumsum([size for size in chunks if size])
    return (
        dd.from_pandas(frame, sort=False, chunksize=len(frame)).repartition(
            divisions=[0, *ends[:-1], len(frame) - 1]
        )
        if len(ends) < len(frame)
        else dd.from_pandas(frame, npartitions=len(frame))
    )


def as_frame(X):
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["b"] = pd.Categorical(np.where(X[:, 1] > np.median(X[:, 1]), "much", "little"))
    return frame


def fitted(clf, form, weights, chunks):
    X, Y = data_for("MendedClassifier")
    X = np.where(X > 0.5, X, 0) if form == "sparse" else X
    params = {"sample_weight": in_chunks(weights, chunks)} if weights is not None else {}
    if form == "frame":
        local, X = as_frame(X), in_partitions(as_frame(X), chunks)
        Y = in_partitions(pd.DataFrame(Y, columns=list("stuv")), chunks)
    else:
        local = sparse.csr_array(X) if form == "sparse" else X
        X, Y = in_chunks(X, chunks, form), in_chunks(Y, chunks)
    return distributed.fit(clone(clf), X, Y, **params).predict_proba(local)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "form"),
    [(name, form) for name in BY_BLOCKS for form in ("dense", "sparse")]
    + [(name, "frame") for name in ("voting", "corrected", "relevance", "mended naive Bayes")],
)
def test_training_by_blocks_does_not_depend_on_chunks(name, form, weighted):
    weights = np.random.RandomState(1).choice([0, 1, 2.5], 60) if weighted else None
    expected, *others = (fitted(BY_BLOCKS[name], form, weights, chunks) for chunks in CHUNKS)
    for proba in others:
        np.testing.assert_allclose(proba, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "RandomSubspaceNB"])
def test_every_classifier_equals_its_local_fit(name, weighted):
    X, y = data_for(name)
    clf, blocks = made(name), (in_chunks(X, CHUNKS[-1]), in_chunks(y, CHUNKS[-1]))
    params = {"sample_weight": np.random.RandomState(1).choice([1, 2.5], 60)} if weighted else {}
    try:
        expected = clone(clf).fit(X, y, **params)
    except (TypeError, ValueError):
        with pytest.raises((TypeError, ValueError), match="sample_weight"):
            distributed.fit(clone(clf), *blocks, **params)
        return
    ours = distributed.fit(clone(clf), *blocks, **params)
    if hasattr(expected, "predict_proba"):
        np.testing.assert_allclose(
            ours.predict_proba(X), expected.predict_proba(X), rtol=0, atol=TOLERANCE
        )
    np.testing.assert_array_equal(ours.predict(X), expected.predict(X))

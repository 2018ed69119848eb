"""The chunks of Dask collections do not influence a fit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold

from dask_tasks import assert_same, collections, in_chunks
from pairmend import MendedClassifier, distributed
from public_classifiers import CLASSIFIERS, data_for, made

TOLERANCE = 1e-9
CHUNKS = [(60,), (*[1] * 12, 48), (20, 20, 20), (3, 0, 40, 1, 16)]


@pytest.mark.parametrize(("form", "weighted"), [("dense", True), ("sparse", False)])
def test_training_by_blocks_does_not_depend_on_chunks(form, weighted):
    """The base classifier goes from block to block, so that there is no equal local fit."""
    base = SGDClassifier(loss="log_loss")
    clf = MendedClassifier(base, cv=3, max_landmarks=20, random_state=0)
    weights = np.random.RandomState(1).choice([0, 1, 2.5], 60) if weighted else None
    found = []
    for chunks in CHUNKS:
        local, X, Y = collections(form, *data_for("MendedClassifier"), chunks)
        fitted = distributed.fit(clone(clf), X, Y, sample_weight=weights)
        found.append(fitted.predict_proba(local))
        np.testing.assert_allclose(found[-1], found[0], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("seed", "form", "base", "cv"),
    [(0, "dense", "auto", 3), (1, "missing", "auto", 3), (2, "frame", "auto", KFold(2)),
     (0, "sparse", None, 3)],
)  # fmt: skip
def test_the_default_is_that_of_a_local_fit(seed, form, base, cv):
    X, Y = data_for("MendedClassifier")
    weights = np.random.RandomState(1).choice([0, 1, 2.5], 60) if seed == 1 else None
    clf = MendedClassifier(base, cv=cv, max_landmarks=20, random_state=seed)
    models, queries = [], collections(form, X, Y, CHUNKS[0])[0]
    for chunks in CHUNKS:
        _, rows, labels = collections(form, X, Y, chunks)
        models.append(distributed.fit(clone(clf), rows, labels, sample_weight=weights))
    expected = clf.fit(queries, Y, sample_weight=weights)
    assert_same(models[0], expected, queries, atol=1e-6)
    for model in models:
        assert model.base_weights_.keys() == expected.base_weights_.keys()
        found = model.predict_proba(queries)
        np.testing.assert_allclose(found, models[0].predict_proba(queries), rtol=0, atol=TOLERANCE)


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
    assert_same(ours, expected, X, atol=1e-6 if name == "MendedClassifier" else TOLERANCE)

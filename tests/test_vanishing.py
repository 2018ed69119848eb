"""Leaving out weights that vanish changes nothing that can be seen."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from pairmend import CorrectedPairwiseClassifier, GaussianNeighbourhood, RandomSubspaceNB, corrected
from pairmend._pairs import LabelRows, label_pairs
from pairmend.kernels.confusion import Watched, add_up_again, confusion_sums
from pairmend.kernels.correction import correct, unsettled
from pairmend.kernels.neighbourhood import gaussian_weights
from pairmend.kernels.rrc import decide, identity_reference
from pairmend.kernels.vanishing import TOLERANCE, cut_for, leave_out

ROUNDING = 1e-13


def clustered(rng, n, n_labels):
    """Points in tight clusters; labels that live in one of them, everywhere, or nowhere."""
    cluster = rng.randint(3, size=n)
    points = cluster[:, np.newaxis] * [1.0, 0.3] + rng.normal(scale=0.03, size=(n, 2))
    home = rng.choice([0, 1, 2, 3, 4], size=n_labels)
    likely = np.where(home == 3, 0.4, np.where(home == cluster[:, np.newaxis], 0.7, 0.0))
    return points, rng.rand(n, n_labels) < likely


@given(
    st.integers(0, 10**6),
    st.floats(-1, 4),
    st.sampled_from([None, 1e-3, 1e-9]),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.booleans(),
)
def test_what_is_left_out_moves_no_corrected_support(seed, log_beta, cut, crisp, overlap, balanced):
    rng = np.random.RandomState(seed)
    n, n_labels = rng.randint(20, 120), rng.randint(2, 6)
    points, Y = clustered(rng, n, n_labels)
    queries = np.vstack([points[:5] + 0.01, rng.rand(3, 2) * 3])
    weights = gaussian_weights(queries, points, 10.0**log_beta).T
    carried = LabelRows.of(Y)
    support = rng.rand(len(carried.rows), n_labels)
    support = np.round(support) if crisp else support ** rng.choice([1, 8])
    watched = Watched(carried, Y, decide(support, identity_reference))
    pairs = label_pairs(n_labels)
    decided = rng.rand(len(queries), len(pairs)) ** rng.choice([1, 30])
    balance = rng.rand(2, len(pairs)) if balanced else None
    labels = slice(0, n_labels - 1)
    cut = cut_for(n) if cut is None else cut

    expected = confusion_sums(weights, watched, labels, shared=True)
    sums = confusion_sums(weights, watched, labels, shared=True, cut=cut)
    missed = [sums.skipped[side] for side in pairs.T]
    if balanced:
        missed = [weight[:, None] * part for weight, part in zip(balance, missed, strict=True)]
    unsure = unsettled(decided, sums.confusion(overlap, balance), np.maximum(*missed).T, TOLERANCE)
    full = expected.confusion(overlap, balance)
    settled = correct(decided, sums.confusion(overlap, balance))[~unsure]
    np.testing.assert_allclose(
        settled, correct(decided, full)[~unsure], rtol=0, atol=TOLERANCE + ROUNDING
    )
    add_up_again(sums, unsure.T, weights, watched, labels, shared=True)
    got = correct(decided, sums.confusion(overlap, balance))
    np.testing.assert_allclose(got, correct(decided, full), rtol=0, atol=TOLERANCE + ROUNDING)


@given(st.integers(0, 10**6), st.floats(1e-30, 0.5))
def test_skipped_bounds_what_is_left_out(seed, cut):
    rng = np.random.RandomState(seed)
    weights = np.exp(-rng.rand(60, 4) * rng.choice([1, 100, 1000]))
    weights[:, 3] = 0
    kept, skipped = leave_out(weights, cut)
    assume(sparse.issparse(kept))
    lost = weights - kept.toarray()
    assert (lost.sum(axis=0) <= skipped).all()
    assert (kept.toarray().max(axis=0) == weights.max(axis=0)).all()
    assert skipped[3] == 0


@pytest.fixture
def always(monkeypatch):
    """Let the classifier try to leave out rows, and count how often pairs are summed again."""
    again = []
    monkeypatch.setattr(corrected, "worth_skipping", lambda *_: True)
    monkeypatch.setattr(
        corrected,
        "add_up_again",
        lambda sums, pairs, *args, **kw: (
            again.append(pairs.mean()),
            add_up_again(sums, pairs, *args, **kw),
        )[0],
    )
    return again


def kinds(X):
    thinned = np.where(X > 0.4, X, 0)
    holes = X.copy()
    holes[::7, 1] = np.nan
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["c"] = pd.Categorical(np.where(X[:, 0] > 0.7, "u", "v"))
    frame.loc[::5, "c"] = None
    return {
        "dense": X,
        "csr": sparse.csr_array(thinned),
        "missing": holes,
        "frame": frame,
        "constant": np.ones_like(X),
    }


@pytest.mark.parametrize("kind", ["dense", "csr", "missing", "frame", "constant"])
@pytest.mark.parametrize("beta", [0.1, 300.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_classifier_gives_the_same(rng, always, monkeypatch, kind, beta, weighted):
    points, Y = clustered(rng, 240, 7)
    X = kinds(np.column_stack([points, rng.rand(240)]))[kind]
    fit_params = {"sample_weight": rng.rand(240) + 0.1} if weighted else {}
    clf = CorrectedPairwiseClassifier(
        RandomSubspaceNB(5, 0.7),
        neighbourhood=GaussianNeighbourhood(beta),
        validation=3,
        random_state=0,
    ).fit(X, Y, **fit_params)
    settings = [{}, {"balance": "labels"}, {"balance": "pairs"}, {"overlap": 0.5}]
    near = [clf._variant(setting).pair_corrected(X) for setting in settings]
    predicted = clf.predict_each(X, settings)
    if beta == 1e4 and kind == "dense":
        assert 0 < np.mean(always) < 0.9  # some pairs were settled, some were not
    monkeypatch.setattr(corrected, "worth_skipping", lambda *_: False)
    for setting, supports in zip(settings, near, strict=True):
        expected = clf._variant(setting).pair_corrected(X)
        np.testing.assert_allclose(supports, expected, rtol=0, atol=TOLERANCE + ROUNDING)
    for one, other in zip(predicted, clf.predict_each(X, settings), strict=True):
        np.testing.assert_array_equal(one, other)


class ZeroBeyond(GaussianNeighbourhood):
    """The same weights as with n_neighbors, but dense."""

    def weights(self, X):
        return super().weights(X).toarray()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("overlap", [0.0, 0.5])
def test_sparse_weights_give_what_dense_ones_give(small_set, overlap, weighted):
    X, Y = small_set
    fit_params = {"sample_weight": np.arange(80) % 3 + 1.0} if weighted else {}
    sparse_one, dense_one = (
        CorrectedPairwiseClassifier(
            RandomSubspaceNB(5, 0.5),
            overlap=overlap,
            neighbourhood=kind(n_neighbors=7),
            random_state=0,
        ).fit(X, Y, **fit_params)
        for kind in (GaussianNeighbourhood, ZeroBeyond)
    )
    assert sparse.issparse(sparse_one.neighbourhood_.weights(X))
    for method in ("pair_corrected", "confusion", "predict_proba"):
        np.testing.assert_allclose(
            getattr(sparse_one, method)(X), getattr(dense_one, method)(X), atol=1e-12
        )

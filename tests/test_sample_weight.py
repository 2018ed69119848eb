"""Sample weights that change what is chosen or drawn; see also the checks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.naive_bayes import GaussianNB

from pairmend import CorrectedPairwiseClassifier, MendedClassifier, RandomSubspaceNB
from pairmend.mended.rows import draw_rows

X, Y = make_multilabel_classification(150, n_features=6, n_classes=4, n_labels=1, random_state=0)
# As many rows of all labels as there are others.
ROWS = np.vstack([X, X[::-1] + 0.1]), np.vstack([Y, np.ones_like(Y)])


@pytest.mark.parametrize("criterion", ["hamming", "macro_f1"])
def test_what_is_chosen_follows_the_weights_by_degrees(criterion):
    clf = MendedClassifier(GaussianNB(), criterion=criterion, random_state=0)
    fifth = np.arange(300) % 5
    clf.set_params(cv=[(np.flatnonzero(fifth != k), np.flatnonzero(fifth == k)) for k in range(5)])
    counts = {}
    for weight in (0.0, 1e-4, 1.0):
        weights = np.repeat([1.0, weight], 150)
        counts[weight] = clone(clf).fit(*ROWS, sample_weight=weights).predict(X).sum() / 150
    assert abs(counts[1e-4] - counts[0.0]) < 0.02
    assert counts[1.0] > counts[0.0] + 0.3


def test_the_unit_of_partial_fit_is_that_of_the_first_call():
    def streamed(*factors):
        learner = CorrectedPairwiseClassifier(RandomSubspaceNB(5, 0.5), random_state=0)
        for part, factor in zip(np.split(np.arange(150), 3), factors, strict=True):
            weights = factor * (1.0 + np.arange(50) % 2)
            learner.partial_fit(X[part], Y[part], sample_weight=weights)
        return learner.predict_proba(X)

    plain = streamed(1, 1, 1)
    np.testing.assert_allclose(streamed(1e-3, 1e-3, 1e-3), plain, atol=1e-8)
    np.testing.assert_allclose(streamed(1e3, 1e3, 1e3), plain, atol=1e-8)
    # Later rows keep what they weigh relative to earlier ones.
    assert abs(streamed(1, 1, 100) - plain).max() > 0.01


def test_rows_are_drawn_by_their_weights():
    rng = np.random.RandomState(0)
    weights = rng.choice([0.1, 1.0, 40.0], size=200, p=[0.3, 0.65, 0.05])
    hits, totals = np.zeros(200), []
    for _ in range(2000):
        rows, counts = draw_rows(rng.permutation(200), weights, 60, rng)
        assert len(np.unique(rows)) == len(rows)
        assert abs(len(rows) - 60) <= 1
        hits[rows] += 1
        totals.append(counts[rows].sum())
    # Horvitz and Thompson: the total is exact in the mean. Three standard errors.
    error = 3 * np.std(totals) / np.sqrt(len(totals))
    assert np.mean(totals) == pytest.approx(weights.sum(), abs=error + 1e-9)
    light, heavy = hits[weights == 0.1].mean(), hits[weights == 1.0].mean()
    assert heavy / light == pytest.approx(10, rel=0.1)
    assert (hits[weights == 40] == 2000).all()
    rows, counts = draw_rows(np.array([3, 1, 0, 2]), np.full(4, 0.5), 2, None)
    assert (rows.tolist(), counts.tolist()) == ([3, 1], [0.5] * 4)  # equal ones from the front

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import references
from pairmend.kernels.pairs import pairs_of, sum_supports, vote
from pairmend.kernels.threshold import accept


@given(
    st.integers(2, 6).flatmap(
        lambda n: arrays(float, (3, n * (n - 1) // 2), elements=st.floats(0, 1))
    )
)
def test_scores_equal_a_loop(supports):
    n_labels = round((1 + np.sqrt(1 + 8 * supports.shape[1])) / 2)
    expected = references.scores(supports, n_labels)
    scores = sum_supports(supports, slice(0, n_labels - 1), n_labels) / (n_labels - 1)
    np.testing.assert_allclose(scores, expected, atol=1e-10)
    # The two votes of each pair sum to one, so scores average to one half.
    np.testing.assert_allclose(scores.mean(axis=1), 0.5)


def test_sums_of_blocks_add_up(rng):
    supports, blocks = rng.rand(4, 15), [slice(0, 1), slice(1, 4), slice(4, 5)]
    parts = [sum_supports(supports[:, pairs_of(b, 6)], b, 6) for b in blocks]
    np.testing.assert_allclose(sum(parts), sum_supports(supports, slice(0, 5), 6))


def test_ties_give_half_a_vote_to_each():
    votes = vote(np.array([[0.5, 0.9, 0.1]]))
    assert sum_supports(votes, slice(0, 2), 3).tolist() == [[1.5, 0.5, 1.0]]


def test_rounding_does_not_break_ties():
    assert vote(np.array([0.5 - 1e-16, 0.5 + 1e-13, 0.5 + 1e-9])).tolist() == [0.5, 0.5, 1.0]


def test_float32(rng):
    supports = rng.rand(2, 3).astype(np.float32)
    assert vote(supports).dtype == np.float32
    # The sum of a thousand float32 values must not lose digits.
    many = np.full((1, 999), 0.1, dtype=np.float32)
    assert sum_supports(many, slice(0, 1), 1000)[0, 0] == pytest.approx(99.9, rel=2e-8)


def test_a_score_at_the_threshold_is_not_accepted():
    assert accept(np.array([[0.5, np.nextafter(0.5, 1)]]), 0.5).tolist() == [[0, 1]]

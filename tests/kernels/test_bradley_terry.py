"""Bradley-Terry strengths against a general-purpose optimiser."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import overlap_references as references
from pairmend.kernels.bradley_terry import bradley_terry


@given(
    st.integers(1, 5).flatmap(
        lambda n: arrays(float, (n, n + 1), elements=st.sampled_from([0, 0.2, 0.5, 0.99, 1.0]))
    )
)
def test_strengths_maximise_the_likelihood_locally(comparisons):
    # Zeros and ones: labels that always or never win, contradictory pairs.
    wins_or_ties, against_virtual = comparisons[:, :-1], comparisons[:, -1]
    strengths, factors = bradley_terry(
        wins_or_ties[np.newaxis], against_virtual[np.newaxis], prior=0.1
    )
    assert np.isfinite(strengths).all()
    assert (strengths > 0).all()
    assert (factors > 1).all()
    found = np.append(np.log(strengths[0]), np.log(np.log(factors[0])))
    best = references.bradley_terry_loss(found, wins_or_ties, against_virtual, 0.1)
    for direction in np.eye(len(found)):
        for step in (-1e-3, 1e-3):
            neighbour = found + step * direction
            assert (
                references.bradley_terry_loss(neighbour, wins_or_ties, against_virtual, 0.1) > best
            )

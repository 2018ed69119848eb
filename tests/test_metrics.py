import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score, hamming_loss, zero_one_loss

from pairmend.metrics import LOSSES, reliability

bits, shares = st.integers(0, 1), st.floats(0, 1)


def tables(second, dtype):
    """Draw two tables of the same shape: indicators, and other values."""
    shapes = st.tuples(st.integers(1, 6), st.integers(2, 4))
    return shapes.flatmap(
        lambda shape: st.tuples(
            arrays(np.int64, shape, elements=bits), arrays(dtype, shape, elements=second)
        )
    )


@given(tables(bits, np.int64))
def test_losses_equal_those_of_scikit_learn(tables):
    true, predicted = tables
    assert {name: loss(true, predicted) for name, loss in LOSSES.items()} == pytest.approx(
        {
            "hamming": hamming_loss(true, predicted),
            "zero_one": zero_one_loss(true, predicted),
            "macro_f1": 1 - f1_score(true, predicted, average="macro", zero_division=1),
            "micro_f1": 1 - f1_score(true, predicted, average="micro", zero_division=1),
        }
    )
    assert not any(loss(true, true) for loss in LOSSES.values())


@given(tables(shares, np.float64), st.integers(1, 7))
def test_reliability_equals_a_loop(tables, n_bins):
    for label, (Y, p) in {None: tables, 0: [table[:, :1] for table in tables]}.items():
        bins = {}
        for proba, true in zip(p.ravel(), Y.ravel(), strict=True):
            number = sum(proba > edge for edge in np.linspace(0, 1, n_bins + 1)[1:-1])
            bins.setdefault(number, []).append((proba, true))
        expected = [np.mean(bins[number], axis=0) for number in sorted(bins)]
        found = reliability(*tables, label=label, n_bins=n_bins)
        np.testing.assert_allclose(np.column_stack([found.predicted, found.observed]), expected)
        assert found.counts.tolist() == [len(bins[number]) for number in sorted(bins)]
        error = sum(abs(a - b) * n for (a, b), n in zip(expected, found.counts, strict=True))
        assert found.error == pytest.approx(error / p.size)


@pytest.mark.parametrize(
    ("probabilities", "options", "message"),
    [
        ([[-1.0, 2.0]], {}, r"values outside \[0, 1\]"),
        ([[0.5]], {}, r"have the shape \(1, 1\)"),
        ([[0.5, 0.5]], {"n_bins": 0}, "'n_bins' parameter"),
    ],
)
def test_refused_probabilities_and_options(probabilities, options, message):
    with pytest.raises(ValueError, match=message):
        reliability([[1, 0]], probabilities, **options)
    with pytest.raises(ValueError, match="has the shape"):
        LOSSES["hamming"]([[1, 0]], [[1]])

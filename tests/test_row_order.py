"""A target or weights whose index has the rows of X in another order."""

import numpy as np
import pandas as pd
import pytest

from pairmend._utils.targets import check_row_order
from pairmend.base_classifiers import ScaledLogisticRegression
from public_classifiers import CLASSIFIERS, data_for, made

every = pytest.mark.parametrize("name", CLASSIFIERS)


def framed(name):
    """Return frames, or a series of classes, with the same index, which is not sorted."""
    X, y = data_for(name)
    index = pd.Index([f"photo {i * 7 % 60}" for i in range(60)])
    make = pd.Series if np.ndim(y) == 1 else pd.DataFrame
    return pd.DataFrame(X, index).add_prefix("f"), make(y, index=index)


@every
def test_a_permuted_target_is_an_error(name):
    X, y = framed(name)
    expected = made(name).fit(X, y).predict(X)
    permuted = y.sort_index()
    clf = made(name)
    with pytest.raises(ValueError, match=r"row 1 is 'photo 7' in X and 'photo 1' in y") as caught:
        clf.fit(X, permuted)
    assert "y.loc[X.index]" in str(caught.value)
    assert "y.set_axis(X.index)" in str(caught.value)
    assert not hasattr(clf, "classes_")
    np.testing.assert_array_equal(clf.fit(X, permuted.loc[X.index]).predict(X), expected)
    # By position.
    clf.fit(X, permuted.set_axis(X.index))


@every
def test_permuted_weights_are_an_error(name):
    X, y = framed(name)
    weights = pd.Series(np.linspace(1.0, 2.0, 60), X.index)
    clf = made(name)
    try:
        expected = made(name).fit(X, y, sample_weight=weights).predict(X)
    except TypeError:
        pytest.skip("takes no weights")
    permuted = weights.sort_index()
    with pytest.raises(ValueError, match=r"in sample_weight.*sample_weight.loc\[X.index\]"):
        clf.fit(X, y, sample_weight=permuted)
    found = clf.fit(X, y, sample_weight=permuted.loc[X.index]).predict(X)
    np.testing.assert_array_equal(found, expected)


def test_further_rows_and_the_default_base_alone():
    X, y = framed("RandomSubspaceNB")
    _, Y = framed("PairwisePerceptrons")
    for call in (
        lambda: ScaledLogisticRegression().fit(X, y.sort_index()),
        lambda: ScaledLogisticRegression().fit(X, y, y.sort_index() + 1.0),
        lambda: made("PairwisePerceptrons").partial_fit(X, Y.sort_index()),
        lambda: made("CorrectedPairwiseClassifier").partial_fit(X, Y.sort_index()),
    ):
        with pytest.raises(ValueError, match="different order"):
            call()


def pair(first, second):
    return pd.Series(0.0, pd.Index(first)), pd.Series(0.0, pd.Index(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([2, 0, 1], [0, 1, 2]),
        (range(3), [1.0, 0.0, 2.0]),
        (["a", "b", 1], [1, "b", "a"]),
        ([("a", 1), ("a", 2)], [("a", 2), ("a", 1)]),
        (pd.date_range("2020-01-01", periods=3), pd.date_range("2020-01-01", periods=3)[::-1]),
    ],
)
def test_orders_that_differ(first, second):
    X, y = pair(first, second)
    with pytest.raises(ValueError, match=r"y.loc\[X.index\]"):
        check_row_order(X, y, "y")
    check_row_order(X, y.loc[X.index], "y")


def test_indices_with_repeats():
    with pytest.raises(ValueError, match="give both an index without repeats"):
        check_row_order(*pair([0, 0, 1], [0, 1, 0]), "y")
    check_row_order(*pair([0, 0, 1], [0, 0, 1]), "y")  # a bootstrap sample


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (range(3), [7, 3, 5]),  # one of them after reset_index
        (range(3), [2, 0, 5]),  # the same, of a part of the rows
        (["a", "b", "c"], range(3)),
        ([1, 2, 3], [2, 3, 4]),  # a target of the next point in time
        ([1, 2, 3], [1.0, 2.0, 3.0]),
    ],
)
def test_different_index_values_are_ignored(first, second):
    X, y = pair(first, second)
    for a, b in ((X, y), (X, y.to_numpy()), (X, y.tolist()), (y.to_numpy(), X), (X, None)):
        check_row_order(a, b, "y")

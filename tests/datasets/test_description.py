"""The description of a set as data frames."""

import dataclasses

import numpy as np
import pytest

from pairmend.datasets import MultiLabelData, characteristics, describe
from pairmend.datasets.characteristics import MEANINGS

pytest.importorskip("pandas")


def made_set(dtype=np.int64, name="photos"):
    rng = np.random.RandomState(0)
    Y = (rng.uniform(size=(60, 4)) < np.linspace(0.02, 0.6, 4)).astype(dtype)
    X = rng.normal(size=(60, 2))
    return MultiLabelData(X, Y, ("size", "hue"), ("a", "b", "<b>", "d"), {}, name, ())


def test_frames_equal_counts():
    data = made_set()
    page = describe(data)
    assert page.characteristics["value"].to_dict() == characteristics(data)
    assert set(page.characteristics.index) == set(MEANINGS)
    assert page.labels["rows"].is_monotonic_decreasing
    rows = [set(np.flatnonzero(row)) for row in data.Y]
    for number, label in enumerate(data.label_names):
        count = sum(number in row for row in rows)
        assert page.labels.loc[label, ["rows", "share"]].tolist() == [count, count / 60]
        for other, name in enumerate(data.label_names):
            both = sum({number, other} <= row for row in rows)
            assert page.co_occurrence.loc[label, name] == both
    assert page.labels_per_row["rows"].tolist() == [
        sum(len(row) == k for row in rows) for k in range(max(map(len, rows)) + 1)
    ]


def test_the_concurrence_of_a_label():
    """By hand: one minus the geometric by the arithmetic mean of 1 and 4, in one of four rows."""
    Y = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]])
    data = MultiLabelData(np.ones((4, 1)), Y, ("x",), ("a", "b", "c"), {}, "", ())
    assert describe(data).labels["concurrence"].to_dict() == pytest.approx(
        {"a": 0.05, "b": 0.2, "c": 0.0}
    )


def test_counts_do_not_overflow_small_integers():
    data = made_set()
    data = dataclasses.replace(data, X=np.ones((1200, 1)), Y=np.tile(data.Y, (20, 1)))
    small = dataclasses.replace(data, Y=data.Y.astype(np.int8))
    assert describe(small).co_occurrence.equals(describe(data).co_occurrence)


def test_names_are_no_markup():
    page = describe(made_set(name="<i>\n"))
    for text in (page.to_html(), page._repr_html_()):
        assert "<b>" not in text
        assert "<i>" not in text
        assert "&lt;b&gt;" in text

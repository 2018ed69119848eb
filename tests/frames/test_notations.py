"""Only plain notation is read as numbers; other notations and odd values give a warning."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pairmend.frames import ColumnWarning, FrameEncoder
from pairmend.frames.kinds import summarise_columns


def fitted(values, name="x"):
    return FrameEncoder().fit(pd.DataFrame({name: values}))


def test_a_number_never_passes_through_text():
    """50.25 was read as 50250 where a column had decimal commas in fit."""
    assert fitted(["50,25", "1,5"] * 10).columns_[0].kind == "category"
    encoder = fitted([50.25, 1.5, 955.0])
    texts = ["50.25", "50.125", " 5e1 ", "n/a", ""]
    found = encoder.transform(pd.DataFrame({"x": texts}))[:, 0]
    np.testing.assert_array_equal(found, [50.25, 50.125, 50, np.nan, np.nan])
    for text in ("50,25", "1,500", "1 500", "5%", "$5", "1_5", "inf", "007"):
        with pytest.raises(ValueError, match="'x' holds strings such as .*; expected numbers"):
            encoder.transform(pd.DataFrame({"x": [text]}))


@pytest.mark.filterwarnings("error")
def test_unambiguous_columns_give_no_warning():
    numbers, codes = ["2.581", "1.000", "955"], ["00501", "10001", "90210"]
    for texts in (numbers, codes, ["1", "red", "blue", "2"], ["192.168.0.1", "10.0.0.2"]):
        fitted(texts)
    fitted([n / 7 for n in range(100)])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([*map(str, range(199)), "4o"], "most of its values are numbers, but not '4o'; correct"),
        (["1", "2", "3"] * 9 + list("abcde"), "not 'a', 'b', 'c', ...; correct"),
        (["5", "7"] * 9 + ["n/a", "?", "low"], "values are numbers, but not 'low';"),
        (
            [str(date(2024, 1, 1) + timedelta(n)) for n in range(30)] + ["soon", "2024-13-01"],
            "values are dates, but not 'soon', '2024-13-01';",
        ),
    ],
    ids=lambda value: str(value)[-20:],
)
def test_few_values_among_numbers_or_dates_are_named(texts, message):
    with pytest.warns(ColumnWarning, match=message) as caught:
        encoder = fitted(texts)
    assert encoder.columns_[0].kind in ("category", "identifier")
    assert str(caught[0].message).startswith("Column 'x': ")


@pytest.mark.parametrize(
    "text", ["?", "-", " N/A ", "NULL", "k. A.", "#DIV/0!", "#WERT!", "\u2013", "NaN"]
)
def test_texts_that_stand_for_missing_values_among_numbers_and_dates(text):
    for values, kind in (["1.5", text, "2"], "number"), (["2024-01-01", text], "date"):
        with pytest.warns(ColumnWarning, match=f"taken as missing {kind}s in 1 row: "):
            encoder = fitted(values)
        assert (encoder.columns_[0].kind, encoder.columns_[0].n_missing) == (kind, 1)
        assert np.isnan(encoder.transform(pd.DataFrame({"x": values}))[1, 0])


def test_a_column_of_booleans_takes_booleans_and_numbers():
    encoder = fitted([True, False, None, True])
    for values, expected in (
        ([False, True], [0, 1]),
        ([0.0, 1.0, np.nan], [0, 1, np.nan]),
        (["0", "1", None], [0, 1, np.nan]),
        ([None, None], [np.nan, np.nan]),
    ):
        for frame in (pd.DataFrame({"x": values}), pl.DataFrame({"x": values})):
            np.testing.assert_array_equal(encoder.transform(frame)[:, 0], expected)
    for value in ("t", "maybe", "True", date(2024, 1, 1)):
        with pytest.raises(ValueError, match="Column 'x' holds .*; expected numbers"):
            encoder.transform(pd.DataFrame({"x": [True, value]}, dtype=object)[1:])


def test_numbers_are_no_dates():
    days = fitted([date(2024, 1, 1), date(2024, 2, 1)])
    numbers = fitted([1.5, 2.5])
    for encoder, value in (
        (days, 20230601),
        (days, 1685577600000.0),
        (days, "20.06.2023"),
        (days, "06/20/2023"),
        (days, timedelta(hours=1)),
        (numbers, date(2024, 1, 1)),
    ):
        with pytest.raises(ValueError, match="Column 'x' holds .*; expected"):
            encoder.transform(pd.DataFrame({"x": [value]}))
    same = pd.DataFrame({"x": ["2024-02-01", "2024-02-01T00:00", "20240201", "n/a"]})
    np.testing.assert_array_equal(days.transform(same)[:, 0], [19754, 19754, 19754, np.nan])


def test_a_column_without_a_value_in_the_rows_of_prediction_is_missing():
    rows = {"n": [1.5, 2.5], "d": [date(2024, 1, 1)] * 2, "s": [timedelta(1)] * 2, "c": ["u", "v"]}
    encoder = FrameEncoder().fit(pd.DataFrame(rows))
    for hole in (None, np.nan, pd.NaT):
        found = encoder.transform(pd.DataFrame({name: [hole] for name in rows}))
        assert np.isnan(found[0, encoder.n_categories_ >= 0]).all()


def test_summaries_equal_those_of_the_encoder():
    texts = [f"waves and water number {n}" for n in range(30)]
    frame = pd.DataFrame({
        "text": texts, "hue": ["red", "blue"] * 15, "n": range(30), "id": [t[-4:] for t in texts],
        "gaps": [None, 2.5, 2.5] * 10,
    })  # fmt: skip
    with pytest.warns(ColumnWarning, match="'id': its 30 different values") as caught:
        expected = FrameEncoder().fit(frame).columns_
    assert [column.n_distinct for column in expected] == [30, 2, 30, 30, 1]
    assert [column.n_missing for column in expected] == [0, 0, 0, 0, 10]
    summaries, notes = zip(*summarise_columns(frame), strict=True)
    assert summaries == expected
    assert [note for note in notes if note] == [str(caught[0].message)[len("Column 'id': ") : -1]]

"""Summaries of columns; strings that are numbers, and new texts, in saved models."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.baselines import BinaryRelevance
from pairmend.cli import main
from pairmend.frames import ColumnWarning, FrameEncoder
from pairmend.frames.kinds import summarise_columns
from pairmend.persistence import load_model, save_model


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


@pytest.fixture
def saved_prices(tmp_path):
    """A model of the command line that was fitted on a file with decimal commas."""
    pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")
    cells = [f"{n},{n % 8}25;{n % 2};{n % 3 // 2}" for n in range(30)]
    (tmp_path / "prices.csv").write_text("\n".join(["price;sea;sun", *cells]))
    words = ["fit", tmp_path / "prices.csv", "--labels", "2", "--method", "BinaryRelevance"]
    assert main([*map(str, words), "--quiet", "--model", str(tmp_path / "m.model")]) == 0
    return load_model(tmp_path / "m.model")


@pytest.mark.parametrize("cells", [["1.1250"], [1.125], [np.float64(1.125)]])
def test_numbers_may_be_strings_after_loading(saved_prices, cells):
    expected = saved_prices.predict_proba(pd.DataFrame({"price": [1.125]}))
    found = saved_prices.predict_proba([{"price": cell} for cell in cells])
    np.testing.assert_array_equal(found[:1], expected)
    numbers = pl.DataFrame({"price": [1.125]})
    np.testing.assert_array_equal(saved_prices.predict_proba(numbers), expected)


@pytest.mark.parametrize("array", [True, False])
def test_strings_where_the_model_has_numbers(tmp_path, array):
    pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")
    X = pd.DataFrame({"price": np.arange(30.0), "size": np.arange(30.0) % 7})
    Y = np.column_stack([np.arange(30) % 2, np.arange(30) > 9])
    fitted = BinaryRelevance(ScaledLogisticRegression()).fit(X.to_numpy() if array else X, Y)
    save_model(fitted, tmp_path / "m.model", feature_names=list(X))
    saved = load_model(tmp_path / "m.model")
    expected = saved.predict_proba(pd.DataFrame({"price": [1.5, np.nan], "size": [1200.0, 7.0]}))
    rows = [{"price": "1.5", "size": "1.2e3"}, {"price": None, "size": " 7"}]
    np.testing.assert_array_equal(saved.predict_proba(rows), expected)
    with pytest.raises(ValueError, match="column 'price', row 1 is '1,5'; expected a number"):
        saved.predict([{"price": 1, "size": 1}, {"price": "1,5", "size": 1}])

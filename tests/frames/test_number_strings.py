"""Strings with decimal commas and separators of thousands in frames; new texts in saved models."""

import warnings

import numpy as np
import pandas as pd
import pytest

from pairmend import BinaryRelevance
from pairmend.base_classifiers import logistic_regression
from pairmend.frames import ColumnWarning, FrameEncoder
from pairmend.frames.kinds import summarise_columns
from pairmend.persistence import load_model, save_model

PRICES = pd.DataFrame({"price": [f"{n},{n % 10}" for n in range(30)]})


def test_decimal_commas_are_numbers_with_a_warning():
    with pytest.warns(ColumnWarning, match="30 texts such as '0,0' are read as numbers"):
        encoder = FrameEncoder().fit(PRICES)
    assert encoder.columns_[0].kind == "number"  # not an identifier, though all values differ
    expected = [[n + n % 10 / 10] for n in range(30)]
    np.testing.assert_allclose(encoder.transform(PRICES), expected)
    # The form of fit is used, also where another would be possible; plain numbers are accepted.
    new = pd.DataFrame({"price": ["1,234", "2.5", None]})
    np.testing.assert_array_equal(encoder.transform(new), [[1.234], [2.5], [np.nan]])


def test_the_kind_can_be_requested():
    encoder = FrameEncoder(kinds={"price": "number"}).fit(PRICES)
    assert encoder.transform(PRICES)[15, 0] == 15.5


def test_summaries_equal_those_of_the_encoder():
    texts = [f"waves and water number {n}" for n in range(30)]
    frame = pd.DataFrame({
        "text": texts, "hue": ["red", "blue"] * 15, "n": range(30), "id": [t[-4:] for t in texts],
    })  # fmt: skip
    with pytest.warns(ColumnWarning):
        expected = FrameEncoder().fit(frame).columns_
    assert summarise_columns(frame) == expected


def test_new_texts_are_not_noted_after_loading(tmp_path):
    pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")
    frame = pd.DataFrame({
        "title": [f"{'waves and water' if n % 2 else 'streets and cars'} {n}" for n in range(30)],
        "place": ["coast", "town", "coast"] * 10,
    })  # fmt: skip
    Y = pd.DataFrame({"sea": [n % 2 for n in range(30)], "sun": [n % 3 // 2 for n in range(30)]})
    save_model(BinaryRelevance(logistic_regression()).fit(frame, Y), tmp_path / "m.model")
    saved = load_model(tmp_path / "m.model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        saved.predict([{"title": "waves and sand", "place": "town"}])
    with pytest.warns(UserWarning, match="column 'place' .* did not occur in training: moon"):
        saved.predict([{"title": "waves and sand", "place": "moon"}])

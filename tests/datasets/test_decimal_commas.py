"""Decimal commas that are read in chunks: the same numbers as by texts, or texts."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from pairmend.datasets import ReadWarning, load_table, text_table
from pairmend.datasets.number_columns import decode_numbers
from pairmend.datasets.opening import read_table

COLUMNS = [
    ["1,5", "2", "-0,25", "", "1,500"],
    ["1,500", "2,500", "3", "4", "5"],
    ["1,500", "2,500", "3,5", "4", "5"],
    ["1.500", "2", "3,5", "4", "5"],
    ["1.5", "2", "3,5", "4", "5"],
    ["1", "2", "3", "4", "5,5"],
    ["1,5", "2", "red", "4", "5"],
    ["1,5", "2", "n/a", "4", "?"],
    ["1,5", "02", "3", "4", "5"],
    ["1,5", "1.000,5", "3", "4", "5"],
    ["1,5", "1,000,000", "3", "4", "5"],
    ["1,5", "1e3", "3", "4", "5"],
    ["1,5", "3 €", "3", "4", "5"],
    ["1.500", "2.500", "3", "", "5"],
]


def write(path: Path, columns, delimiter=";"):
    header = delimiter.join(f"c{n}" for n in range(len(columns)))
    rows = (delimiter.join(row) for row in zip(*columns, strict=True))
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize("n_rows", [1, 2, 100])
@pytest.mark.parametrize("column", COLUMNS, ids=" ".join)
def test_numbers_equal_those_of_decoded_texts(column, n_rows, tmp_path, monkeypatch):
    path = write(tmp_path / "sizes.csv", [column, ["0,5"] * len(column)])
    monkeypatch.setattr(text_table, "_CHUNK_CELLS", 2 * n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        expected = decode_numbers(read_table(path), set())
        found = load_table(path)
    np.testing.assert_array_equal(found.X, expected.X)
    assert found.categories == expected.categories


def test_texts_with_decimal_commas_stay_texts_where_they_are_needed(tmp_path):
    path = write(tmp_path / "sizes.csv", [["1,5", "2,5"], ["3", "4"]])
    assert load_table(path, categorical=["c0"]).categories == {0: ("1,5", "2,5")}
    assert read_table(path).categories == {0: ("1,5", "2,5")}


def test_infinite_numbers_with_separators_are_refused(tmp_path):
    path = write(tmp_path / "sizes.csv", [["2,5", "1,5e999"], ["3", "4"]])
    with (
        pytest.warns(ReadWarning, match="decimal commas"),
        pytest.raises(ValueError, match="column 'c0' is infinite in row 1"),
    ):
        load_table(path)
    path = write(tmp_path / "sizes.csv", [["2,5", "1,5"], ["1.500", "inf"]])
    with (
        pytest.warns(ReadWarning, match="decimal commas"),
        pytest.raises(ValueError, match="column 'c1' is infinite in row 1"),
    ):
        load_table(path)


def test_the_minus_of_typography_is_read(tmp_path):
    path = write(tmp_path / "sizes.csv", [["5", "\u22125"], ["3", "4"]])
    with pytest.warns(ReadWarning, match="column 'c0': 1 text, '\u22125', is read with a minus"):
        assert load_table(path).X[:, 0].tolist() == [5, -5]


def test_equal_first_cells_are_no_names_of_rows(tmp_path):
    """Without quotes, 1,5 has two cells."""
    path = tmp_path / "sizes.csv"
    path.write_text("size,sea\n1,5,0\n2,7,1\n1,9,1\n")
    with pytest.raises(ValueError, match="line 2: 3 cells where the header has 2; put cells that"):
        load_table(path, ["sea"])
    path.write_text("size,sea\na,5,0\nb,7,1\nc,9,1\n")
    with pytest.warns(ReadWarning, match="the first column has no name"):
        load_table(path, ["sea"])

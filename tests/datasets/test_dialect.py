"""Whether the first row of a table is a header."""

import pytest

from pairmend.datasets import load_table
from pairmend.datasets.dialect import has_header


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["blue,y,no", "red,x,yes", "blue,y,yes", "red,x,no"], False),
        (["colour,kind,sea", "red,x,yes", "blue,y,no"], True),
        (["red,kind,sea", "red,x,yes", "blue,y,no"], True),  # a name that is a value, too
        (["1.5,red", "2.5,red"], False),
        (["size,hue", "2.5,red"], True),
        (["2019,2020,2021", "5,6,7"], True),
        (["only,names"], True),
    ],
)
def test_has_header(lines, expected):
    assert has_header([line.split(",") for line in lines]) is expected


def test_a_table_of_words_without_header_keeps_its_first_row(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("blue,y,no\nred,x,yes\n" * 10)
    with pytest.warns(UserWarning, match="column_1"):
        data = load_table(path, labels=["column_3"])
    assert data.Y.shape == (20, 1)

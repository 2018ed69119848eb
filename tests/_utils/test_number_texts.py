import numpy as np
import pytest

from pairmend._utils.number_texts import (
    NumberFormat,
    format_note,
    is_missing_text,
    missing_texts,
    number_formats,
)


@pytest.mark.parametrize(
    ("texts", "forms", "numbers"),
    [
        (["1", "2.5", "-3e2"], ["plain"], [1, 2.5, -300]),
        (["1,5", "2"], ["decimal comma"], [1.5, 2]),
        (["0,125"], ["decimal comma"], [0.125]),
        (["1.234,5", "-7"], ["decimal comma"], [1234.5, -7]),
        (["1 234,5"], ["decimal comma"], [1234.5]),
        (["1,234.5", "12"], ["thousands"], [1234.5, 12]),
        (["1'234", "5"], ["thousands"], [1234, 5]),
        (["1,234", "2,345"], ["thousands", "decimal comma"], [1234, 2345]),
        (["1.234.567"], ["decimal comma"], [1234567]),
        (["1\u00a0234.5"], ["thousands"], [1234.5]),
        (["00501"], [], None),
        (["1,23,4"], [], None),
        (["1.5", "2,5"], [], None),
        (["١"], [], None),
        (["1_000"], [], None),
        (["01.5", "007"], [], None),
        (["00.5"], ["plain"], [0.5]),
        (["12 km"], [], None),
        (["-", "n/a"], [], None),
        (["12", "-", "N/A", "?"], ["plain"], [12, np.nan, np.nan, np.nan]),
        (["12 €", "€ 1.500", "-€3,5"], ["decimal comma"], [12, 1500, -3.5]),
        (["$1,500", "20"], ["thousands", "decimal comma"], [1500, 20]),
        (["$5", "5 €"], [], None),
        (["5 %", "7.5%"], ["plain"], [5, 7.5]),
        (["5 %", "7.5"], [], None),
        (["\u22125"], ["plain"], [-5]),
        (["inf"], [], None),
    ],
)
def test_formats(texts, forms, numbers):
    formats = number_formats(texts)
    assert [each.form for each in formats] == forms
    if forms:
        np.testing.assert_array_equal([formats[0].parse(text) for text in texts], numbers)


def test_plain_numbers_are_accepted_in_every_format():
    assert NumberFormat("decimal comma").parse("2.5") == 2.5
    with pytest.raises(ValueError, match="'2,5' is no number"):
        NumberFormat().parse("2,5")


def test_other_signs_are_no_numbers():
    assert NumberFormat(sign="$").parse("$ 5") == NumberFormat(sign="$").parse("5") == 5
    with pytest.raises(ValueError, match="'5 €' is no number"):
        NumberFormat(sign="$").parse("5 €")


@pytest.mark.parametrize(
    ("texts", "note"),
    [
        (["1", "2.5"], ""),
        (["1", "1,5"], "1 text, '1,5', is read as a number with decimal commas"),
        (["2,5", "1,5"], "2 texts such as '2,5' are read as numbers with decimal commas"),
        (["$ 5", "7"], "1 text, '$ 5', is read without the sign '$'"),
        (["5", "-", "n/a", "-"], "3 texts that are no numbers are taken as missing: '-', 'n/a'"),
        (["1 000", "5"], "1 text, '1 000', is read as a number with separators of thousands"),
        (["1.000.000"], "1 text, '1.000.000', is read as a number with separators of thousands"),
        (["5", "\u22125"], "1 text, '\u22125', is read with a minus sign"),
        (["5", "?"], "1 text that is no number is taken as missing: '?'"),
    ],
)
def test_notes(texts, note):
    assert format_note(texts, number_formats(texts)) == note


@pytest.mark.parametrize("text", ["k.A.", "k. A.", "keine Angabe", "unbekannt", "#NV", "#VALEUR!"])
def test_texts_for_missing_numbers_of_other_languages(text):
    (found, *_) = number_formats(["1.234,50", text, "2,5"])
    assert found.parse("1.234,50") == 1234.5
    assert np.isnan(found.parse(text))


def test_missing_texts_are_those_that_stand_for_missing_numbers():
    texts = ["1", " - ", "N/A", "-5", "?", " " * 20 + "-", "none such", "NULL"]
    expected = [text for text in texts if is_missing_text(text)]
    assert missing_texts(texts) == expected == [" - ", "N/A", "?", "NULL"]
    assert missing_texts(["1", "2"]) == missing_texts([" " * 20 + "-"]) == []

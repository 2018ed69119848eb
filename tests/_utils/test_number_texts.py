import pytest

from pairmend._utils.number_texts import form_note, number_forms, parse_number


@pytest.mark.parametrize(
    ("texts", "forms", "numbers"),
    [
        (["1", "2.5", "-3e2"], ["plain"], [1, 2.5, -300]),
        (["1,5", "2"], ["decimal comma"], [1.5, 2]),
        (["0,125"], ["decimal comma"], [0.125]),
        (["1.234,5", "-7"], ["decimal comma"], [1234.5, -7]),
        (["1 234,5"], ["decimal comma"], [1234.5]),
        (["1,234.5", "12"], ["thousands"], [1234.5, 12]),
        (["1'234", "5"], ["thousands", "decimal comma"], [1234, 5]),
        (["1,234", "2,345"], ["thousands", "decimal comma"], [1234, 2345]),
        (["1.234.567"], ["decimal comma"], [1234567]),
        (["1\u00a0234.5"], ["thousands"], [1234.5]),
        (["00501"], [], None),
        (["1,23,4"], [], None),
        (["1.5", "2,5"], [], None),
        (["١"], [], None),
        (["1_000"], [], None),
        (["12 €"], [], None),
        (["inf"], [], None),
    ],
)
def test_forms(texts, forms, numbers):
    assert number_forms(texts) == forms
    if forms:
        assert [parse_number(text, forms[0]) for text in texts] == numbers


def test_plain_numbers_are_accepted_in_every_form():
    assert parse_number("2.5", "decimal comma") == 2.5
    with pytest.raises(ValueError, match="'2,5' is no number"):
        parse_number("2,5")


def test_notes():
    assert form_note(["1"], ["plain"]) == ""
    assert form_note(["1", "1,5"], ["decimal comma"]) == (
        "1 texts such as '1,5' are read as numbers with decimal commas"
    )

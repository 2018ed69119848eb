"""The published tables of the package."""

import csv

import pytest

from pairmend import published
from pairmend.metrics import LOSSES


def test_all_sets_and_losses_exist():
    assert list(published.sets()) == list(range(1, 30))
    assert len(published.losses()) == 29 * 4 * 4
    assert all(0 <= loss <= 1 for loss in published.losses().values())
    assert {criterion for _, criterion, _ in published.losses()} == set(published.METRICS)
    assert set(published.METRICS) <= set(LOSSES)


@pytest.mark.parametrize(
    ("number", "name", "criterion", "expected"),
    [  # read off the tables of the paper
        (1, "Arts", "hamming", [0.484, 0.452, 0.578, 0.453]),
        (8, "Flags", "micro_f1", [0.299, 0.307, 0.323, 0.295]),
        (15, "IMDB0", "macro_f1", [0.873, 0.885, 0.886, 0.885]),
        (29, "Yeast", "zero_one", [0.988, 0.994, 0.933, 0.995]),
    ],
)
def test_losses_are_the_printed_ones(number, name, criterion, expected):
    assert published.sets()[number].name == name
    found = [published.losses()[number, criterion, each] for each in published.ALGORITHMS]
    assert found == expected
    assert published.loss_table(criterion).loc[number].tolist() == expected


def test_characteristics_are_the_printed_ones():
    medical = published.sets()[17]
    assert medical.name == "Medical"
    assert tuple(medical.characteristics.values()) == (978, 1494, 45, 1.245, 0.028, 89.501, 0.047)
    assert tuple(medical.characteristics) == published.CHARACTERISTICS


def test_density_is_cardinality_by_labels():
    for each in published.sets().values():
        numbers = each.characteristics
        assert numbers["LC"] / numbers["L"] == pytest.approx(numbers["LD"], abs=0.0011)


def test_the_source_of_the_tables():
    assert "Trajdos" in published.SOURCE
    assert "10.1142/S0129065717500629" in published.SOURCE


def test_tables_are_read_only():
    with pytest.raises(TypeError):
        published.losses()[1, "hamming", "LPW"] = 0
    with pytest.raises(TypeError):
        published.sets()[1].characteristics["N"] = 0


def test_an_unknown_metric_is_refused():
    with pytest.raises(ValueError, match="'accuracy', but the paper has losses for hamming"):
        published.loss_table("accuracy")


@pytest.mark.parametrize("name", ["datasets", "losses"])
def test_files_equal_those_of_the_shared_folder(shared, name):
    from pairmend.published.tables import _rows

    with (shared / f"paper/published_{name}.csv").open(newline="") as file:
        assert _rows(f"{name}.csv") == list(csv.DictReader(file))

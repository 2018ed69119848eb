"""pairmend explain: pages and several rows; single rows are in test_models.py."""

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pairmend.cli import main
from pairmend.cli.output import output_of_command, show_note
from pairmend.datasets import load_table

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

FIT = ("fit", "photos.csv", "--ignore", "id", "--model", "photos.model", "--labels")
N_ROWS = 60


def write_csv(path, seed):
    rng = np.random.RandomState(seed)
    size, hue = rng.normal(size=N_ROWS).round(3), rng.choice(["red", "green", "blue"], N_ROWS)
    sea = (size + (hue == "blue") + rng.normal(size=N_ROWS) / 4 > 0.5).astype(int)
    columns = {
        "id": [f"p{n:03}" for n in range(N_ROWS)], "size": size, "hue": hue, "sea": sea,
        "sun": ((size < 0) | (hue == "red")).astype(int), "sand": 1 - sea,
    }  # fmt: skip
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])


@cache
def model_file(method):
    """Return the bytes of a model of photos.csv in the current folder."""
    assert main([*FIT, "3", "--method", method]) == 0
    return Path("photos.model").read_bytes()


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A folder with data; call it to add a model."""
    monkeypatch.chdir(tmp_path)
    write_csv("photos.csv", 0)
    write_csv("new.csv", 1)
    return lambda method="mended": Path("photos.model").write_bytes(model_file(method))


def run(capsys, *words):
    capsys.readouterr()
    status = main([str(word) for word in words])
    return status, *capsys.readouterr()


@pytest.mark.parametrize("method", ["mended", "corrected"])
def test_explain_all_rows_as_a_page(photos, capsys, method):
    photos(method)
    words = ("explain", "photos.model", "photos.csv", "--html", "why.html")
    status, printed, _ = run(capsys, *words, "--training", "photos.csv", "--name", "id")
    n_rows = len(load_table("photos.csv", 3).Y)
    assert (status, printed) == (0, f"wrote why.html: {n_rows} rows\n")
    page = Path("why.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    for text in ("photos.model: photos.csv", "Features, near and far", ">hue</th>", ">sand</th>"):
        assert text in page
    assert page.count(" has the same features.") + page.count(" have the same features.") == n_rows
    status, printed, _ = run(capsys, *words, "--row", "3", "1")
    assert (status, printed) == (0, "wrote why.html: 2 rows\n")
    page = Path("why.html").read_text(encoding="utf-8")
    assert "Row 3: " in page
    assert "Features, near and far" not in page


def test_explain_several_rows_as_text(photos, capsys):
    photos()
    status, printed, _ = run(capsys, "explain", "photos.model", "photos.csv", "--row", "4", "2")
    assert status == 0
    assert printed.index("Row 4: ") < printed.index("Row 2: ")


def test_explain_as_json(photos, capsys):
    photos()
    words = ("explain", "photos.model", "photos.csv", "--name", "id", "--training", "photos.csv")
    status, printed, _ = run(capsys, *words, "--json", "-")
    assert status == 0
    found = json.loads(printed)
    assert [each["index"] for each in found] == [f"p{n:03}" for n in range(N_ROWS)]
    assert [label["name"] for label in found[0]["labels"]] == ["sea", "sun", "sand"]
    status, printed, notes = run(capsys, *words, "--row", "4", "--json", "e.json", "--quiet")
    assert (status, notes) == (0, "")
    assert printed.startswith("Row 4 (p004): ")
    assert "wrote" not in printed
    (row,) = json.loads(Path("e.json").read_text())
    assert (row["row"], row["index"]) == (4, "p004")
    for label, other in zip(row["labels"], found[4]["labels"], strict=True):
        assert (label["name"], label["after"]) == (other["name"], pytest.approx(other["after"]))
    words = ("explain", "photos.model", "photos.csv", "--html", "p.html", "--quiet")
    assert run(capsys, *words) == (0, "", "")


def test_features_with_decimal_commas_and_dates_differ_as_numbers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = ["area;day;code;tags"]
    lines += [f"{n},5;{n % 28 + 1:02}.03.2024;{n % 3};{'a,b' if n % 2 else 'a'}" for n in range(60)]
    Path("rows.csv").write_text("\n".join(lines))
    options = ("--categorical", "code", "--method", "corrected", "--quiet")
    assert main(["fit", "rows.csv", "--tags", "tags", "--model", "m.model", *options]) == 0
    # A single row, whose number has no decimal comma.
    Path("new.csv").write_text("area;day;code\n70;02.03.2024;0")
    words = ("explain", "m.model", "new.csv", "--training", "rows.csv", "--json", "-")
    status, printed, _ = run(capsys, *words)
    assert status == 0
    (explained,) = json.loads(printed)
    shares = [each["share"] for each in explained["training_rows"]]
    rows = [each["row"] for each in explained["training_rows"]]
    expected = {
        "area": np.average([(69.5 - row) / 59 for row in rows], weights=shares),
        "day": np.average([abs(row % 28 - 1) / 27 for row in rows], weights=shares),
        "code": np.average([float(row % 3 != 0) for row in rows], weights=shares),
    }
    found = {each["name"]: each["difference"] for each in explained["features"]}
    assert found == pytest.approx(expected)


def test_a_command_shows_a_note_once(capsys):
    for _ in range(2):  # commands
        with output_of_command(quiet=False, only_json=False):
            for note in ("odd", "odd", "even"):
                show_note(note)
    assert capsys.readouterr().err == 2 * "note: odd\nnote: even\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give --row N, or --html FILE or --json FILE for all rows"),
        (["--html", "why.txt"], "why.txt: a page is written to a .html file"),
        (["--row", "1", "2", "--figure", "f.png"], "--figure draws one row"),
        (["--html", "why.html", "--training", "new.csv"], "expected the rows given to fit"),
        (
            ["--html", "why.html", "--name", "nowhere"],
            "photos.csv has no column named 'nowhere', which --name names; it has 'id', 'size', ",
        ),
    ],
)
def test_explain_refuses_options_that_do_not_fit(photos, capsys, words, message):
    photos("corrected")  # it measures distances by features, so other rows are noticed
    status, _, notes = run(capsys, "explain", "photos.model", "photos.csv", *words)
    assert status == 2
    assert message in notes
    assert not Path("why.html").exists()

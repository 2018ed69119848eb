"""pairmend explain: text, pages and JSON."""

import json
from pathlib import Path

import pytest

pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")

N_ROWS = 60


def test_rows_are_explained_as_text(run, photos, model):
    words = ("explain", model, "new.csv", "--row")
    out = run(*words, "4", "2").out
    assert out.index("Row 4: ") < out.index("Row 2: ")
    out = run("explain", model, "photos.csv", "--row", "4", "--label", "sand", "sea").out
    assert out.index("\nsand: ") < out.index("\nsea: ")
    assert "1 of 3 labels are not listed." in out


def test_all_rows_are_explained_as_a_page(run, photos, model):
    words = ("explain", model, "photos.csv", "--html", "why.html")
    ran = run(*words, "--name", "id")
    assert ran == (0, f"wrote why.html: {N_ROWS} rows\n", "")
    page = Path("why.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    for text in ("photos.model: photos", "Row 59 (059): ", "Similar training row"):
        assert text in page
    assert run(*words, "--row", "3", "1").out == "wrote why.html: 2 rows\n"
    page = Path("why.html").read_text(encoding="utf-8")
    assert "Row 3: " in page


def test_explanations_as_json(run, photos, model):
    words = ("explain", model, "photos.csv", "--name", "id")
    found = json.loads(run(*words, "--json", "-").out)
    assert [each["index"] for each in found] == [f"{n:03}" for n in range(N_ROWS)]
    assert all(row["row"] < N_ROWS for row in found[0]["similar"])
    ran = run(*words, "--row", "4", "--json", "e.json", "--quiet")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("Row 4 (004): ")
    (row,) = json.loads(Path("e.json").read_text())
    assert (row["row"], row["index"]) == (4, "004")
    for label, other in zip(row["labels"], found[4]["labels"], strict=True):
        assert (label["name"], label["proba"]) == (other["name"], pytest.approx(other["proba"]))


def test_a_guaranteed_recall_is_the_threshold_of_explanations(run, photos):
    words = ("fit", "photos.csv", "--ignore", "id", "--labels", "3", "--model", "m.model")
    assert run(*words, "--recall", "0.9").status == 0
    ran = run("explain", "m.model", "photos.csv", "--row", "3", "--label", "sea")
    assert ", threshold " in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give --row N, or --html FILE or --json FILE for all rows"),
        (["--row", "0", "99"], "there is no row 99"),
        (["--row", "0", "--label", "moon"], "'moon' is no label; expected names among sea"),
        (["--html", "why.html", "--name", "nowhere"], "nowhere"),
    ],
)
def test_options_that_do_not_fit_are_an_error(run, photos, model, words, message):
    ran = run("explain", model, "photos.csv", *words)
    assert ran.status == 2
    assert message in ran.err
    assert not Path("why.html").exists()

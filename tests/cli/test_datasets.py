"""pairmend datasets list, describe and convert."""

import json
from pathlib import Path

import pytest

ARFF = """@relation 'photos: -C 2'
@attribute sea {0,1}
@attribute '[bold]<i>' {0,1}
@attribute size numeric
@data
1,0,2.5
0,1,1
1,1,3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with photos.arff and file.csv."""
    monkeypatch.chdir(tmp_path)
    Path("photos.arff").write_text(ARFF)
    Path("file.csv").write_text("a,b\n1,0\n")


def test_sets_of_the_catalogue_are_listed_and_described(run):
    out = run("datasets", "list").out
    for name in ("yeast", "simplehc", "imdb0", "water-quality", "haloarcula"):
        assert name in out
    found = json.loads(run("datasets", "list", "--json", "-").out)
    (yeast,) = (entry for entry in found if entry["name"] == "yeast")
    assert (yeast["rows"], len(yeast["files"])) == (2417, 2)


def test_files_are_described_as_tables_and_as_json(run):
    ran = run("datasets", "describe", "photos.arff", "--json", "d.json")
    assert "3 rows, 1 feature, 2 labels" in ran.out
    assert "[bold]<i>" in ran.out  # names are data, not markup
    labels = json.loads(Path("d.json").read_text())["labels"]
    assert [each["label"] for each in labels] == ["sea", "[bold]<i>"]


def test_converted_files_are_read_again(run):
    assert run("datasets", "convert", "photos.arff", "photos.csv.gz").status == 0
    words = ("photos.csv.gz", "again.arff", "--labels", "sea,[bold]<i>", "--out-xml", "again.xml")
    assert "3 rows, 1 feature, 2 labels" in run("datasets", "convert", *words).out
    # with the XML file in the same folder
    assert "[bold]<i>" in run("datasets", "describe", "again.arff").out


@pytest.mark.parametrize(("words", "message"), [
    (["describe", "nowhere.arff"], "nowhere.arff"), (["describe", "file.odd"], ".odd"),
    (["describe", "file.csv"], "no labels are given; name them: --labels"),
    (["convert", "photos.arff", "file.odd"], ".odd"),
    (["convert", "photos.arff", "new.csv", "--out-xml", "x.xml"], "an XML file for .arff only"),
    (["convert", "photos.arff", "new.arff", "--out-xml", "new.arff"], "cannot hold both"),
])  # fmt: skip
def test_errors_have_a_message(run, words, message):
    Path("file.odd").touch()
    ran = run("datasets", *words)
    assert ran.status == 2
    assert message in ran.err
    assert "Traceback" not in ran.err

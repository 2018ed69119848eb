import pytest

from pairmend.cli import main

ARFF = """@relation 'photos: -C 2'
@attribute sea {0,1}
@attribute '[bold]sun' {0,1}
@attribute size numeric
@data
1,0,2.5
0,1,1
1,1,3
"""


@pytest.fixture
def photos(tmp_path):
    path = tmp_path / "photos.arff"
    path.write_text(ARFF)
    return path


def run(capsys, *words):
    status = main(["datasets", *map(str, words)])
    return status, *capsys.readouterr()


def test_list_names_every_set(capsys):
    status, out, _ = run(capsys, "list")
    assert status == 0
    for name in ("yeast", "simplehc", "imdb0", "water-quality", "haloarcula"):
        assert name in out


def test_info_shows_the_files_of_a_set(capsys):
    status, out, _ = run(capsys, "info", "Yeast")
    assert status == 0
    assert "2417" in out
    assert "yeast.arff" in out


def test_similar_names_are_suggested(capsys):
    status, _, err = run(capsys, "info", "yaest")
    assert status == 2
    assert "did you mean 'yeast'" in err


def test_describe_prints_a_page_of_a_file(photos, capsys):
    status, out, _ = run(capsys, "describe", photos)
    assert status == 0
    assert "3 rows, 1 feature" in out
    assert "[bold]sun" in out  # names are data, not markup


def test_describe_writes_a_page(photos, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    status, out, _ = run(capsys, "describe", photos, "--out", tmp_path / "page.html")
    assert status == 0
    assert "page.html" in out.replace("\n", "")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_converted_files_are_read_again(photos, tmp_path, capsys):
    assert run(capsys, "convert", photos, tmp_path / "photos.csv.gz")[0] == 0
    status, out, _ = run(
        capsys,
        "convert",
        tmp_path / "photos.csv.gz",
        tmp_path / "again.arff",
        "--labels",
        "sea,[bold]sun",
        "--out-xml",
        tmp_path / "again.xml",
    )
    assert status == 0
    assert "3 rows, 1 feature, 2 labels" in out.replace("\n", " ")
    status, out, _ = run(
        capsys, "describe", tmp_path / "again.arff"
    )  # with the XML file in the same folder
    assert status == 0
    assert "[bold]sun" in out


def test_regression_targets_become_labels(photos, capsys):
    status, out, _ = run(capsys, "describe", photos, "--targets", "1")
    assert status == 0
    assert "1 label" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["describe", "nowhere.arff"], "there is no file"),
        (["describe", "{csv}"], "no label columns are given; name them: --labels"),
        (["describe", "{odd}"], r"cannot read .odd; expected .csv, .tsv, .txt"),
        (["convert", "{arff}", "{odd}"], "cannot write .odd"),
        (["convert", "{arff}", "{csv}", "--out-xml", "x.xml"], "a CSV file has no label file"),
        (["convert", "{arff}", "{arff}", "--out-xml", "{arff}"], "cannot hold both"),
        (["fetch", "yeast", "nothing-like-it"], "no set is named 'nothing-like-it'"),
    ],
)
def test_errors_have_a_message(photos, tmp_path, capsys, words, message):
    (tmp_path / "file.csv").write_text("a,b\n1,0\n")
    places = {"csv": tmp_path / "file.csv", "odd": tmp_path / "file.odd", "arff": photos}
    status, _, err = run(capsys, *(word.format(**places) for word in words))
    assert status == 2
    assert message in err
    assert "Traceback" not in err

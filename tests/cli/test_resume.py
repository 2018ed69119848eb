"""--resume continues a study as it was started and never imports what the folder names."""

import json
import shutil
import sqlite3
import sys
from contextlib import closing

import pandas as pd
import pytest

from pairmend.cli import main
from pairmend.study import read_study
from pairmend.study.trusted_files import is_trusted_file

STUDY = """
folds = 2
[sets.one]
function = "pairmend.datasets.make_hypercubes"
params = { n_samples = 40 }
[algorithms.mine]
class = "NAME.Mine"
[algorithms.other]
class = "odd_classifiers.Frequent"
"""

MODULE = """
from pathlib import Path
from odd_classifiers import Frequent
Path(__file__).with_name("imported").touch()
class Mine(Frequent):
    def __init__(self, seconds=0.0, random_state=None):
        Path(__file__).with_name("made").touch()
        super().__init__(seconds, random_state)
"""


pytestmark = pytest.mark.usefixtures("in_process", "no_report")


@pytest.fixture
def own(tmp_path, request):
    """A folder with a study file and a module that writes files when imported and called."""
    name = "resumed_" + str(abs(hash(request.node.name)))
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / f"{name}.py").write_text(MODULE)
    (folder / "study.toml").write_text(STUDY.replace("NAME", name))
    yield folder
    sys.modules.pop(name, None)


def study(*words):
    return main(["study", *map(str, words), *([] if "--dry-run" in words else ["--jobs", "1"])])


def forget(folder):
    """Delete the results of a fold, as if the study had been interrupted."""
    with closing(sqlite3.connect(folder / "study.sqlite")) as connection, connection:
        for table in ("tasks", "results"):
            connection.execute(f"DELETE FROM {table} WHERE fold = 1")


def forge(folder, change):
    """Change the definition and the start stored in a results folder."""
    with closing(sqlite3.connect(folder / "study.sqlite")) as connection, connection:
        for table in ("definition", "starts"):
            (text,) = connection.execute(f"SELECT plain FROM {table}").fetchone()
            plain = json.loads(text)
            change(table, plain)
            connection.execute(f"UPDATE {table} SET plain = ?", [json.dumps(plain)])


def test_resume_uses_the_options_of_the_first_run(own, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(own)
    out, data = tmp_path / "out", tmp_path / "data"
    data.mkdir()
    words = ["study.toml", "--sets", "one", "simplehc", "--algorithms", "mine", "--folds", 3]
    assert study(*words, "--out", out, "--data", data, "--time-limit", 500) == 0
    whole = read_study(out)
    forget(out)
    given = {}

    def run_study(study, out, **options):
        given.update(options)
        return real(study, out, **options)

    from pairmend.cli import study as command

    real = command.run_study
    monkeypatch.setattr(command, "run_study", run_study)
    monkeypatch.chdir("/")
    assert study("--resume", "--out", out) == 0
    again = read_study(out)
    pd.testing.assert_frame_equal(again.results, whole.results)
    assert again.definition == whole.definition
    assert given["data_dir"] == data
    assert again.definition["time_limit"] == 500
    assert set(again.tasks.run) == {1, 2}


def test_a_dry_run_creates_no_classifier(own, tmp_path, capsys):
    file, out = own / "study.toml", tmp_path / "out"
    assert study(file, "--out", out, "--dry-run") == 0
    assert "4 of 4 tasks would run" in capsys.readouterr().out
    assert not (own / "made").exists()
    assert not is_trusted_file(file)
    assert study(file, "--out", out) == 0
    (own / "made").unlink()
    forget(out)
    for words in ([file], ["--resume"], [file, "--resume"], ["--resume", "--trust"]):
        assert study(*words, "--out", out, "--dry-run") == 0
        assert "2 of 4 tasks would run" in capsys.readouterr().out
        assert not (own / "made").exists()
    file.write_text(file.read_text().replace('Mine"', 'Mine"\nparams = { second = 1 }'))
    assert study(file, "--out", out, "--dry-run") == 2
    assert "no parameter 'second'; it has seconds" in capsys.readouterr().err


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_classes_named_by_a_results_folder_are_not_called(own, tmp_path, dry, capsys):
    file, out, marker = own / "study.toml", tmp_path / "out", tmp_path / "marker"
    assert study(file, "--out", out) == 0
    forget(out)

    def popen(table, plain):
        if table == "definition":
            plain["algorithms"]["other"] = {
                "class": "subprocess.Popen",
                "params": {"args": ["touch", str(marker)]},
            }

    forge(out, popen)
    assert study("--resume", "--out", out, *dry) == 2
    assert "algorithms.other.class was 'subprocess.Popen'" in capsys.readouterr().err
    forge(out, lambda table, plain: plain.get("algorithms", {}).update(new={"class": "os.abort"}))
    assert study("--resume", "--out", out, *dry) == 2
    assert "has algorithms.new, which" in capsys.readouterr().err
    assert not marker.exists()


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_study_file_named_by_a_results_folder_must_have_been_run_by_the_user(
    own, tmp_path, dry, capsys
):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    assert study(own / "study.toml", "--out", out) == 0
    forget(out)
    shutil.copytree(own, elsewhere, ignore=shutil.ignore_patterns("imported", "made"))

    def other_file(table, plain):
        if table == "starts":
            plain["file"] = str(elsewhere / "study.toml")

    forge(out, other_file)
    assert study("--resume", "--out", out, *dry) == 2
    assert f"{elsewhere / 'study.toml'}, which you have not run on" in capsys.readouterr().err
    (elsewhere / "link.toml").symlink_to(own / "study.toml")
    assert not is_trusted_file(elsewhere / "link.toml")
    assert not (elsewhere / "imported").exists()

    def no_file(table, plain):
        if table == "starts":
            plain["file"] = None

    forge(out, no_file)
    assert study("--resume", "--out", out, *dry) == 2
    assert "names no study file" in capsys.readouterr().err
    if not dry:
        assert study(own / "study.toml", "--resume", "--out", out) == 0


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("definition", "[]"),
        ("definition", '{"sets": [], "algorithms": {}, "criteria": {}}'),
        ("definition", '{"sets": {"a": 3}, "algorithms": {}, "criteria": {}}'),
        ("definition", "not JSON"),
        ("starts", '{"file": 3}'),
        ("starts", "[1]"),
    ],
)
def test_damaged_results_folders_are_an_error(own, tmp_path, table, text, capsys):
    out = tmp_path / "out"
    study(own / "study.toml", "--out", out, "--algorithms", "other")
    with closing(sqlite3.connect(out / "study.sqlite")) as connection, connection:
        connection.execute(f"UPDATE {table} SET plain = ?", [text])
    assert study("--resume", "--out", out) == 2
    assert str(out) in capsys.readouterr().err.strip().splitlines()[-1]


def test_a_shipped_study_is_resumed_by_its_name(tmp_path):
    out = tmp_path / "out"
    words = ["--sets", "simplehc", "--algorithms", "LPW", "--folds", 2]
    assert study(*words, "--out", out) == 0
    forget(out)
    assert study("--resume", "--out", out) == 0
    assert len(read_study(out).tasks) == 2

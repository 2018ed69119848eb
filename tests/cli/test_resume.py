"""--resume continues the study of a results folder and never imports what the folder names."""

import json
import sqlite3
import sys
from contextlib import closing

import pandas as pd
import pytest

from pairmend.cli import main
from pairmend.study import read_study

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
    pass
"""


pytestmark = pytest.mark.usefixtures("in_process", "no_report")


@pytest.fixture
def own(tmp_path, request):
    """A folder with a study file and a module that writes a file when it is imported."""
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
    """Change the definition stored in a results folder."""
    with closing(sqlite3.connect(folder / "study.sqlite")) as connection, connection:
        (text,) = connection.execute("SELECT plain FROM definition").fetchone()
        plain = json.loads(text)
        change(plain)
        connection.execute("UPDATE definition SET plain = ?", [json.dumps(plain)])


def test_resume_uses_the_parts_and_numbers_of_the_folder(own, tmp_path, monkeypatch):
    file, out = own / "study.toml", tmp_path / "out"
    words = [file, "--sets", "one", "simplehc", "--algorithms", "mine", "--folds", 3]
    assert study(*words, "--out", out, "--time-limit", 500) == 0
    whole = read_study(out)
    forget(out)
    monkeypatch.chdir("/")
    assert study(file, "--resume", "--out", out) == 0
    again = read_study(out)
    pd.testing.assert_frame_equal(again.results, whole.results)
    assert again.definition == whole.definition
    assert again.definition["time_limit"] == 500
    assert set(again.tasks.run) == {1, 2}


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_classes_named_by_a_results_folder_are_not_called(own, tmp_path, dry, capsys):
    file, out, marker = own / "study.toml", tmp_path / "out", tmp_path / "marker"
    assert study(file, "--out", out) == 0
    forget(out)
    popen = {"class": "subprocess.Popen", "params": {"args": ["touch", str(marker)]}}
    forge(out, lambda plain: plain["algorithms"].update(other=popen))
    for words in ([file, "--resume"], [file]):
        assert study(*words, "--out", out, *dry) == 2
        assert "algorithms.other.class was 'subprocess.Popen'" in capsys.readouterr().err
    forge(out, lambda plain: plain["algorithms"].update(new={"class": "os.abort"}))
    assert study(file, "--resume", "--out", out, *dry) == 2
    assert "has algorithms.new, which" in capsys.readouterr().err
    assert not marker.exists()


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_study_file_must_be_named(own, tmp_path, dry, capsys):
    out = tmp_path / "out"
    assert study(own / "study.toml", "--out", out) == 0
    (own / "imported").unlink()
    forget(out)
    assert study("--resume", "--out", out, *dry) == 2
    assert f"name the study file of the study in {out}" in capsys.readouterr().err
    assert not (own / "imported").exists()


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"sets": [], "algorithms": {}, "criteria": {}}',
        '{"sets": {"a": 3}, "algorithms": {}, "criteria": {}}',
        "not JSON",
    ],
)
def test_damaged_results_folders_are_an_error(own, tmp_path, text, capsys):
    file, out = own / "study.toml", tmp_path / "out"
    study(file, "--out", out, "--algorithms", "other")
    with closing(sqlite3.connect(out / "study.sqlite")) as connection, connection:
        connection.execute("UPDATE definition SET plain = ?", [text])
    assert study(file, "--resume", "--out", out) == 2
    assert str(out) in capsys.readouterr().err.strip().splitlines()[-1]


def test_a_shipped_study_is_resumed_by_its_name(tmp_path):
    out = tmp_path / "out"
    words = ["--sets", "simplehc", "--algorithms", "LPW", "--folds", 2]
    assert study(*words, "--out", out) == 0
    forget(out)
    assert study("--resume", "--out", out) == 0
    assert len(read_study(out).tasks) == 2

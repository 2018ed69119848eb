"""pairmend study and report, and what they read of a results folder."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from pairmend.study import load_study, read_study, run_study

STUDY = """
title = "A small one"
folds = 2
[sets]
one = { function = "pairmend.datasets.make_shapes", params = { n_samples = 60 } }
two = { function = "pairmend.datasets.make_shapes", params = { shape = "sphere", n_samples = 60 } }
[algorithms.LPW]
class = "pairmend.PairwiseClassifier"
params = { estimator = { class = "sklearn.naive_bayes.GaussianNB" } }
[algorithms.FCM]
class = "pairmend.CorrectedPairwiseClassifier"
params = { estimator = { class = "sklearn.naive_bayes.GaussianNB" } }
"""
FAILING = """
[algorithms.bad]
class = "odd_classifiers.Failing"
params = { while_exists = "marker" }
"""
MODULE = """
from pathlib import Path
from odd_classifiers import Frequent
Path(__file__).with_name("imported").touch()
class Mine(Frequent):
    pass
def missed(truth, predicted):
    return 0.25
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, with a study file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # tables do not break lines
    Path("small.toml").write_text(STUDY)


@pytest.fixture
def study(run, in_process, no_report):
    """A function that runs pairmend study."""
    return lambda *words: run("study", *words, "--jobs", "1")


def forget(folder, where="fold = 1"):
    """Delete some results, as if the study had been interrupted."""
    with closing(sqlite3.connect(Path(folder, "study.sqlite"))) as connection, connection:
        for table in ("tasks", "results"):
            connection.execute(f"DELETE FROM {table} WHERE {where}")


def test_a_study_file_is_run_and_reported(run, in_process):
    report = Path("pairmend-small", "report.html")
    assert f"report: {report}" in run("study", "small.toml", "--jobs", "1").out
    assert "A small one" in report.read_text("utf-8")
    pd.testing.assert_frame_equal(
        read_study("pairmend-small").results, run_study(load_study("small.toml"))
    )
    words = ("report", "pairmend-small", "--out", "elsewhere", "--json", "-")
    found = json.loads(run(*words).out)
    assert found["report"] == str(Path("elsewhere", "report.html"))
    assert Path(found["report"]).is_file()
    assert {row["sets"] for row in found["verdicts"]} == {2}
    # Further metrics are computed from the stored predictions.
    found = json.loads(run(*words, "--metrics", "jaccard_samples", "average_precision").out)
    metrics = {row["metric"] for row in found["verdicts"]}
    assert metrics == {"Jaccard (samples)", "average precision"}
    assert "there is no metric 'nothing'" in run(*words, "--metrics", "nothing").err


def test_options_select_parts_and_the_same_command_runs_missing_tasks(study):
    words = ("--sets", "two,simplehc", "--algorithms", "LPW", "--folds", 3, "--repeats", 2)
    words = ("small.toml", *words, "--seed", 5, "--out", "out")
    assert study(*words).status == 0
    whole = read_study("out")
    assert set(whole.results.set) == {"two", "simplehc"}
    assert set(whole.results.algorithm) == {"LPW"}
    chosen = {key: whole.definition[key] for key in ("folds", "repeats", "seed")}
    assert chosen == {"folds": 3, "repeats": 2, "seed": 5}
    assert "folds was 3, is now 4" in study(*words, "--folds", 4).err
    forget("out")
    assert study(*words, "--time-limit", 500).status == 0
    again = read_study("out")
    pd.testing.assert_frame_equal(again.results, whole.results)
    assert again.definition == whole.definition | {"time_limit": 500.0}
    assert set(again.tasks.run) == {1, 2}


def test_a_dry_run_prints_the_number_of_tasks(study):
    words = ("small.toml", "--dry-run", "--out", "out")
    found = json.loads(study(*words, "--json", "-").out)
    assert (found["tasks"], found["done"], found["algorithms"]) == (8, 0, ["LPW", "FCM"])
    assert [(each["name"], each["fits"]) for each in found["sets"]] == [("one", 4), ("two", 4)]
    assert not Path("out").exists()
    assert study("small.toml", "--sets", "one", "--out", "out").status == 0
    assert "done: 4" in study(*words).out
    ran = study(*words, "--seed", 3)
    assert (ran.status, "would not run" in ran.err) == (2, True)
    assert "seed was 0, is now 3" in ran.err


def test_failed_tasks_are_found_by_a_check_listed_and_tried_again(study):
    Path("marker").touch()
    assert study("small.toml", "--check", "--out", "out").status == 0
    Path("small.toml").write_text(STUDY + FAILING)
    ran = study("small.toml", "--check", "--out", "out")
    assert (ran.status, ran.out.count("fails on purpose")) == (1, 2)
    assert not Path("out").exists()
    ran = study("small.toml", "--out", "out")
    assert (ran.status, ran.out.count("fails on purpose")) == (1, 2)
    ran = study("small.toml", "--out", "out", "--json", "-", "--quiet")
    assert (ran.status, ran.err) == (1, "")
    found = json.loads(ran.out)
    assert found["report"] == str(Path("out", "report.html"))
    assert [(each["set"], each["n_tasks"]) for each in found["failed"]] == [("one", 2), ("two", 2)]
    ran = study("small.toml", "--out", "out", "--algorithms", "LPW")
    assert (ran.status, "4 of 4 tasks done" in ran.out) == (0, True)
    Path("marker").unlink()
    assert "fails on purpose" not in study("small.toml", "--out", "out").out


def test_missing_sets_of_the_paper_are_listed_and_those_of_a_folder_found(
    study, shared, monkeypatch
):
    monkeypatch.setenv("PAIRMEND_DATA", str(Path.cwd()))
    out = study("--dry-run").out
    assert "LPW" in out
    assert out.count("no public copy was found") == 6
    assert "azotobacter (no public copy was found)" in study("--sets", "azotobacter").err
    words = ("--data", shared / "data", "--dry-run")
    assert "tasks: 720" in study(*words).out  # 18 sets
    assert "tasks: 40" in study(*words, "--download", "--sets", "enron").out


@pytest.fixture
def own(monkeypatch):
    """A study of a class in the folder of the study file; its module writes a file on import."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("own_module.py").write_text(MODULE)
    text = STUDY.replace("pairmend.PairwiseClassifier", "own_module.Mine").split("params = { est")
    text = f"{text[0]}{STUDY[STUDY.index('[algorithms.FCM]') :]}"
    Path("own.toml").write_text(text + '[criteria.missed]\nfunction = "own_module.missed"\n')
    yield
    sys.modules.pop("own_module", None)


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_nothing_that_a_results_folder_names_is_imported_or_called(study, own, dry):
    assert study("own.toml", "--out", "out").status == 0
    assert set(read_study("out").results.value) == {0.25}
    forget("out")
    popen = {"class": "subprocess.Popen", "params": {"args": ["touch", "marker"]}}
    forge(lambda plain: plain["algorithms"].update(FCM=popen, new={"class": "no_such.Thing"}))
    forge(lambda plain: plain["sets"].update(three={"function": "no_such.make"}))
    ran = study("own.toml", "--out", "out", *dry)
    assert ran.status == 2
    assert "algorithms.FCM was" in ran.err
    sys.modules.pop("own_module")
    Path("imported").unlink()
    read_study("out")
    assert not Path("imported").exists()
    assert not Path("marker").exists()
    damaged = ["[]", '{"sets": [], "algorithms": {}, "criteria": {}}', "not JSON",
               '{"sets": {"a": 3}, "algorithms": {}, "criteria": {}}']  # fmt: skip
    for text in damaged:
        forge(text)
        ran = study("own.toml", "--out", "out", *dry)
        assert (ran.status, "out" in ran.err) == (2, True)


def forge(change):
    """Change the definition stored in the results folder."""
    with closing(sqlite3.connect(Path("out", "study.sqlite"))) as connection, connection:
        if callable(change):
            (text,) = connection.execute("SELECT plain FROM definition").fetchone()
            plain = json.loads(text)
            change(plain)
            change = json.dumps(plain)
        connection.execute("UPDATE definition SET plain = ?", [change])

import json
import sqlite3
import sys
from contextlib import closing

import pandas as pd
import pytest

from pairmend.cli import main
from pairmend.study import load_study, read_study, run_study

STUDY = """
title = "A small one"
folds = 2
[sets]
one = { function = "pairmend.datasets.make_hypercubes", params = { n_samples = 60 } }
two = { function = "pairmend.datasets.make_hyperspheres", params = { n_samples = 60 } }
[algorithms.LPW]
class = "pairmend.PairwiseClassifier"
params = { estimator = { class = "sklearn.naive_bayes.GaussianNB" } }
[algorithms.FCM]
class = "pairmend.CorrectedPairwiseClassifier"
params = { estimator = { class = "sklearn.naive_bayes.GaussianNB" } }
"""


@pytest.fixture
def study_file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # tables do not break lines


fast = pytest.mark.usefixtures("in_process", "no_report")


def run(*words):
    return main(["study", *map(str, words), "--jobs", "1"])


def test_a_study_file_is_run_and_reported(study_file, tmp_path, monkeypatch, capsys, in_process):
    monkeypatch.setattr("pairmend.report.writing.figure_files", lambda figures: {})
    monkeypatch.chdir(tmp_path)
    assert run(study_file) == 0
    printed, progress = capsys.readouterr()
    report = tmp_path / "pairmend-small" / "report.html"
    assert f"report: {report.relative_to(tmp_path)}" in printed
    assert "A small one" in report.read_text("utf-8")
    assert "4 of 8  one is finished" in progress
    assert "Hamming loss  1 - macro F1" in progress
    rows = read_study(tmp_path / "pairmend-small").results
    pd.testing.assert_frame_equal(rows, run_study(load_study(study_file)))


@fast
def test_options_select_parts_and_change_numbers(study_file, tmp_path):
    out = tmp_path / "out"
    words = ["--sets", "two,one", "--algorithms", "LPW", "--folds", 3, "--repeats", 2]
    assert run(study_file, *words, "--seed", 5, "--out", out) == 0
    record = read_study(out)
    assert set(record.results.set) == {"two", "one"}
    assert set(record.results.algorithm) == {"LPW"}
    chosen = {key: record.definition[key] for key in ("folds", "repeats", "seed")}
    assert chosen == {"folds": 3, "repeats": 2, "seed": 5}


@fast
def test_resume_runs_the_missing_tasks(study_file, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(study_file, "--out", out) == 0
    whole = read_study(out).results
    with closing(sqlite3.connect(out / "study.sqlite")) as connection, connection:
        for table in ("tasks", "results"):
            connection.execute(f"DELETE FROM {table} WHERE fold = 1 AND \"set\" = 'one'")
    capsys.readouterr()
    assert run(study_file, "--resume", "--out", out) == 0
    pd.testing.assert_frame_equal(read_study(out).results, whole)
    progress = capsys.readouterr().err
    assert "8 of 8  one is finished" in progress
    mean = whole.query(
        "set == 'one' and algorithm == 'LPW' and criterion == 'hamming'"
    ).value.mean()
    assert f"LPW         {mean:.3f}" in " ".join(progress.split("\n")), "the mean is over all folds"
    assert run("--resume") == 2
    assert "--resume needs --out" in capsys.readouterr().err
    assert run("--resume", "--out", out, "--folds", 3) == 2
    assert "leave out --sets" in capsys.readouterr().err
    assert run("--resume", "--out", tmp_path / "nowhere") == 2
    assert "there is no study in" in capsys.readouterr().err


@fast
def test_a_changed_study_is_refused(study_file, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(study_file, "--out", out) == 0
    assert run(study_file, "--out", out, "--folds", 4) == 2
    assert "folds was 2, is now 4" in capsys.readouterr().err


@fast
def test_a_dry_run_prints_the_number_of_tasks(study_file, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(study_file, "--dry-run", "--out", out) == 0
    assert "8 of 8 tasks would run" in capsys.readouterr().out
    assert run(study_file, "--dry-run", "--out", out, "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tasks"], found["done"], found["algorithms"]) == (8, 0, ["LPW", "FCM"])
    assert found["sets"][0] == {"name": "one", "missing": "", "done": 0, "tasks": 4, "fits": 4}
    assert not out.exists()
    assert run(study_file, "--sets", "one", "--out", out) == 0
    capsys.readouterr()
    assert run(study_file, "--dry-run", "--out", out) == 0
    assert "4 of 8 tasks would run" in capsys.readouterr().out
    assert run(study_file, "--dry-run", "--out", out, "--seed", 3) == 2
    printed = capsys.readouterr()
    assert "would not run" in printed.err
    assert "seed was 0, is now 3" in printed.err
    assert "tasks would run" not in printed.out


@fast
def test_a_check_shows_errors_and_stores_nothing(study_file, tmp_path, capsys):
    (tmp_path / "marker").touch()
    assert run(study_file, "--check", "--out", tmp_path / "out") == 0
    assert "no errors on 50 rows" in capsys.readouterr().out
    with study_file.open("a") as file:
        file.write('[algorithms.bad]\nclass = "odd_classifiers.Failing"\n')
        file.write(f'params = {{ while_exists = "{tmp_path / "marker"}" }}\n')
    assert run(study_file, "--check", "--out", tmp_path / "out") == 1
    assert capsys.readouterr().out.count("fails on purpose") == 2
    assert not (tmp_path / "out").exists()


def test_metrics_of_a_report_are_computed_from_stored_predictions(
    study_file, tmp_path, capsys, monkeypatch, in_process
):
    monkeypatch.setattr("pairmend.report.writing.figure_files", lambda figures: {})
    run_study(load_study(study_file), tmp_path / "out")
    words = ["report", str(tmp_path / "out"), "--json", "-", "--metrics"]
    assert main([*words, "jaccard_samples", "average_precision"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["comparison"]) == {"jaccard_samples", "average_precision"}
    assert main([*words, "nothing"]) == 2
    assert "there is no metric 'nothing'" in capsys.readouterr().err


@fast
def test_missing_sets_of_the_paper_are_listed(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PAIRMEND_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)  # without results of an earlier study
    assert run("--dry-run") == 0
    printed = capsys.readouterr().out
    assert "LPW, FCM, FCM-W, FCM-O" in printed
    assert printed.count("no public copy was found") == 6
    assert run("--sets", "azotobacter", "--out", tmp_path / "out") == 2
    assert "azotobacter (no public copy was found)" in capsys.readouterr().err


def test_modules_in_the_folder_of_the_study_file_can_be_imported(
    study_file, tmp_path, monkeypatch, no_report
):
    (tmp_path / "own_metric.py").write_text("def missed(truth, predicted):\n    return 0.25\n")
    with study_file.open("a") as file:
        file.write('[criteria.missed]\nfunction = "own_metric.missed"\n')
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["study", str(study_file), "--out", str(tmp_path / "out"), "--jobs", "1"]) == 0
    assert set(read_study(tmp_path / "out").results.value) == {0.25}


@fast
def test_sets_in_the_data_folder_are_found(shared, tmp_path, capsys):
    words = ["--data", shared / "data", "--dry-run", "--out", tmp_path / "out"]
    assert run(*words) == 0
    assert "720 of 720 tasks would run" in capsys.readouterr().out  # 18 sets
    assert run(*words, "--download", "--sets", "enron") == 0
    assert "40 of 40 tasks would run" in capsys.readouterr().out


def test_failed_tasks_are_listed(study_file, tmp_path, capsys, in_process, no_report):
    marker = tmp_path / "marker"
    marker.touch()
    with study_file.open("a") as file:
        file.write('[algorithms.bad]\nclass = "odd_classifiers.Failing"\n')
        file.write(f'params = {{ while_exists = "{marker}" }}\n')
    assert run(study_file, "--out", tmp_path / "out") == 1
    printed = capsys.readouterr().out
    assert printed.count("fails on purpose") == 2, "once for each set"
    assert "report: " in printed
    assert run(study_file, "--out", tmp_path / "out", "--json", "-", "--quiet") == 1
    printed, notes = capsys.readouterr()
    found = json.loads(printed)
    assert found["report"] == str(tmp_path / "out" / "report.html")
    assert [(each["set"], each["n_tasks"]) for each in found["failed"]] == [("one", 2), ("two", 2)]
    assert notes == ""
    assert run(study_file, "--out", tmp_path / "out", "--algorithms", "LPW") == 0
    assert "4 of 4 tasks done" in capsys.readouterr().out
    marker.unlink()
    assert run(study_file, "--out", tmp_path / "out") == 0
    assert "fails on purpose" not in capsys.readouterr().out


@fast
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--algorithms", "XYZ"], "the study has no algorithm 'XYZ'; it has LPW, FCM"),
        (["--sets", "yest"], "did you mean 'yeast'"),
        (["nowhere.toml"], "nowhere.toml"),
        (["--data", "nowhere"], "nowhere"),
    ],
)
def test_invalid_arguments_are_an_error(words, message, capsys):
    assert run(*words) == 2
    assert message in capsys.readouterr().err


def test_a_terminal_shows_a_progress_bar_and_losses(
    study_file, tmp_path, terminal, in_process, no_report
):
    with terminal() as written:
        assert run(study_file, "--out", tmp_path / "out") == 0
    shown = written.getvalue().decode()
    assert "Hamming loss" in shown
    assert "8 of 8" in shown
    assert "LPW" in shown


def test_the_report_command(study_file, tmp_path, capsys, monkeypatch, in_process):
    monkeypatch.setattr("pairmend.report.writing.figure_files", lambda figures: {})
    run_study(load_study(study_file), tmp_path / "out")
    words = ["report", str(tmp_path / "out"), "--out", str(tmp_path / "elsewhere")]
    assert main([*words, "--json", "-"]) == 0
    page = tmp_path / "elsewhere" / "report.html"
    assert page.is_file()
    found = json.loads(capsys.readouterr().out)
    assert found["report"] == str(page)
    assert found["comparison"]["hamming"]["sets"] == ["one", "two"]
    assert main([*words, "--quiet", "--algorithms", "LPW"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["report", str(tmp_path)]) == 2
    assert "there is no study in" in capsys.readouterr().err

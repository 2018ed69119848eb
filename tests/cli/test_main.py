import subprocess
import sys

import pytest

import pairmend
from pairmend.cli import main


def test_the_module_runs_as_a_command():
    ran = subprocess.run(
        [sys.executable, "-m", "pairmend", "--help"], capture_output=True, text=True, check=True
    )
    assert "study" in ran.stdout


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"pairmend {pairmend.__version__}\n"


@pytest.mark.parametrize(
    "words", [["study", "--folds", "-1"], ["study", "--folds", "x"], ["dance"], []]
)
def test_invalid_arguments_print_the_usage(words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "usage: pairmend" in capsys.readouterr().err


def test_an_interrupt_prints_the_command_that_continues(monkeypatch, capsys, tmp_path):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("pairmend.cli.studies.run_study", interrupted)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pairmend"])
    monkeypatch.chdir(tmp_path)
    assert main(["study", "--sets", "simplehc", "--out", "a b"]) == 130
    assert capsys.readouterr().err == (
        "stopped; to continue:\n  pairmend study --sets simplehc --out 'a b'\n"
    )


def test_without_rich_tables_are_plain(monkeypatch, capsys):
    monkeypatch.setattr("pairmend.cli.output.find_spec", lambda name: None)
    assert main(["datasets", "list"]) == 0
    assert "yeast" in capsys.readouterr().out


def test_a_closed_output_is_no_traceback(tmp_path):
    command = f"{sys.executable} -m pairmend datasets list | head -n 1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["datasets", "info", "nothing"],
        ["datasets", "describe", "nowhere.arff"],
        ["datasets", "fetch", "nothing"],
        ["datasets", "convert", "nowhere.arff", "out.csv"],
        ["report", "nowhere"],
        ["fit", "nowhere.csv", "--labels", "a", "--out", "m.model"],
        ["predict", "nowhere.model", "nowhere.csv", "--out", "p.csv"],
        ["evaluate", "nowhere.csv", "--labels", "a"],
        ["explain", "nowhere.model", "nowhere.csv", "--row", "1"],
        ["study", "nowhere.toml"],
        ["study", "nowhere.toml", "--dry-run"],
        ["study", "--sets", "azotobacter", "--dry-run"],
        ["study", "--sets", "simplehc", "--out", __file__, "--dry-run"],
        ["study", "--sets", "simplehc", "--out", __file__],
        ["study", "--folds", "1"],
        ["study", "--trust"],
        ["study", "--resume"],
        ["study", "--time-limit", "0"],
    ],
)
def test_errors_have_status_2(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        status = main(words)
    except SystemExit as error:  # argparse
        status = error.code
    assert status == 2
    assert capsys.readouterr().err.strip()

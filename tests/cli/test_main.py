"""The parser, exit statuses, and what all commands have in common."""

import subprocess
import sys
from unittest import mock

import pytest

import pairmend


def test_the_version_is_printed(run):
    assert run("--version") == (0, f"pairmend {pairmend.__version__}\n", "")


@pytest.mark.parametrize("words", [
    ["study", "--folds", "-1"], ["study", "--folds", "x"], ["study", "--trust"], ["dance"], [],
    ["fit", "a.csv"], ["predict", "m"], ["explain", "m", "d", "--row", "-1"],
    ["evaluate", "a.csv", "--criterion", "beauty"], ["study", "--alpha", "x"],
])  # fmt: skip
def test_invalid_arguments_print_the_usage(run, words):
    ran = run(*words)
    assert ran.status == 2
    assert "usage: pairmend" in ran.err


@pytest.mark.parametrize(("words", "named"), [
    (["report", "nowhere"], "nowhere"), (["compare", "nowhere.csv"], "nowhere.csv"),
    (["study", "nowhere.toml", "--dry-run"], "nowhere.toml"),
    (["study", "--sets", "azotobacter", "--dry-run"], "azotobacter"),
    (["study", "--sets", "simplehc", "--out", __file__], "test_main.py"),
    (["study", "--time-limit", "0"], "time_limit"), (["study", "--alpha", "1"], "alpha"),
    (["study", "--algorithms", "XYZ"], "there is no algorithm 'XYZ'; there are LPW, FCM"),
    (["study", "--sets", "yest"], "'yest'"), (["study", "--data", "nowhere"], "nowhere"),
])  # fmt: skip
def test_errors_are_a_message_and_status_2(run, photos, words, named):
    ran = run(*words)
    assert (ran.status, "Traceback" in ran.err) == (2, False)
    assert ran.err.startswith("pairmend: ")
    assert named in ran.err


@pytest.mark.parametrize(("error", "status", "message"), [
    (KeyboardInterrupt, 130, "stopped; the same command continues the study\n"),
    (MemoryError, 2, "pairmend: the memory is not sufficient for so much data\n"),
])  # fmt: skip
def test_interrupts_and_too_little_memory(run, photos, monkeypatch, error, status, message):
    monkeypatch.setattr("pairmend.cli.studies.run_study", mock.Mock(side_effect=error))
    ran = run("study", "--sets", "simplehc")
    assert (ran.status, ran.err) == (status, message)


def test_a_closed_output_is_no_traceback():
    command = f"{sys.executable} -m pairmend datasets list | head -n 1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert "Traceback" not in ran.stderr

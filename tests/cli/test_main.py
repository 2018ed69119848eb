"""The parser, exit statuses, and what all commands have in common."""

import json
import os
import re
import subprocess
import sys
from functools import partial

import pytest

import pairmend


def test_the_module_runs_as_a_command(run):
    command = [sys.executable, "-m", "pairmend", "--help"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "study" in ran.stdout
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


@pytest.mark.parametrize("words", [
    ["report", "nowhere"], ["compare", "nowhere.csv"],
    ["study", "nowhere.toml", "--dry-run"], ["study", "--sets", "azotobacter", "--dry-run"],
    ["study", "--sets", "simplehc", "--out", __file__], ["study", "--time-limit", "0"],
    ["study", "--alpha", "1"],
])  # fmt: skip
def test_errors_are_a_message_and_status_2(run, photos, words):
    ran = run(*words)
    assert (ran.status, "Traceback" in ran.err) == (2, False)
    assert ran.err.startswith("pairmend: ")


def test_an_interrupt_ends_with_status_130(run, photos, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("pairmend.cli.studies.run_study", interrupted)
    ran = run("study", "--sets", "simplehc")
    assert ran.status == 130
    assert ran.err == "stopped; the same command continues the study\n"


def test_too_little_memory_is_one_line_and_status_2(photos):
    """A limit of the process ends a command early, without a traceback."""
    resource = pytest.importorskip("resource")
    with open("wide.csv", "w", encoding="utf-8") as file:
        file.write("size,sea\n")
        for _ in range(2000):
            file.write("1.5,0\n2.5,1\n" * 2000)
    size = 900 * 2**20

    command = [sys.executable, "-m", "pairmend", "evaluate", "wide.csv", "--labels", "sea",
               "--method", "BinaryRelevance"]  # fmt: skip
    # Each thread reserves much address space.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (size, size))
    ran = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, env=environment)
    assert (ran.returncode, ran.stdout) == (2, "")
    lines = [line for line in ran.stderr.splitlines() if not re.search(r"\(\d+ s\)$", line)]
    assert [line[:10] for line in lines] == ["pairmend: "]


def test_a_closed_output_is_no_traceback():
    command = f"{sys.executable} -m pairmend datasets list | head -n 1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert "Traceback" not in ran.stderr


def test_json_is_all_that_standard_output_has(run, photos):
    quick = ("--method", "BinaryRelevance")
    labels = ("photos.csv", "--labels", "3")
    for words in (
        ["datasets", "list"], ["datasets", "describe", *labels],
        ["evaluate", *labels, "--folds", "2", *quick], ["fit", *labels, "--model", "m", *quick],
    ):  # fmt: skip
        ran = run(*words, "--json", "-")
        assert ran.status == 0
        assert json.loads(ran.out)

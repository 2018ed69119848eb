import subprocess
import sys

import pytest

from pairmend.cli import main


def test_study_prints_the_losses_of_all_algorithms(capsys):
    assert main(["study", "--folds", "2"]) == 0
    printed = capsys.readouterr().out
    for word in ("LPW", "FCM-W", "FCM-O", "Hamming", "1 - macro F1", "generated-wide: 600 rows"):
        assert word in printed


def test_module_runs_as_a_command():
    ran = subprocess.run(
        [sys.executable, "-m", "pairmend", "--help"], capture_output=True, text=True, check=True
    )
    assert "study" in ran.stdout


@pytest.mark.parametrize(
    "words", [["study", "--folds", "1"], ["study", "--folds", "x"], ["dance"], []]
)
def test_bad_words_end_with_usage(words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "usage: pairmend" in capsys.readouterr().err


def test_more_folds_than_rows_end_with_a_message(capsys):
    assert main(["study", "--folds", "100000"]) == 1
    assert "pairmend: 100000 folds need at least as many samples" in capsys.readouterr().err


def test_interruption_is_quiet(monkeypatch, capsys):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("pairmend.cli.study.run_study", interrupted)
    assert main(["study"]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_without_rich_the_cure_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert main(["study"]) == 1
    assert "pip install 'pairmend[cli]'" in capsys.readouterr().err

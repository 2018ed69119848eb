import subprocess
import sys

import pytest

from pairmend.cli import main


def test_study_prints_the_losses_of_all_algorithms(capsys):
    assert main(["study", "--folds", "2"]) == 0
    printed, told = capsys.readouterr()
    assert " 50 %  generated-dense, fold" in told
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


def test_without_rich_tables_are_plain(monkeypatch, capsys):
    monkeypatch.setattr("pairmend.cli.display.HAS_RICH", False)
    assert main(["study", "--folds", "2"]) == 0
    printed = capsys.readouterr().out
    assert "generated-small: 300 rows, 20 features, 5 labels" in printed
    assert "algorithm  Hamming  1 - macro F1  1 - micro F1  zero-one" in printed
    assert printed.count("*") >= 12  # the best of each criterion and set
    assert main(["datasets", "list"]) == 0
    assert "yeast" in capsys.readouterr().out


def test_a_reader_that_has_had_enough(tmp_path):
    command = f"{sys.executable} -m pairmend datasets list | head -n 1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert "Traceback" not in ran.stderr

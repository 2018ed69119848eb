"""Failures that ``make soak`` has found, and parts of the campaigns."""

import json
import random
from pathlib import Path

import pytest

from soak import formats, readers, workers
from soak.state import State

FAILURES = Path(readers.__file__).parent / "failures"
FAILED = sorted(path for path in FAILURES.rglob("*") if path.is_file() and path.name[0] != ".")
CORPUS = sorted(path for path in formats.CORPUS.rglob("seed-*"))


def name_of(path):
    return "-".join(path.relative_to(path.parents[2]).parts)


@pytest.mark.parametrize("path", FAILED, ids=[*map(name_of, FAILED)])
def test_what_has_failed(path):
    if path.suffix == ".json":
        case = json.loads(path.read_text())
        workers.check_case(case["campaign"], case["kind"], case["seed"])
    else:
        readers.replay(path)


@pytest.mark.parametrize("path", CORPUS, ids=[*map(name_of, CORPUS)])
def test_initial_inputs_of_the_fuzzer(path):
    """Unchanged, with a byte changed, and with random bytes."""
    name, content = path.parent.name, path.read_bytes()
    formats.check_bytes(name, content)
    dice = random.Random(0)
    for _ in range(5):
        changed = bytearray(content)
        changed[dice.randrange(len(changed))] = dice.randrange(256)
        formats.check_bytes(name, bytes(changed))
        formats.check_bytes(name, dice.randbytes(21))


def test_forged_model_files_are_refused_or_harmless(tmp_path):
    pytest.importorskip("skops", reason="needs pip install 'pairmend[models]'")
    from soak import models

    found = [models.outcome(*models.forge(seed, tmp_path)) for seed in range(60)]
    assert set(found) <= {"refused", "predicted", "failed"}
    assert found.count("refused") > 15
    assert found.count("predicted") > 3


CAMPAIGN = """
import os, time
NAME, TARGET = "planted", 5

def check(kind, seed):
    if seed == 1:
        raise ValueError("a failure")
    if seed == 2:
        os._exit(3)
    if seed == 3:
        time.sleep(60)
"""


def test_workers_report_errors_exits_and_hangs_and_continue(tmp_path, monkeypatch):
    package = Path(workers.__file__).parent
    (tmp_path / "planted.py").write_text(CAMPAIGN)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{package.parent}")
    state = State(tmp_path / "state", tmp_path / "failures")
    for _ in range(2):  # the second uses the next seeds
        workers.run_seeds(state, "planted", "kind", 5, float("inf"), max_seconds=3)
    (row,) = state.rows()
    assert row[:4] == ("planted", "kind", 10, 3)
    reasons = {
        path.stem: json.loads(path.read_text())["reason"]
        for path in (tmp_path / "failures/planted").iterdir()
    }
    assert reasons.keys() == {"kind-1", "kind-2", "kind-3"}
    assert "a failure" in reasons["kind-1"]
    assert "ended with 3" in reasons["kind-2"]
    assert "more than 3 s" in reasons["kind-3"]

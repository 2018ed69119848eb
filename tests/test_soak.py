"""Failures that ``make soak`` has found, and parts of the campaigns."""

import json
import random
from pathlib import Path

import pytest

from soak import formats, readers, workers

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
    for _ in range(50):
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

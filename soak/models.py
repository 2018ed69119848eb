"""Forged model files: refused, or loaded without harm."""

import sys
import tempfile
from pathlib import Path

from soak.state import State
from soak.workers import run_seeds

NAME = "models"
TARGET = 10_000
KIND = "forged"
TESTS = Path(__file__).parents[1] / "tests"


def run_slice(state: State, deadline: float) -> None:
    """Check some files."""
    run_seeds(state, NAME, KIND, 500, deadline, max_seconds=120)


def check(kind: str, seed: int) -> None:
    """Forge a file, load it and predict."""
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    from model_forgeries import forge, outcome

    with tempfile.TemporaryDirectory() as folder:
        outcome(*forge(seed, folder))

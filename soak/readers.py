"""Inputs of the readers, by a coverage-guided fuzzer."""

import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

from soak.formats import CORPUS, check_bytes, formats
from soak.state import State

NAME = "readers"
TARGET = 1_000_000
DICTIONARY = Path(__file__).parent / "dictionary.txt"
MAX_SECONDS = 20
"""Maximum seconds of one input."""
_BLIND = "no interesting inputs were found so far"
"""Output of libFuzzer if the code is not instrumented."""
MAX_MEMORY = 2048
"""Maximum memory of the process in MiB."""


def run_slice(state: State, deadline: float) -> None:
    """Fuzz the format that is furthest behind its share until the deadline, or to a failure."""
    done = {kind: n for campaign, kind, n, *_ in state.rows() if campaign == NAME}
    name = min(formats(), key=lambda kind: done.get(kind, 0) / formats()[kind].share)
    # libFuzzer adds inputs that reach new lines to the first folder, and only reads the second.
    found = state.folder / "corpus" / name
    found.mkdir(parents=True, exist_ok=True)
    artifacts = state.folder / "artifacts" / name
    artifacts.mkdir(parents=True, exist_ok=True)
    counter = state.folder / f"count-{name}"
    counter.write_bytes(bytes(8))
    n_inputs = max(1000, round(TARGET * formats()[name].share) - done.get(name, 0))
    (seed,) = state.take_seeds(NAME, name, 1)
    seconds = max(1, round(deadline - time.monotonic()))
    command = [
        sys.executable, "-m", "soak.fuzz", name, str(counter), str(found), str(CORPUS / name),
        f"-runs={n_inputs}", f"-max_total_time={seconds}", f"-timeout={MAX_SECONDS}",
        f"-rss_limit_mb={MAX_MEMORY}", f"-artifact_prefix={artifacts}/", f"-seed={seed + 1}",
        f"-dict={DICTIONARY}", "-max_len=8192", "-len_control=0", "-verbosity=0",
    ]  # fmt: skip
    started = time.monotonic()
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=seconds + 300, check=False,
    )  # fmt: skip
    (n_inputs,) = struct.unpack("<q", counter.read_bytes())
    failures = 0
    for artifact in sorted(artifacts.iterdir()):
        failures += 1
        folder = state.failures / NAME / name
        folder.mkdir(parents=True, exist_ok=True)
        shutil.move(artifact, folder / artifact.name)
        (state.folder / f"{artifact.name}.log").write_text(ran.stdout[-20_000:])
    if _BLIND in ran.stdout:
        raise RuntimeError(
            f"the fuzzer of {name} gets no coverage: the readers are not instrumented"
        )
    if ran.returncode != 0 and failures == 0:
        raise RuntimeError(
            f"the fuzzer of {name} ended with {ran.returncode}:\n{ran.stdout[-2000:]}"
        )
    state.add(NAME, name, n_inputs, failures, time.monotonic() - started)


def replay(path: Path) -> None:
    """Check an input that failed once; its folder names the format."""
    check_bytes(path.parent.name, path.read_bytes())

"""Reading files in a process whose memory and time are bounded."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CHILD = """
import json, resource, sys, time
from pathlib import Path
import pyarrow.parquet
from pairmend import datasets

def kilobytes(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(key)))

paths, arguments, memory = json.loads(sys.argv[1])
limits = datasets.ReadLimits(**arguments.pop("limits", {}))
read = getattr(datasets, arguments.pop("read"))
before = kilobytes("VmHWM")
resource.setrlimit(resource.RLIMIT_AS, (kilobytes("VmSize") * 1024 + memory,) * 2)
for path in paths:
    started = time.process_time()
    try:
        read(path, limits=limits, **arguments)
        outcome = "read"
    except Exception as error:
        outcome = f"{type(error).__name__}: {error}"
    peak = (kilobytes("VmHWM") - before) * 1024
    print(json.dumps([outcome, peak, time.process_time() - started]), flush=True)
"""


def read_all_bounded(
    paths: Sequence[Path], read: str, *, memory: int, seconds: float = 300, **arguments
) -> list[tuple[str, int, float]]:
    """Return, for each file, "read" or the error, the peak of memory in bytes, and the seconds.

    The peak is that of the files up to this one.
    """
    task = json.dumps([[str(path) for path in paths], {"read": read, **arguments}, memory])
    ran = subprocess.run(
        [sys.executable, "-c", CHILD, task], capture_output=True, text=True, timeout=seconds
    )
    assert ran.returncode == 0, f"exit {ran.returncode}: {ran.stdout} {ran.stderr[-2000:]}"
    return [tuple(json.loads(line)) for line in ran.stdout.splitlines()]


def read_bounded(path: Path, read: str, **arguments) -> tuple[str, int, float]:
    """Return "read" or the error, the peak of memory in bytes, and the seconds."""
    return read_all_bounded([path], read, **arguments)[0]

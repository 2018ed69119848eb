"""Reading files in a process whose memory and time are bounded."""

import multiprocessing
import resource
import time
from collections.abc import Sequence
from pathlib import Path

from pairmend import datasets

# A server imports these modules once, and each read happens in a new fork of it.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["pairmend.datasets", "pairmend.datasets.parquet", "pyarrow.parquet", "scipy.io"]
)


def _kilobytes(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(key)))


def _read(answers, paths, memory, read, limits, arguments) -> None:
    """Read files within a limit of memory, and send an answer for each."""
    limits, read = datasets.ReadLimits(**limits), getattr(datasets, read)
    before = _kilobytes("VmHWM")
    resource.setrlimit(resource.RLIMIT_AS, (_kilobytes("VmSize") * 1024 + memory,) * 2)
    for path in paths:
        started = time.process_time()
        try:
            read(path, limits=limits, **arguments)
            outcome = "read"
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        peak = (_kilobytes("VmHWM") - before) * 1024
        answers.send((outcome, peak, time.process_time() - started))


def read_all_bounded(
    paths: Sequence[Path], read: str, *, memory: int, seconds: float = 300, limits=None, **arguments
) -> list[tuple[str, int, float]]:
    """Return, for each file, "read" or the error, the peak of memory in bytes, and the seconds.

    The peak is that of the files up to this one.
    """
    answers, sent = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(
        target=_read, args=(sent, paths, memory, read, limits or {}, arguments), daemon=True
    )
    process.start()
    sent.close()
    process.join(seconds)
    assert process.exitcode is not None, f"not read within {seconds} s"
    assert process.exitcode == 0, f"exit {process.exitcode}"
    return [answers.recv() for _ in paths]


def read_bounded(path: Path, read: str, **arguments) -> tuple[str, int, float]:
    """Return "read" or the error, the peak of memory in bytes, and the seconds."""
    return read_all_bounded([path], read, **arguments)[0]

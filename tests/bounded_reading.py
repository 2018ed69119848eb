"""Reading files in a process whose memory and time are bounded."""

import multiprocessing
import resource
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pairmend import datasets
from pairmend.persistence import load_model

# A server imports these modules once, and each read happens in a new fork of it.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([
    "pairmend.baselines", "pairmend.datasets", "pairmend.mended", "pairmend.persistence",
    "skops.io", "sklearn.ensemble", "pyarrow.parquet", "charset_normalizer",
])  # fmt: skip


def _kilobytes(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(key)))


def _read(answers, paths, memory, limits, arguments) -> None:
    """Read files within a limit of memory, and send an answer for each."""
    limits = datasets.ReadLimits(**limits)
    before = _kilobytes("VmHWM")
    resource.setrlimit(resource.RLIMIT_AS, (_kilobytes("VmSize") * 1024 + memory,) * 2)
    for path in paths:
        started = time.process_time()
        try:
            if path.suffix == ".model":
                load_model(path).estimator.predict(np.zeros((3, 3)))
            elif path.suffix == ".mat":
                datasets.load_miml(path, limits=limits)
            else:
                datasets.load_file(path, limits=limits, **arguments)
            outcome = "read"
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        peak = (_kilobytes("VmHWM") - before) * 1024
        answers.send((outcome, peak, time.process_time() - started))


def read_all_bounded(
    paths: Sequence[Path], *, memory: int, seconds: float = 300, limits=None, **arguments
) -> list[tuple[str, int, float]]:
    """Return, for each file, "read" or the error, the peak of memory in bytes, and the seconds.

    The peak is that of the files up to this one.
    """
    answers, sent = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(
        target=_read,
        args=(sent, paths, memory, limits or {}, {"labels": (), **arguments}),
        daemon=True,
    )
    process.start()
    sent.close()
    process.join(seconds)
    assert process.exitcode is not None, f"not read within {seconds} s"
    assert process.exitcode == 0, f"exit {process.exitcode}"
    return [answers.recv() for _ in paths]


def read_bounded(path: Path, **arguments) -> tuple[str, int, float]:
    """Return "read" or the error, the peak of memory in bytes, and the seconds."""
    return read_all_bounded([path], **arguments)[0]

"""Seeds in a separate process, with bounds on the memory and the time of each."""

import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from types import ModuleType

from soak.state import State

MAX_MEMORY = 8 * 2**30
"""Bytes of address space of a worker."""


def run_seeds(
    state: State,
    campaign: str,
    kind: str,
    n_seeds: int,
    deadline: float,
    max_seconds: float,
    inputs_per_seed: int = 1,
) -> None:
    """Run seeds of a campaign until they are done or the deadline has passed.

    A seed that takes longer than `max_seconds` is a failure.
    """
    seeds = state.take_seeds(campaign, kind, n_seeds)
    position = 0
    while position < len(seeds) and time.monotonic() < deadline:
        started = time.monotonic()
        outcomes = _Worker(campaign, kind, seeds[position], seeds[-1]).run(deadline, max_seconds)
        for seed, reason in outcomes:
            position += 1
            if reason:
                state.save_failure(campaign, kind, seed, reason)
            state.add(campaign, kind, inputs_per_seed, int(bool(reason)))
        state.add(campaign, kind, seconds=time.monotonic() - started)
        if not outcomes:
            return


class _Worker:
    """A process that runs seeds in order and reports the outcome of each."""

    def __init__(self, campaign: str, kind: str, first: int, last: int):
        command = [sys.executable, "-m", "soak.workers", campaign, kind, str(first), str(last)]
        self.seed = first
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )

    def run(self, deadline: float, max_seconds: float) -> list[tuple[int, str]]:
        """Return the seeds that were run, each with the reason of its failure or an empty text."""
        assert self.process.stdout is not None
        outcomes: list[tuple[int, str]] = []
        started = time.monotonic()
        text = b""
        try:
            while True:
                readable, _, _ = select.select([self.process.stdout], [], [], 0.5)
                if readable:
                    block = os.read(self.process.stdout.fileno(), 2**16)
                    if not block:
                        break
                    *lines, text = (text + block).split(b"\n")
                    for line in lines:
                        seed, reason = json.loads(line)
                        outcomes.append((seed, reason))
                        self.seed, started = seed + 1, time.monotonic()
                elif time.monotonic() - started > max_seconds:
                    outcomes.append((self.seed, f"took more than {max_seconds} s"))
                    return outcomes
                if time.monotonic() > deadline:
                    return outcomes
            assert self.process.stderr is not None
            errors = self.process.stderr.read()[-4000:].decode(errors="replace")
            if status := self.process.wait():
                outcomes.append((self.seed, f"the process ended with {status}: {errors}"))
            return outcomes
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def check_case(campaign: str, kind: str, seed: int) -> None:
    """Run one seed in this process."""
    _module(campaign).check(kind, seed)


def _module(campaign: str) -> ModuleType:
    """Import a campaign."""
    return importlib.import_module(f"soak.{campaign}")


def main() -> None:
    """Run seeds and report each in a line."""
    name, kind, first, last = sys.argv[1:]
    campaign = _module(name)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of checks goes to standard error
    for seed in range(int(first), int(last) + 1):
        try:
            campaign.check(kind, seed)
            reason = ""
        except BaseException:
            reason = traceback.format_exc()[-4000:]
        report.write(json.dumps([seed, reason]) + "\n")
        report.flush()


if __name__ == "__main__":
    main()

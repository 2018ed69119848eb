"""``make soak``: run the campaigns and print a table of inputs and failures."""

import argparse
import importlib
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.table import Table

from soak.state import State

CAMPAIGNS = ("readers", "models", "kills")
SLICE_SECONDS = 120
ROOT = Path(__file__).parents[1]


def main() -> int:
    """Run campaigns; return 1 if there are failures."""
    options = parse()
    state = State(options.state, options.failures)
    campaigns = [importlib.import_module(f"soak.{name}") for name in options.only]
    console = Console()
    deadline = time.monotonic() + 60 * options.minutes
    errors: list[BaseException] = []
    threads = [
        threading.Thread(target=work, args=(state, campaigns, number, deadline, errors, console))
        for number in range(options.cores)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    show(state, console)
    if errors:
        raise errors[0]
    return 1 if any(row[3] for row in state.rows()) else 0


def parse() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="make soak ARGS=...", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=CAMPAIGNS, default=CAMPAIGNS, help="campaigns to run"
    )
    parser.add_argument(
        "--minutes", type=float, default=60, help="stop after this time; run again to continue"
    )
    parser.add_argument(
        "--cores", type=int, choices=(1, 2), default=2, help="processes at a time (default: 2)"
    )
    parser.add_argument(
        "--state", type=Path, default=ROOT / ".soak", help="folder of counts and found inputs"
    )
    parser.add_argument(
        "--failures", type=Path, default=ROOT / "soak/failures", help="folder of failures"
    )
    return parser.parse_args()


def work(
    state: State,
    campaigns: list[ModuleType],
    number: int,
    deadline: float,
    errors: list[BaseException],
    console: Console,
) -> None:
    """Run slices of the campaigns in turn until all are done or the deadline has passed."""
    try:
        turn = number
        while time.monotonic() < deadline and not errors:
            left = [c for c in campaigns if state.n_done(c.NAME) < c.TARGET]
            if not left:
                return
            campaign = left[turn % len(left)]
            turn += 1
            before = state.n_done(campaign.NAME)
            campaign.run_slice(state, min(deadline, time.monotonic() + SLICE_SECONDS))
            done = state.n_done(campaign.NAME)
            console.print(f"{campaign.NAME}: {done:,} of {campaign.TARGET:,} (+{done - before:,})")
    except BaseException as error:
        errors.append(error)


def show(state: State, console: Console) -> None:
    """Print the table."""
    targets = {name: importlib.import_module(f"soak.{name}").TARGET for name in CAMPAIGNS}
    table = Table(title="Inputs and failures")
    for heading in ("campaign", "kind", "inputs", "target", "failures", "minutes"):
        table.add_column(heading, justify="left" if heading in ("campaign", "kind") else "right")
    rows = state.rows()
    for name in CAMPAIGNS:
        of_campaign = [row for row in rows if row[0] == name]
        for _, kind, done, failures, seconds in of_campaign:
            table.add_row("", kind, f"{done:,}", "", str(failures), f"{seconds / 60:.1f}")
        done, failures, seconds = (sum(row[i] for row in of_campaign) for i in (2, 3, 4))
        table.add_row(
            name, "all", f"{done:,}", f"{targets[name]:,}", str(failures), f"{seconds / 60:.1f}",
            end_section=True,
        )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())

"""What commands print: texts, tables, notes, progress and JSON."""

import argparse
import io
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from pairmend._utils.files import written
from pairmend._utils.text import one_line

STANDARD = Path("-")
"""Standard output, as the name of a file."""
SECONDS_BETWEEN_LINES = 5.0
_state: dict[str, Any] = {"quiet": False, "only_json": False, "notes": set()}


@contextmanager
def output_of_command(options: argparse.Namespace) -> Iterator[None]:
    """Set what a command prints, and show the first line of each warning as a note.

    A quiet command prints results and errors only: no notes, no progress, no report of what was
    done. If JSON is written to standard output, nothing else is.
    """
    _state.update(quiet=options.quiet, only_json=options.json == STANDARD, notes=set())
    if isinstance(sys.stdout, io.TextIOWrapper):
        # On Windows, the encoding of a file or a pipe has few characters.
        sys.stdout.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = lambda message, *_, **__: show_note(
            str(message).strip().splitlines()[0]
        )
        yield
        sys.stdout.flush()


def show_text(text: str) -> None:
    """Print a result without interpreting markup."""
    if not _state["only_json"]:
        print(text)


def show_status(text: str) -> None:
    """Print what was done, unless the command is quiet."""
    if not _state["quiet"]:
        show_text(text)


def show_note(text: str) -> None:
    """Print a note to standard error once, unless the command is quiet."""
    if not _state["quiet"] and text not in _state["notes"]:
        _state["notes"].add(text)
        print(f"note: {text}", file=sys.stderr, flush=True)


def show_table(title: str, rows: Sequence[Mapping[str, Any]], *, is_result: bool = True) -> None:
    """Print rows as a table; a quiet command shows results only."""
    if not rows or _state["only_json"] or (_state["quiet"] and not is_result):
        return
    import pandas as pd

    frame = pd.DataFrame(rows).rename(columns=one_line)
    frame = frame.map(lambda cell: one_line(cell) if isinstance(cell, str) else cell)
    table = frame.to_string(index=False, max_colwidth=None, float_format="{:,.3f}".format)
    print(f"\n{title}\n{table}")


@contextmanager
def progress(task: str) -> Iterator[Callable[[str], None]]:
    """Print what is done in a line every few seconds, unless the command is quiet.

    Yield a function that takes what is being done now.
    """
    latest, ended, start = [task], Event(), time.monotonic()

    def print_lines() -> None:  # also while a single step takes long
        while not ended.wait(SECONDS_BETWEEN_LINES):
            seconds = time.monotonic() - start
            print(f"{latest[-1]} ({seconds:.0f} s)", file=sys.stderr, flush=True)

    if not _state["quiet"]:
        Thread(target=print_lines, daemon=True).start()
    try:
        yield latest.append
    finally:
        ended.set()


def write_json(path: Path | None, content: Any) -> None:
    """Write JSON to a file, or to standard output for ``-``; nothing if the path is None."""
    if path is None:
        return
    # JSON has no NaN and no infinity.
    content = json.loads(json.dumps(content), parse_constant=lambda name: None)
    text = json.dumps(content, indent=2)
    if path == STANDARD:
        print(text)
        return
    with written(path) as file:
        file.write(f"{text}\n")
    show_status(f"wrote {path}")

"""What commands print: texts, tables, notes, progress and JSON."""

import io
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import Any

from pairmend._utils.files import written

STANDARD = Path("-")
"""Standard input or output, as the name of a file."""
SECONDS_BETWEEN_LINES = 5.0
_state: dict[str, Any] = {"quiet": False, "only_json": False, "notes": set(), "renamed": {}}


@contextmanager
def output_of_command(*, quiet: bool, only_json: bool) -> Iterator[None]:
    """Set what a command prints, and show the first line of each warning as a note.

    A quiet command prints results and errors only: no notes, no progress, no report of what was
    done. If JSON is written to standard output, nothing else is.
    """
    _state.update(quiet=quiet, only_json=only_json, notes=set(), renamed={})
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


def rename_in_messages(old: str, new: str) -> None:
    """Show a text in notes and errors of this command as another one."""
    _state["renamed"][old] = new


def message(error: object) -> str:
    """Return a note or an error as it is shown."""
    text = str(error)
    for old, new in _state["renamed"].items():
        text = text.replace(old, new)
    return text


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
    note = message(text)
    if not _state["quiet"] and note not in _state["notes"]:
        _state["notes"].add(note)
        print_line(f"note: {note}")


def print_line(text: str) -> None:
    """Print a line to standard error at once."""
    print(text, file=sys.stderr, flush=True)


def show_table(title: str, rows: Sequence[Mapping[str, Any]], *, is_result: bool = True) -> None:
    """Print rows as a table with numbers on the right, with rich if it is installed.

    A quiet command shows results only.
    """
    if not rows or _state["only_json"] or (_state["quiet"] and not is_result):
        return
    cells = [[_cell(value) for value in row.values()] for row in rows]
    if find_spec("rich") is None:
        print(title, "\t".join(rows[0]), *map("\t".join, cells), sep="\n")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title))
    for heading, value in rows[0].items():
        table.add_column(Text(heading), justify="left" if isinstance(value, str) else "right")
    for row in cells:
        table.add_row(*map(Text, row))
    Console().print(table)


def _cell(value: Any) -> str:
    return f"{value:,.4f}" if isinstance(value, float) else str(value)


@contextmanager
def progress(task: str) -> Iterator[Callable[..., None]]:
    """Show what is done: a bar on a terminal, elsewhere a line every few seconds.

    Yield a function that takes what is being done now, and the share done if it is known.
    """
    if _state["quiet"]:
        yield lambda doing, share=None: None
    elif find_spec("rich") is not None and sys.stderr.isatty():
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress

        columns = Progress.get_default_columns()
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            number = bar.add_task(escape(task), total=None)
            yield lambda doing, share=None: bar.update(
                number,
                description=escape(doing),
                completed=share,
                total=None if share is None else 1.0,
            )
    else:
        latest = [task]
        with _lines(latest):
            yield lambda doing, share=None: latest.__setitem__(
                0, doing if share is None else f"{share:4.0%}  {doing}"
            )


@contextmanager
def _lines(latest: Sequence[str]) -> Iterator[None]:
    """Print the latest text every few seconds, also while a single step takes long."""
    ended, start = Event(), time.monotonic()

    def print_lines() -> None:
        while not ended.wait(SECONDS_BETWEEN_LINES):
            print_line(f"{latest[0]} ({time.monotonic() - start:.0f} s)")

    thread = Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def write_json(path: Path | None, content: Any) -> None:
    """Write JSON to a file, or to standard output for ``-``; nothing if the path is None."""
    if path is None:
        return
    text = json.dumps(_without_nan(content), indent=2, allow_nan=False)
    if path == STANDARD:
        print(text)
        return
    with written(path) as file:
        file.write(f"{text}\n")
    show_status(f"wrote {path}")


def _without_nan(content: Any) -> Any:
    """Replace numbers that JSON does not have, NaN and infinity, by null."""
    if isinstance(content, dict):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content

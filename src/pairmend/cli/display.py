"""Output of commands: tables, texts and progress, with rich if it is installed."""

import io
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

HAS_RICH = find_spec("rich") is not None
_state: dict[str, Any] = {
    "quiet": False, "only_json": False, "replace": ("", ""), "notes": set(),
}  # fmt: skip


@contextmanager
def output_of_command(*, quiet: bool, only_json: bool) -> Iterator[None]:
    """Set what a command prints, and show each of its notes once.

    A quiet command prints results and errors only: no notes, no progress, no report of what was
    done. If JSON is written to standard output, nothing else is.
    """
    before = dict(_state)
    _state.update(quiet=quiet, only_json=only_json, notes=set())
    try:
        yield
    finally:
        _state.update(before)


@contextmanager
def any_characters() -> Iterator[None]:
    """Write escapes for characters that the encoding of standard output does not have.

    On Windows, the encoding of a file or a pipe has few characters.
    """
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper):
        yield
        return
    errors = stream.errors
    stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        with suppress(ValueError):  # a command may close it
            stream.reconfigure(errors=errors)


@contextmanager
def notes_replaced(text: str, by: str) -> Iterator[None]:
    """Replace a text in notes, such as the name of a temporary file."""
    before, _state["replace"] = _state["replace"], (text, by)
    try:
        yield
    finally:
        _state["replace"] = before


def show_text(text: str) -> None:
    """Print a result without interpreting markup."""
    if not _state["only_json"]:
        print(text)


def show_status(text: str) -> None:
    """Print what was done, unless the command is quiet."""
    if not _state["quiet"]:
        show_text(text)


def show_table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    bold: frozenset[tuple[int, int]] = frozenset(),
    is_result: bool = True,
) -> None:
    """Print a table; `numbers` are right-aligned columns, `bold` cells as (row, column).

    A quiet command shows results only.
    """
    if _state["only_json"] or (_state["quiet"] and not is_result):
        return
    if not HAS_RICH:
        _show_plain(title, headings, rows, numbers, bold)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), show_header=any(headings))
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place in numbers else "left")
    for r, row in enumerate(rows):
        table.add_row(
            *(Text(cell, style="bold" if (r, c) in bold else "") for c, cell in enumerate(row))
        )
    Console().print(table)


def _show_plain(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int],
    bold: frozenset[tuple[int, int]],
) -> None:
    cells = [
        [f"{cell}*" if (r, c) in bold else cell for c, cell in enumerate(row)]
        for r, row in enumerate(rows)
    ]
    lines = [list(headings), *cells] if any(headings) else cells
    widths = [max(len(line[c]) for line in lines) for c in range(len(headings))]
    print(title)
    for line in lines:
        aligned = (
            cell.rjust(width) if c in numbers else cell.ljust(width)
            for c, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join(aligned).rstrip())


@contextmanager
def progress(
    task: str, *, lines: bool = False, verbose: bool = False
) -> Iterator[Callable[[float, str], None]]:
    """Show a progress bar; yield a function that is called with the share done and a text.

    Without a terminal, `lines` prints a line for each tenth. `verbose` prints every text as a line,
    instead of a bar.
    """
    if _state["quiet"]:
        yield lambda share, doing: None
        return
    if verbose:
        yield lambda share, doing: _print_line(doing)
        return
    if not HAS_RICH or not sys.stderr.isatty():
        yield _Lines() if lines else lambda share, doing: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        Left(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        number = bar.add_task(escape(task), total=1.0)
        yield lambda share, doing: bar.update(number, completed=share, description=escape(doing))


@contextmanager
def waiting(task: str, *, verbose: bool = False) -> Iterator[Callable[[str], None]]:
    """Show that a task of unknown duration runs; yield a function that is called with messages.

    A terminal shows the last message. `verbose` prints each as a line instead; without it and
    without a terminal, they are not shown.
    """
    if _state["quiet"]:
        yield lambda message: None
        return
    if verbose or not HAS_RICH or not sys.stderr.isatty():
        _print_line(f"{task} ...")
        yield _print_line if verbose else lambda message: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns: tuple[Any, ...] = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        number = bar.add_task(escape(task), total=None)
        yield lambda message: bar.update(number, description=escape(message))


@contextmanager
def warnings_as_notes(ignored: type[Warning] | None = None) -> Iterator[None]:
    """Show the first line of each warning as a note, each once; leave out those of one class."""
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("default")
        if ignored is not None:
            warnings.simplefilter("ignore", ignored)
        yield
    for line in dict.fromkeys(str(each.message).strip().splitlines()[0] for each in recorded):
        show_note(line)


def show_note(text: str) -> None:
    """Print a note to standard error once, unless the command is quiet."""
    old, new = _state["replace"]
    note = text.replace(old, new) if old else text
    if not _state["quiet"] and note not in _state["notes"]:
        _state["notes"].add(note)
        _print_line(f"note: {note}")


def is_quiet() -> bool:
    """Return whether the command prints results and errors only."""
    return bool(_state["quiet"])


def _print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Lines:
    """Progress as a line for each tenth."""

    def __init__(self) -> None:
        self.tenths = 0

    def __call__(self, share: float, doing: str) -> None:
        if int(10 * share) > self.tenths:
            self.tenths = int(10 * share)
            _print_line(f"{10 * self.tenths:3d} %  {doing}")

"""Parsers of all commands (make_parser), which import no code that runs them."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pairmend
from pairmend.cli.parsers.datasets import add_datasets
from pairmend.cli.parsers.models import add_evaluate, add_explain, add_fit, add_predict
from pairmend.cli.parsers.study import add_compare, add_report, add_study
from pairmend.cli.table_options import LIST_OPTIONS


class _UsageError(Exception):
    """The words do not fit the parser."""


class _Parser(argparse.ArgumentParser):
    """A parser that can report errors as an exception, for another attempt."""

    raises = False

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and exit."""
        if _Parser.raises:
            raise _UsageError
        super().error(message)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser; ``run`` of its result is the path of the function to call."""
    parser = _Parser(
        prog="pairmend", description="Multi-label classification with local error correction."
    )
    parser.add_argument("--version", action="version", version=f"pairmend {pairmend.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add_command in (
        add_fit, add_predict, add_evaluate, add_explain, add_study, add_report, add_compare,
        add_datasets
    ):  # fmt: skip
        add_command(commands)
    if find_spec("shtab") is not None:
        _add_completion(parser)
    return parser


def parse_words(words: Sequence[str]) -> argparse.Namespace:
    """Parse the words of a command line.

    In ``--labels a b photos.csv`` the last word is the file, not a label, if there is a file of
    this name and no other argument is left for it.
    """
    parser = make_parser()
    _Parser.raises = True
    try:
        with suppress(_UsageError):
            options = parser.parse_args(words)
            # Without a study file the study of the paper is run.
            if getattr(options, "file", words) is not None or not _names_study_file(words):
                return options
        for moved in _with_files_last(words):
            with suppress(_UsageError):
                return parser.parse_args(moved)
    finally:
        _Parser.raises = False
    return parser.parse_args(words)


def _with_files_last(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words with files at the end of a list moved to the end, the fewest first."""
    for start, end in _lists(words):
        first = end
        while first > start and (words[first - 1] == "-" or Path(words[first - 1]).is_file()):
            first -= 1
            # An option that takes a list ends at the next option, or at two hyphens.
            yield [*words[:first], *words[end:], "--", *words[first:end]]


def _names_study_file(words: Sequence[str]) -> bool:
    """Return whether a list of names ends with a study file."""
    return any(words[end - 1].endswith(".toml") for _, end in _lists(words))


def _lists(words: Sequence[str]) -> list[tuple[int, int]]:
    """Return first and last positions of the words after options that take a list."""
    found = []
    for start, word in enumerate(words):
        if word in LIST_OPTIONS:
            end = start + 1
            while end < len(words) and (not words[end].startswith("-") or words[end] == "-"):
                end += 1
            found.append((start + 1, end))
    return found


def _add_completion(parser: argparse.ArgumentParser) -> None:
    """Add --print-completion.

    argcomplete is not used: it runs the command at each press of the tab key, which takes a
    noticeable time here; shtab writes a script once.
    """
    import shtab

    shtab.add_argument_to(
        parser,
        "--print-completion",
        help="print a script that completes commands and options in a shell",
    )
    _complete_files(parser, shtab.FILE)


def _complete_files(parser: argparse.ArgumentParser, files: Any) -> None:
    """Complete names of files, where an argument is a path."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                _complete_files(command, files)
        elif action.type is Path:
            action.complete = files  # type: ignore[attr-defined]

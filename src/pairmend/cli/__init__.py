"""The command line: list of commands, error messages and exit codes."""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from pairmend.cli import datasets, evaluate, explain, fit, predict, report, study
from pairmend.study.interrupts import interrupts_restored


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 1 if tasks of a study failed, 2 after an error, 130 if stopped."""
    parser = argparse.ArgumentParser(
        prog="pairmend", description="Multi-label classification with local error correction."
    )
    parser.add_argument("--version", action="version", version=f"pairmend {version('pairmend')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (fit, predict, evaluate, explain, study, report, datasets):
        command.add_command(commands)
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(words)
    options.words = words
    try:
        with interrupts_restored():
            status: int | None = options.run(options)
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output has closed it
        sys.stdout = None
        return 1
    except (OSError, ValueError, LookupError, ImportError, RuntimeError) as error:
        message = str(error)
        if isinstance(error, FileNotFoundError) and error.filename:
            message = f"there is no file {error.filename}"
        print(f"pairmend: {message}", file=sys.stderr)
        return 2
    return status or 0

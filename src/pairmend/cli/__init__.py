"""The command line: error messages and exit codes."""

import sys
from collections.abc import Sequence

from pairmend.cli.methods import import_object
from pairmend.cli.options import parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 1 if tasks of a study failed, 2 after an error, 130 if stopped."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = parse(words)
        options.words = words
        # The usage needs no code of commands, and is printed sooner without it.
        from pairmend.cli.output import STANDARD, message, output_of_command, write_json
    except ImportError as error:
        print(f"pairmend: {error}", file=sys.stderr)
        return 2
    try:
        with output_of_command(quiet=options.quiet, only_json=options.json == STANDARD):
            found = import_object(f"pairmend.cli.{options.path}")(options)
            write_json(options.json, found)
    except KeyboardInterrupt as interrupt:
        print(str(interrupt) or "stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output has closed it
        sys.stdout = None
        return 1
    except MemoryError:
        print(
            "pairmend: the memory is not sufficient; choose fewer rows or columns", file=sys.stderr
        )
        return 2
    except (OSError, ValueError, LookupError, ImportError, RuntimeError) as error:
        text = str(error)
        if isinstance(error, FileNotFoundError) and error.filename:
            text = f"there is no file {error.filename}"
        print(f"pairmend: {message(text)}", file=sys.stderr)
        return 2
    return 1 if isinstance(found, dict) and found.get("failed") else 0

"""The command line: error messages and exit codes."""

import sys
from collections.abc import Sequence
from pkgutil import resolve_name

from pairmend.cli.options import parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 1 if tasks of a study failed, 2 after an error, 130 if stopped."""
    options = parse(list(sys.argv[1:] if arguments is None else arguments))
    try:
        # The usage needs no code of commands, and is printed sooner without it.
        from pairmend.cli.output import output_of_command, write_json

        with output_of_command(options):
            found = resolve_name(f"pairmend.cli.{options.path}")(options)
            write_json(options.json, found)
    except KeyboardInterrupt as interrupt:
        print(str(interrupt) or "stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output has closed it
        sys.stdout = None
        return 1
    except MemoryError as error:
        # Without its traceback the arrays of the command are freed, which the message needs.
        error.__traceback__ = None
        print("pairmend: the memory is not sufficient for so much data", file=sys.stderr)
        return 2
    except (OSError, EOFError, ValueError, LookupError, ImportError, RuntimeError) as error:
        print(f"pairmend: {error}", file=sys.stderr)
        return 2
    return 1 if isinstance(found, dict) and found.get("failed") else 0

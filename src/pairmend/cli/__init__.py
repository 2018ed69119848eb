"""The command line: error messages and exit codes."""

import sys
from collections.abc import Sequence

from pairmend._utils.interrupts import interrupts_restored
from pairmend.cli.display import any_characters, output_of_command
from pairmend.cli.importing import import_object
from pairmend.cli.parsers import parse_words


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 1 if tasks of a study failed, 2 after an error, 130 if stopped."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = parse_words(words)
    options.words = words
    try:
        output = output_of_command(
            quiet=getattr(options, "quiet", False),
            only_json=str(getattr(options, "json", None)) == "-",
        )
        with interrupts_restored(), any_characters(), output:
            status: int | None = import_object(options.run)(options)
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

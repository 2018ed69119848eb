"""The command line."""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from pairmend.cli import datasets, report, study


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words of the command line; those of the process if None.

    Returns
    -------
    int
        The exit status.
    """
    parser = argparse.ArgumentParser(
        prog="pairmend", description="Pairwise multi-label classification, mended."
    )
    parser.add_argument("--version", action="version", version=f"pairmend {version('pairmend')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    study.add_command(commands)
    report.add_command(commands)
    datasets.add_command(commands)
    options = parser.parse_args(arguments)
    try:
        status: int | None = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output has had enough
        sys.stdout = None
        return 1
    except (OSError, ValueError, LookupError, ImportError, RuntimeError) as error:
        print(f"pairmend: {error}", file=sys.stderr)
        return 1
    return status or 0

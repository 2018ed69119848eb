"""Parsers of all commands (make_parser), which import no code that runs them."""

import argparse

import pairmend
from pairmend.cli.parsers.datasets import add_datasets
from pairmend.cli.parsers.models import add_evaluate, add_explain, add_fit, add_predict
from pairmend.cli.parsers.study import add_compare, add_report, add_study


def make_parser() -> argparse.ArgumentParser:
    """Return the parser; ``run`` of its result is the path of the function to call."""
    parser = argparse.ArgumentParser(
        prog="pairmend", description="Multi-label classification with local error correction."
    )
    parser.add_argument("--version", action="version", version=f"pairmend {pairmend.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add_command in (
        add_fit, add_predict, add_evaluate, add_explain, add_study, add_report, add_compare,
        add_datasets
    ):  # fmt: skip
        add_command(commands)
    return parser

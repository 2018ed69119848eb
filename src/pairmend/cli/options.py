"""Commands and their options, each declared once; parsing imports no code that runs them.

argparse and not typer, with which ``--help`` of an empty program takes 0.14 s instead of 0.02 s.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pairmend
from pairmend._utils import defaults

OPTIONS = {
    "DATA": "a text file with delimiters, an Excel, ARFF or Parquet file",
    "FILE": "a .csv or .parquet file of losses, see docs/statistics.md",
    "FOLDER": "the output folder of a study",
    "MODEL": "a model file",
    "OUT": "the .csv or .arff file to write: Meka's, or Mulan's with --out-xml",
    "STUDY": f"a study file (TOML), or {', '.join(defaults.SHIPPED_STUDIES)} (default: paper)",
    "--accept-changes": "keep results although code, packages or data files have changed since",
    "--algorithms NAME ...": "only these algorithms",
    "--alpha LEVEL": "level of significance (default: that of the study, or 0.05)",
    "--categorical COLUMN ...": "numeric columns to treat as categorical",
    "--check": "fit each algorithm on 50 rows of each set and show errors; stores nothing",
    "--control NAME": "compare this algorithm with each other one, instead of all pairs",
    f"--criterion {'|'.join(defaults.LOSS_NAMES)}": "metric to optimise",
    "--dask ADDRESS": "run on the Dask cluster with this scheduler",
    "--data FOLDER": "folder with the sets' files, or with sub-folders named after them",
    "--decimal SIGN": "decimal sign of numbers",
    "--delimiter CHARACTER": "character between cells, such as ; or tab",
    "--download": "download missing sets",
    "--dry-run": "show what would run, without running it",
    "--encoding NAME": "encoding of a text file",
    "--estimator NAME": "base classifier: a class of pairmend, or a path, as for --method",
    "--folds N": "folds of a cross-validation (default: that of the study, or 10)",
    "--greater-is-better [METRIC ...]": "metrics whose greater values are better (none named: all)",
    "--header-row N": "line with the names of the columns, from 1 on; 0 if there is none",
    "--html FILE": "write a page instead of text: a .html file",
    "--ignore COLUMN ...": "columns not to use",
    "--jobs N": "worker processes (default: one for each processor)",
    "--json FILE": "write the results as JSON; - for standard output, in place of tables",
    "--keep COLUMN ...": "columns of DATA to write before the labels, as an identifier",
    "--label NAME ...": "labels to explain (default: those predicted, or close to the threshold)",
    "--labels LABEL ...": "names of label columns, how many last columns, or Mulan's XML file",
    f"--max-bytes N={defaults.MAX_FILE_BYTES}": "largest size of the unpacked data",
    f"--max-cells N={defaults.MAX_FILE_CELLS}": "largest number of cells of the data",
    f"--max-model-bytes N={defaults.MAX_MODEL_BYTES}": "largest memory of a model",
    "--method NAME": "a class of pairmend, or the path of one (default: MendedClassifier)",
    "--metrics NAME ...": "only these metrics, of the study or of scikit-learn",
    "--model FILE": "the model file to write",
    "--name COLUMN": "column of DATA with names of rows, to show as such",
    "--out PATH": "the file or folder to write; of predict, - for standard output",
    "--out-xml FILE": "the label file to write, for Mulan",
    "--precision SHARE": "threshold with a guaranteed mean precision of rows, such as 0.9",
    f"--predictions {'|'.join(defaults.STORED_PREDICTIONS)}": "what to store of predictions",
    "--proba": "write scores instead of 0 and 1",
    "--quiet": "print results and errors only: no notes, no progress",
    "--recall SHARE": "threshold with a guaranteed mean recall of rows, such as 0.9",
    "--repeats N": "repeats of the cross-validation (default: that of the study, or 1)",
    "--rerun NAME ...": "compute these sets, algorithms and metrics again",
    "--row N ...": "numbers of rows, from 0 on (default with --html or --json: all)",
    "--seed N": "seed of random numbers (default: that of the study, or 0)",
    "--separator TEXT": "text between the tags (default: the only one of ; | , / in the column)",
    "--sets NAME ...": "only these sets, of the study or the catalogue",
    "--sha256 HEX": "refuse a model file with another SHA-256 than 'fit' printed",
    "--sheet NAME": "sheet of a workbook (default: the only one with cells)",
    "--tags COLUMN": "a column that lists the tags of each row; each tag becomes a label",
    "--thousands SIGN": "sign between the thousands of numbers: . , ' or a space",
    "--threshold NAME": "threshold of scores: a number, or a class of pairmend.thresholds",
    "--time-limit SECONDS": "a task that takes longer has failed (default: none)",
    "--trust TYPE ...": "further types in the model file to trust",
}
"""Help by an option, or a positional argument in capitals, as the usage shows it.

The name of its value determines the type, see `TYPES`. ``NAME ...`` is a list, ``[NAME ...]`` one
that may be empty, ``N=1`` has a default, and ``a|b`` are choices.
"""
DATA = (
    "DATA --encoding --delimiter --decimal --thousands --header-row --sheet --max-bytes --max-cells"
)
LABELS = "--labels --tags --separator --ignore --categorical"
FITTING = "--method --estimator --criterion --threshold --recall --precision --seed"
MODEL = "--trust --max-model-bytes --sha256"
STUDY = (
    "--sets --algorithms --folds --repeats --seed --alpha --time-limit --predictions --jobs --dask "
    "--data --download"
)
COMMANDS = {
    "models.fit": f"{DATA} --model! {LABELS} {FITTING} --trust",
    "models.predict": f"MODEL {DATA} --out! --proba --keep {MODEL}",
    "models.evaluate": f"MODEL? {DATA} {LABELS} {FITTING} --folds {MODEL}",
    "models.explain": f"MODEL {DATA} --row --label --html --name {MODEL}",
    "studies.study": f"STUDY? {STUDY} --out --rerun --accept-changes --dry-run --check",
    "studies.report": "FOLDER --metrics --algorithms --alpha --control --out --accept-changes",
    "studies.compare": "FILE --greater-is-better --alpha --control --out",
    "datasets.list_sets": "",
    "datasets.describe": f"{DATA} {LABELS}",
    "datasets.convert": f"{DATA} OUT {LABELS} --out-xml",
}
"""Options of each command, by the path of its function below `pairmend.cli`.

All commands have ``--json`` and ``--quiet``, too. ``--out!`` is required, ``MODEL?`` is not.
"""
SUMMARIES = {
    "models.fit": "fit a classifier to a file, and save a model",
    "models.predict": "predict labels with a model",
    "models.evaluate": "measure the losses of a model, or without one of a method",
    "models.explain": "explain the predictions for rows",
    "studies.study": "compare algorithms on many sets, and write a report",
    "studies.report": "write the report of a study",
    "studies.compare": "compare algorithms by a file of losses, without a study",
    "datasets.list_sets": "list the sets of the catalogue; with --json, all that is known of them",
    "datasets.describe": "describe a file: characteristics, labels, labels per row",
    "datasets.convert": "convert a file to another format",
}


def _whole_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, got {text!r}")
    return int(text)


TYPES: dict[str, Any] = {
    "N": _whole_number,
    "CHARACTER": lambda text: {"\\t": "\t", "tab": "\t"}.get(text, text),
    **dict.fromkeys(("SHARE", "LEVEL", "SECONDS"), float),
    **dict.fromkeys(("FILE", "FOLDER", "DATA", "MODEL", "OUT", "PATH", "STUDY"), Path),
}
"""Types of values by their names; others are texts."""


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse the words of a command line; ``path`` of the result is that of the function."""
    about = "Multi-label classification with local error correction."
    parser = argparse.ArgumentParser(prog="pairmend", description=about, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"pairmend {pairmend.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    parent = commands.add_parser("datasets", help="list, describe and convert sets")
    of_datasets = parent.add_subparsers(required=True, metavar="COMMAND")
    usages = {usage.split()[0]: usage for usage in OPTIONS}
    for path, options in COMMANDS.items():
        group = of_datasets if path.startswith("datasets") else commands
        name = path.partition(".")[2].removesuffix("_sets")
        summary = SUMMARIES[path]
        own = group.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        for option in f"{options} --json --quiet".split():
            _add_argument(own, usages[option.rstrip("!?")], option)
        own.set_defaults(path=path)
    return parser.parse_args(words)


def _add_argument(parser: argparse.ArgumentParser, usage: str, option: str) -> None:
    """Add an option or a positional argument as `OPTIONS` and `COMMANDS` describe them."""
    is_option = usage.startswith("-")
    value = usage.partition(" ")[2] if is_option else usage
    name, _, default = value.strip("[]").removesuffix(" ...").partition("=")
    about = f"{OPTIONS[usage]} (default: {default})" if default else OPTIONS[usage]
    arguments: dict[str, Any] = {"metavar": name, "type": TYPES.get(name, str)}
    arguments["default"] = default or None
    if not value:
        arguments = {"action": "store_true"}
    elif "|" in value:
        arguments = {"choices": value.split("|")}
    if option.endswith("!"):
        arguments["required"] = True
    if "..." in value or option.endswith("?"):
        arguments["nargs"] = "?" if option.endswith("?") else "*" if "[" in value else "+"
    flag = usage.partition(" ")[0] if is_option else name.lower()
    parser.add_argument(flag, help=about, **arguments)

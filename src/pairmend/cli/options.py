"""Commands and their options, each declared once; parsing imports no code that runs them.

argparse and not typer, with which ``--help`` of an empty program takes 0.14 s instead of 0.02 s.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pairmend
from pairmend._utils.defaults import (
    LOSS_NAMES,
    MAX_FILE_BYTES,
    MAX_FILE_CELLS,
    MAX_MODEL_BYTES,
    SHIPPED_STUDIES,
    STORED_PREDICTIONS,
)
from pairmend.cli.methods import ESTIMATORS, METHODS

Options = dict[str, str | dict[str, Any]]
"""Help, or arguments of ``add_argument``, by an option as ``--help`` shows it.

The name of its value determines the type, see `TYPES`. ``NAME ...`` is a list, ``[NAME]`` can be
left out.
"""

QUIET: Options = {"--quiet": "print results and errors only: no notes, no progress"}
OUTPUT: Options = {
    "--json FILE": "write the results as JSON; - for standard output, in place of tables",
    **QUIET,
}
LIMITS: Options = {
    "--max-bytes N": {
        "help": "refuse a data file that unpacks to more bytes (default: %(default)s)",
        "default": MAX_FILE_BYTES,
    },
    "--max-cells N": {
        "help": "refuse a data file with more cells; a text counts as 16, a column as 64 "
        "(default: %(default)s)",
        "default": MAX_FILE_CELLS,
    },
}
DATA: Options = {
    "DATA": "a text file with delimiters, an Excel, ARFF or Parquet file, or - for standard input",
    "--encoding NAME": "encoding of a text file (default: that of its byte order mark, UTF-8, or "
    "cp1252)",
    "--delimiter CHARACTER": "character between cells (default: comma, semicolon, tab or |)",
    "--decimal SIGN": "decimal sign of numbers (default: the point, or the comma where it can be "
    "nothing else)",
    "--thousands SIGN": "sign between the thousands of numbers: . , ' or a space (default: none, "
    "or the comma where it can be nothing else)",
    "--header-row N": "line with the names of the columns, from 1 on; 0 if there is none "
    "(default: the first that is not empty)",
    "--sheet NAME": "sheet of a workbook (default: the only one with cells)",
    **LIMITS,
}
LABELS: Options = {
    "--labels LABEL ...": "the label columns, of 0 and 1, yes and no, true and false, or x and "
    "empty cells: their names (a b c or a,b,c), the number of last columns (14), or Mulan's XML "
    "file; not needed for ARFF files of Meka, or of Mulan with the XML file in the same folder",
    "--tags COLUMN": "a column that lists the tags of each row; each tag becomes a label",
    "--separator TEXT": "text between the tags (default: the most frequent of ; | , / and line "
    "breaks)",
    "--ignore COLUMN ...": "columns not to use",
    "--categorical COLUMN ...": "numeric columns to treat as categorical",
}
COMPARISON: Options = {
    "--alpha LEVEL": "level of significance (default: that of the study, or 0.05)",
    "--control NAME": "compare this algorithm with each other one, instead of all pairs",
}
TABLE: Options = {
    **DATA,
    "DATA": "a text file with delimiters, an Excel, ARFF, Parquet or MATLAB file",
    "--targets N": "the last N attributes are regression targets",
    **LABELS,
}
TRAINING: Options = {
    **LABELS,
    "--method NAME": "multi-label method: a name, a class of pairmend, or the path of a class "
    f"(default: {next(iter(METHODS))}); "
    + "; ".join(f"{name}: {about}" for name, (_, about) in METHODS.items()),
    "--estimator NAME": f"base classifier: {', '.join(ESTIMATORS)}, or the path of a class such as "
    "sklearn.svm.LinearSVC (default: auto for mended, which compares several, else logistic)",
    "--criterion NAME": {
        "help": "metric to optimise, for methods that have the option: %(choices)s",
        "choices": LOSS_NAMES,
    },
    "--threshold NAME": "threshold of scores: a number, or a class of pairmend.thresholds such as "
    "CardinalityThreshold, fitted on out-of-fold scores",
    "--recall SHARE": "threshold with a guaranteed mean recall of rows, such as 0.9",
    "--precision SHARE": "threshold with a guaranteed mean precision of rows, such as 0.9",
    "--seed N": "seed of random numbers (default: 0)",
}
TRUST: Options = {"--trust TYPE ...": "further types in the model file to trust"}
MODEL: Options = {
    **TRUST,
    "--max-model-bytes N": {
        "help": "refuse a model that needs more bytes of memory (default: %(default)s)",
        "default": MAX_MODEL_BYTES,
    },
    "--sha256 HEX": "refuse a model file with another SHA-256 than 'fit' printed",
}


@dataclass(frozen=True)
class Command:
    """The path of a function, below `pairmend.cli`, and what its parser shows."""

    path: str
    summary: str
    options: Options
    description: str = ""
    epilog: str = ""


COMMANDS = {
    "fit": Command(
        "models.fit",
        "fit a classifier to a file, and save a model",
        {
            **DATA,
            "--model FILE": {"help": "the model file to write", "required": True},
            **TRAINING,
            **TRUST,
            **OUTPUT,
        },
        "Fit a classifier that predicts labels from the other columns of a file. Columns of text "
        "become numbers, dates, categories or words, as a table shows.",
        "example: pairmend fit photos.csv --labels sea sun --model photos.model",
    ),
    "predict": Command(
        "models.predict",
        "predict labels with a model",
        {
            "MODEL": "a model file",
            **DATA,
            "--out FILE": {
                "help": "the .csv or .parquet file to write, - for standard output: a row for each "
                "of DATA, a column for each label, or the column of tags",
                "required": True,
            },
            "--proba": "write scores instead of 0 and 1",
            "--keep COLUMN ...": "columns of DATA to write before the labels, as an identifier",
            **MODEL,
            **QUIET,
        },
        epilog="example: pairmend predict photos.model new.csv --out labels.csv --keep id",
    ),
    "evaluate": Command(
        "models.evaluate",
        "measure the losses of a model or a method",
        {
            "[MODEL]": "a model file",
            **DATA,
            "--folds N": "folds of the cross-validation (default: 10)",
            "--no-baselines": "do not measure binary relevance and the most frequent labels",
            **TRAINING,
            **MODEL,
            **OUTPUT,
        },
        "Measure the quality of predictions. With MODEL: of a saved model, on rows with labels "
        "that were not used to fit it. Without MODEL: of a method, by cross-validation on DATA, "
        "beside baselines.",
        "examples: pairmend evaluate photos.model new.csv; "
        "pairmend evaluate photos.csv --labels sea sun --folds 5",
    ),
    "explain": Command(
        "models.explain",
        "explain the predictions for rows",
        {
            "MODEL": "a model file",
            **DATA,
            "--row N ...": "numbers of rows, from 0 on (default with --html or --json: all)",
            "--html FILE": "write a page instead of text: a .html file",
            "--training FILE": "the file given to 'fit': shows the feature values of neighbours, "
            "which a model file does not have",
            "--name COLUMN": "column of DATA with names of rows, to show as such",
            "--figure FILE": "also draw a row: a .png, .svg or .pdf file",
            **MODEL,
            **OUTPUT,
        },
        "Show the labels' probabilities before and after correction, the local confusion matrices, "
        "and the training rows with the greatest weights.",
        "examples: pairmend explain photos.model new.csv --row 0; "
        "pairmend explain photos.model new.csv --html why.html --training photos.csv",
    ),
    "study": Command(
        "studies.study",
        "compare algorithms on many sets, and write a report",
        {
            "[FILE]": f"a study file (TOML), or {' or '.join(SHIPPED_STUDIES)}",
            "--sets NAME ...": "only these sets, of the study or the catalogue",
            "--algorithms NAME ...": "only these algorithms",
            "--folds N": "folds of a cross-validation (the study's, or 10)",
            "--repeats N": "repeats of the cross-validation (the study's, or 1)",
            "--seed N": "seed of random numbers (the study's, or 0)",
            "--alpha LEVEL": "level of significance in the report (the study's, or 0.05)",
            "--time-limit SECONDS": "a task that takes longer has failed (the study's, or none)",
            "--jobs N": "worker processes (default: one for each processor)",
            "--dask ADDRESS": "run on the Dask cluster with this scheduler",
            "--data FOLDER": "folder with the sets' files, directly or in sub-folders named after "
            "the sets",
            "--download": "download missing sets",
            "--out FOLDER": "output folder (default: pairmend- and the study's name)",
            "--resume": "continue the study in --out with its sets, algorithms, folds, repeats and "
            "seed",
            "--rerun NAME ...": "compute these sets, algorithms and metrics again, and keep other "
            "results",
            "--accept-changes": "keep results although code, versions of packages or data files "
            "have changed since",
            "--predictions KIND": {
                "help": "what to store of the predictions of test rows, for metrics that are added "
                "later: %(choices)s (the study's, or scores)",
                "choices": STORED_PREDICTIONS,
            },
            "--dry-run": "show what would run, without running it",
            "--check": "fit each algorithm on 50 rows of each set and show errors; stores nothing",
            **OUTPUT,
        },
        "Cross-validate algorithms on sets. Without a study file it is the experiment of the "
        "paper. An interrupted study continues when it is started again with the same --out.",
        "A study file names code to import: run only those you trust. See docs/study.md. Exit "
        "status: 0 if all tasks succeeded, 1 if some failed, 2 if the study could not run.",
    ),
    "report": Command(
        "studies.report",
        "write the report of a study",
        {
            "FOLDER": "output folder of a study",
            "--out FOLDER": "where to write (default: the study's folder)",
            "--metrics NAME ...": "only these metrics, of the study or by name of scikit-learn's; "
            "others are computed from the stored predictions",
            "--algorithms NAME ...": "compare only these; write the report to another folder with "
            "--out",
            **COMPARISON,
            "--accept-changes": "report the results although files of the sets have changed since",
            **OUTPUT,
        },
    ),
    "compare": Command(
        "studies.compare",
        "compare algorithms by a file of losses, without a study",
        {
            "FILE": "the losses; - for standard input",
            "--greater-is-better [METRIC ...]": "metrics whose greater values are better; without "
            "names, all (default: none)",
            **COMPARISON,
            "--out FOLDER": "where to write (default: pairmend-compare)",
            **LIMITS,
            **OUTPUT,
        },
        "Compare algorithms by results that come from elsewhere: ranks, tests, tables and figures. "
        "FILE is a CSV or Parquet file. Long: a row for each value, with the columns set, "
        "algorithm, value and perhaps criterion, fold and repeat. Wide: a row for each set, with "
        "its name in the first column and its values in a column for each algorithm.",
        "example: pairmend compare losses.csv --out comparison",
    ),
    "datasets list": Command("datasets.list_sets", "list the sets of the catalogue", OUTPUT),
    "datasets info": Command(
        "datasets.info",
        "show size, source and licence of a set of the catalogue",
        {"NAME": "name of the set, see 'pairmend datasets list'", **OUTPUT},
    ),
    "datasets describe": Command(
        "datasets.describe",
        "describe a file: characteristics, labels, pairs",
        {**TABLE, "--out FILE": "write the tables to this .html file", **OUTPUT},
    ),
    "datasets fetch": Command(
        "datasets.fetch_sets",
        "download sets of the catalogue into the cache",
        {"NAME ...": "names of sets", **OUTPUT},
    ),
    "datasets convert": Command(
        "datasets.convert",
        "convert a file to another format",
        {
            **TABLE,
            "OUT": "the .csv or .arff file to write, Meka's, or Mulan's with --out-xml",
            "--out-xml FILE": "the label file to write, for Mulan",
            **OUTPUT,
        },
    ),
}


def _whole_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, got {text!r}")
    return int(text)


PATHS = ("FILE", "FOLDER", "DATA", "MODEL", "OUT")
TYPES: dict[str, Any] = {
    "N": _whole_number,
    "SECONDS": float,
    "SHARE": float,
    "LEVEL": float,
    **dict.fromkeys(PATHS, Path),
}
"""Types of values by their names; others are texts."""
FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}
"""Functions of the shells that complete names of files, as shtab calls them."""


class _Parser(argparse.ArgumentParser):
    """A parser that says where a list ends, if an argument is missing."""

    def error(self, message: str) -> NoReturn:
        if "required: " in message:
            message += " (a list, as after --labels, ends at the next option: name files first)"
        super().error(message)


class _PrintCompletion(argparse.Action):
    """Print a script, as argcomplete would run the command at each press of the tab key."""

    def __call__(self, parser: argparse.ArgumentParser, _: Any, shell: Any, *__: Any) -> None:
        import shtab  # slow to import

        print(shtab.complete(parser, shell))
        parser.exit()


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse the words of a command line; ``path`` of the result is that of the function."""
    parser = _Parser(
        prog="pairmend", description="Multi-label classification with local error correction."
    )
    parser.add_argument("--version", action="version", version=f"pairmend {pairmend.__version__}")
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=FILES,
        help="print a script that completes commands and options in a shell",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    about = "list, describe, fetch and convert data sets"
    of_datasets = commands.add_parser("datasets", help=about, description=about)
    groups = {
        "": commands,
        "datasets": of_datasets.add_subparsers(required=True, metavar="COMMAND"),
    }
    for name, command in COMMANDS.items():
        group, _, last = name.rpartition(" ")
        own = groups[group].add_parser(
            last,
            help=command.summary,
            description=command.description or command.summary,
            epilog=command.epilog,
        )
        for usage, help_or_arguments in command.options.items():
            _add_argument(own, usage, help_or_arguments)
        own.set_defaults(path=command.path, json=None)
    return parser.parse_args(words)


def _add_argument(parser: argparse.ArgumentParser, usage: str, given: str | dict[str, Any]) -> None:
    """Add an option or a positional argument as `Options` describe them."""
    arguments: dict[str, Any] = {"help": given} if isinstance(given, str) else dict(given)
    option, _, value = usage.partition(" ") if usage.startswith("-") else ("", "", usage)
    metavar = value.strip("[]").removesuffix(" ...")
    if metavar:
        arguments |= {"metavar": metavar, "type": TYPES.get(metavar, str)}
        nargs = {(True, True): "*", (True, False): "+", (False, True): "?"}
        is_list, is_optional = "..." in value, value.startswith("[")
        if is_list or is_optional:
            arguments["nargs"] = nargs[is_list, is_optional]
    else:
        arguments["action"] = "store_true"
    added = parser.add_argument(option or metavar.lower(), **arguments)
    if metavar in PATHS:
        added.complete = FILES  # type: ignore[attr-defined]

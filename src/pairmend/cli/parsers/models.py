"""The parsers of ``pairmend fit``, ``predict``, ``evaluate`` and ``explain``."""

import argparse
from pathlib import Path
from typing import Any

from pairmend.cli.shared_options import (
    add_data,
    add_model_options,
    add_output_options,
    add_quiet,
    add_training_options,
    at_least,
)

FIT = """\
Fit a classifier that predicts labels from the other columns of a file, and save it as a model file.
Columns of text become numbers, dates, categories or words, as a table shows; missing values are
filled with means. The model file has no code and can be used on other machines."""

PREDICT = """\
Predict the labels of rows with a model that 'pairmend fit' has saved. Columns are found by name, so
their order does not matter; other columns and labels are ignored."""

EVALUATE = """\
Measure the quality of predictions. With MODEL: of a saved model, on rows with labels that were not
used to fit it. Without MODEL: of a method, by cross-validation on DATA, beside baselines."""

EXPLAIN = """\
Explain the predictions for rows: the labels' probabilities before and after correction, the local
confusion matrices, and the training rows with the greatest weights, by their numbers. As text for
single rows, or as an HTML page in one file. Rows are counted from 0."""


def add_fit(commands: Any) -> None:
    """Add the command fit."""
    parser = commands.add_parser(
        "fit",
        help="fit a classifier to a file, and save a model",
        description=FIT,
        epilog="example: pairmend fit photos.csv --labels sea sun --model photos.model",
    )
    add_data(parser)
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FILE", help="the model file to write"
    )
    add_training_options(parser)
    add_output_options(parser, "rows, labels and columns")
    parser.set_defaults(run="pairmend.cli.fit.run")


def add_predict(commands: Any) -> None:
    """Add the command predict."""
    parser = commands.add_parser(
        "predict",
        help="predict labels with a model",
        description=PREDICT,
        epilog="example: pairmend predict photos.model new.csv --out labels.csv --keep id",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model file")
    add_data(parser)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="the .csv or .parquet file to write, - for standard output: a row for each of DATA, "
        "a column for each label",
    )
    parser.add_argument("--proba", action="store_true", help="write scores instead of 0 and 1")
    parser.add_argument(
        "--keep",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of DATA to write before the labels, such as an identifier",
    )
    add_model_options(parser)
    add_quiet(parser)
    parser.set_defaults(run="pairmend.cli.predict.run")


def add_evaluate(commands: Any) -> None:
    """Add the command evaluate."""
    parser = commands.add_parser(
        "evaluate",
        help="measure the losses of a model or a method",
        description=EVALUATE,
        epilog="examples: pairmend evaluate photos.model new.csv; "
        "pairmend evaluate photos.csv --labels sea sun --folds 5",
    )
    parser.add_argument("model", type=Path, nargs="?", metavar="MODEL", help="a model file")
    add_data(parser)
    parser.add_argument(
        "--folds", type=at_least(2), help="folds of the cross-validation (default: 10)"
    )
    parser.add_argument(
        "--baselines",
        action=argparse.BooleanOptionalAction,
        help="also measure the most frequent labels and binary relevance (default: yes)",
    )
    add_output_options(parser, "the losses")
    add_training_options(parser)
    add_model_options(parser)
    parser.set_defaults(run="pairmend.cli.evaluate.run")


def add_explain(commands: Any) -> None:
    """Add the command explain."""
    parser = commands.add_parser(
        "explain",
        help="explain the predictions for rows",
        description=EXPLAIN,
        epilog="examples: pairmend explain photos.model new.csv --row 0; "
        "pairmend explain photos.model new.csv --html why.html --training photos.csv",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model file")
    add_data(parser)
    parser.add_argument(
        "--row",
        type=at_least(0),
        nargs="+",
        metavar="N",
        help="numbers of rows; the first is 0 (default with --html or --json: all rows)",
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page instead of text: a .html file"
    )
    parser.add_argument(
        "--training",
        type=Path,
        metavar="FILE",
        help="the file given to 'fit': shows the feature values of neighbours, which a model file "
        "does not have",
    )
    parser.add_argument(
        "--name", metavar="COLUMN", help="column of DATA with names of rows, to show as such"
    )
    parser.add_argument(
        "--neighbors",
        type=at_least(0),
        default=5,
        metavar="N",
        help="number of training rows to list for each confusion matrix (default: 5)",
    )
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="also draw a row: a .png, .svg or .pdf file"
    )
    add_output_options(parser, "the explanations")
    add_model_options(parser)
    parser.set_defaults(run="pairmend.cli.explain.run")

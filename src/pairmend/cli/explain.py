"""``pairmend explain``: explanation of one row's prediction (its text: explanation/text.py)."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._utils.files import replaced
from pairmend.cli.display import show_text, warnings_as_notes
from pairmend.cli.input_files import read_model, read_rows


def run(options: argparse.Namespace) -> None:
    """Explain the prediction for a row."""
    with warnings_as_notes():
        model = read_model(options.model, options)
        _, X = read_rows(options, model)
        if options.row >= X.shape[0]:
            raise ValueError(
                f"--row is {options.row}, but {options.data} has the rows 0 to {X.shape[0] - 1}"
            )
        row, classifier = X[options.row : options.row + 1], model.estimator
        if hasattr(classifier, "steps"):
            row, classifier = classifier[:-1].transform(row), classifier[-1]
        if not hasattr(classifier, "explain"):
            raise ValueError(
                f"{options.model} is a {type(classifier).__name__}, which has no explanations; "
                "fit a model with --method mended or --method corrected"
            )
        if model.label_names:
            classifier.classes_ = np.array(model.label_names, dtype=object)
        (explanation,) = classifier.explain(row)
        explanation = replace(explanation, row=options.row)
        if options.figure is not None:
            _draw(explanation, options.figure)
    show_text(explanation.text())
    if options.figure is not None:
        show_text(f"wrote {options.figure}")


def _draw(explanation: Any, path: Path) -> None:
    from pairmend.plots import plot_explanation  # matplotlib is not needed by other commands

    figure = plot_explanation(explanation)
    with replaced(path) as temporary:
        figure.savefig(temporary)

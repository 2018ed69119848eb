"""``pairmend evaluate``: losses of a saved model, or of a method by cross-validation."""

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import precision_recall_fscore_support

from pairmend._utils.files import written
from pairmend._utils.predictions import predicted_labels
from pairmend._utils.progress import messages_to
from pairmend._utils.typing import IntArray
from pairmend.cli.display import progress, show_table, show_text, warnings_as_notes
from pairmend.cli.input_files import read_model, read_rows, read_training
from pairmend.cli.predict import predict_rows
from pairmend.cli.shared_options import DEFAULT_METHOD, chosen_classifier
from pairmend.datasets import one_hot, take_labels
from pairmend.model_selection.splits import stratified_folds
from pairmend.study.criteria import CRITERIA


def run(options: argparse.Namespace) -> None:
    """Measure losses."""
    with warnings_as_notes():
        found = _cross_validate(options) if options.model is None else _evaluate(options)
    if options.json is not None:
        with written(options.json) as file:
            json.dump(found, file, indent=2)
        show_text(f"wrote {options.json}")


def _evaluate(options: argparse.Namespace) -> dict[str, Any]:
    training = (
        "labels", "ignore", "categorical", "method", "base", "criterion", "seed", "folds",
        "verbose",
    )  # fmt: skip
    if given := [f"--{name}" for name in training if getattr(options, name) not in (None, [])]:
        raise ValueError(
            f"{', '.join(given)}: only for fitting, but MODEL is fitted; leave out the options, or "
            "leave out MODEL to cross-validate"
        )
    model = read_model(options.model, options)
    data, X = read_rows(options, model)
    truth = take_labels(data, model.label_names).Y
    predicted = predict_rows(model, X)
    losses = _losses(truth, predicted)
    labels = _of_labels(model.label_names, truth, predicted)
    show_text(f"{options.model} on {len(truth)} rows of {options.data}")
    show_table(
        "Losses",
        ["less is better", ""],
        [[CRITERIA[name].title, f"{loss:.4f}"] for name, loss in losses.items()],
        numbers=(1,),
    )
    show_table(
        "Labels",
        ["label", "rows with it", "predicted", "precision", "recall", "F1"],
        [
            [name, str(f["rows"]), str(f["predicted"])]
            + [f"{f[figure]:.3f}" for figure in ("precision", "recall", "f1")]
            for name, f in labels.items()
        ],
        numbers=range(1, 6),
    )
    return {
        "model": str(options.model),
        "sha256": model.sha256,
        "data": str(options.data),
        "rows": len(truth),
        "losses": losses,
        "labels": labels,
    }


def _cross_validate(options: argparse.Namespace) -> dict[str, Any]:
    if options.trust or options.sha256:
        raise ValueError("--trust and --sha256 are for a model file, but none is given")
    data = read_training(options)
    X = one_hot(data).X
    classifier, n_folds = chosen_classifier(options), options.folds or 10
    folds = []
    with progress("cross-validating", lines=True, verbose=bool(options.verbose)) as update:
        splits = stratified_folds(data.Y, n_folds, options.seed or 0)
        for fold, (train, test) in enumerate(splits, start=1):
            doing = f"fold {fold} of {n_folds}"
            with messages_to(_listener(update, (fold - 1) / n_folds, doing)):
                fitted = clone(classifier).fit(X[train], data.Y[train])
            predicted = predicted_labels(fitted, X[test], data.Y.shape[1])
            folds.append(_losses(data.Y[test], predicted))
            update(fold / n_folds, doing)
    losses = {
        name: {
            "mean": float(np.mean([each[name] for each in folds])),
            "deviation": float(np.std([each[name] for each in folds], ddof=1)),
            "folds": [each[name] for each in folds],
        }
        for name in CRITERIA
    }
    method = options.method or DEFAULT_METHOD
    show_text(f"{method} on {len(data.Y)} rows of {options.data}, {n_folds} folds")
    show_table(
        "Losses",
        ["less is better", "mean", "deviation"],
        [
            [CRITERIA[name].title, f"{loss['mean']:.4f}", f"{loss['deviation']:.4f}"]
            for name, loss in losses.items()
        ],
        numbers=(1, 2),
    )
    return {
        "method": method,
        "base": options.base,
        "criterion": options.criterion,
        "seed": options.seed or 0,
        "data": str(options.data),
        "rows": len(data.Y),
        "losses": losses,
    }


def _listener(
    update: Callable[[float, str], None], share: float, doing: str
) -> Callable[[str], None]:
    """Return a function that shows messages of a fit; the share done does not change."""
    return lambda message: update(share, f"{doing}: {message}")


def _losses(truth: IntArray, predicted: IntArray) -> dict[str, float]:
    return {name: criterion(truth, predicted) for name, criterion in CRITERIA.items()}


def _of_labels(
    names: tuple[str, ...], truth: IntArray, predicted: IntArray
) -> dict[str, dict[str, Any]]:
    figures = precision_recall_fscore_support(truth, predicted, average=None, zero_division=0.0)
    precision, recall, f1, rows = (part.tolist() for part in figures)
    return {
        name: {
            "rows": rows[place],
            "predicted": int(predicted[:, place].sum()),
            "precision": precision[place],
            "recall": recall[place],
            "f1": f1[place],
        }
        for place, name in enumerate(names)
    }

"""``pairmend evaluate``: losses of a saved model, or of a method by cross-validation."""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import precision_recall_fscore_support

from pairmend._utils.predictions import predicted_labels
from pairmend._utils.progress import messages_to
from pairmend._utils.text import counted
from pairmend._utils.typing import IntArray
from pairmend._utils.validation import take_rows
from pairmend.cli.display import progress, show_table, show_text, warnings_as_notes
from pairmend.cli.input_files import read_labelled_rows, read_model, read_training
from pairmend.cli.methods import make_classifier
from pairmend.cli.predict import predict_rows
from pairmend.cli.shared_options import DEFAULT_METHOD, chosen_classifier, split_names
from pairmend.cli.standard_streams import shown, write_json
from pairmend.cli.training_data import prepare_training, refuse_few_rows
from pairmend.frames import ColumnWarning
from pairmend.model_selection import MultilabelStratifiedKFold
from pairmend.study import CRITERIA

MOST_FREQUENT, BINARY_RELEVANCE = "most frequent", "binary relevance"
"""Baselines: each label as in most training rows, and one classifier for each label."""


def run(options: argparse.Namespace) -> None:
    """Measure losses."""
    evaluate = _cross_validate if options.model is None else _evaluate
    with warnings_as_notes(ColumnWarning):
        found, show = evaluate(options)
    show()
    write_json(options.json, found)


def _evaluate(options: argparse.Namespace) -> tuple[dict[str, Any], Callable[[], None]]:
    training = (
        "labels", "ignore", "categorical", "method", "base", "criterion", "seed", "folds",
        "verbose", "baselines",
    )  # fmt: skip
    if given := [f"--{name}" for name in training if getattr(options, name) not in (None, [])]:
        raise ValueError(
            f"{', '.join(given)}: only for fitting, but MODEL is fitted; leave out the options, or "
            "leave out MODEL to cross-validate"
        )
    model = read_model(options.model, options)
    data, X = read_labelled_rows(options, model)
    predicted = predict_rows(model, X)
    losses = _losses(data.Y, predicted)
    labels = _of_labels(model.label_names, data.Y, predicted)

    def show() -> None:
        show_text(f"{options.model} on {counted(len(data.Y), 'row')} of {shown(options.data)}")
        show_table(
            "Losses",
            ["less is better", ""],
            [[CRITERIA[name].title, f"{loss:.4f}"] for name, loss in losses.items()],
            numbers=(1,),
        )
        _show_labels(labels)

    found = {
        "model": str(options.model),
        "sha256": model.sha256,
        "data": shown(options.data),
        "rows": len(data.Y),
        "losses": losses,
        "labels": labels,
    }
    return found, show


def _cross_validate(options: argparse.Namespace) -> tuple[dict[str, Any], Callable[[], None]]:
    if options.trust or options.sha256:
        raise ValueError("--trust and --sha256 are for a model file, but none is given")
    training = prepare_training(read_training(options), split_names(options.categorical))
    data = training.data
    method, n_folds = options.method or DEFAULT_METHOD, options.folds or 10
    classifiers = {method: chosen_classifier(options, for_frames=training.is_frame)}
    refuse_few_rows(classifiers[method], len(data.Y), options, n_folds)
    if options.baselines is not False:
        classifiers |= _baselines(options, for_frames=training.is_frame)
    predicted, folds = _predictions(classifiers, training.X, data.Y, n_folds, options)
    losses = {name: _means(data.Y, predictions, folds) for name, predictions in predicted.items()}
    labels = _of_labels(data.label_names, data.Y, predicted[method])

    def show() -> None:
        rows = f"{counted(len(data.Y), 'row')} of {shown(options.data)}"
        show_text(f"{method} on {rows}, {n_folds} folds")
        baselines = [name for name in classifiers if name != method]
        show_table(
            "Losses",
            ["less is better", method, "deviation", *baselines],
            [
                [
                    CRITERIA[name].title,
                    f"{loss['mean']:.4f}",
                    f"{loss['deviation']:.4f}",
                    *(f"{losses[baseline][name]['mean']:.4f}" for baseline in baselines),
                ]
                for name, loss in losses[method].items()
            ],
            numbers=range(1, 3 + len(baselines)),
        )
        _show_labels(labels)

    found = {
        "method": method,
        "base": options.base,
        "criterion": options.criterion,
        "seed": options.seed or 0,
        "data": shown(options.data),
        "rows": len(data.Y),
        "losses": losses[method],
        "baselines": {name: each for name, each in losses.items() if name != method},
        "labels": labels,
        "columns": training.columns,
    }
    return found, show


def _baselines(options: argparse.Namespace, *, for_frames: bool) -> dict[str, Any]:
    """Return classifiers that a useful method is better than."""
    found: dict[str, Any] = {}
    if options.method != "binary-relevance":
        # The base classifier of the method, where it is a single one.
        base = None if options.base == "auto" else options.base
        found[BINARY_RELEVANCE] = make_classifier(
            "binary-relevance", base, criterion=None, seed=options.seed or 0, for_frames=for_frames
        )
    found[MOST_FREQUENT] = DummyClassifier(strategy="most_frequent")
    return found


def _predictions(
    classifiers: dict[str, Any],
    X: Any,
    Y: IntArray,
    n_folds: int,
    options: argparse.Namespace,
) -> tuple[dict[str, IntArray], list[IntArray]]:
    """Return out-of-fold predictions of classifiers, and the rows of the folds."""
    predicted = {name: np.zeros_like(Y) for name in classifiers}
    folds = []
    with progress("cross-validating", lines=True, verbose=bool(options.verbose)) as update:
        splits = MultilabelStratifiedKFold(n_folds, random_state=options.seed or 0).split(Y, Y)
        for fold, (train, test) in enumerate(splits, start=1):
            doing = f"fold {fold} of {n_folds}"
            for number, (name, classifier) in enumerate(classifiers.items()):
                rows = take_rows(X, train)
                if number == 0:
                    with messages_to(_listener(update, (fold - 1) / n_folds, doing)):
                        fitted = clone(classifier).fit(rows, Y[train])
                else:
                    fitted = clone(classifier).fit(rows, Y[train])
                predicted[name][test] = predicted_labels(fitted, take_rows(X, test), Y.shape[1])
            folds.append(test)
            update(fold / n_folds, doing)
    return predicted, folds


def _means(truth: IntArray, predicted: IntArray, folds: list[IntArray]) -> dict[str, Any]:
    """Return the losses of each fold, their mean and their standard deviation."""
    of_folds = [_losses(truth[rows], predicted[rows]) for rows in folds]
    return {
        name: {
            "mean": float(np.mean([each[name] for each in of_folds])),
            "deviation": float(np.std([each[name] for each in of_folds], ddof=1)),
            "folds": [each[name] for each in of_folds],
        }
        for name in CRITERIA
    }


def _listener(
    update: Callable[[float, str], None], share: float, doing: str
) -> Callable[[str], None]:
    """Return a function that shows messages of a fit; the share done does not change."""
    return lambda message: update(share, f"{doing}: {message}")


def _losses(truth: IntArray, predicted: IntArray) -> dict[str, float]:
    return {name: criterion(truth, predicted) for name, criterion in CRITERIA.items()}


def _show_labels(labels: dict[str, dict[str, Any]]) -> None:
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


def _of_labels(
    names: tuple[str, ...], truth: IntArray, predicted: IntArray
) -> dict[str, dict[str, Any]]:
    figures = precision_recall_fscore_support(truth, predicted, average=None, zero_division=0.0)
    precision, recall, f1, rows = (np.atleast_1d(part).tolist() for part in figures)
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

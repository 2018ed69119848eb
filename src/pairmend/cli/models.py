"""``pairmend fit``, ``predict``, ``evaluate`` and ``explain``."""

import argparse
import csv
import io
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pairmend._utils.arrays import take_rows
from pairmend._utils.classifiers import predicted_labels, predicted_scores
from pairmend._utils.files import OPENERS, replaced, written
from pairmend._utils.progress import messages_to
from pairmend._utils.text import counted
from pairmend.cli.inputs import (
    column_texts,
    read_labelled_rows,
    read_model,
    read_rows,
    read_training,
    refuse_overwriting,
    shown,
    split_names,
)
from pairmend.cli.methods import make_classifier, method_name
from pairmend.cli.output import STANDARD, progress, show_status, show_table, show_text
from pairmend.datasets.parquet import require_pyarrow, write_parquet
from pairmend.frames import ColumnWarning
from pairmend.persistence import SavedModel, save_model
from pairmend.persistence.explain import explain_prepared
from pairmend.persistence.save_load import require_skops
from pairmend.persistence.saved import TagColumn

MIN_CHUNK_ROWS = 1000
"""Minimum number of rows that are predicted at once."""
MOST_ROWS = 1000
"""Largest number of rows on one page: each takes about 15 kB."""
N_NEIGHBORS = 5
"""Number of training rows that are listed for each confusion matrix."""
MOST_PROBLEMS = 20
"""Number of problems that are explained for each row of a page."""


def fit(options: argparse.Namespace) -> dict[str, Any]:
    """Fit a classifier to a file and save a model file."""
    require_skops()  # before the fit, which may take long
    if not options.model.parent.is_dir():
        raise FileNotFoundError(f"cannot write {options.model}: there is no such folder")
    refuse_overwriting(options.model, options.data)
    data, X, columns = read_training(options)
    method, is_frame = method_name(options), hasattr(X, "columns")
    classifier = make_classifier(options, method, for_frames=is_frame)
    sizes = (len(data.Y), "row"), (len(data.feature_names), "column"), (data.Y.shape[1], "label")
    size = ", ".join(counted(number, thing) for number, thing in sizes)
    warnings.simplefilter("ignore", ColumnWarning)  # the report of columns holds them
    with progress(f"fitting {size}") as update, messages_to(update):
        classifier.fit(X, data.Y)
    digest, contents = save_model(
        classifier,
        options.model,
        feature_names=data.feature_names,
        label_names=data.label_names,
        X=X if is_frame else None,
        trusted=options.trust or (),
        tags=None if options.tags is None else TagColumn(options.tags, options.separator),
        left_out=[
            *split_names(options.ignore),
            *(each["name"] for each in columns if each["name"] not in data.feature_names),
        ],
    )
    show_status(f"wrote {options.model}: {method}, {size}")
    show_status(f"It holds {contents}")
    show_status(f"SHA-256: {digest}")
    return {
        "model": str(options.model),
        "sha256": digest,
        "holds": contents,
        "method": method,
        "rows": len(data.Y),
        "labels": dict(zip(data.label_names, data.Y.sum(axis=0).tolist(), strict=True)),
        "columns": columns,
    }


def predict(options: argparse.Namespace) -> None:
    """Predict rows and write a file."""
    write = _writer(options.out)  # before the predictions, which may take long
    refuse_overwriting(options.out, options.model, options.data)
    model, keep = read_model(options), options.keep or []
    data, X = read_rows(options, model, keep)
    columns: dict[str, Any] = {name: column_texts(data, name, "--keep") for name in keep}
    predicted = _predicted(model, X, proba=options.proba)
    names = model.label_names or tuple(map(str, range(predicted.shape[1])))
    if model.tags is not None and not options.proba:
        separator = model.tags.separator or ";"
        tags = [separator.join(np.array(names)[row > 0]) for row in predicted]
        outputs: dict[str, Any] = {model.tags.column: tags}
    else:
        outputs = dict(zip(names, predicted.T, strict=True))
    if shared := set(keep) & set(outputs):
        raise ValueError(f"--keep names labels, which are always written: {sorted(shared)}")
    write(columns | outputs)
    if options.out != STANDARD:
        size = f"{counted(X.shape[0], 'row')}, {counted(predicted.shape[1], 'label')}"
        show_status(f"wrote {options.out}: {size}")


def _predicted(model: SavedModel, X: Any, *, proba: bool = False) -> np.ndarray[Any, Any]:
    """Predict labels or scores of rows, and show the progress."""
    n_rows = X.shape[0]
    n_labels = len(model.label_names) or np.shape(model.estimator.predict(X[:1]))[1]
    of_rows = predicted_scores if proba else predicted_labels
    size = max(MIN_CHUNK_ROWS, n_rows // 20)
    parts = []
    with progress("predicting") as update:
        for start in range(0, n_rows, size):
            update("predicting", start / n_rows)
            parts.append(of_rows(model.estimator, X[start : start + size], n_labels))
    return np.concatenate(parts)


def _writer(path: Path) -> Callable[[Mapping[str, Any]], None]:
    """Return a function that writes columns to a file, by its suffix."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in OPENERS
    if path == STANDARD or suffixes[-1 - packed :][:1] == [".csv"]:
        return partial(_write_csv, path)
    if suffixes[-1:] == [".parquet"]:
        require_pyarrow()
        return partial(write_parquet, path)
    raise ValueError(
        f"cannot write {path}: expected .csv, which may be followed by .gz, .bz2 or "
        ".xz, .parquet, or - for standard output"
    )


def _write_csv(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns to a file or to standard output, there with the same bytes."""
    if path == STANDARD and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    with nullcontext(sys.stdout) if path == STANDARD else written(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        cells = [c.tolist() if isinstance(c, np.ndarray) else c for c in columns.values()]
        writer.writerows(zip(*cells, strict=True))


def evaluate(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the losses of a saved model, or of a method by cross-validation."""
    warnings.simplefilter("ignore", ColumnWarning)
    if options.model is None:
        return _cross_validate(options)
    training = (
        "labels", "ignore", "categorical", "method", "estimator", "criterion", "threshold",
        "recall", "precision", "seed", "folds", "no_baselines",
    )  # fmt: skip
    if given := [f"--{name}" for name in training if getattr(options, name) not in (None, False)]:
        raise ValueError(
            f"{', '.join(given)}: only for fitting, but MODEL is fitted; leave out the options, or "
            "leave out MODEL to cross-validate"
        )
    model = read_model(options)
    data, X = read_labelled_rows(options, model)
    predicted = _predicted(model, X)
    losses = _losses(data.Y, predicted)
    show_text(f"{options.model} on {counted(len(data.Y), 'row')} of {shown(options.data)}")
    show_table(
        "Losses",
        [{"less is better": title, "": losses[name]} for name, title in _titles().items()],
    )
    return {
        "model": str(options.model),
        "sha256": model.sha256,
        "data": shown(options.data),
        "rows": len(data.Y),
        "losses": losses,
        "labels": _show_labels(model.label_names, data.Y, predicted),
    }


def _cross_validate(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the losses of a method, and of baselines that a useful method is better than."""
    from sklearn.dummy import DummyClassifier

    if options.trust or options.sha256:
        raise ValueError("--trust and --sha256 are for a model file, but none is given")
    data, X, columns = read_training(options)
    method, n_folds, n_rows = method_name(options), options.folds or 10, len(data.Y)
    if n_folds > n_rows:
        raise ValueError(
            f"{n_folds} folds need at least {n_folds} rows, but {shown(options.data)} has "
            f"{counted(n_rows, 'row')}; add rows, or choose fewer folds: --folds N"
        )
    for_frames = hasattr(X, "columns")
    classifiers = {method: make_classifier(options, method, for_frames=for_frames)}
    if not options.no_baselines:
        if method != "binary-relevance":
            # The base classifier of the method, where it is a single one.
            base = None if options.estimator == "auto" else options.estimator
            plain = argparse.Namespace(
                estimator=base, criterion=None, threshold=None, recall=None, precision=None,
                seed=options.seed,
            )  # fmt: skip
            classifiers["binary relevance"] = make_classifier(
                plain, "binary-relevance", for_frames=for_frames
            )
        classifiers["most frequent"] = DummyClassifier(strategy="most_frequent")
    predicted, folds = _out_of_fold(classifiers, X, data.Y, n_folds, options.seed or 0)
    losses = {name: _losses_of_folds(data.Y, found, folds) for name, found in predicted.items()}
    baselines = {name: each for name, each in losses.items() if name != method}
    show_text(f"{method} on {counted(n_rows, 'row')} of {shown(options.data)}, {n_folds} folds")
    show_table(
        "Losses",
        [
            {
                "less is better": title,
                method: losses[method][name]["mean"],
                "deviation": losses[method][name]["deviation"],
                **{baseline: each[name]["mean"] for baseline, each in baselines.items()},
            }
            for name, title in _titles().items()
        ],
    )
    return {
        "method": method,
        "estimator": options.estimator,
        "criterion": options.criterion,
        "seed": options.seed or 0,
        "data": shown(options.data),
        "rows": n_rows,
        "losses": losses[method],
        "baselines": baselines,
        "labels": _show_labels(data.label_names, data.Y, predicted[method]),
        "columns": columns,
    }


def _out_of_fold(
    classifiers: Mapping[str, Any], X: Any, Y: Any, n_folds: int, seed: int
) -> tuple[dict[str, Any], list[Any]]:
    """Return out-of-fold predictions of classifiers, and the rows of the folds."""
    from sklearn.base import clone

    from pairmend.model_selection import MultilabelStratifiedKFold

    predicted = {name: np.zeros_like(Y) for name in classifiers}
    splits = list(MultilabelStratifiedKFold(n_folds, random_state=seed).split(Y, Y))
    with progress("cross-validating") as update:
        for number, (train, test) in enumerate(splits):
            for name, classifier in classifiers.items():
                doing, share = f"fold {number + 1} of {n_folds}, {name}", number / n_folds
                update(doing, share)
                with messages_to(partial(_show_step, update, doing, share)):
                    fitted = clone(classifier).fit(take_rows(X, train), Y[train])
                predicted[name][test] = predicted_labels(fitted, take_rows(X, test), Y.shape[1])
    return predicted, [test for _, test in splits]


def _show_step(update: Callable[..., None], doing: str, share: float, step: str) -> None:
    update(f"{doing}: {step}", share)


def _titles() -> dict[str, str]:
    """Return the titles of the losses."""
    from pairmend.metrics import LOSS_TITLES

    return LOSS_TITLES


def _losses(truth: Any, predicted: Any) -> dict[str, float]:
    from pairmend.metrics import LOSSES

    return {name: float(loss(truth, predicted)) for name, loss in LOSSES.items()}


def _losses_of_folds(truth: Any, predicted: Any, folds: list[Any]) -> dict[str, Any]:
    """Return the losses of each fold, their mean and their standard deviation."""
    of_folds = [_losses(truth[rows], predicted[rows]) for rows in folds]
    found = {name: [each[name] for each in of_folds] for name in of_folds[0]}
    return {
        name: {"mean": np.mean(each), "deviation": np.std(each, ddof=1), "folds": each}
        for name, each in found.items()
    }


def _show_labels(names: tuple[str, ...], truth: Any, predicted: Any) -> dict[str, dict[str, Any]]:
    """Show and return how often each label occurs and is predicted, precision, recall and F1."""
    from sklearn.metrics import precision_recall_fscore_support

    figures = precision_recall_fscore_support(truth, predicted, average=None, zero_division=0.0)
    precision, recall, f1, rows = (np.atleast_1d(part).tolist() for part in figures)
    found = {
        name: {
            "rows": rows[place],
            "predicted": int(predicted[:, place].sum()),
            "precision": precision[place],
            "recall": recall[place],
            "f1": f1[place],
        }
        for place, name in enumerate(names)
    }
    show_table("Labels", [{"label": name, **each} for name, each in found.items()])
    return found


def explain(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Explain the predictions for rows as text, as a figure, or as a page."""
    page = options.html
    if options.row is None and page is None and options.json is None:
        raise ValueError("give --row N, or --html FILE or --json FILE for all rows")
    if options.figure is not None and len(options.row or []) != 1:
        raise ValueError("--figure draws one row; give --row N with one number")
    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{page}: a page is written to a .html file")
    if page is not None:
        refuse_overwriting(page, *filter(None, (options.model, options.data, options.training)))
    model = read_model(options)
    keep = [] if options.name is None else [options.name]
    data, X = read_rows(options, model, keep)
    rows = _chosen_rows(options, X.shape[0])
    training, X_training = None, None
    if options.training is not None:
        given = argparse.Namespace(**{**vars(options), "data": options.training})
        training, X_training = read_rows(given, model, keep)
    explained = explain_prepared(
        model,
        take_rows(X, np.array(rows)),
        replace(data, X=data.X[rows], Y=data.Y[rows]),
        X_training,
        training,
        n_neighbors=N_NEIGHBORS,
        n_problems=None if page is None and options.json is None else MOST_PROBLEMS,
    )
    explained[:] = [replace(each, row=row) for each, row in zip(explained, rows, strict=True)]
    if options.name is not None:
        _add_names(explained, data, training, options.name)
    if page is not None:
        with written(page) as file:
            file.write(explained.to_html(title=f"{options.model.name}: {options.data.name}"))
        show_status(f"wrote {page}: {counted(len(rows), 'row')}")
    elif options.row is not None:
        show_text("\n\n".join(each.text() for each in explained))
    if options.figure is not None:
        from pairmend.plots import plot_explanation  # matplotlib is not needed otherwise

        with replaced(options.figure) as temporary:
            plot_explanation(explained[0]).savefig(temporary)
        show_status(f"wrote {options.figure}")
    return [asdict(each) for each in explained]


def _chosen_rows(options: argparse.Namespace, n_rows: int) -> list[int]:
    rows = list(range(n_rows)) if options.row is None else list(dict.fromkeys(options.row))
    if too_large := [row for row in rows if row >= n_rows]:
        numbers = "row 0 only" if n_rows == 1 else f"the rows 0 to {n_rows - 1}"
        raise ValueError(f"--row is {too_large[0]}, but {shown(options.data)} has {numbers}")
    if options.html is not None and len(rows) > MOST_ROWS:
        raise ValueError(
            f"{shown(options.data)} has {n_rows:,} rows, but a page has at most {MOST_ROWS:,}; "
            "choose rows: --row N N ..."
        )
    return rows


def _add_names(explained: list[Any], data: Any, training: Any, column: str) -> None:
    """Set the index of rows, and of training rows if their file has the column, by a column."""
    names = column_texts(data, column, "--name")
    known = None
    if training is not None and column in training.feature_names:
        known = column_texts(training, column, "--name")
    for place, each in enumerate(explained):
        neighbours = each.training_rows
        if known is not None:
            neighbours = tuple(replace(row, index=known[row.row]) for row in neighbours)
        explained[place] = replace(each, index=names[each.row], training_rows=neighbours)

"""``pairmend fit``, ``predict``, ``evaluate`` and ``explain``."""

import argparse
import re
import sys
import warnings
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from pairmend._utils.classifiers import predicted_labels, predicted_scores
from pairmend._utils.files import replaced, written
from pairmend._utils.optional import require
from pairmend._utils.progress import messages_to
from pairmend.cli import inputs
from pairmend.cli.methods import DEFAULT, make_classifier
from pairmend.cli.options import FITTING, LABELS
from pairmend.cli.output import STANDARD, progress, show_status, show_table, show_text
from pairmend.datasets import MultiLabelData
from pairmend.frames import ColumnWarning
from pairmend.metrics import LOSS_TITLES, LOSSES
from pairmend.persistence import SavedModel, save_model

MOST_ROWS = 1000
"""Largest number of rows on one page: each takes about 15 kB."""


def fit(options: argparse.Namespace) -> dict[str, Any]:
    """Fit a classifier to a file and save a model file."""
    require("a model file", "skops")  # before the fit, which may take long
    inputs.check_output(options.model, options.data)
    data, X, columns = inputs.read_training(options)
    method, is_frame = options.method or DEFAULT, hasattr(X, "columns")
    classifier = make_classifier(options, method, for_frames=is_frame)
    warnings.simplefilter("ignore", ColumnWarning)  # the report of columns holds them
    with progress(f"fitting {inputs.size_of(data)}") as update, messages_to(update):
        classifier.fit(X, data.Y)
    names = {each["name"] for each in columns}
    digest = save_model(
        classifier,
        options.model,
        feature_names=data.feature_names,
        label_names=data.label_names,
        X=X if is_frame else None,
        trusted=options.trust or (),
        tags=options.tags and (options.tags, options.separator or ""),
        left_out=[*inputs.split_names(options.ignore), *(names - {*data.feature_names})],
    )
    show_status(f"wrote {options.model}: {method}, {inputs.size_of(data)}")
    show_status(f"SHA-256: {digest}")
    return {"sha256": digest, "columns": columns}


def predict(options: argparse.Namespace) -> None:
    """Predict rows and write a file."""
    import pandas as pd

    out = options.out
    if out != STANDARD and re.search(r"\.csv(\.gz|\.bz2|\.xz)?$", out.name) is None:
        raise ValueError(f"cannot write {out}: expected .csv, .csv.gz or -")
    inputs.check_output(out, options.model, options.data)
    model = inputs.read_model(options)
    data, columns = inputs.read_rows(options, model, options.keep or ())
    if absent := set(options.keep or ()) - set(columns):
        raise ValueError(f"{options.data} has no columns {sorted(absent)}, which --keep names")
    predicted = _predicted(model, data, predicted_scores if options.proba else predicted_labels)
    names = np.array(model.label_names, dtype=object)
    outputs: dict[str, Any] = dict(zip(names, predicted.T, strict=True))
    if model.tags is not None and not options.proba:
        column, separator = model.tags
        separator = separator or next(s for s in ";|,\n" if s not in "".join(names))
        outputs = {column: [separator.join(names[row > 0]) for row in predicted]}
    if shared := set(columns) & set(outputs):
        raise ValueError(f"--keep names labels, which are always written: {sorted(shared)}")
    frame = pd.DataFrame({**columns, **outputs})
    as_csv = partial(frame.to_csv, index=False, lineterminator="\n")
    if out == STANDARD:
        as_csv(sys.stdout.buffer, mode="wb")
        return
    with replaced(out) as temporary:
        as_csv(temporary)
    show_status(f"wrote {out}: {inputs.size_of(data)}")


def _predicted(model: SavedModel, data: MultiLabelData, find: Any = predicted_labels) -> Any:
    with progress(f"predicting {inputs.size_of(data)}"):
        return find(model.estimator, model.prepare(data), len(model.label_names))


def evaluate(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the losses of a saved model, or of a method and baselines by cross-validation."""
    from sklearn.metrics import precision_recall_fscore_support

    warnings.simplefilter("ignore", ColumnWarning)
    fitting = f"{LABELS} {FITTING}".replace("--tags --separator", "").split()
    if options.model is None:
        if options.trust or options.sha256:
            raise ValueError("--trust and --sha256 are for a model file, but none is given")
        data, predicted, tests = _cross_validate(options)
    else:
        model = inputs.read_model(options)
        if given := [name for name in fitting if getattr(options, name[2:])]:
            raise ValueError(f"{given[0]} is only for fitting, but MODEL is fitted")
        data, _ = inputs.read_rows(options, model, labels=True)
        predicted, tests = {options.model.name: _predicted(model, data)}, [slice(None)]
    losses = {
        name: {key: [loss(data.Y[t], found[t]) for t in tests] for key, loss in LOSSES.items()}
        for name, found in predicted.items()
    }
    rows = []
    for key, title in LOSS_TITLES.items():
        rows.append({"less is better": title})
        for name, values in losses.items():
            spread = f" ± {np.std(values[key], ddof=1):.3f}" if len(tests) > 1 else ""
            rows[-1][name] = f"{np.mean(values[key]):.3f}{spread}"
    show_text(f"{inputs.size_of(data)} of {options.data}")
    show_table("Losses", rows)
    found = next(iter(predicted.values()))
    scores = precision_recall_fscore_support(data.Y, found, average=None, zero_division=0)
    counts = {"rows": data.Y.sum(axis=0), "predicted": found.sum(axis=0)}
    columns = {**counts, **dict(zip(("precision", "recall", "f1"), scores, strict=False))}
    labels = [
        {"label": name, **{column: values[place].item() for column, values in columns.items()}}
        for place, name in enumerate(data.label_names)
    ]
    show_table("Labels", labels)
    return {"losses": losses, "labels": labels}


def _cross_validate(options: argparse.Namespace) -> tuple[MultiLabelData, dict[str, Any], Any]:
    """Return data, out-of-fold labels of a method and of baselines, and the rows of each fold."""
    from sklearn.dummy import DummyClassifier
    from sklearn.model_selection import cross_val_predict

    from pairmend.model_selection import MultilabelStratifiedKFold

    data, X, _ = inputs.read_training(options)
    for_frames, method = hasattr(X, "columns"), options.method or DEFAULT
    classifiers = {method: make_classifier(options, method, for_frames=for_frames)}
    none = dict.fromkeys(("criterion", "threshold", "recall", "precision"))
    # The base classifier of the method, where it is a single one.
    base = None if options.estimator == "auto" else options.estimator
    plain = argparse.Namespace(**{**vars(options), **none, "estimator": base})
    relevance = make_classifier(plain, "BinaryRelevance", for_frames=for_frames)
    baselines = {"BinaryRelevance": relevance, "most frequent": DummyClassifier()}
    classifiers = classifiers | baselines | classifiers
    splitter = MultilabelStratifiedKFold(options.folds or 10, random_state=options.seed or 0)
    predicted = {}
    for name, classifier in classifiers.items():
        with progress(f"cross-validating {name}") as update, messages_to(update):
            predicted[name] = cross_val_predict(classifier, X, data.Y, cv=splitter)
    return data, predicted, [test for _, test in splitter.split(data.Y, data.Y)]


def explain(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Explain the predictions for rows as text, or as a page."""
    page, is_short = options.html, options.html is None and options.json is None
    if options.row is None and is_short:
        raise ValueError("give --row N, or --html FILE or --json FILE for all rows")
    model, keep = inputs.read_model(options), [] if options.name is None else [options.name]
    data, names = inputs.read_rows(options, model, keep)
    if names.keys() != {*keep}:
        raise ValueError(f"{options.data} has no column {options.name!r}, which --name names")
    rows = list(range(len(data.Y))) if options.row is None else list(dict.fromkeys(options.row))
    if max(rows) >= len(data.Y):
        raise ValueError(f"there is no row {max(rows)}: the rows are 0 to {len(data.Y) - 1}")
    if page is not None and len(rows) > MOST_ROWS:
        raise ValueError(f"a page has at most {MOST_ROWS:,} rows; choose some: --row N ...")
    explained = model.explain(replace(data, X=data.X[rows], Y=data.Y[rows]), labels=options.label)
    for place, row in enumerate(rows):
        index = names[options.name][row] if names else None
        explained[place] = replace(explained[place], row=row, index=index)
    if page is not None:
        with written(page) as file:
            file.write(explained.to_html(title=f"{options.model.name}: {data.name}"))
        show_status(f"wrote {page}: {len(rows)} rows")
    elif options.row is not None:
        show_text("\n\n".join(map(str, explained)))
    return [asdict(each) for each in explained]

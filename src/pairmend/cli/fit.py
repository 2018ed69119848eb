"""``pairmend fit``: fit a classifier to a file and save a model file."""

import argparse

from pairmend._utils.progress import messages_to
from pairmend._utils.text import counted
from pairmend.cli.display import show_status, waiting, warnings_as_notes
from pairmend.cli.input_files import read_training, refuse_overwriting
from pairmend.cli.shared_options import DEFAULT_METHOD, chosen_classifier, split_names
from pairmend.cli.standard_streams import write_json
from pairmend.cli.training_data import prepare_training, refuse_few_rows
from pairmend.frames import ColumnWarning
from pairmend.persistence.save_load import require_skops, save_with_facts
from pairmend.persistence.saved import TagColumn


def run(options: argparse.Namespace) -> None:
    """Fit a classifier and save a model file."""
    require_skops()  # before the fit, which may take long
    if not options.model.parent.is_dir():
        raise FileNotFoundError(f"cannot write {options.model}: there is no such folder")
    refuse_overwriting(options.model, options.data)
    read = read_training(options)
    training = prepare_training(read, split_names(options.categorical))
    data, X, is_frame = training.data, training.X, training.is_frame
    classifier = chosen_classifier(options, for_frames=is_frame)
    refuse_few_rows(classifier, len(data.Y), options)
    sizes = (len(data.Y), "row"), (len(data.feature_names), "column"), (data.Y.shape[1], "label")
    size = ", ".join(counted(number, thing) for number, thing in sizes)
    with (
        warnings_as_notes(ColumnWarning),  # the report of columns holds them
        waiting(f"fitting {size}", verbose=bool(options.verbose)) as show,
        messages_to(show),
    ):
        classifier.fit(X, data.Y)
    digest, contents = save_with_facts(
        classifier,
        options.model,
        data.feature_names,
        data.label_names,
        categories=None if is_frame else data.categories,
        X=X if is_frame else None,
        tags=None if options.tags is None else TagColumn(options.tags, options.separator),
        left_out=[
            *split_names(options.ignore),
            *(name for name in read.feature_names if name not in data.feature_names),
        ],
    )
    method = options.method or DEFAULT_METHOD
    show_status(f"wrote {options.model}: {method}, {size}")
    show_status(f"It holds {contents}")
    show_status(f"SHA-256: {digest}")
    write_json(
        options.json,
        {
            "model": str(options.model),
            "sha256": digest,
            "holds": contents,
            "method": method,
            "rows": len(data.Y),
            "labels": dict(zip(data.label_names, data.Y.sum(axis=0).tolist(), strict=True)),
            "columns": training.columns,
        },
    )

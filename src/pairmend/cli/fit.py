"""``pairmend fit``: fit a classifier to a file and save a model file."""

import argparse

from pairmend._utils.progress import messages_to
from pairmend.cli.display import show_text, waiting, warnings_as_notes
from pairmend.cli.input_files import read_training, refuse_overwriting
from pairmend.cli.shared_options import DEFAULT_METHOD, chosen_classifier
from pairmend.datasets import one_hot
from pairmend.persistence import save_model
from pairmend.persistence.save_load import require_skops


def run(options: argparse.Namespace) -> None:
    """Fit a classifier and save a model file."""
    require_skops()  # before the fit, which may take long
    if not options.model.parent.is_dir():
        raise FileNotFoundError(f"cannot write {options.model}: there is no such folder")
    refuse_overwriting(options.model, options.data)
    data = read_training(options)
    X = one_hot(data).X
    classifier = chosen_classifier(options)
    size = f"{len(data.Y)} rows, {len(data.feature_names)} columns, {len(data.label_names)} labels"
    with (
        warnings_as_notes(),
        waiting(f"fitting {size}", verbose=bool(options.verbose)) as show,
        messages_to(show),
    ):
        classifier.fit(X, data.Y)
    digest = save_model(
        classifier,
        options.model,
        feature_names=data.feature_names,
        label_names=data.label_names,
        categories=data.categories,
    )
    show_text(f"wrote {options.model}: {options.method or DEFAULT_METHOD}, {size}")
    show_text(f"SHA-256: {digest}")

"""``pairmend datasets list | info | describe | fetch | convert``."""

import argparse
from dataclasses import asdict
from typing import Any

from pairmend._utils.files import written
from pairmend._utils.text import counted
from pairmend.cli.inputs import read_labelled
from pairmend.cli.output import progress, show_status, show_table, show_text
from pairmend.datasets import MultiLabelData, catalogue, fetch, save_file
from pairmend.datasets.named_sets import find_entry, is_available

MAX_SHOWN = 60
"""Rows of a table that `describe` prints."""
SIZES = {
    "rows": "rows", "features": "features", "labels": "labels", "cardinality": "labels per row"
}  # fmt: skip
"""Titles of the sizes of a set."""


def list_sets(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Show the sets of the catalogue."""
    rows = []
    for entry in catalogue().values():
        where: str = entry.status
        if where == "files":
            where = "on disk" if is_available(entry.name) else "by download"
        sizes = {title: getattr(entry, size) or 0 for size, title in SIZES.items()}
        rows.append({"name": entry.name, **sizes, "available": where})
    show_table("Sets of the catalogue", rows)
    return rows


def info(options: argparse.Namespace) -> dict[str, Any]:
    """Show what the catalogue has of a set."""
    entry = find_entry(options.name)
    facts = asdict(entry)
    facts["files"] = [file.name for file in entry.files]
    for fact, value in facts.items():
        if value not in (None, "", (), []):
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
            show_text(f"{fact}: {text}")
    return facts


def describe(options: argparse.Namespace) -> dict[str, Any]:
    """Describe a file."""
    from pairmend.datasets import describe

    if options.out is not None and options.out.suffix.lower() != ".html":
        raise ValueError(f"{options.out}: a description is written as .html")
    data = read_labelled(options)
    page = describe(data)
    if options.out is not None:
        with written(options.out) as file:
            file.write(page.to_html())
        show_status(f"wrote {options.out}")
    else:
        show_text(f"{data.name}: {_size(data)}")
        for title, frame in (
            ("Characteristics", page.characteristics),
            ("Labels", page.labels),
            ("Labels per row", page.labels_per_row),
        ):
            named = frame.rename_axis(frame.index.name or "")
            show_table(title, named.head(MAX_SHOWN).reset_index().to_dict("records"))
    return {
        **page.characteristics["value"].to_dict(),
        "labels": page.labels.reset_index(names="name").to_dict("records"),
    }


def fetch_sets(options: argparse.Namespace) -> dict[str, list[str]]:
    """Download sets of the catalogue."""
    entries = [find_entry(name) for name in options.name]  # before the first download
    found = {}
    for entry in entries:
        with progress(f"fetching {entry.name}"):
            paths = fetch(entry.name)
        found[entry.name] = list(map(str, paths))
        for path in found[entry.name]:
            show_text(path)
        if not paths:
            show_text(f"{entry.name} is {entry.status}; there is nothing to fetch")
    return found


def convert(options: argparse.Namespace) -> dict[str, Any]:
    """Convert a file to another format."""
    data = read_labelled(options)
    save_file(data, options.out, xml=options.out_xml)
    show_status(f"wrote {options.out}: {_size(data)}")
    return {"out": str(options.out), "rows": len(data.Y), "labels": list(data.label_names)}


def _size(data: MultiLabelData) -> str:
    n_rows, n_labels = data.Y.shape
    sizes = (n_rows, "row"), (data.X.shape[1], "feature"), (n_labels, "label")
    return ", ".join(counted(number, thing) for number, thing in sizes)

"""``pairmend datasets list | info | describe | fetch | convert``."""

import argparse
from typing import Any

from pairmend._utils.files import written
from pairmend._utils.text import counted
from pairmend.cli.display import progress, show_status, show_table, show_text
from pairmend.cli.input_files import read_training
from pairmend.cli.limits import limits_of
from pairmend.cli.standard_streams import write_json
from pairmend.datasets import (
    CatalogueEntry,
    MultiLabelData,
    catalogue,
    describe,
    fetch,
    find_entry,
    is_available,
    load_file,
    save_file,
)

MAX_SHOWN = 60
"""Rows of a table that `describe` prints."""


def list_sets(options: argparse.Namespace) -> None:
    """Show the sets of the catalogue."""
    headings = ["name", "rows", "features", "labels", "labels per row", "available"]
    rows = [[entry.name, *_sizes(entry), _where(entry)] for entry in catalogue().values()]
    show_table("Sets of the catalogue", headings, rows, numbers=range(1, 5))
    write_json(options.json, [dict(zip(headings, row, strict=True)) for row in rows])


def _where(entry: CatalogueEntry) -> str:
    if entry.status != "files":
        return entry.status
    return "on disk" if is_available(entry.name) else "by download"


def _sizes(entry: CatalogueEntry) -> list[str]:
    numbers = (entry.rows, entry.features, entry.labels, entry.cardinality)
    return ["" if number is None else f"{number:g}" for number in numbers]


def show_info(options: argparse.Namespace) -> None:
    """Show what the catalogue has of a set."""
    entry = find_entry(options.name)
    rows, features, labels, cardinality = _sizes(entry)
    facts = {
        "name": entry.name,
        "number in the paper": ", ".join(map(str, entry.paper_numbers)),
        "rows": rows,
        "features": features,
        "labels": labels,
        "labels per row": cardinality,
        "format": entry.format or entry.status,
        "files": ", ".join(file.name for file in entry.files),
        "repository": entry.repository,
        "commit": entry.commit,
        "licence": entry.licence,
        "preparation": entry.preparation,
        "notes": entry.notes,
        "citation": entry.citation,
    }
    show_table(entry.title, ["", ""], [[fact, text] for fact, text in facts.items() if text])
    write_json(options.json, facts)


def describe_file(options: argparse.Namespace) -> None:
    """Describe a file."""
    if options.out is not None and options.out.suffix.lower() != ".html":
        raise ValueError(f"{options.out}: a description is written as .html")
    data = _read(options)
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
            rows = [list(map(_cell, row)) for row in frame.head(MAX_SHOWN).itertuples()]
            show_table(title, [frame.index.name or "", *frame], rows, numbers=[])
    write_json(
        options.json,
        {
            **page.characteristics["value"].to_dict(),
            "labels": page.labels.reset_index(names="name").to_dict("records"),
        },
    )


def _cell(value: Any) -> str:
    return f"{value:,.3f}" if isinstance(value, float) else str(value)


def fetch_sets(options: argparse.Namespace) -> None:
    """Download sets of the catalogue."""
    entries = [find_entry(name) for name in options.names]  # before the first download
    for entry in entries:
        with progress(f"fetching {entry.name}") as update:

            def show(file: str, n_bytes: int, size: int, update: Any = update) -> None:
                update(n_bytes / size, f"fetching {file}")

            paths = fetch(entry.name, progress=show)
        for path in paths:
            show_text(str(path))
        if not paths:
            show_text(f"{entry.name} is {entry.status}; there is nothing to fetch")


def convert_file(options: argparse.Namespace) -> None:
    """Convert a file to another format."""
    data = _read(options)
    save_file(data, options.out, xml=options.out_xml)
    show_status(f"wrote {options.out}: {_size(data)}")


def _size(data: MultiLabelData) -> str:
    n_rows, n_labels = data.Y.shape
    sizes = (n_rows, "row"), (data.X.shape[1], "feature"), (n_labels, "label")
    return ", ".join(counted(number, thing) for number, thing in sizes)


def _read(options: argparse.Namespace) -> MultiLabelData:
    if options.data.suffix.lower() == ".mat":
        return load_file(options.data, limits=limits_of(options))
    return read_training(options)

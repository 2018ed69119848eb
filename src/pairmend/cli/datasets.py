"""``pairmend datasets list | info | describe | fetch | convert``."""

import argparse
from typing import Any

from pairmend.cli.display import progress, show_table, show_text
from pairmend.cli.limits import limits_of
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


def list_sets(options: argparse.Namespace) -> None:
    """Show the sets of the catalogue."""
    show_table(
        "Sets of the catalogue",
        ["name", "rows", "features", "labels", "labels per row", "available"],
        [[entry.name, *_sizes(entry), _where(entry)] for entry in catalogue().values()],
        numbers=range(1, 5),
    )


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


def describe_file(options: argparse.Namespace) -> None:
    """Describe a file."""
    page = describe(_read(options))
    if options.out is None:
        show_text(page.to_text())
    else:
        page.save(options.out)
        show_text(f"wrote {options.out}")


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
    n_rows, n_labels = data.Y.shape
    size = f"{n_rows} rows, {data.X.shape[1]} features, {n_labels} labels"
    show_text(f"wrote {options.out}: {size}")


def _read(options: argparse.Namespace) -> MultiLabelData:
    task = f"reading {options.file.name}"
    with progress(task) as update:
        return load_file(
            options.file,
            xml=options.xml,
            labels=options.labels,
            targets=options.targets,
            progress=lambda share: update(share, task),
            limits=limits_of(options),
        )

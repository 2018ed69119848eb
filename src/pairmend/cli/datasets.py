"""``pairmend datasets list | describe | convert``."""

import argparse
from dataclasses import asdict
from typing import Any

from pairmend.cli.inputs import read_labelled, size_of
from pairmend.cli.output import show_status, show_table, show_text
from pairmend.datasets import catalogue, save_file
from pairmend.datasets import describe as described
from pairmend.datasets.named_sets import is_available


def list_sets(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Show the sets of the catalogue; return all that it has of them."""
    sizes, rows = ("name", "rows", "features", "labels", "cardinality"), []
    for entry in catalogue().values():
        rows.append({size: getattr(entry, size) or 0 for size in sizes})
        where = "on disk" if is_available(entry.name) else "by download"
        rows[-1]["available"] = where if entry.status == "files" else entry.status
    show_table("Sets of the catalogue", rows)
    return list(map(asdict, catalogue().values()))


def describe(options: argparse.Namespace) -> dict[str, Any]:
    """Describe a file."""
    data = read_labelled(options)
    frames, found = described(data), {}
    show_text(f"{data.name}: {size_of(data)}")
    for title in ("characteristics", "labels", "labels_per_row"):
        frame = frames[title].rename_axis(frames[title].index.name or "name").reset_index()
        found[title] = frame.to_dict("records")
        show_table(title, found[title])
    return found


def convert(options: argparse.Namespace) -> dict[str, Any]:
    """Convert a file to another format."""
    data = read_labelled(options)
    save_file(data, options.out, xml=options.out_xml)
    show_status(f"wrote {options.out}: {size_of(data)}")
    return {"out": str(options.out), "rows": len(data.Y), "labels": list(data.label_names)}

"""``pairmend datasets list | info | describe | fetch | convert``."""

import argparse
from pathlib import Path
from typing import Any

from pairmend.cli.display import progress, show_table, show_text
from pairmend.cli.limits import add_limit_options, limits_of
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


def add_command(commands: Any) -> None:
    """Add the command and its own commands to the parser."""
    parser = commands.add_parser(
        "datasets",
        help="list, describe, fetch and convert data sets",
        description="Sets of the catalogue, and data files.",
    )
    parts = parser.add_subparsers(required=True, metavar="COMMAND")

    lists = parts.add_parser("list", help="list the sets of the catalogue")
    lists.set_defaults(run=_list)

    info = parts.add_parser("info", help="show size, source and licence of a set of the catalogue")
    info.add_argument("name", help="name of the set, see 'pairmend datasets list'")
    info.set_defaults(run=_info)

    about = parts.add_parser("describe", help="describe a file: characteristics, labels, pairs")
    _add_input(about)
    about.add_argument("--out", type=Path, help="write the page to this .txt or .html file")
    about.set_defaults(run=_describe)

    fetches = parts.add_parser("fetch", help="download sets of the catalogue into the cache")
    fetches.add_argument("names", nargs="+", metavar="NAME", help="names of sets")
    fetches.set_defaults(run=_fetch)

    convert = parts.add_parser(
        "convert",
        help="convert a file to another format",
        description="The suffix determines the format: .arff and .csv are read and written, .mat "
        "is read. ARFF is written in Meka's format, or with --out-xml in Mulan's.",
    )
    _add_input(convert)
    convert.add_argument("out", type=Path, metavar="OUT", help="the file to write")
    convert.add_argument("--out-xml", type=Path, help="the label file to write, for Mulan")
    convert.set_defaults(run=_convert)


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="an ARFF, CSV or MATLAB file")
    parser.add_argument("--xml", type=Path, help="Mulan's label file, if not in the folder of DATA")
    parser.add_argument(
        "--labels", type=lambda text: text.split(","), help="label columns of a CSV file: a,b,c"
    )
    parser.add_argument(
        "--targets", type=int, help="the last N attributes are regression targets", metavar="N"
    )
    add_limit_options(parser)


def _list(options: argparse.Namespace) -> None:
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


def _info(options: argparse.Namespace) -> None:
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


def _describe(options: argparse.Namespace) -> None:
    page = describe(_read(options))
    if options.out is None:
        show_text(page.to_text())
    else:
        page.save(options.out)
        show_text(f"wrote {options.out}")


def _fetch(options: argparse.Namespace) -> None:
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


def _convert(options: argparse.Namespace) -> None:
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

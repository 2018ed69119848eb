"""``pairmend datasets list | info | describe | fetch | convert``."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pairmend.datasets import (
    MultiLabelData,
    catalogue,
    describe,
    fetch,
    find_entry,
    load_file,
    save_file,
)
from pairmend.datasets.arff.text import Progress


def add_command(commands: Any) -> None:
    """Add the command and its own commands to the parser."""
    parser = commands.add_parser(
        "datasets",
        help="list, describe, fetch and convert data sets",
        description="The sets of the study, and files of your own.",
    )
    parts = parser.add_subparsers(required=True, metavar="COMMAND")

    lists = parts.add_parser("list", help="list the sets of the study")
    lists.set_defaults(run=_list)

    info = parts.add_parser("info", help="tell what is known of a set of the study")
    info.add_argument("name", help="name of the set, see 'pairmend datasets list'")
    info.set_defaults(run=_info)

    about = parts.add_parser("describe", help="describe a file: characteristics, labels, pairs")
    _add_input(about)
    about.add_argument("--out", type=Path, help="write the page to this .txt or .html file")
    about.set_defaults(run=_describe)

    fetches = parts.add_parser("fetch", help="download sets of the study into the cache")
    fetches.add_argument("names", nargs="+", metavar="NAME", help="names of sets")
    fetches.set_defaults(run=_fetch)

    convert = parts.add_parser(
        "convert",
        help="convert a file to another kind",
        description="Kinds go by suffix: .arff and .csv are read and written, .mat is read. "
        "ARFF is written as Meka's, or with --out-xml as Mulan's.",
    )
    _add_input(convert)
    convert.add_argument("out", type=Path, metavar="OUT", help="the file to write")
    convert.add_argument("--out-xml", type=Path, help="the label file to write, for Mulan")
    convert.set_defaults(run=_convert)


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="an ARFF, CSV or MATLAB file")
    parser.add_argument("--xml", type=Path, help="Mulan's label file, if not beside the ARFF file")
    parser.add_argument(
        "--labels", type=lambda text: text.split(","), help="label columns of a CSV file: a,b,c"
    )
    parser.add_argument(
        "--targets", type=int, help="the last N attributes are regression targets", metavar="N"
    )


def _list(options: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Sets of the study")
    for heading in ("name", "rows", "features", "labels", "labels a row", "kind"):
        right = heading not in ("name", "kind")
        table.add_column(heading, justify="right" if right else "left")
    for entry in catalogue().values():
        size = (entry.rows, entry.features, entry.labels, entry.cardinality)
        table.add_row(
            entry.name, *("" if n is None else f"{n:g}" for n in size), entry.format or entry.status
        )
    Console().print(table)


def _info(options: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    entry = find_entry(options.name)
    table = Table(title=escape(entry.title), show_header=False)
    facts = {
        "name": entry.name,
        "number in the paper": ", ".join(map(str, entry.paper_numbers)),
        "rows": entry.rows,
        "features": entry.features,
        "labels": entry.labels,
        "labels a row": entry.cardinality,
        "kind": entry.format or entry.status,
        "files": "\n".join(file.name for file in entry.files),
        "repository": entry.repository,
        "commit": entry.commit,
        "licence": entry.licence,
        "notes": entry.notes,
        "citation": entry.citation,
    }
    for fact, value in facts.items():
        if value not in (None, ""):
            table.add_row(fact, escape(str(value)))
    Console().print(table)


def _describe(options: argparse.Namespace) -> None:
    from rich.console import Console

    page = describe(_read(options))
    if options.out is None:
        Console().print(page.to_text(), markup=False, highlight=False, soft_wrap=True)
    else:
        page.save(options.out)
        Console().print(f"wrote {options.out}", markup=False, highlight=False, soft_wrap=True)


def _fetch(options: argparse.Namespace) -> None:
    from rich.console import Console

    entries = [find_entry(name) for name in options.names]  # before anything is fetched
    for entry in entries:
        with _progress(f"fetching {entry.name}") as tell:
            paths = fetch(entry.name, progress=lambda _, there, size: tell(there / size))
        for path in paths:
            Console().print(str(path), markup=False, highlight=False, soft_wrap=True)


def _convert(options: argparse.Namespace) -> None:
    from rich.console import Console

    data = _read(options)
    save_file(data, options.out, xml=options.out_xml)
    n_rows, n_labels = data.Y.shape
    size = f"{n_rows} rows, {data.X.shape[1]} features, {n_labels} labels"
    Console().print(f"wrote {options.out}: {size}", markup=False, highlight=False, soft_wrap=True)


def _read(options: argparse.Namespace) -> MultiLabelData:
    with _progress(f"reading {options.file.name}") as tell:
        return load_file(
            options.file,
            xml=options.xml,
            labels=options.labels,
            targets=options.targets,
            progress=tell,
        )


@contextmanager
def _progress(task: str) -> Iterator[Progress]:
    """Show a bar while something takes its time."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        number = bar.add_task(escape(task), total=1.0)
        yield lambda share: bar.update(number, completed=share)

"""Writing a report to disk."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pairmend.datasets.files import written
from pairmend.report.contents import contents, tables_of
from pairmend.report.formats import FORMATS
from pairmend.report.render import render
from pairmend.report.summary import summarise

if TYPE_CHECKING:
    from pairmend.study.record import StudyRecord

_OURS = re.compile(
    r"(algorithms|characteristics|conclusions|costs|distances|failures|friedman|pairs|published"
    r"|published-ranks|results|results-.+|shares|sources|spearman-\d+|wilcoxon-\d+)\.(tex|csv|md)"
)


def write_report(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write the report of a study.

    Parameters
    ----------
    folder : path
        The folder of the study, with its ``study.sqlite``.
    out : path, default=None
        The page to write, or a folder to write ``report.html`` to; None means the folder of the
        study. The tables go to a folder ``tables`` beside the page.

    Returns
    -------
    Path
        The page.
    """
    from pairmend.study import read_study

    return write_record(read_study(folder), folder if out is None else out)


def write_record(record: "StudyRecord", out: str | Path) -> Path:
    """Write the report of a study that was read already.

    Each file takes its place only when it is whole. Tables of an earlier report that this one
    has not are removed; other files are left alone.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.
    out : path
        The page to write, or a folder to write ``report.html`` to.

    Returns
    -------
    Path
        The page.
    """
    page = Path(out)
    if page.suffix.lower() not in (".html", ".htm"):
        page = page / "report.html"
    if not page.parent.is_dir():
        raise FileNotFoundError(f"cannot write {page}: there is no folder {page.parent}")
    summary = summarise(record)
    sections = contents(summary)
    text = render(summary, sections)
    folder = page.parent / "tables"
    folder.mkdir(exist_ok=True)
    made = set()
    for table in tables_of(sections):
        for suffix, write in FORMATS.items():
            path = folder / f"{table.id}.{suffix}"
            made.add(path)
            with written(path) as file:
                file.write(write(table))
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name) and path not in made:
            path.unlink()
    with written(page) as file:
        file.write(text)
    return page

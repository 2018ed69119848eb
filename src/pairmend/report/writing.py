"""write_report: writes page and tables to a folder."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pairmend._utils.files import written
from pairmend.report.contents import contents, tables_of
from pairmend.report.formats import FORMATS
from pairmend.report.render import render
from pairmend.report.summary import summarise

if TYPE_CHECKING:
    from pairmend.study.record import StudyRecord

MANIFEST = ".written"
"""File in the folder of tables that lists the tables of the last report."""


def write_report(
    folder: str | Path,
    out: str | Path | None = None,
    *,
    algorithms: Iterable[str] | None = None,
) -> Path:
    """Write the report of a study.

    Parameters
    ----------
    folder : path
        The folder of the study, with its ``study.sqlite``.
    out : path, default=None
        The page to write, or a folder to write ``report.html`` to; None means the folder of the
        study. Tables are written to the folder ``tables`` in the folder of the page.
    algorithms : iterable of str, default=None
        Algorithms to compare; None means all.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import tempfile
    >>> from pairmend import PairwiseClassifier
    >>> from pairmend.study import Study, run_study
    >>> from sklearn.naive_bayes import GaussianNB
    >>> study = Study(["simplehc"], {"pairs": PairwiseClassifier(GaussianNB())}, folds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_study(study, folder)
    ...     write_report(folder).name
    'report.html'
    """
    from pairmend.study import read_study

    record = read_study(folder)
    if algorithms is not None:
        record = record.narrowed(algorithms)
    return write_record(record, folder if out is None else out)


def write_record(record: "StudyRecord", out: str | Path) -> Path:
    """Write the report of a study; remove tables of an earlier report that it does not have."""
    page = Path(out)
    if page.suffix.lower() not in (".html", ".htm"):
        page = page / "report.html"
    summary = summarise(record)
    sections = contents(summary)
    text = render(summary, sections)
    tables = {
        f"{table.id}.{suffix}": write(table)
        for table in tables_of(sections)
        for suffix, write in FORMATS.items()
    }
    folder = page.parent / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    for name in _written_before(folder) - set(tables):
        (folder / name).unlink()
    # The manifest before the tables: after an interruption it lists all of them.
    files = {folder / MANIFEST: "".join(f"{name}\n" for name in tables)}
    files |= {folder / name: content for name, content in tables.items()}
    for path, content in {**files, page: text}.items():
        with written(path) as file:
            file.write(content)
    return page


def _written_before(folder: Path) -> set[str]:
    """Return the names of existing files in the folder that an earlier report wrote."""
    manifest = folder / MANIFEST
    named = manifest.read_text(encoding="utf-8").splitlines() if manifest.is_file() else []
    return {path.name for path in folder.iterdir() if path.is_file()} & set(named)

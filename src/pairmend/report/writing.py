"""write_report: writes page, tables and figures to a folder."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pairmend._utils.files import replaced
from pairmend.report.contents import contents, figures_of, tables_of
from pairmend.report.figure_files import figure_files
from pairmend.report.formats import FORMATS
from pairmend.report.render import render
from pairmend.report.summary import Summary, summarise

if TYPE_CHECKING:
    from pairmend.study.store import StudyRecord

MANIFEST = ".written"
"""File in the folders of tables and figures that lists the files of the last report."""


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
        study. Tables and figures are written to the folders ``tables`` and ``figures`` in the
        folder of the page.
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


def write_record(
    record: "StudyRecord", out: str | Path, *, sections: Collection[str] | None = None
) -> Path:
    """Write the report of a study, all sections or some; remove other files of an earlier one."""
    return write_summary(summarise(record), out, sections=sections)


def write_summary(
    summary: Summary, out: str | Path, *, sections: Collection[str] | None = None
) -> Path:
    """Write the report of what `summarise` returned."""
    page = Path(out)
    if page.suffix.lower() not in (".html", ".htm"):
        page = page / "report.html"
    shown = [each for each in contents(summary) if sections is None or each.id in sections]
    text = render(summary, shown)
    tables = {
        f"{table.id}.{suffix}": write(table).encode()
        for table in tables_of(shown)
        for suffix, write in FORMATS.items()
    }
    figures = figure_files(figures_of(shown))
    _write_folder(page.parent / "tables", tables)
    _write_folder(page.parent / "figures", figures)
    _write(page, text.encode())
    return page


def _write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files to a folder; remove those of an earlier report that are not among them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _written_before(folder) - set(files):
        (folder / name).unlink()
    # The manifest first: after an interruption it lists all files.
    _write(folder / MANIFEST, "".join(f"{name}\n" for name in files).encode())
    for name, content in files.items():
        _write(folder / name, content)


def _write(path: Path, content: bytes) -> None:
    with replaced(path) as temporary:
        temporary.write_bytes(content)


def _written_before(folder: Path) -> set[str]:
    """Return the names of existing files in the folder that an earlier report wrote."""
    manifest = folder / MANIFEST
    named = manifest.read_text(encoding="utf-8").splitlines() if manifest.is_file() else []
    return {path.name for path in folder.iterdir() if path.is_file()} & set(named)

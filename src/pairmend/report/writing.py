"""write_report: writes page, tables and figures to a folder."""

import base64
import io
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pairmend import plots
from pairmend._utils import pages
from pairmend._utils.files import replaced
from pairmend.plots.drawing import styled
from pairmend.report.sections import Figure, sections, verdict_table
from pairmend.report.summary import Summary, summarise
from pairmend.report.tables import Table
from pairmend.study import StudyRecord, read_study


def write_report(
    study: str | Path | StudyRecord | Summary,
    out: str | Path | None = None,
    *,
    only: Collection[str] | None = None,
) -> Path:
    """Write the report of a study.

    Parameters
    ----------
    study : path, StudyRecord or Summary
        The folder of the study, with its ``study.sqlite``; or its record, perhaps
        ``narrowed`` to some algorithms, another level or a control; or what `summarise` returned.
    out : path, default=None
        The page to write, or a folder to write ``report.html`` to; None means the folder of the
        study. Tables and figures are written to the folders ``tables`` and ``figures`` in the
        folder of the page.
    only : collection of str, default=None
        Sections to write: ranks, tests, probabilities, results, published, sets, costs, failures,
        run; None means all.

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
    if isinstance(study, (str, Path)):
        out = study if out is None else out
        study = read_study(study)
    if out is None:
        raise ValueError("expected the folder to write to in out")
    summary = study if isinstance(study, Summary) else summarise(study)
    page = Path(out)
    if page.suffix.lower() not in (".html", ".htm"):
        page = page / "report.html"
    shown = [each for each in sections(summary) if only is None or each.id in only]
    verdicts = verdict_table(summary)
    parts = [part for section in shown for part in section.parts]
    parts = [inner for part in parts for inner in getattr(part, "parts", [part])]
    tables = [verdicts, *(part for part in parts if isinstance(part, Table))]
    figures = [part for part in parts if isinstance(part, Figure)]
    images = {each.id: plots.to_svg(each.drawing, title=each.caption).encode() for each in figures}
    environment = pages.environment("pairmend.report", "a report")
    environment.filters["image"] = lambda name: base64.b64encode(images[name]).decode()
    template = environment.get_template("body.html.jinja")
    body = template.render(summary=summary, verdicts=verdicts, sections=shown)
    files = {f"{table.id}.csv": table.to_csv() for table in tables}
    files |= {f"{table.id}.md": table.to_markdown() for table in tables}
    files |= {f"{table.id}.tex": table.to_latex() for table in tables}
    _write_folder(page.parent / "tables", {name: text.encode() for name, text in files.items()})
    svgs = {f"{name}.svg": image for name, image in images.items()}
    pdfs = {f"{each.id}.pdf": _pdf(each.drawing) for each in figures}
    _write_folder(page.parent / "figures", {**svgs, **pdfs})
    _write_folder(page.parent, {page.name: pages.page(summary.title, body).encode()})
    return page


@styled
def _pdf(drawing: Any) -> bytes:
    file = io.BytesIO()
    drawing.figure.set_layout_engine("none")  # the places found for the SVG
    # Without dates the same study has the same files.
    drawing.figure.savefig(file, format="pdf", metadata={"CreationDate": None})
    return file.getvalue()


def _write_folder(folder: Path, files: dict[str, bytes]) -> None:
    """Write files to a folder, each completely or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        with replaced(folder / name) as temporary:
            temporary.write_bytes(content)

"""Runs small studies when the site is built, and writes the page that lists their reports."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

logger = logging.getLogger(__name__)

PARTS = ("report.html", "tables", "figures")
"""Files and folders of a report."""


@dataclass(frozen=True)
class Report:
    """A report: the folder that `commands` write, its title and what it shows."""

    folder: str
    title: str
    text: str
    commands: tuple[str, ...]


REPORTS = (
    Report(
        "paper",
        "The paper's study on four datasets",
        "LPW, FCM, FCM-W and FCM-O on the datasets that are available without network: two"
        " generated ones, yeast and flare2. Five folds in place of the paper's ten.",
        ("pairmend study --folds 5 --jobs 1 --out paper",),
    ),
    Report(
        "mended",
        "MendedClassifier and baselines on two datasets",
        "The default `MendedClassifier`, optimised for Hamming loss, micro F1 and zero-one loss,"
        " binary relevance without and with a fitted threshold, a classifier chain, label powerset"
        " and a random forest, on flare2 and yeast. Three folds in place of ten.",
        (
            "pairmend study mended --sets flare2 yeast --folds 3 --jobs 1 --out mended"
            " --algorithms Mended-H Mended-Mi Mended-Z BR-LR BR-F1-LR CC-LR LP-LR RF",
        ),
    ),
    Report(
        "published",
        "Zero-one losses printed in the paper",
        "Ranks and tests of the zero-one losses that the paper prints for 29 datasets, computed"
        " anew. Losses from elsewhere are compared in the same way.",
        (
            'python -c "from pairmend.published import losses;'
            " losses().xs('zero_one', level=1).to_csv('losses.csv')\"",
            "pairmend compare losses.csv --out published",
        ),
    ),
)


def make(report: Report, studies: Path, site: Path) -> None:
    """Run the commands of a report in the folder `studies`, unless it has been made before."""
    done = site / report.folder
    if (done / "report.html").is_file():
        return
    logger.info("making the report %s", report.folder)
    shutil.rmtree(studies / report.folder, ignore_errors=True)
    studies.mkdir(parents=True, exist_ok=True)
    for command in report.commands:
        program, _, options = command.partition(" ")
        words = shlex.split(options)
        if program == "pairmend":
            words = ["-m", "pairmend", *words]
        result = subprocess.run(
            [sys.executable, *words], cwd=studies, capture_output=True, text=True, check=False
        )
        if result.returncode:
            raise RuntimeError(f"{command}\nfailed:\n{result.stdout}\n{result.stderr}")
    shutil.rmtree(done, ignore_errors=True)
    done.mkdir(parents=True)
    for part in PARTS:
        path = studies / report.folder / part
        (shutil.copytree if path.is_dir() else shutil.copy)(path, done / part)


def _page() -> Iterator[str]:
    yield "Reports of studies\n==================\n"
    yield (
        "Each of these reports is made when the site is built, by the commands shown. They are"
        " small, so that a build takes minutes; the figures of the large studies are in"
        " :doc:`/results`, and :doc:`/study` describes the commands.\n"
    )
    for report in REPORTS:
        yield f"{report.title}\n{'-' * len(report.title)}\n"
        yield report.text + "\n"
        yield ".. code-block:: console\n"
        yield from (f"   $ {command}" for command in report.commands)
        yield f"\n`Open the report <../reports/{report.folder}/report.html>`__\n"


def write_reports(app: Sphinx, _: Config) -> None:
    """Make the reports and their page, before Sphinx looks for pages."""
    folder = Path(app.srcdir) / "generated"
    for report in REPORTS:
        make(report, folder / "studies", folder / "site" / "reports")
    page, text = folder / "reports.rst", "\n".join(_page()) + "\n"
    if not page.is_file() or page.read_text("utf-8") != text:
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the start of a build."""
    app.connect("config-inited", write_reports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""``pairmend study``."""

import argparse
import os
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pairmend.cli.display import show_table, show_text
from pairmend.cli.live import study_display
from pairmend.study import (
    FailedTasksWarning,
    Plan,
    Study,
    load_study,
    paper_study,
    parse_study,
    plan_study,
    read_study,
    run_study,
    shipped_study,
)
from pairmend.study.failures import failures_of
from pairmend.study.requirements import require_extra
from pairmend.study.studyfile import SHIPPED

DESCRIPTION = """\
Cross-validate algorithms on sets, and write a report. Without a study file it is the experiment
of the paper, on those of its sets that are at hand. A study that was cut off goes on where it was
when it is started again with the same --out."""


def add_command(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "study",
        help="compare algorithms on many sets, and write a report",
        description=DESCRIPTION,
        epilog="A study file names code to import: run those you trust. See docs/study.md.",
    )
    parser.add_argument(
        "file", type=Path, nargs="?", help=f"a study file (TOML), or {' or '.join(SHIPPED)}"
    )
    parser.add_argument(
        "--sets", nargs="+", metavar="NAME", help="only these sets, of the study or the catalogue"
    )
    parser.add_argument("--algorithms", nargs="+", metavar="NAME", help="only these algorithms")
    parser.add_argument(
        "--folds", type=_at_least(2), help="folds of a cross-validation (the study's, or 10)"
    )
    parser.add_argument(
        "--repeats", type=_at_least(1), help="how often it is repeated (the study's, or 1)"
    )
    parser.add_argument(
        "--seed", type=_at_least(0), help="seed of all randomness (the study's, or 0)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs",
        type=_at_least(1),
        help="worker processes (default: one for each processor)",
    )
    where.add_argument(
        "--dask", metavar="ADDRESS", help="work on the Dask cluster with this scheduler instead"
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="folder with the sets' files, directly or in sub-folders named after the sets",
    )
    parser.add_argument("--download", action="store_true", help="download sets not at hand")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="output folder (default: pairmend- and the study's name)",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with the study that --out holds, as it was defined then, without its file",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would run, and run nothing"
    )
    parser.set_defaults(run=_run)


def _at_least(minimum: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < minimum:
            raise argparse.ArgumentTypeError(f"must be at least {minimum}, got {value}")
        return value

    return number


def _run(options: argparse.Namespace) -> int:
    study = _resumed(options) if options.resume else _chosen(options)
    out = options.out or Path("pairmend-" + re.sub(r"[^\w.-]+", "-", study.name))
    require_extra("jinja2", "matplotlib")  # before hours of work, not after them
    plan = plan_study(study, out, data_dir=options.data, download=options.download)
    if options.dry_run:
        _show_plan(study, plan, out)
        return 0
    _show_start(plan)
    with study_display(study, out) as tell, warnings.catch_warnings():
        warnings.simplefilter("ignore", FailedTasksWarning)  # they are shown as a table
        run_study(
            study,
            out,
            data_dir=options.data,
            download=options.download,
            jobs=1 if options.dask else options.jobs or os.cpu_count() or 1,
            dask=options.dask,
            progress=tell,
        )
    n_failed = _show_failures(study, out)
    from pairmend.report import write_report  # not needed, nor its packages, by other commands

    show_text(f"report: {write_report(out)}")
    return 1 if n_failed else 0


def _chosen(options: argparse.Namespace) -> Study:
    study = _named(options.file)
    study = study.narrowed(_split(options.sets), _split(options.algorithms))
    numbers = {name: getattr(options, name) for name in ("folds", "repeats", "seed")}
    return replace(study, **{name: n for name, n in numbers.items() if n is not None})


def _named(file: Path | None) -> Study:
    """Return the study of a file, or of a name if there is no such file."""
    if file is None:
        return paper_study()
    if str(file) in SHIPPED and not file.exists():
        return shipped_study(str(file))
    return load_study(file)


def _split(names: list[str] | None) -> list[str] | None:
    """Take names apart that were joined by commas."""
    if names is None:
        return None
    return [name for text in names for name in text.split(",") if name]


def _resumed(options: argparse.Namespace) -> Study:
    given = ("file", "sets", "algorithms", "folds", "repeats", "seed")
    if any(getattr(options, name) is not None for name in given):
        raise ValueError(
            "--resume goes on with the study as --out holds it; leave out the study file, --sets, "
            "--algorithms, --folds, --repeats and --seed"
        )
    if options.out is None:
        raise ValueError("--resume needs --out, the folder of the study to go on with")
    return parse_study(read_study(options.out).definition, Path())


def _show_plan(study: Study, plan: Plan, out: Path) -> None:
    show_table(
        f"{study.title or study.name}: {study.repeats} x {study.folds} folds",
        ["set", "tasks", "done", "fits to make", ""],
        [
            [
                each.name,
                *([""] * 3 if each.missing else map(str, (each.n_tasks, each.n_done, each.n_fits))),
                f"left out: {each.missing}" if each.missing else "",
            ]
            for each in plan.sets
        ],
        numbers=range(1, 4),
    )
    show_text(f"algorithms: {', '.join(study.algorithms)}")
    show_text(f"criteria: {', '.join(study.criteria)}")
    show_text(f"output folder: {out}")
    show_text(f"{plan.n_tasks - plan.n_done} of {plan.n_tasks} tasks would run")
    if plan.changes:
        show_text("the folder holds another study, so it would not run. What changed:")
        for line in plan.changes:
            show_text(f"  {line}")


def _show_start(plan: Plan) -> None:
    if skipped := [each.name for each in plan.sets if each.missing]:
        show_text(f"not at hand, left out: {', '.join(skipped)}")
        show_text("(--data FOLDER names a folder with their files, --download fetches some)")
    if plan.n_done == plan.n_tasks:
        show_text(f"all {plan.n_tasks} tasks are done already")
    elif plan.n_done:
        show_text(f"{plan.n_done} of {plan.n_tasks} tasks are done already")


def _show_failures(study: Study, out: Path) -> int:
    failed = failures_of(study, read_study(out).tasks)
    if failed:
        show_table(
            "Failed tasks",
            ["set", "algorithm", "tasks", "error"],
            [[each.set, each.algorithm, str(each.n_tasks), each.error] for each in failed],
            numbers=(2,),
        )
        show_text("Tracebacks stand in the report. Start again to retry what failed.")
    return len(failed)

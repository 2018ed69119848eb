"""``pairmend study``."""

import argparse
import os
import re
import shlex
import sys
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
    plan_study,
    read_study,
    run_study,
    shipped_study,
)
from pairmend.study.failures import failures_of
from pairmend.study.known_files import remember_file
from pairmend.study.requirements import require_extra
from pairmend.study.resume import resumed_study
from pairmend.study.run import why_not
from pairmend.study.store import read_progress
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
        epilog="A study file names code to import: run those you trust. See docs/study.md. The "
        "exit status is 0 if all tasks succeeded, 1 if some failed, 2 if the study could not run.",
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
    parser.add_argument(
        "--time-limit",
        type=_seconds,
        metavar="SECONDS",
        help="a task that takes longer has failed (default: the study's, or no limit)",
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
        help="go on with the study that --out holds, as it was started last: with its study file, "
        "sets, algorithms and --data",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="with --resume: import and call what the results folder names, without a study file; "
        "only for folders that you trust like a script",
    )
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="go on although code or versions of packages changed since results were kept",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would run; make and run nothing"
    )
    parser.set_defaults(run=_run)


def _at_least(minimum: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < minimum:
            raise argparse.ArgumentTypeError(f"must be at least {minimum}, got {value}")
        return value

    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text}")
    return seconds


def _run(options: argparse.Namespace) -> int:
    _check_options(options)
    study = _chosen(options)
    out = options.out or Path("pairmend-" + re.sub(r"[^\w.-]+", "-", study.name))
    require_extra("jinja2", "matplotlib")  # before hours of work, not after them
    plan = plan_study(study, out, data_dir=options.data, download=options.download)
    if options.dry_run:
        _show_plan(study, plan, out)
        if reason := why_not(study, plan, out, options.accept_changes):
            raise ValueError(f"the study would not run: {reason}")
        show_text(f"{plan.n_tasks - plan.n_done} of {plan.n_tasks} tasks would run")
        return 0
    if study.file is not None:
        remember_file(study.file)
    _show_start(plan)
    try:
        return _run_and_report(study, out, options)
    except KeyboardInterrupt:
        command = _command_to_go_on(study, plan, out, options)
        print(f"stopped; to go on:\n  {command}", file=sys.stderr, flush=True)
        return 130


def _run_and_report(study: Study, out: Path, options: argparse.Namespace) -> int:
    with study_display(study, out) as tell, warnings.catch_warnings():
        warnings.simplefilter("ignore", FailedTasksWarning)  # they are shown as a table
        run_study(
            study,
            out,
            data_dir=options.data,
            download=options.download,
            jobs=1 if options.dask else options.jobs or os.cpu_count() or 1,
            dask=options.dask,
            accept_changes=options.accept_changes,
            progress=tell,
        )
    n_failed = _show_failures(study, out)
    from pairmend.report import write_report  # not needed, nor its packages, by other commands

    show_text(f"report: {write_report(out)}")
    return 1 if n_failed else 0


def _chosen(options: argparse.Namespace) -> Study:
    """Return the study that is to be run; a dry run makes none of its classifiers."""
    make = not options.dry_run
    if options.resume:
        found = resumed_study(options.out, options.file, trust=options.trust, make=make)
        study = found.study
        options.data = options.data or found.data
        options.download = options.download or found.download
    else:
        study = _named(options.file, make)
        study = study.narrowed(_split(options.sets), _split(options.algorithms))
    numbers = ("folds", "repeats", "seed", "time_limit")
    given = {name: n for name in numbers if (n := getattr(options, name)) is not None}
    return replace(study, **given)


def _named(file: Path | None, make: bool) -> Study:
    """Return the study of a file, or of a name if there is no such file."""
    if file is None:
        return shipped_study("paper", make=make)
    if str(file) in SHIPPED and not file.exists():
        return shipped_study(str(file), make=make)
    return load_study(file, make=make)


def _command_to_go_on(study: Study, plan: Plan, out: Path, options: argparse.Namespace) -> str:
    """Return the command line that goes on with a study that was stopped."""
    module = Path(sys.argv[0]).name == "__main__.py"
    program = [sys.executable, "-m", "pairmend"] if module else ["pairmend"]
    held = read_progress(out).definition
    if held is None or not _holds(held, study, plan):  # stopped before it was kept
        return shlex.join([*program, *options.words])
    words = [*program, "study", *_file_words(study), "--resume", "--out", str(out.absolute())]
    if options.trust:
        words.append("--trust")
    if options.jobs:
        words += ["--jobs", str(options.jobs)]
    if options.dask:
        words += ["--dask", options.dask]
    return shlex.join(words)


def _file_words(study: Study) -> list[str]:
    if study.file is not None:
        return [str(study.file.absolute())]
    return [study.name] if study.name in SHIPPED else []


def _holds(definition: dict[str, Any], study: Study, plan: Plan) -> bool:
    """Tell whether a definition has all of a study, so that it can be resumed."""
    return (
        {each.name for each in plan.at_hand} <= set(definition["sets"])
        and set(study.algorithms) <= set(definition["algorithms"])
        and study.repeats <= definition["repeats"]
    )


def _split(names: list[str] | None) -> list[str] | None:
    """Take names apart that were joined by commas."""
    if names is None:
        return None
    return [name for text in names for name in text.split(",") if name]


def _check_options(options: argparse.Namespace) -> None:
    if options.trust and not options.resume:
        raise ValueError("--trust is for --resume: a study file that is named is trusted anyway")
    if not options.resume:
        return
    given = ("sets", "algorithms", "folds", "repeats", "seed")
    if any(getattr(options, name) is not None for name in given):
        raise ValueError(
            "--resume goes on with the study as --out holds it; leave out --sets, --algorithms, "
            "--folds, --repeats and --seed"
        )
    if options.out is None:
        raise ValueError("--resume needs --out, the folder of the study to go on with")


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

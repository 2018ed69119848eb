"""``pairmend study``: plan, run, resume and report a study."""

import argparse
import os
import re
import shlex
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from pairmend._utils.text import counted
from pairmend.cli.display import show_status, show_table, show_text
from pairmend.cli.live import study_display
from pairmend.cli.shared_options import split_names
from pairmend.cli.standard_streams import write_json
from pairmend.study import (
    FailedTasksWarning,
    Plan,
    Study,
    plan_study,
    read_study,
    run_study,
)
from pairmend.study.definition import install_advice, named_study, resumed_study
from pairmend.study.run import reason_not_to_run
from pairmend.study.store import read_progress, require_extra


def run(options: argparse.Namespace) -> int:
    """Run a study, write its report and return the exit status."""
    _check_options(options)
    options.rerun = split_names(options.rerun)
    study = _chosen(options)
    out = options.out or Path("pairmend-" + re.sub(r"[^\w.-]+", "-", study.name))
    require_extra("jinja2", "matplotlib")  # before the run, which may take hours
    plan = plan_study(
        study, out, data_dir=options.data, download=options.download, rerun=options.rerun
    )
    if options.dry_run:
        _show_plan(study, plan, out)
        if reason := reason_not_to_run(study, plan, out, options.accept_changes):
            raise ValueError(f"the study would not run: {reason}")
        tasks = counted(plan.n_tasks, "task")
        show_text(f"{plan.n_tasks - plan.n_done} of {tasks} would run")
        write_json(options.json, _plan_content(study, plan, out))
        return 0
    _show_start(study, plan)
    try:
        return _run_and_report(study, out, options)
    except KeyboardInterrupt:
        module = Path(sys.argv[0]).name == "__main__.py"
        program = [sys.executable, "-m", "pairmend"] if module else ["pairmend"]
        command = _command_line([*program, *options.words])
        print(f"stopped; to continue:\n  {command}", file=sys.stderr, flush=True)
        return 130


def _run_and_report(study: Study, out: Path, options: argparse.Namespace) -> int:
    with study_display(study, out) as show_step, warnings.catch_warnings():
        warnings.simplefilter("ignore", FailedTasksWarning)  # shown as a table
        run_study(
            study,
            out,
            data_dir=options.data,
            download=options.download,
            jobs=1 if options.dask else options.jobs or os.cpu_count() or 1,
            dask=options.dask,
            accept_changes=options.accept_changes,
            rerun=options.rerun,
            progress=show_step,
        )
    tasks = read_study(out).tasks
    parts = tasks.set.isin(list(study.sets)) & tasks.algorithm.isin(list(study.algorithms))
    failed = tasks[parts & (tasks.status == "failed")]
    failed = failed.groupby(["set", "algorithm", "error"], sort=False).size()
    failed = failed.reset_index(name="n_tasks").to_dict("records")
    _show_failures(failed)
    from pairmend.report import write_report  # needs packages that other commands do not

    page = write_report(out)
    show_status(f"report: {page}")
    found = {"folder": str(out), "report": str(page), "failed": failed}
    write_json(options.json, found)
    return 1 if failed else 0


def _chosen(options: argparse.Namespace) -> Study:
    """Return the study to run."""
    if options.resume:
        definition = read_progress(options.out).definition or read_study(options.out).definition
        study = resumed_study(definition, options.out, options.file)
    else:
        study = named_study(options.file or "paper")
        study = study.narrowed(
            *(names and split_names(names) for names in (options.sets, options.algorithms))
        )
    numbers = ("folds", "repeats", "seed", "time_limit")
    given = {name: n for name in numbers if (n := getattr(options, name)) is not None}
    return replace(study, **given)


def _command_line(words: list[str]) -> str:
    """Return words as a command of the system's shell."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def _check_options(options: argparse.Namespace) -> None:
    if not options.resume:
        return
    given = ("sets", "algorithms", "folds", "repeats", "seed")
    if any(getattr(options, name) is not None for name in given):
        raise ValueError(
            "--resume continues the study as stored in --out; leave out --sets, --algorithms, "
            "--folds, --repeats and --seed"
        )
    if options.out is None:
        raise ValueError("--resume needs --out, the folder of the study to continue")


def _show_plan(study: Study, plan: Plan, out: Path) -> None:
    show_table(
        f"{study.title or study.name}: {study.repeats} x {study.folds} folds",
        ["set", "tasks", "done", "remaining fits", ""],
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
    _show_left_out(study)
    show_text(f"metrics: {', '.join(study.criteria)}")
    show_text(f"output folder: {out}")


def _plan_content(study: Study, plan: Plan, out: Path) -> dict[str, Any]:
    sets = [
        {"set": each.name, "missing": each.missing}
        if each.missing
        else {"set": each.name, "tasks": each.n_tasks, "done": each.n_done, "fits": each.n_fits}
        for each in plan.sets
    ]
    return {
        "folder": str(out),
        "sets": sets,
        "algorithms": list(study.algorithms),
        "algorithms_left_out": {name: list(absent) for name, absent in study.left_out.items()},
        "metrics": list(study.criteria),
        "tasks": plan.n_tasks,
        "done": plan.n_done,
    }


def _show_left_out(study: Study) -> None:
    if study.left_out:
        named = [f"{name} ({', '.join(absent)})" for name, absent in study.left_out.items()]
        show_status(f"packages not installed, left out: {', '.join(named)}")
        absent = {package for packages in study.left_out.values() for package in packages}
        show_status(f"({install_advice(absent)})")


def _show_start(study: Study, plan: Plan) -> None:
    _show_left_out(study)
    if skipped := [each.name for each in plan.sets if each.missing]:
        show_status(f"missing, left out: {', '.join(skipped)}")
        show_status("(--data FOLDER names a folder with their files, --download fetches some)")
    if plan.n_done == plan.n_tasks:
        show_status(f"all {counted(plan.n_tasks, 'task')} are done")
    elif plan.n_done:
        show_status(f"{plan.n_done} of {plan.n_tasks} tasks are done")


def _show_failures(failed: list[dict[str, Any]]) -> None:
    if failed:
        show_table(
            "Failed tasks",
            ["set", "algorithm", "tasks", "error"],
            [
                [each["set"], each["algorithm"], str(each["n_tasks"]), each["error"]]
                for each in failed
            ],
            numbers=(2,),
        )
        show_status("Tracebacks are in the report. Run the command again to retry failed tasks.")

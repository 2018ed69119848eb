"""``pairmend study``, ``report`` and ``compare``."""

import argparse
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pairmend._utils.text import counted
from pairmend.cli.inputs import data_file, limits_of, shown, split_names
from pairmend.cli.output import (
    print_line,
    progress,
    show_note,
    show_status,
    show_table,
    show_text,
)
from pairmend.study import (
    FailedTasksWarning,
    Plan,
    Step,
    Study,
    check_study,
    plan_study,
    read_study,
    run_study,
)
from pairmend.study.definition import install_advice, named_study, resumed_study
from pairmend.study.plan import changed_sets
from pairmend.study.run import reason_not_to_run
from pairmend.study.store import require_extra


def study(options: argparse.Namespace) -> dict[str, Any]:
    """Plan, run, resume and report a study."""
    chosen = _chosen_study(options)
    out = options.out or Path("pairmend-" + re.sub(r"[^\w.-]+", "-", chosen.name))
    require_extra("jinja2", "matplotlib")  # before the run, which may take hours
    sources = {
        "data_dir": options.data,
        "download": options.download,
        "rerun": split_names(options.rerun),
    }
    plan = plan_study(chosen, out, **sources)
    if chosen.left_out:
        named = [f"{name} ({', '.join(absent)})" for name, absent in chosen.left_out.items()]
        show_status(f"packages not installed, left out: {', '.join(named)}")
        absent = {package for packages in chosen.left_out.values() for package in packages}
        show_status(f"({install_advice(absent)})")
    if options.dry_run:
        return _show_plan(chosen, plan, out, options)
    if options.check:
        return _show_errors(chosen, options)
    if missing := [each.name for each in plan.sets if each.missing]:
        show_status(f"missing, left out: {', '.join(missing)}")
        show_status("(--data FOLDER names a folder with their files, --download fetches some)")
    show_status(f"{plan.n_done} of {counted(plan.n_tasks, 'task')} done")
    jobs = options.jobs or (1 if options.dask else os.cpu_count() or 1)
    warnings.simplefilter("ignore", FailedTasksWarning)  # shown as a table
    try:
        with progress("starting") as update:
            run_study(
                chosen,
                out,
                **sources,
                jobs=jobs,
                dask=options.dask,
                accept_changes=options.accept_changes,
                progress=_Display(chosen, plan, out, update),
            )
    except KeyboardInterrupt as interrupt:
        is_module = Path(sys.argv[0]).name == "__main__.py"
        program = [sys.executable, "-m", "pairmend"] if is_module else ["pairmend"]
        command = command_line([*program, *options.words])
        raise KeyboardInterrupt(f"stopped; to continue:\n  {command}") from interrupt
    tasks = read_study(out).tasks
    parts = tasks.set.isin(list(chosen.sets)) & tasks.algorithm.isin(list(chosen.algorithms))
    failed = tasks[parts & (tasks.status == "failed")]
    failed = failed.groupby(["set", "algorithm", "error"], sort=False).size()
    found = failed.reset_index(name="n_tasks").to_dict("records")
    show_table("Failed tasks", found)
    if found:
        show_status("Tracebacks are in the report. Run the command again to retry failed tasks.")
    from pairmend.report import write_report  # needs packages that the run does not

    page = write_report(out)
    show_status(f"report: {page}")
    return {"folder": str(out), "report": str(page), "failed": found}


def _chosen_study(options: argparse.Namespace) -> Study:
    """Return the study to run."""
    if options.resume:
        given = (options.sets, options.algorithms, options.folds, options.repeats, options.seed)
        if any(each is not None for each in given):
            raise ValueError(
                "--resume continues the study as stored in --out; leave out --sets, --algorithms, "
                "--folds, --repeats and --seed"
            )
        if options.out is None:
            raise ValueError("--resume needs --out, the folder of the study to continue")
        chosen = resumed_study(read_study(options.out).definition, options.out, options.file)
    else:
        chosen = named_study(options.file or "paper").narrowed(
            *(names and split_names(names) for names in (options.sets, options.algorithms))
        )
    numbers = ("folds", "repeats", "seed", "time_limit", "alpha", "predictions")
    return replace(
        chosen, **{name: n for name in numbers if (n := getattr(options, name)) is not None}
    )


def command_line(words: list[str]) -> str:
    """Return words as a command of the system's shell."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def _show_plan(study: Study, plan: Plan, out: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Show what a study would do."""
    sets = [
        {key.removeprefix("n_"): value for key, value in asdict(each).items()} for each in plan.sets
    ]
    show_table(f"{study.title or study.name}: {study.repeats} x {study.folds} folds", sets)
    show_text(f"algorithms: {', '.join(study.algorithms)}")
    show_text(f"metrics: {', '.join(study.criteria)}")
    show_text(f"output folder: {out}")
    if reason := reason_not_to_run(study, plan, out, options.accept_changes):
        raise ValueError(f"the study would not run: {reason}")
    show_text(f"{plan.n_tasks - plan.n_done} of {counted(plan.n_tasks, 'task')} would run")
    if plan.prediction_bytes:
        size = plan.prediction_bytes / 2**20
        show_text(
            f"predictions to store: at most {size:.1f} MiB (--predictions {study.predictions})"
        )
    return {
        "folder": str(out),
        "sets": sets,
        "algorithms": list(study.algorithms),
        "algorithms_left_out": {name: list(absent) for name, absent in study.left_out.items()},
        "metrics": list(study.criteria),
        "tasks": plan.n_tasks,
        "done": plan.n_done,
        "prediction_bytes": plan.prediction_bytes,
    }


def _show_errors(study: Study, options: argparse.Namespace) -> dict[str, Any]:
    """Fit each algorithm on some rows of each set, and show errors."""
    jobs = options.jobs or os.cpu_count() or 1
    with progress("starting") as update:
        errors = check_study(
            study,
            data_dir=options.data,
            jobs=jobs,
            progress=lambda step: update(step.doing, step.n_done / max(step.n_tasks, 1)),
        )
    found = errors.drop(columns="traceback").to_dict("records")
    show_table("Errors", found)
    if not found:
        show_text("no errors on 50 rows of each set")
    return {"failed": found}


class _Display:
    """Shows the share done, the losses of each finished set, and why a method fails."""

    def __init__(self, study: Study, plan: Plan, out: Path, update: Callable[..., None]):
        self.study, self.out, self.update = study, out, update
        self.n_left = Counter({each.name: each.n_tasks - each.n_done for each in plan.sets})

    def __call__(self, step: Step) -> None:
        """Show a step."""
        self.update(
            f"{step.n_done} of {step.n_tasks}  {step.doing}", step.n_done / max(step.n_tasks, 1)
        )
        if step.outcome is None:
            return
        task, error = step.outcome.task, step.outcome.error
        if error:
            show_note(f"{task.algorithm} fails on {task.set}: {error.splitlines()[0]}")
        else:
            self.n_left[task.set] -= 1
        if not self.n_left[task.set]:
            results = read_study(self.out).results
            means = results[results.set == task.set].pivot_table(
                index="algorithm", columns="criterion", values="value", sort=False
            )
            titles = {name: each.title for name, each in self.study.criteria.items()}
            named = means.rename(columns=titles).rename_axis(None).rename_axis(None, axis=1)
            table = named.to_string(float_format="{:.3f}".format)
            print_line(f"{step.n_done} of {step.n_tasks}  {task.set} is finished\n{table}")


def report(options: argparse.Namespace) -> dict[str, Any]:
    """Write the report of a study."""
    from pairmend.report import summarise
    from pairmend.report.writing import write_summary

    record = read_study(options.folder, options.metrics and split_names(options.metrics))
    if not options.accept_changes and (changes := changed_sets(options.folder)):
        raise ValueError(
            f"the results in {options.folder} are not those of the data as they are now:\n  "
            + "\n  ".join(changes)
            + "\nCompute the sets again (pairmend study --rerun NAME), undo the changes, or report "
            "the results as they are (--accept-changes)."
        )
    chosen = options.algorithms and split_names(options.algorithms)
    summary = summarise(record.narrowed(chosen, alpha=options.alpha, control=options.control))
    page = write_summary(summary, options.folder if options.out is None else options.out)
    return _reported(summary, page)


def _reported(summary: Mapping[str, Any], page: Path) -> dict[str, Any]:
    """Return the page, its first sentences, and the comparison for each metric."""
    show_status(f"report: {page}")
    finding = {key: summary["finding"][key] for key in ("lead", "points", "cautions")}
    return {"report": str(page), "finding": finding, "comparison": summary["comparison"]}


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """Print which algorithm is best by a file of losses, and write page, tables and figures."""
    from pairmend.report import summarise
    from pairmend.report.losses_table import SECTIONS, losses_record
    from pairmend.report.writing import write_summary

    greater, limits = options.greater_is_better, limits_of(options)
    with data_file(options.file, limits) as path:
        record = losses_record(path, greater or greater is not None, limits=limits)
    kinds = {"sets": "set", "algorithms": "algorithm", "criteria": "metric"}
    sizes = [counted(len(record.definition[key]), thing) for key, thing in kinds.items()]
    n_values = counted(len(record.results), "value")
    show_status(f"{shown(options.file)}: {', '.join([n_values, *sizes])}")
    summary = summarise(record.narrowed(alpha=options.alpha, control=options.control))
    finding = summary["finding"]
    if len(finding["points"]) != 1:  # the sentence of a single metric has the same content
        show_text(finding["lead"])
    for point in finding["points"]:
        show_text(f"{point['title']}: {point['text']}")
    for caution in finding["cautions"]:
        show_text(caution)
    return _reported(
        summary, write_summary(summary, options.out or Path("pairmend-compare"), sections=SECTIONS)
    )

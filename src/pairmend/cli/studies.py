"""``pairmend study``, ``report`` and ``compare``."""

import argparse
import os
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from pairmend._utils.optional import require
from pairmend._utils.text import counted
from pairmend.cli.inputs import split_names
from pairmend.cli.output import progress, show_note, show_status, show_table, show_text
from pairmend.study import FailedTasksWarning, Study, check_study, load_study, plan_study
from pairmend.study.run import Step, changed_sets, reason_not_to_run, run_study
from pairmend.study.store import PACKAGES, read_study


def study(options: argparse.Namespace) -> dict[str, Any]:
    """Plan, run and report a study."""
    require("a study", *PACKAGES, "jinja2", "matplotlib")  # before the run, which may take hours
    chosen = _chosen_study(options)
    out = options.out or Path("pairmend-" + re.sub(r"[^\w.-]+", "-", chosen.name))
    jobs = options.jobs or os.cpu_count() or 1
    sources = {"data_dir": options.data, "download": options.download}
    rerun, changes = split_names(options.rerun), options.accept_changes
    plan = plan_study(chosen, out, **sources, rerun=rerun)
    if chosen.left_out:
        absent = sorted({package for packages in chosen.left_out.values() for package in packages})
        show_status(f"left out: {', '.join(chosen.left_out)}; not installed: {', '.join(absent)}")
    if missing := plan.sets.name[plan.sets.missing != ""].tolist():
        show_status(f"missing, left out: {', '.join(missing)} (see --data and --download)")
    if options.dry_run:
        sets = plan.sets.to_dict("records")
        show_table(f"{chosen.title or chosen.name}: {chosen.repeats} x {chosen.folds} folds", sets)
        facts = {"folder": str(out), "algorithms": list(chosen.algorithms), "tasks": plan.n_tasks}
        facts |= {"metrics": list(chosen.criteria), "done": plan.n_done}
        facts["prediction_bytes"] = int(plan.sets.prediction_bytes.sum())
        show_text("\n".join(f"{name}: {fact}" for name, fact in facts.items()))
        if reason := reason_not_to_run(chosen, plan, out, changes):
            raise ValueError(f"the study would not run: {reason}")
        return {**facts, "sets": sets}
    with progress("starting") as update:

        def show(step: Step) -> None:
            update(f"{step.n_done} of {step.n_tasks}  {step.doing}")
            if step.outcome is not None and step.outcome.error:
                task, error = step.outcome.task, step.outcome.error.splitlines()[0]
                show_note(f"{task.algorithm} fails on {task.set}: {error}")

        if options.check:
            errors = check_study(chosen, data_dir=options.data, jobs=jobs, progress=show)
            failed = errors.drop(columns="traceback").to_dict("records")
            show_table("Errors", failed)
            return {"failed": failed}
        show_status(f"{plan.n_done} of {counted(plan.n_tasks, 'task')} done")
        warnings.simplefilter("ignore", FailedTasksWarning)  # shown as a table
        given = {"dask": options.dask, "accept_changes": changes, "rerun": rerun, "jobs": jobs}
        try:
            run_study(chosen, out, **sources, **given, progress=show)
        except KeyboardInterrupt as interrupt:
            message = "stopped; the same command continues the study"
            raise KeyboardInterrupt(message) from interrupt
    tasks = read_study(out).tasks
    parts = tasks.set.isin(list(chosen.sets)) & tasks.algorithm.isin(list(chosen.algorithms))
    failed = tasks[parts & (tasks.status == "failed")]
    counts = failed.groupby(["set", "algorithm", "error"], sort=False).size()
    found = counts.reset_index(name="n_tasks").to_dict("records")
    show_table("Failed tasks", found)
    from pairmend.report import write_report  # needs packages that the run does not

    page = write_report(out)
    show_status(f"report: {page}")
    return {"folder": str(out), "report": str(page), "failed": found}


def _chosen_study(options: argparse.Namespace) -> Study:
    """Return the study to run."""
    chosen = load_study(options.study or "paper").narrowed(
        *(names and split_names(names) for names in (options.sets, options.algorithms))
    )
    numbers = ("folds", "repeats", "seed", "time_limit", "alpha", "predictions")
    given = {name: getattr(options, name) for name in numbers}
    return replace(chosen, **{name: value for name, value in given.items() if value is not None})


def report(options: argparse.Namespace) -> dict[str, Any]:
    """Write the report of a study."""
    record = read_study(options.folder, options.metrics and split_names(options.metrics))
    if not options.accept_changes and (changes := changed_sets(options.folder)):
        changed = "\n  ".join(changes)
        raise ValueError(
            f"files of sets have changed since; compute the sets again (pairmend study --rerun "
            f"NAME), or report the results as they are (--accept-changes):\n  {changed}"
        )
    chosen = options.algorithms and split_names(options.algorithms)
    return _reported(options, record.narrowed(chosen), options.out or options.folder)


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """Print which algorithm is best by a file of losses, and write page, tables and figures."""
    from pairmend.report.losses_table import SECTIONS, losses_record

    greater = options.greater_is_better
    record = losses_record(options.file, greater or greater is not None)
    return _reported(options, record, options.out or Path("pairmend-compare"), only=SECTIONS)


def _reported(options: argparse.Namespace, record: Any, out: Path, **more: Any) -> dict[str, Any]:
    """Write the report of a record; show its verdicts, and return the tests."""
    from pairmend.report import summarise, write_report

    summary = summarise(record.narrowed(alpha=options.alpha, control=options.control))
    page = write_report(summary, out, **more)
    show_text(summary.lead)
    show_table("Verdicts", summary.verdicts.to_dict("records"))
    for note in summary.notes:
        show_text(note)
    show_status(f"report: {page}")
    return {"report": str(page), **summary.to_dict()}

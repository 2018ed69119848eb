"""Time, memory, failures, warnings and settings of a study."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pairmend.report.algorithms import about

if TYPE_CHECKING:
    import pandas as pd

    from pairmend.study.store import StudyRecord


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

_SEARCH = "sklearn.model_selection.GridSearchCV"


def costs(record: "StudyRecord", algorithms: list[str]) -> list[dict[str, Any]]:
    """Return time and memory of each algorithm over its finished tasks."""
    done = record.tasks[record.tasks["status"] == "done"]
    return [_cost(name, done[done["algorithm"] == name]) for name in algorithms]


def failures(record: "StudyRecord") -> list[dict[str, Any]]:
    """Return the failed tasks with their tracebacks."""
    failed = record.tasks[record.tasks["status"] == "failed"]
    keys = ("set", "repeat", "fold", "algorithm", "error", "traceback", "finished")
    return [
        {key: row[key] + 1 if key in ("repeat", "fold") else str(row[key]) for key in keys}
        for row in failed.to_dict("records")
    ]


def grouped(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count failed tasks by set, algorithm and error."""
    counts = Counter(
        (each["set"], each["algorithm"], each["error"].strip().partition("\n")[0])
        for each in failures
    )
    return [
        {"set": name, "algorithm": algorithm, "error": error, "tasks": n_tasks}
        for (name, algorithm, error), n_tasks in counts.items()
    ]


def tracebacks(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Group failed tasks by traceback."""
    found: dict[str, dict[str, Any]] = {}
    for each in failures:
        entry = {"error": each["error"], "traceback": each["traceback"], "tasks": []}
        found.setdefault(each["traceback"], entry)["tasks"].append(
            f"{each['algorithm']} on {each['set']}, repeat {each['repeat']}, fold {each['fold']}"
        )
    return list(found.values())


def warnings_of(record: "StudyRecord", algorithms: list[str]) -> list[dict[str, Any]]:
    """Count the warnings of each algorithm."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in algorithms}
    for name, text in zip(record.tasks["algorithm"], record.tasks["warnings"], strict=True):
        counts[name].update(set(_separate(text)))
    return [
        {"algorithm": name, "warning": warning, "tasks": n_tasks}
        for name, of_algorithm in counts.items()
        for warning, n_tasks in sorted(of_algorithm.items(), key=lambda item: (-item[1], item[0]))
    ]


def _separate(text: str) -> Iterator[str]:
    """Split the text of a task's warnings, which can have several lines each."""
    for warning in re.split(r"\n(?=\w*Warning: )", text):
        if warning.strip():
            yield " ".join(warning.split())


def run_details(record: "StudyRecord") -> dict[str, Any]:
    """Return settings, algorithms and runs of a study."""
    given = record.definition
    runs = record.runs.to_dict("records")
    # Without the run of each task, show all runs.
    with_tasks = set(record.tasks["run"]) if "run" in record.tasks else None
    shown = [row for row in runs if with_tasks is None or row["run"] in with_tasks] or runs[-1:]
    return {
        "settings": {
            key: _text(given[key])
            for key in given
            if key not in ("sets", "algorithms", "criteria", "title", "name")
        },
        "algorithms": [_algorithm(name, each) for name, each in given["algorithms"].items()],
        "runs": [
            {
                "started": readable_time(row["started"]),
                "ended": readable_time(row["ended"]) if isinstance(row["ended"], str) else "",
                "versions": _texts(row["versions"]),
                "machine": _texts(row["machine"]),
            }
            for row in shown
        ],
        "idle_runs": len(runs) - len(shown),
        "tasks": {
            status: int((record.tasks["status"] == status).sum()) for status in ("done", "failed")
        },
    }


def readable_time(text: str) -> str:
    """Format an ISO time for readers; return other texts unchanged."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    if time.tzinfo is not None:
        time = time.astimezone(UTC)
    # Not strftime's %B, which depends on the locale.
    zone = "" if time.tzinfo is None else " UTC"
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}, {time:%H:%M}{zone}"


def _algorithm(name: str, described: Mapping[str, Any]) -> dict[str, str]:
    params = described.get("params") or {}
    inner, grid = params.get("estimator"), params.get("param_grid")
    if described.get("class") == _SEARCH and isinstance(inner, dict) and isinstance(grid, dict):
        shown = _algorithm(name, inner)
        compared = ", ".join(f"{key} of {_text(values)}" for key, values in grid.items())
        return {**shown, "params": ", ".join(filter(None, [shown["params"], f"tuned: {compared}"]))}
    return {
        "algorithm": name,
        "about": about(described),
        "class": _text(described.get("class", "")),
        "params": ", ".join(f"{key} = {_text(value)}" for key, value in params.items()),
    }


def chosen_values(record: "StudyRecord", algorithms: list[str]) -> list[dict[str, Any]]:
    """Count how often searches chose each value of a parameter."""
    if record.chosen is None:
        return []
    rows = record.chosen[record.chosen["algorithm"].isin(algorithms)]
    counts = Counter(zip(rows["algorithm"], rows["parameter"], rows["value"], strict=True))
    order = {name: place for place, name in enumerate(algorithms)}
    return [
        {"algorithm": algorithm, "parameter": parameter, "value": value, "tasks": n_tasks}
        for (algorithm, parameter, value), n_tasks in sorted(
            counts.items(), key=lambda item: (order[item[0][0]], item[0][1], -item[1], item[0][2])
        )
    ]


def _cost(name: str, tasks: "pd.DataFrame") -> dict[str, Any]:
    peak = tasks["peak_bytes"].max() if len(tasks) else None
    own = tasks[tasks["fitted_by"] == name]
    others = [str(other) for other in dict.fromkeys(tasks["fitted_by"]) if other != name]
    return {
        "algorithm": name,
        "tasks": len(tasks),
        "fit_seconds": _mean(tasks["fit_seconds"]),
        "predict_seconds": _mean(tasks["predict_seconds"]),
        "total_seconds": float(own["fit_seconds"].sum() + tasks["predict_seconds"].sum()),
        "peak_bytes": None if peak is None or peak != peak else float(peak),
        "peak_mebibytes": None if peak is None or peak != peak else float(peak) / 2**20,
        "shares_fit_of": others,
    }


def _mean(values: "pd.Series[float]") -> float | None:
    mean = values.mean()
    return None if mean != mean else float(mean)


def _texts(given: Mapping[str, Any] | None) -> dict[str, str]:
    return {str(key): _text(value) for key, value in (given or {}).items()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

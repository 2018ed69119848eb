"""What a study cost, what failed in it, and how it was run."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pairmend.report.algorithms import about

if TYPE_CHECKING:
    import pandas as pd

    from pairmend.study.record import StudyRecord


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def costs(record: "StudyRecord", algorithms: list[str]) -> list[dict[str, Any]]:
    """Sum up time and memory of each algorithm over its finished tasks.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.
    algorithms : list of str
        Names in order.

    Returns
    -------
    list of dict
        With ``algorithm``, ``tasks``, ``fit_seconds`` and ``predict_seconds`` (means of a task),
        ``total_seconds`` (without fits that another made), ``peak_bytes`` and
        ``peak_mebibytes`` (largest; None where the system does not tell) and ``shares_fit_of``
        (other algorithms whose fits it used).
    """
    done = record.tasks[record.tasks["status"] == "done"]
    return [_cost(name, done[done["algorithm"] == name]) for name in algorithms]


def failures(record: "StudyRecord") -> list[dict[str, Any]]:
    """List the tasks of the study that failed, with their tracebacks.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.

    Returns
    -------
    list of dict
        With ``set``, ``repeat`` and ``fold`` (counted from 1), ``algorithm``, ``error``,
        ``traceback`` and ``finished``.
    """
    failed = record.tasks[record.tasks["status"] == "failed"]
    keys = ("set", "repeat", "fold", "algorithm", "error", "traceback", "finished")
    return [
        {key: row[key] + 1 if key in ("repeat", "fold") else str(row[key]) for key in keys}
        for row in failed.to_dict("records")
    ]


def grouped(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    r"""Bring failed tasks of a set and an algorithm with the same error together.

    Parameters
    ----------
    failures : list of dict
        See `failures`.

    Returns
    -------
    list of dict
        With ``set``, ``algorithm``, ``error`` (its first line) and ``tasks``, how many they are.

    Examples
    --------
    >>> task = {"set": "s", "algorithm": "A"}
    >>> grouped([{**task, "error": "E: a\nat x"}, {**task, "error": "E: a\nat y"}])
    [{'set': 's', 'algorithm': 'A', 'error': 'E: a', 'tasks': 2}]
    """
    counts = Counter(
        (each["set"], each["algorithm"], each["error"].strip().partition("\n")[0])
        for each in failures
    )
    return [
        {"set": name, "algorithm": algorithm, "error": error, "tasks": n_tasks}
        for (name, algorithm, error), n_tasks in counts.items()
    ]


def tracebacks(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bring failed tasks with the same traceback together.

    Parameters
    ----------
    failures : list of dict
        See `failures`.

    Returns
    -------
    list of dict
        With ``error``, ``traceback`` and ``tasks``, a text for each.

    Examples
    --------
    >>> task = {"set": "s", "repeat": 1, "algorithm": "A", "error": "E", "traceback": "…"}
    >>> (together,) = tracebacks([{**task, "fold": 1}, {**task, "fold": 2}])
    >>> together["tasks"]
    ['A on s, repeat 1, fold 1', 'A on s, repeat 1, fold 2']
    """
    found: dict[str, dict[str, Any]] = {}
    for each in failures:
        entry = {"error": each["error"], "traceback": each["traceback"], "tasks": []}
        found.setdefault(each["traceback"], entry)["tasks"].append(
            f"{each['algorithm']} on {each['set']}, repeat {each['repeat']}, fold {each['fold']}"
        )
    return list(found.values())


def warned(record: "StudyRecord", algorithms: list[str]) -> list[dict[str, Any]]:
    """List what the algorithms warned of.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.
    algorithms : list of str
        Names in order.

    Returns
    -------
    list of dict
        With ``algorithm``, ``warning`` and ``tasks``, how many had it; the most frequent of an
        algorithm first.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in algorithms}
    for name, text in zip(record.tasks["algorithm"], record.tasks["warnings"], strict=True):
        counts[name].update(set(_separate(text)))
    return [
        {"algorithm": name, "warning": warning, "tasks": n_tasks}
        for name, of_algorithm in counts.items()
        for warning, n_tasks in sorted(of_algorithm.items(), key=lambda item: (-item[1], item[0]))
    ]


def _separate(text: str) -> Iterator[str]:
    """Take a task's warnings apart; the text of one can have several lines."""
    for warning in re.split(r"\n(?=\w*Warning: )", text):
        if warning.strip():
            yield " ".join(warning.split())


def conduct(record: "StudyRecord") -> dict[str, Any]:
    """Tell how a study was run.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.

    Returns
    -------
    dict
        With ``settings`` (name and value as text), ``algorithms`` (``algorithm``, ``about``,
        ``class`` and ``params`` as text), ``runs`` (``started``, ``ended``, ``versions`` and
        ``machine``; those that left tasks, or the last one), ``idle_runs`` (how many others
        there were) and ``tasks`` (counts by status).
    """
    given = record.definition
    runs = record.runs.to_dict("records")
    # Records that do not tell which start did a task show all of them.
    busy = set(record.tasks["run"]) if "run" in record.tasks else None
    shown = [row for row in runs if busy is None or row["run"] in busy] or runs[-1:]
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
    """Write an ISO time for readers; another text stays as it is.

    Parameters
    ----------
    text : str
        Such as a study keeps.

    Returns
    -------
    str

    Examples
    --------
    >>> readable_time("2026-05-01T10:00:00+00:00"), readable_time("")
    ('1 May 2026, 10:00 UTC', '')
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    if time.tzinfo is not None:
        time = time.astimezone(UTC)
    # Not strftime's %B, which speaks the language of the machine.
    zone = "" if time.tzinfo is None else " UTC"
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}, {time:%H:%M}{zone}"


def _algorithm(name: str, described: Mapping[str, Any]) -> dict[str, str]:
    params = described.get("params") or {}
    return {
        "algorithm": name,
        "about": about(described),
        "class": _text(described.get("class", "")),
        "params": ", ".join(f"{key} = {_text(value)}" for key, value in params.items()),
    }


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

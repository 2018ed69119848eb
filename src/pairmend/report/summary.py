"""A study in numbers: everything a report says, as plain data."""

from typing import TYPE_CHECKING, Any

from pairmend import published
from pairmend.report.comparison import ALPHA, compare
from pairmend.report.conclusions import conclusions
from pairmend.report.costs import conduct, costs, failures, tracebacks
from pairmend.report.finding import finding
from pairmend.report.measured import (
    algorithms_of,
    complete_sets,
    criteria_of,
    loss_frame,
    measured,
    sets_of,
)
from pairmend.report.published import beside_published

if TYPE_CHECKING:
    from pairmend.study.record import StudyRecord


def summarise(record: "StudyRecord") -> dict[str, Any]:
    """Work out the numbers of a report.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.

    Returns
    -------
    dict
        Plain dicts, lists, numbers and texts. ``title``, ``folds``, ``repeats`` and ``alpha``;
        ``algorithms``, ``criteria`` and ``sets`` in order; ``measured`` (means and folds),
        ``best`` (algorithms with the best mean of a set) and ``comparison`` by criterion;
        ``left_out`` (sets that have not all results, by criterion); ``published`` and
        ``conclusions`` beside the paper; ``costs``, ``failures``, ``tracebacks`` and
        ``conduct``; ``finding``, the sentences to begin with.
    """
    import pandas as pd

    algorithms, criteria, sets = algorithms_of(record), criteria_of(record), sets_of(record)
    names = [each["set"] for each in sets]
    found = measured(record)
    complete = {
        each["criterion"]: complete_sets(found.get(each["criterion"], {}), names, algorithms)
        for each in criteria
    }
    more = [each["criterion"] for each in criteria if each["greater_is_better"]]
    frames = {
        criterion: loss_frame(
            found.get(criterion, {}), rows, algorithms, greater_is_better=criterion in more
        )
        for criterion, rows in complete.items()
    }
    characteristics = pd.DataFrame(
        [each["characteristics"] for each in sets],
        index=pd.Index(names, name="set"),
        columns=list(published.CHARACTERISTICS),
        dtype=float,
    )
    losses_only = {name: entries for name, entries in found.items() if name not in more}
    summary: dict[str, Any] = {
        "title": str(record.definition.get("title") or record.definition.get("name") or "Study"),
        "folds": int(record.definition["folds"]),
        "repeats": int(record.definition.get("repeats", 1)),
        "alpha": ALPHA,
        "algorithms": algorithms,
        "criteria": criteria,
        "sets": [{**each, "unlike_published": _unlike_published(each)} for each in sets],
        "measured": found,
        "best": {
            each["criterion"]: {
                name: _best(entries, each["greater_is_better"])
                for name, entries in found.get(each["criterion"], {}).items()
            }
            for each in criteria
        },
        "incomplete": any(
            not entry["complete"]
            for of_criterion in found.values()
            for of_set in of_criterion.values()
            for entry in of_set.values()
        ),
        "left_out": {
            criterion: [name for name in names if name not in rows]
            for criterion, rows in complete.items()
        },
        "comparison": compare(frames, characteristics, more),
        "published": beside_published(sets, losses_only, algorithms),
        "costs": costs(record, algorithms),
        "failures": failures(record),
        "tracebacks": tracebacks(failures(record)),
        "conduct": conduct(record),
    }
    summary["conclusions"] = conclusions(summary)
    summary["finding"] = finding(summary)
    return summary


def _best(entries: dict[str, dict[str, Any]], greater_is_better: bool) -> list[str]:
    """List the algorithms with the best of two means or more; rounding error is no difference."""
    means = {name: entry["mean"] for name, entry in entries.items() if entry["complete"]}
    if len(means) < 2:
        return []
    best = max(means.values()) if greater_is_better else min(means.values())
    found = [name for name, mean in means.items() if abs(mean - best) <= 1e-12 * abs(best)]
    return found if len(found) < len(means) else []  # as in the paper, where all are equal


def _unlike_published(one: dict[str, Any]) -> list[str]:
    """List the characteristics that do not round to what the paper printed."""
    if one["number"] not in published.sets():
        return []
    printed = published.sets()[one["number"]].characteristics
    return [
        key
        for key, value in one["characteristics"].items()
        if abs(value - printed[key]) > (0.0006 if key not in ("N", "d", "L") else 0)
    ]

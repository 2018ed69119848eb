"""Values of metrics, averaged over repeats and folds."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairmend import published

if TYPE_CHECKING:
    import pandas as pd

    from pairmend.study.store import StudyRecord


def algorithms_of(record: "StudyRecord") -> list[str]:
    """Return the names of the algorithms in the order of the study."""
    return list(record.definition["algorithms"])


def within_definition(record: "StudyRecord") -> "StudyRecord":
    """Remove tasks and results of earlier runs that are not in the study's definition."""
    given = record.definition

    def kept(rows: "pd.DataFrame") -> "pd.DataFrame":
        return rows[
            rows["set"].isin(list(given["sets"]))
            & rows["algorithm"].isin(list(given["algorithms"]))
            & (rows["repeat"] < int(given["repeats"]))
        ]

    results = kept(record.results)
    results = results[results["criterion"].isin(list(given["criteria"]))]
    chosen = None if record.chosen is None else kept(record.chosen)
    return replace(record, results=results, tasks=kept(record.tasks), chosen=chosen)


def is_paper_study(record: "StudyRecord") -> bool:
    """Return whether a study has the paper's algorithms and mostly sets of the paper."""
    numbers = [each["number"] for each in sets_of(record)]
    known = sum(number in published.sets() for number in numbers)
    return set(published.ALGORITHMS) <= set(algorithms_of(record)) and 0 < len(numbers) <= 2 * known


def sets_of(record: "StudyRecord") -> list[dict[str, Any]]:
    """Return the loaded sets in the order of the study."""
    known = {row["set"]: row for row in record.sets.to_dict("records")}
    return [_described(known[name]) for name in record.definition["sets"] if name in known]


def in_papers_order(sets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the paper's sets first, in its order."""
    return sorted(sets, key=lambda each: (each["number"] is None, each["number"] or 0))


def criteria_of(record: "StudyRecord") -> list[dict[str, Any]]:
    """Return the metrics in the order of the study."""
    given = record.definition["criteria"]
    slugs: list[str] = []
    for name in given:
        number, each = 1, slug(name)
        while each in slugs:
            number += 1
            each = f"{slug(name)}-{number}"
        slugs.append(each)
    return [
        {
            "criterion": name,
            "title": str(about["title"] or name),
            "slug": each,
            "greater_is_better": bool(about["greater_is_better"]),
        }
        for (name, about), each in zip(given.items(), slugs, strict=True)
    ]


def slug(name: str) -> str:
    """Return a name for files and links."""
    kept = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower())
    return "-".join(kept.split()) or "x"


def measured(record: "StudyRecord") -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Return means over repeats and folds by metric, set and algorithm."""
    expected = int(record.definition["folds"]) * int(record.definition["repeats"])
    found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    rows = record.results[np.isfinite(record.results["value"].astype(float))]
    rows = rows.sort_values(["repeat", "fold"], kind="stable")
    for (criterion, name, algorithm), group in rows.groupby(["criterion", "set", "algorithm"]):
        values = [float(value) for value in group["value"]]
        found.setdefault(criterion, {}).setdefault(name, {})[algorithm] = {
            "mean": float(np.mean(values)),
            "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None,
            "values": values,
            "complete": len(values) == expected,
        }
    return found


def complete_sets(
    of_criterion: Mapping[str, Mapping[str, Mapping[str, Any]]],
    sets: list[str],
    algorithms: list[str],
) -> list[str]:
    """Return the sets on which every algorithm has results of all folds."""
    return [
        name
        for name in sets
        if all(
            of_criterion.get(name, {}).get(algorithm, {}).get("complete", False)
            for algorithm in algorithms
        )
    ]


def loss_frame(
    of_criterion: Mapping[str, Mapping[str, Mapping[str, Any]]],
    sets: list[str],
    algorithms: list[str],
    *,
    greater_is_better: bool,
) -> "pd.DataFrame":
    """Return mean losses (negated if greater is better) as `pairmend.stats` needs them."""
    import pandas as pd

    sign = -1.0 if greater_is_better else 1.0
    return pd.DataFrame(
        [[sign * of_criterion[name][each]["mean"] for each in algorithms] for name in sets],
        index=pd.Index(sets, name="set"),
        columns=algorithms,
        dtype=float,
    )


def fold_frame(
    record: "StudyRecord",
    criterion: str,
    sets: list[str],
    algorithms: list[str],
    *,
    greater_is_better: bool,
) -> "pd.DataFrame":
    """Return the losses of all folds (negated if greater is better)."""
    rows = record.results
    rows = rows[
        (rows["criterion"] == criterion)
        & rows["set"].isin(sets)
        & rows["algorithm"].isin(algorithms)
    ]
    table = rows.pivot(index=["set", "repeat", "fold"], columns="algorithm", values="value")
    sign = -1.0 if greater_is_better else 1.0
    places = [sets.index(name) for name in table.index.get_level_values("set")]
    order = np.argsort(np.array(places, dtype=np.int64), kind="stable")
    return sign * table.reindex(columns=algorithms).iloc[order].astype(float)


def _described(row: Mapping[str, Any]) -> dict[str, Any]:
    number = row["paper_number"]
    return {
        "set": row["set"],
        "title": row["title"] or row["set"],
        "number": None if number != number else int(number),
        "characteristics": {key: float(row[key]) for key in published.CHARACTERISTICS},
        "sha256": row["sha256"],
        "source": row["source"],
    }

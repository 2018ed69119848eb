"""Losses of a study, averaged over repeats and folds."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairmend import published

if TYPE_CHECKING:
    import pandas as pd

    from pairmend.study.record import StudyRecord


def algorithms_of(record: "StudyRecord") -> list[str]:
    """List the names of the algorithms, in the order of the study."""
    return list(record.definition["algorithms"])


def within_definition(record: "StudyRecord") -> "StudyRecord":
    """Leave out tasks and results that the study as it is defined does not have.

    A folder keeps those of sets, algorithms and repeats that were left out since.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.

    Returns
    -------
    StudyRecord
    """
    given = record.definition

    def kept(rows: "pd.DataFrame") -> "pd.DataFrame":
        return rows[
            rows["set"].isin(list(given["sets"]))
            & rows["algorithm"].isin(list(given["algorithms"]))
            & (rows["repeat"] < int(given["repeats"]))
        ]

    results = kept(record.results)
    results = results[results["criterion"].isin(list(given["criteria"]))]
    return replace(record, results=results, tasks=kept(record.tasks))


def is_beside_paper(record: "StudyRecord") -> bool:
    """Tell whether a study is to be read beside the paper.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.

    Returns
    -------
    bool
        Whether it has all of the paper's algorithms, and half of its sets are the paper's.
    """
    numbers = [each["number"] for each in sets_of(record)]
    known = sum(number in published.sets() for number in numbers)
    return set(published.ALGORITHMS) <= set(algorithms_of(record)) and 0 < len(numbers) <= 2 * known


def sets_of(record: "StudyRecord") -> list[dict[str, Any]]:
    """List the sets that were loaded, in the study's order.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.

    Returns
    -------
    list of dict
        With ``set``, ``title``, ``number`` (None for a set that is not in the paper),
        ``characteristics``, ``sha256`` and ``source``.
    """
    known = {row["set"]: row for row in record.sets.to_dict("records")}
    return [_described(known[name]) for name in record.definition["sets"] if name in known]


def in_papers_order(sets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the paper's sets first, in its order.

    Examples
    --------
    >>> sets = [{"number": 29}, {"number": None}, {"number": 6}]
    >>> [each["number"] for each in in_papers_order(sets)]
    [6, 29, None]
    """
    return sorted(sets, key=lambda each: (each["number"] is None, each["number"] or 0))


def criteria_of(record: "StudyRecord") -> list[dict[str, Any]]:
    """List the criteria in the order of the study.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.

    Returns
    -------
    list of dict
        With ``criterion``, ``title``, ``slug`` (for names of files, each another) and whether
        ``greater_is_better``.
    """
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
    """Turn a name into one for files and links.

    Parameters
    ----------
    name : str
        Any text.

    Returns
    -------
    str

    Examples
    --------
    >>> slug("1 - macro F1"), slug("../x")
    ('1-macro-f1', 'x')
    """
    kept = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower())
    return "-".join(kept.split()) or "x"


def measured(record: "StudyRecord") -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Average what was measured over repeats and folds.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.

    Returns
    -------
    dict
        By criterion, set and algorithm: ``mean``, ``sd`` (None for a single fold), ``values``
        of the folds, and whether they are ``complete``.
    """
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
    """List the sets on which every algorithm has all of its folds.

    Parameters
    ----------
    of_criterion : mapping
        Entries of `measured` for one criterion.
    sets, algorithms : list of str
        Names in order.

    Returns
    -------
    list of str

    Examples
    --------
    >>> whole, part = {"complete": True}, {"complete": False}
    >>> entries = {"s": {"A": whole, "B": whole}, "t": {"A": whole, "B": part}, "u": {"A": whole}}
    >>> complete_sets(entries, ["s", "t", "u", "v"], ["A", "B"])
    ['s']
    """
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
    """Make the table that `pairmend.stats` takes: less is better.

    Parameters
    ----------
    of_criterion : mapping
        Entries of `measured` for one criterion.
    sets, algorithms : list of str
        Rows and columns; all of them complete.
    greater_is_better : bool
        Whether to negate.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> entries = {"s": {"A": {"mean": 0.25}, "B": {"mean": 0.5}}}
    >>> loss_frame(entries, ["s"], ["A", "B"], greater_is_better=True).to_numpy().tolist()
    [[-0.25, -0.5]]
    """
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
    """Make the table of losses of all folds: less is better.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.
    criterion : str
        Its name.
    sets, algorithms : list of str
        Which to take; all of them complete.
    greater_is_better : bool
        Whether to negate.

    Returns
    -------
    DataFrame
        A row per fold, indexed by set, repeat and fold, and a column per algorithm.
    """
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

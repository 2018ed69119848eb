"""summarise: all numbers and sentences of a report, as plain data."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pairmend import published
from pairmend.report.algorithms import without_results
from pairmend.report.best import best_of
from pairmend.report.comparison import ALPHA, CONFIDENCE, compare
from pairmend.report.conclusions import conclusions
from pairmend.report.costs import (
    chosen_values,
    costs,
    failures,
    grouped,
    run_details,
    tracebacks,
    warnings_of,
)
from pairmend.report.finding import finding
from pairmend.report.measured import (
    algorithms_of,
    complete_sets,
    criteria_of,
    fold_frame,
    in_papers_order,
    is_paper_study,
    loss_frame,
    measured,
    sets_of,
    within_definition,
)
from pairmend.report.published import compare_with_published
from pairmend.report.table import text_of

if TYPE_CHECKING:
    from pairmend.study.store import StudyRecord

Summary = Mapping[str, Any]
"""What `summarise` returns."""


def summarise(record: "StudyRecord") -> dict[str, Any]:
    """Compute the numbers of a report.

    Parameters
    ----------
    record : StudyRecord
        The study, from `pairmend.study.read_study`.

    Returns
    -------
    dict
        Plain dicts, lists, numbers and texts. ``title``, ``folds``, ``repeats``, ``alpha`` and
        ``confidence``; ``algorithms``, ``criteria`` and ``sets`` (those that have results) in
        order, ``algorithms_without_results`` (the others, with the reason), ``without_results``
        (names of the other sets); ``is_paper_study``, whether algorithms and sets are those of
        the paper; ``measured`` (means and folds), ``best`` (algorithms with the best mean of a
        set, as it is printed) and ``comparison`` by metric; ``left_out`` (sets without all
        results, by metric); ``published`` and ``conclusions``, the comparison with the paper;
        ``costs``, ``failures``, ``grouped_failures``, ``tracebacks``, ``warnings`` and
        ``run_details``; ``chosen``, how often searches chose each value of a parameter;
        ``finding``, the sentences at the beginning. Results outside the study's
        definition are left out.

    Examples
    --------
    >>> import tempfile
    >>> from pairmend import PairwiseClassifier
    >>> from pairmend.study import Study, read_study, run_study
    >>> from sklearn.naive_bayes import GaussianNB
    >>> study = Study(["simplehc"], {"pairs": PairwiseClassifier(GaussianNB())}, folds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_study(study, folder)
    ...     summary = summarise(read_study(folder))
    >>> summary["algorithms"], summary["folds"]
    (['pairs'], 2)
    """
    import pandas as pd

    record = within_definition(record)
    all_algorithms, criteria, found = algorithms_of(record), criteria_of(record), measured(record)
    with_results = {name for of_criterion in found.values() for name in of_criterion}
    successful = {
        name
        for of_criterion in found.values()
        for of_set in of_criterion.values()
        for name in of_set
    }
    # Without any result, show all algorithms.
    algorithms = [name for name in all_algorithms if name in successful] or all_algorithms
    sets = [each for each in sets_of(record) if each["set"] in with_results]
    paper_study = is_paper_study(record)
    if paper_study:
        sets = in_papers_order(sets)
    names = [each["set"] for each in sets]
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
    folds = {
        criterion: fold_frame(
            record, criterion, rows, algorithms, greater_is_better=criterion in more
        )
        for criterion, rows in complete.items()
    }
    characteristics = pd.DataFrame(
        [each["characteristics"] for each in sets],
        index=pd.Index(names, name="set"),
        columns=list(published.CHARACTERISTICS),
        dtype=float,
    )
    failed = failures(record)
    losses_only = {name: entries for name, entries in found.items() if name not in more}
    summary: dict[str, Any] = {
        "title": record.definition["title"] or record.definition["name"],
        "folds": int(record.definition["folds"]),
        "repeats": int(record.definition["repeats"]),
        "alpha": ALPHA,
        "confidence": CONFIDENCE,
        "is_paper_study": paper_study,
        "algorithms": algorithms,
        "algorithms_without_results": without_results(record, all_algorithms, set(algorithms)),
        "criteria": criteria,
        "sets": [{**each, "unlike_published": _unlike_published(each)} for each in sets],
        "without_results": [n for n in record.definition["sets"] if n not in with_results],
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
        "comparison": compare(frames, characteristics, folds, more),
        "published": compare_with_published(sets, losses_only, algorithms),
        "costs": costs(record, algorithms),
        "failures": failed,
        "grouped_failures": grouped(failed),
        "tracebacks": tracebacks(failed),
        "warnings": warnings_of(record, all_algorithms),
        "run_details": run_details(record),
        "chosen": chosen_values(record, all_algorithms),
    }
    summary["conclusions"] = conclusions(summary)
    summary["finding"] = finding(summary)
    return summary


def _best(entries: dict[str, dict[str, Any]], greater_is_better: bool) -> list[str]:
    """Return the algorithms with the best printed mean; as in the paper, none if all are equal."""
    means = {name: entry["mean"] for name, entry in entries.items() if entry["complete"]}
    best = {text_of(means[name]) for name in best_of(means, greater_is_better=greater_is_better)}
    found = [name for name, mean in means.items() if text_of(mean) in best]
    return found if len(found) < len(means) else []


def _unlike_published(one: dict[str, Any]) -> list[str]:
    """Return the characteristics that do not round to the paper's values."""
    if one["number"] not in published.sets():
        return []
    printed = published.sets()[one["number"]].characteristics
    return [
        key
        for key, value in one["characteristics"].items()
        if abs(value - printed[key]) > (0.0006 if key not in ("N", "d", "L") else 0)
    ]

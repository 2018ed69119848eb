"""Explanations as pandas DataFrames."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairmend.explanation.data import Explanation

Record = tuple[Any, ...]


def frame_of(explanation: "Explanation", of: str) -> Any:
    """Return a part of an explanation as a pandas DataFrame."""
    if of not in PARTS:
        raise ValueError(
            f"of={of!r} is no part of an explanation; choose one of {', '.join(PARTS)}"
        )
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_frame needs pandas, which is not installed: pip install 'pairmend[study]'"
        ) from error
    columns, records = PARTS[of]
    return pd.DataFrame(list(records(explanation)), columns=columns.split())


def _problems(explanation: "Explanation") -> Iterator[Record]:
    for p in explanation.problems:
        yield (
            *p.names,
            p.before,
            p.p_decide,
            p.after,
            p.changed,
            *p.masses[0],
            *p.masses[1],
            *p.p_true_given_decision,
            p.shrinkage,
            p.n_effective,
            p.correction,
            p.reference,
        )


def _neighbours(explanation: "Explanation") -> Iterator[Record]:
    for problem in explanation.problems:
        for n in problem.neighbours:
            yield *problem.names, n.row, n.weight, n.share, *n.truth, n.p_decide, problem.correction


def _training_rows(explanation: "Explanation") -> Iterator[Record]:
    names = [label.name for label in explanation.labels]
    for each in explanation.training_rows:
        labels = tuple(names[label] for label in each.labels)
        yield each.row, each.index, each.share, each.row in explanation.same_rows, labels


def _features(explanation: "Explanation") -> Iterator[Record]:
    for each in explanation.features:
        yield each.name, each.value, each.difference


def _labels(explanation: "Explanation") -> Iterator[Record]:
    for label in explanation.labels:
        scores = (label.before, label.after)
        yield label.name, *scores, label.accepted_before, label.accepted, label.threshold


def _steps(explanation: "Explanation") -> Iterator[Record]:
    for label in explanation.labels:
        for s in label.steps:
            totals = (s.total_before, s.total_after)
            yield label.name, s.name, s.before, s.after, *totals, s.kind, s.weight


def _sets(explanation: "Explanation") -> Iterator[Record]:
    for s in explanation.sets:
        yield s.names, s.before, s.after, s.accepted_before, s.accepted


PARTS: dict[str, tuple[str, Callable[["Explanation"], Iterator[Record]]]] = {
    # Cells of the confusion matrix and p_true_given_decision have the names of docs/method.md.
    "problems": (
        "first second before p_decide after changed e_ii e_ij e_ji e_jj c_ii c_ij shrinkage "
        "n_effective correction reference",
        _problems,
    ),
    "neighbours": (
        "first second row weight share is_first is_second p_decide correction",
        _neighbours,
    ),
    "labels": ("label before after accepted_before accepted threshold", _labels),
    "steps": ("label step before after total_before total_after kind weight", _steps),
    "sets": ("labels before after accepted_before accepted", _sets),
    "training_rows": ("row index share same labels", _training_rows),
    "features": ("feature value difference", _features),
}

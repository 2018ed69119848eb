"""Explanations as HTML: a page in one file, and an output of a notebook."""

from collections.abc import Iterable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pairmend._utils import pages
from pairmend._utils.text import counted
from pairmend.explanation.text import (
    percent,
    problem_sentences,
    problem_title,
    same_rows_sentence,
    short,
    step_name,
)

if TYPE_CHECKING:
    from pairmend.explanation.data import (
        Explanation,
        LabelExplanation,
        ProblemExplanation,
        TrainingRow,
        Value,
    )

N_LABELS, N_PROBLEMS, N_NEIGHBOURS, N_FEATURES = 30, 4, 6, 60
"""Largest numbers of labels, problems, neighbours beside each other, and features of a row."""
FILTERED_FROM = 8
"""Number of rows from which a table has a filter."""
LONGEST_VALUE = 60
NARROW = 13
"""Largest number of letters of a class in the picture of a confusion matrix."""


def page_of(explanations: Sequence["Explanation"], *, title: str | None = None) -> str:
    """Return explanations as a page."""
    title = title or "Explanations of predictions"
    body = _render("page.html.jinja", explanations, title=title, prefix="row")
    return pages.page(title, body, style=_style())


def cell_of(explanations: Sequence["Explanation"]) -> str | None:
    """Return explanations as an output of a notebook; None without jinja2."""
    # A notebook may show the same explanation twice, and outputs of an earlier process.
    prefix = f"pairmend-{uuid4().hex}"
    try:
        body = _render("cell.html.jinja", explanations, title="", prefix=prefix)
    except ImportError:
        return None
    return pages.cell(body, style=_style())


def _render(
    template: str, explanations: Sequence["Explanation"], *, title: str, prefix: str
) -> str:
    environment = pages.environment("pairmend.explanation", "an explanation as HTML")
    numbers: Sequence[int] = [each.row for each in explanations]
    if len(set(numbers)) < len(numbers):  # rows of several tables
        numbers = range(len(numbers))
    text: str = environment.get_template(template).render(
        title=title,
        lead=_lead(explanations),
        rows=[
            {"id": f"{prefix}-{number}", **_row_view(each)}
            for number, each in zip(numbers, explanations, strict=True)
        ],
        filtered_from=FILTERED_FROM,
    )
    return text


def _style() -> str:
    folder = resources.files("pairmend.explanation") / "templates"
    return (folder / "style.css").read_text(encoding="utf-8")


def _lead(explanations: Sequence["Explanation"]) -> str:
    changed = [sum(label.changed for label in each.labels) for each in explanations]
    n_labels = sum(len(each.labels) for each in explanations)
    labels = f"{sum(changed):,} of {counted(n_labels, 'prediction')}"
    if len(explanations) == 1:
        (row,) = explanations
        return f"Row {short(row.name)}: the correction changed {labels}."
    rows = f"in {sum(map(bool, changed)):,} of {counted(len(explanations), 'row')}"
    return f"The correction changed {labels}, {rows}."


def _row_view(explanation: "Explanation") -> dict[str, Any]:
    """Return an explanation as plain data for the templates."""
    labels = explanation.most_changed_labels(N_LABELS)
    shown = explanation.most_changed(N_PROBLEMS)
    accepted = [label.name for label in explanation.labels if label.accepted]
    before = [label.name for label in explanation.labels if label.accepted_before]
    largest = max((abs(label.after - label.before) for label in explanation.labels), default=0.0)
    return {
        "name": short(explanation.name),
        "accepted": accepted,
        "before": before,
        "n_changed": sum(label.changed for label in explanation.labels),
        "n_labels": len(explanation.labels),
        "largest": f"{largest:.2f}",
        "labels": [_label_view(label) for label in labels],
        "n_more_labels": len(explanation.labels) - len(labels),
        "has_thresholds": any(label.threshold is not None for label in labels),
        "sets": [
            {
                "names": ", ".join(each.names) or "no label",
                "before": f"{each.before:.2f}",
                "after": f"{each.after:.2f}",
                "predicted": _predicted(each.accepted_before, each.accepted),
                "changed": each.changed,
            }
            for each in explanation.sets
        ],
        "problems": [_problem_view(problem) for problem in shown],
        "n_problems": explanation.n_problems,
        "n_votes": explanation.n_changed,
        "same": same_rows_sentence(explanation.same_rows) if explanation.same_rows else "",
        "neighbours": [_neighbour_view(explanation, each) for each in explanation.training_rows],
        "features": _feature_view(explanation),
        "steps": [
            {
                "label": label.name,
                "name": step_name(step),
                "before": f"{step.before:.3f}",
                "after": f"{step.after:.3f}",
            }
            for label in labels
            for step in label.steps
            if label.changed or len(explanation.labels) == 1
        ],
    }


def _label_view(label: "LabelExplanation") -> dict[str, Any]:
    return {
        "name": label.name,
        "before": label.before,
        "after": label.after,
        "threshold": label.threshold,
        "accepted": label.accepted,
        "changed": label.changed,
        "predicted": _predicted(label.accepted_before, label.accepted),
    }


def _predicted(before: bool, after: bool) -> str:
    words = ["yes" if each else "no" for each in (before, after)]
    return words[1] if before == after else f"{words[1]}, was {words[0]}"


def _problem_view(problem: "ProblemExplanation") -> dict[str, Any]:
    shares = problem.shares
    return {
        "title": problem_title(problem),
        "sentences": [each.replace(" %", "\u00a0%") for each in problem_sentences(problem)],
        "changed": problem.changed,
        "names": [short(name, NARROW) for name in problem.names],
        # Rows are decisions, columns are true classes.
        "cells": [
            [{"share": shares[truth][decision], "text": percent(shares[truth][decision])}
             for truth in (0, 1)]
            for decision in (0, 1)
        ],
        "true": [percent(p) for p in problem.p_true_given_decision],
        "has_mass": problem.mass > 0,
    }  # fmt: skip


def _neighbour_view(explanation: "Explanation", neighbour: "TrainingRow") -> dict[str, Any]:
    predicted = {label.label for label in explanation.labels if label.accepted}
    return {
        "name": _row_name(neighbour),
        "row": neighbour.row,
        "same": neighbour.row in explanation.same_rows,
        "share": neighbour.share,
        "percent": percent(neighbour.share),
        "labels": [
            {"name": explanation.labels[label].name, "shared": label in predicted}
            for label in neighbour.labels
        ],
    }


def _feature_view(explanation: "Explanation") -> dict[str, Any]:
    """Return the features with values of the row and of its nearest neighbours."""
    neighbours = explanation.training_rows[:N_NEIGHBOURS]
    order: Iterable[int] = range(len(explanation.features))
    if len(explanation.features) > N_FEATURES:
        # The nearest half and the farthest half.
        by_difference = sorted(order, key=lambda f: explanation.features[f].difference or 0.0)
        ends = by_difference[: N_FEATURES // 2] + by_difference[-(N_FEATURES // 2) :]
        order = sorted(ends)
    return {
        "n_left_out": max(0, len(explanation.features) - N_FEATURES),
        "neighbours": [
            {"name": _row_name(each), "same": each.row in explanation.same_rows}
            for each in neighbours
        ],
        "rows": [
            {
                "name": explanation.features[f].name,
                "difference": explanation.features[f].difference,
                "cells": [
                    {"text": _value_text(value), "value": _number(value),
                     "equal": place > 0 and value == explanation.features[f].value}
                    for place, value in enumerate(
                        [explanation.features[f].value, *(each.values[f] for each in neighbours)]
                    )
                ],
            }
            for f in order
        ],
    }  # fmt: skip


def _row_name(row: "TrainingRow") -> str:
    return short(str(row.row if row.index is None else row.index))


def _value_text(value: "Value") -> str:
    if value is None:
        return "–"
    return short(value, LONGEST_VALUE) if isinstance(value, str) else f"{value:.5g}"


def _number(value: "Value") -> float | None:
    return value if isinstance(value, float) else None

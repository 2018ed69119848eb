"""What text and pages show of an explanation: the sections of each label, and their tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pairmend._utils.text import counted, one_line

if TYPE_CHECKING:
    from pairmend.explanation.data import Change, Explanation, LabelExplanation, Value

LONGEST = 60
SMALL = 0.01
"""A part that changes the probability less is one line."""
N_CHANGES = 8
"""Largest number of changes of a part to show."""


@dataclass(frozen=True)
class Section:
    """A part of the explanation of a label: a title, sentences, and a table.

    `bars` are numbers of the rows of the table, relative to the largest: in [-1, 1], with signs.
    """

    title: str
    notes: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bars: tuple[float, ...] = ()


def headline(explanation: "Explanation", label: "LabelExplanation") -> str:
    """Return the prediction of a label, its probability and threshold."""
    threshold = "" if label.threshold is None else f", threshold {label.threshold:z.2f}"
    if label.threshold is None and explanation.sets:
        is_part = label.name in explanation.sets[0].labels
        threshold = f", {'in' if is_part else 'not in'} the most likely label set"
    changed = ""
    if label.changed:
        changed = f"; without the correction {_predicted(label.predicted_before)}"
    return f"{_predicted(label.predicted)}, probability {label.proba:.2f}{threshold}{changed}"


def sections(explanation: "Explanation", label: "LabelExplanation") -> Iterator[Section]:
    """Yield the parts of the explanation of a label."""
    yield _base(explanation, label)
    for part in dict.fromkeys(change.part for change in label.changes):
        changes = [change for change in label.changes if change.part == part]
        total, name = label.amount(part), "Votes of pairs" if part == "votes" else part.capitalize()
        if max(abs(amount) for amount in (total, *(each.amount for each in changes))) < SMALL:
            yield Section(f"{name}: changed less than {SMALL}")
        elif part in ("correction", "votes"):
            yield _correction(f"{name}: {total:+.2f}", label, changes)
            if explanation.similar:
                yield _similar(explanation, label)
        else:
            yield Section(f"{name}: {total:+.2f}")
    if explanation.sets:
        sets = (f"{_set(each.labels)} {each.after:.2f}" for each in explanation.sets)
        yield Section(f"Most likely label sets: {'; '.join(sets)}")


def _base(explanation: "Explanation", label: "LabelExplanation") -> Section:
    title, about = f"Base classifier: {label.base:.2f}", explanation.about_reference
    if len(label.base_parts) > 1:
        parts = (f"{weight:.2f} x {p:.2f} ({name})" for name, weight, p in label.base_parts)
        title += f" = {' + '.join(parts)}"
    if label.reference is None or label.log_odds is None:
        return Section(title, (f"Contributions are {about}.",) if about else ())
    note = (
        f"Log-odds {label.log_odds:+.2f} = {label.reference:+.2f} ({about}) plus these "
        "contributions:"
    )
    rows = tuple(
        (feature(each.name, each.value), f"{each.amount:+.2f}") for each in label.contributions
    )
    largest = max((abs(each.amount) for each in label.contributions), default=1.0)
    bars = tuple(each.amount / largest for each in label.contributions)
    return Section(title, (note,), ("Feature", "Log-odds"), rows, bars)


def _correction(title: str, label: "LabelExplanation", changes: Sequence["Change"]) -> Section:
    shown = sorted(changes, key=lambda each: -abs(each.amount))[:N_CHANGES]
    notes = []
    if changes[0].part == "votes":
        n_votes = sum((each.before > 0.5) != (each.after > 0.5) for each in changes)
        notes.append(f"{n_votes} of {counted(len(changes), 'pair')} changed the vote.")
    if len(changes) > len(shown):
        notes.append(f"The {len(shown)} largest changes:")
    rows = tuple(
        (
            short(each.name),
            *(f"{number:.2f}" for number in (each.before, each.after)),
            f"{each.amount:+.2f}",
            _reason(each, label.name),
        )
        for each in shown
    )
    return Section(title, tuple(notes), ("By", "Before", "After", "Change", "Why"), rows)


def _reason(change: "Change", label: str) -> str:
    """Return how the base classifier erred on similar rows."""
    if not change.given:
        return ""
    decided, others = (f"{share:.0%}" for share in change.given)
    return f"{short(label, 28)} is true for {decided} of rows decided for it, {others} of others"


def _similar(explanation: "Explanation", label: "LabelExplanation") -> Section:
    place = explanation.labels.index(label)
    rows = []
    for each in explanation.similar:
        truth = "true" if label.name in each.labels else "not"
        base = [f"{each.base[place]:.2f}"] if each.base else []
        rows.append((str(each.row), f"{each.share:.0%}", truth, *base))
    head = ("Similar training row", "Weight", short(label.name, 28), "Base")
    return Section("", (), head[: len(rows[0])], tuple(rows))


def _predicted(is_predicted: bool) -> str:
    return "predicted" if is_predicted else "not predicted"


def _set(labels: Sequence[str]) -> str:
    return short(", ".join(labels)) or "no label"


def largest_change(explanation: "Explanation") -> float:
    """Return the largest change of a probability by the correction."""
    return max((abs(label.proba - label.base) for label in explanation.labels), default=0.0)


def row_name(row: "Explanation") -> str:
    """Return number and index of a row."""
    return str(row.row) + ("" if row.index in (None, row.row) else f" ({short(str(row.index))})")


def feature(name: str, value: "Value") -> str:
    """Return name and value of a feature."""
    if value is None:
        return short(name)
    return f"{short(name)} = {short(value) if isinstance(value, str) else f'{value:.5g}'}"


def short(name: str, longest: int = LONGEST) -> str:
    """Cut a name to one line of printable characters, at most so many."""
    line = one_line(name)
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def text_of(explanation: "Explanation") -> str:
    """Return an explanation as plain text."""
    lines = [f"Row {row_name(explanation)}: {_set(explanation.predicted)}"]
    for label in explanation.labels:
        lines += ["", f"{short(label.name)}: {headline(explanation, label)}"]
        for section in sections(explanation, label):
            lines += [f"  {section.title}"] if section.title else []
            lines += [f"    {note}" for note in section.notes]
            lines += [f"    {line}" for line in _aligned(section)]
    if left := explanation.n_labels - len(explanation.labels):
        lines += ["", f"{left} of {explanation.n_labels} labels are not listed."]
    return "\n".join(lines)


def _aligned(section: Section) -> Iterator[str]:
    """Yield the lines of a table; columns of numbers are aligned on the right."""
    table = [section.head, *section.rows] if len(section.head) > 2 else list(section.rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (
            cell.ljust(width) if place in (0, 4) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()

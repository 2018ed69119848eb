"""Explanations as plain text."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pairmend._utils.text import one_line

if TYPE_CHECKING:
    from pairmend.explanation.data import (
        Explanation,
        LabelExplanation,
        Neighbour,
        ProblemExplanation,
        SetExplanation,
        Step,
    )

LONGEST_NAME = 28
LONGEST_SET = 60
MOST_STEPS = 5


def text_of(explanation: "Explanation", *, n_labels: int, n_scores: int, n_problems: int) -> str:
    """Return an explanation as text, changes first."""
    changed = [label for label in explanation.most_changed_labels() if label.changed]
    parts = [_label_lines(explanation, changed, n_labels)]
    if explanation.sets:
        parts.append(_set_lines(explanation.sets))
    problems = explanation.most_changed(n_problems)
    parts.append(_vote_lines(explanation, len(problems)))
    names = _row_names(explanation)
    parts += [_problem_lines(problem, names) for problem in problems]
    parts += [_score_lines(label) for label in changed[:n_scores]]
    return "\n\n".join("\n".join(part) for part in parts)


def _label_lines(
    explanation: "Explanation", changed: list["LabelExplanation"], n_labels: int
) -> Iterator[str]:
    total, row = len(explanation.labels), str(explanation.row)
    if explanation.index not in (None, explanation.row):
        row += f" ({short(str(explanation.index))})"
    if changed:
        n_changed = f"{len(changed)} of {total} labels"
        yield f"Row {row}: the correction changed the prediction of {n_changed}."
    else:
        yield f"Row {row}: the correction changed no prediction of {total} labels."
    if explanation.same_rows:
        yield same_rows_sentence(explanation.same_rows)
    ranked = explanation.most_changed_labels()
    shown, left = ranked[:n_labels], ranked[n_labels:]
    thresholds = {label.threshold for label in explanation.labels}
    if shown:
        names = _columns(["label", *(label.name for label in shown)])
        own = len(thresholds) > 1
        yield f"  {names[0]}  before  after  " + "threshold  " * own + "predicted"
        for name, label in zip(names[1:], shown, strict=True):
            scores = f"{label.before:6.2f} {label.after:6.2f}"
            needed = f"  {label.threshold:z9.2f}" if own and label.threshold is not None else ""
            yield f"  {name}  {scores}{needed}  {_decision(label)}"
    if left and shown:
        predicted = sum(label.accepted for label in left)
        yield f"  and {len(left)} more, {predicted or 'none'} of them predicted"
    if len(thresholds) == 1 and None not in thresholds:
        yield f"A label is predicted when its score is above {thresholds.pop():z.2f}."


def _set_lines(sets: Sequence["SetExplanation"]) -> Iterator[str]:
    yield "Of the label sets seen in training the most likely is predicted:"
    listed = [", ".join(each.names) or "no label" for each in sets]
    names = _columns(["label set", *listed], LONGEST_SET)
    yield f"  {names[0]}  before  after  predicted"
    for name, each in zip(names[1:], sets, strict=True):
        yield f"  {name}  {each.before:6.2f} {each.after:6.2f}  {_decision(each)}"


def _vote_lines(explanation: "Explanation", n_shown: int) -> Iterator[str]:
    yield (
        f"{explanation.n_changed or 'None'} of {explanation.n_problems} binary problems changed "
        f"{'its' if explanation.n_changed == 1 else 'their'} vote."
        + (" Largest changes:" if n_shown else "")
    )


def _problem_lines(problem: "ProblemExplanation", names: dict[int, str]) -> Iterator[str]:
    yield f"{problem_title(problem)}."
    yield from (f"  {sentence}" for sentence in problem_sentences(problem))
    if problem.neighbours:
        first, second = (short(name) for name in problem.names)
        yield "  Validation rows of largest weight:"
        for neighbour in problem.neighbours:
            name = names.get(neighbour.row, str(neighbour.row))
            yield f"    row {name}: {_neighbour_line(neighbour, first, second)}"


def same_rows_sentence(rows: Sequence[int]) -> str:
    """Return a sentence about the training rows with the same features as the explained row."""
    if len(rows) == 1:
        return f"Training row {rows[0]} has the same features."
    more = f" and {len(rows) - 3:,} more" if len(rows) > 4 else ""
    shown = rows if len(rows) <= 4 else rows[:3]
    return f"Training rows {', '.join(map(str, shown))}{more} have the same features."


def _row_names(explanation: "Explanation") -> dict[int, str]:
    """Return the names of neighbours: position, index, and whether it is the row itself."""
    return {
        each.row: str(each.row)
        + (f" ({short(str(each.index))})" if each.index not in (None, each.row) else "")
        + (", the same features" if each.row in explanation.same_rows else "")
        for each in explanation.training_rows
    }


def problem_title(problem: "ProblemExplanation") -> str:
    """Return the two classes of a problem and how the vote changed."""
    first, second = (short(name) for name in problem.names)
    votes = [{1.0: first, 0.0: second}.get(vote, "tie") for vote in problem.votes]
    by = f", by {problem.correction}" if problem.correction else ""
    change = f"from {votes[0]} to {votes[1]}" if problem.changed else f"still {votes[0]}"
    return f"{first} or {second}{by}: {change}"


def problem_sentences(problem: "ProblemExplanation") -> Iterator[str]:
    """Yield the correction of a problem in words: support, confusion matrix, corrected support."""
    first, second = (short(name) for name in problem.names)
    yield f"The support for {first} is {percent(problem.before)}."
    if problem.p_decide != problem.before:
        share = percent(problem.p_decide)
        yield f"The reference classifier decides for {first} with probability {share}."
    if problem.mass > 0:
        yield from _confusion_sentences(problem, first, second)
    else:
        yield "No validation row of the two classes has a weight near this row."
    yield f"The corrected support for {first} is {percent(problem.after)}{_sum(problem)}."


def _confusion_sentences(problem: "ProblemExplanation", first: str, second: str) -> Iterator[str]:
    (e_ii, e_ij), (e_ji, e_jj) = problem.masses
    for name, total, p_true in zip(
        (first, second), (e_ii + e_ji, e_ij + e_jj), problem.p_true_given_decision, strict=True
    ):
        if total > 0:
            yield f"Near this row, {first} is true in {percent(p_true)} of decisions for {name}."
        else:
            yield f"Near this row there is no decision for {name}."
    if problem.shrinkage > 0:
        share = percent(problem.shrinkage / problem.mass)
        yield f"{share} of the confusion matrix is prior mass from all validation rows."


def _sum(problem: "ProblemExplanation") -> str:
    """Return the sum that gives the corrected support, empty if it is not that sum."""
    p, (given_first, given_second) = problem.p_decide, problem.p_true_given_decision
    if not problem.mass or abs(p * given_first + (1 - p) * given_second - problem.after) > 1e-4:
        return ""
    return f" ({p:.2f} x {given_first:.2f} + {1 - p:.2f} x {given_second:.2f})"


def _neighbour_line(neighbour: "Neighbour", first: str, second: str) -> str:
    is_first, is_second = neighbour.truth
    truth = f"{first} and {second}" if is_first and is_second else first if is_first else second
    if neighbour.p_decide == 0.5:
        decision = "tie"
    else:
        certainty = percent(max(neighbour.p_decide, 1 - neighbour.p_decide))
        decision = f"{first if neighbour.p_decide > 0.5 else second} ({certainty})"
    share = percent(neighbour.share)
    return f"{share} of the weight; true {truth}; decision {decision}"


def _score_lines(label: "LabelExplanation") -> Iterator[str]:
    yield f"Steps of the score of {short(label.name)}, before and after:"
    by_change = sorted(label.steps, key=lambda step: -abs(step.after - step.before))
    # A single further step takes no more room than the line that would sum it up.
    n_shown = MOST_STEPS if len(by_change) > MOST_STEPS + 1 else len(by_change)
    shown = [step for step in label.steps if step in by_change[:n_shown]]
    left = by_change[n_shown:]
    lines = [(step_name(step), step.before, step.after) for step in shown]
    if left:
        sums = sum(step.before for step in left), sum(step.after for step in left)
        lines.append((f"{len(left)} others", *sums))
    lines.append(("score", label.before, label.after))
    names = _columns([name for name, _, _ in lines], LONGEST_SET)
    for name, (_, before, after) in zip(names, lines, strict=True):
        yield f"  {name}  {before:6.3f} {after:6.3f}"


def step_name(step: "Step") -> str:
    """Return the name of a step, with the stacking weight of a term."""
    name = short(step.name)
    if step.kind == "pair":
        return f"against {name}"
    if not step.weight:
        return name
    return f"{name}, {percent(step.weight)} of {step.after / step.weight:.3f}"


def _decision(label: "LabelExplanation | SetExplanation") -> str:
    before, after = ("yes" if each else "no" for each in (label.accepted_before, label.accepted))
    return f"{after}, was {before}" if label.changed else after


def percent(share: float) -> str:
    """Format a share; only exact 0 and 1 are written as 0 % and 100 %."""
    text = f"{100 * share:.0f} %"
    if text == "0 %" and share > 0:
        return "under 1 %"
    return "over 99 %" if text == "100 %" and share < 1 else text


def _columns(names: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    lines = [short(name, longest) for name in names]
    width = max(map(len, lines))
    return [line.ljust(width) for line in lines]


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """Cut a name to one line of printable characters, at most so many."""
    line = one_line(name)
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"

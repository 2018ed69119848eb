"""Explanations in words, for people who do not program."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

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


def tell(explanation: "Explanation", *, n_labels: int, n_scores: int, n_problems: int) -> str:
    """Tell an explanation in words, what changed first."""
    changed = [label for label in explanation.telling_labels() if label.changed]
    parts = [_tell_labels(explanation, changed, n_labels)]
    if explanation.sets:
        parts.append(_tell_sets(explanation.sets))
    told = explanation.most_changed(n_problems)
    parts.append(_tell_changes(explanation, len(told)))
    parts += [_tell_problem(problem) for problem in told]
    parts += [_tell_score(label) for label in changed[:n_scores]]
    return "\n\n".join("\n".join(part) for part in parts)


def _tell_labels(
    explanation: "Explanation", changed: list["LabelExplanation"], n_labels: int
) -> Iterator[str]:
    total = len(explanation.labels)
    if changed:
        verb = "is" if len(changed) == 1 else "are"
        yield (
            f"Row {explanation.row}: {len(changed)} of {total} labels {verb} decided differently "
            "after mending."
        )
    else:
        yield f"Row {explanation.row}: mending changed no decision on its {total} labels."
    ranked = explanation.telling_labels()
    shown, left = ranked[:n_labels], ranked[n_labels:]
    thresholds = {label.threshold for label in explanation.labels}
    if shown:
        names = _columns(["label", *(label.name for label in shown)])
        own = len(thresholds) > 1
        yield f"  {names[0]}  before  after  " + "must exceed  " * own + "predicted"
        for name, label in zip(names[1:], shown, strict=True):
            scores = f"{label.before:6.2f} {label.after:6.2f}"
            needs = f"  {label.threshold:z11.2f}" if own and label.threshold is not None else ""
            yield f"  {name}  {scores}{needs}  {_decision(label)}"
    if left and shown:
        predicted = sum(label.accepted for label in left)
        yield f"  and {len(left)} more, {predicted or 'none'} of them predicted"
    if len(thresholds) == 1 and None not in thresholds:
        yield f"A label is predicted when its score is above {thresholds.pop():z.2f}."


def _tell_sets(sets: Sequence["SetExplanation"]) -> Iterator[str]:
    yield "Of the label sets seen in training the most likely is predicted:"
    called = [", ".join(each.names) or "no label" for each in sets]
    names = _columns(["label set", *called], LONGEST_SET)
    yield f"  {names[0]}  before  after  predicted"
    for name, each in zip(names[1:], sets, strict=True):
        yield f"  {name}  {each.before:6.2f} {each.after:6.2f}  {_decision(each)}"


def _tell_changes(explanation: "Explanation", n_told: int) -> Iterator[str]:
    yield (
        f"{explanation.n_changed or 'None'} of {explanation.n_problems} comparisons changed "
        f"{'its' if explanation.n_changed == 1 else 'their'} vote."
        + (" What moved most:" if n_told else "")
    )


def _tell_problem(problem: "ProblemExplanation") -> Iterator[str]:
    first, second = (short(name) for name in problem.names)
    winners = [{1.0: first, 0.0: second}.get(vote, "a tie") for vote in problem.votes]
    by = f", by {problem.opinion}" if problem.opinion else ""
    yield f"{first} or {second}{by}? " + (
        f"First {winners[0]}, mended {winners[1]}." if problem.changed else f"Still {winners[0]}."
    )
    yield f"  The classifier's support for {first} is {_percent(problem.before)}."
    if problem.p_decide != problem.before:
        yield f"  So it decides for {first} with a probability of {_percent(problem.p_decide)}."
    if problem.mass > 0:
        yield from _tell_evidence(problem, first, second)
    else:
        yield "  No row with one of the two is near enough to tell how it errs."
    yield f"  Mended, the support for {first} is {_percent(problem.after)}{_sum(problem)}."
    if problem.neighbours:
        yield "  Rows of the training data that weigh most:"
        for neighbour in problem.neighbours:
            yield f"    {_tell_neighbour(neighbour, first, second)}"


def _tell_evidence(problem: "ProblemExplanation", first: str, second: str) -> Iterator[str]:
    (e_ii, e_ij), (e_ji, e_jj) = problem.masses
    for name, total, competence in zip(
        (first, second), (e_ii + e_ji, e_ij + e_jj), problem.p_true_given_decision, strict=True
    ):
        if total > 0:
            right = _percent(competence)
            yield f"  Near this row, where it decides for {name}, {first} is right in {right}."
        else:
            yield f"  Near this row it never decides for {name}."
    if problem.shrinkage > 0:
        share = problem.shrinkage / problem.mass
        yield f"  {_percent(share)} of that is how it errs everywhere, not near this row."


def _sum(problem: "ProblemExplanation") -> str:
    """Show how the mended support comes about, where that is how."""
    p, (given_first, given_second) = problem.p_decide, problem.p_true_given_decision
    if not problem.mass or abs(p * given_first + (1 - p) * given_second - problem.after) > 1e-4:
        return ""
    return f" ({p:.2f} x {given_first:.2f} + {1 - p:.2f} x {given_second:.2f})"


def _tell_neighbour(neighbour: "Neighbour", first: str, second: str) -> str:
    is_first, is_second = neighbour.truth
    truth = f"{first} and {second}" if is_first and is_second else first if is_first else second
    if neighbour.p_decide == 0.5:
        said = "the classifier could not tell"
    else:
        certain = _percent(max(neighbour.p_decide, 1 - neighbour.p_decide))
        said = f"the classifier said {first if neighbour.p_decide > 0.5 else second} ({certain})"
    return f"row {neighbour.row}: {_percent(neighbour.share)} of the weight; {truth}; {said}"


def _tell_score(label: "LabelExplanation") -> Iterator[str]:
    yield f"How the score of {short(label.name)} adds up, before and after:"
    by_change = sorted(label.steps, key=lambda step: -abs(step.after - step.before))
    # One left over takes no more room than the line that would sum it up.
    n_shown = MOST_STEPS if len(by_change) > MOST_STEPS + 1 else len(by_change)
    shown = [step for step in label.steps if step in by_change[:n_shown]]
    left = by_change[n_shown:]
    lines = [(_called(step), step.before, step.after) for step in shown]
    if left:
        lines.append((f"{len(left)} others", *_sums(left)))
    lines.append(("score", label.before, label.after))
    names = _columns([name for name, _, _ in lines], LONGEST_SET)
    for name, (_, before, after) in zip(names, lines, strict=True):
        yield f"  {name}  {before:6.3f} {after:6.3f}"


def _called(step: "Step") -> str:
    name = short(step.name)
    if step.kind == "pair":
        return f"against {name}"
    return f"{name}, {_share(step)}" if step.weight else name


def _share(step: "Step") -> str:
    weight = step.weight or 1.0
    return f"{_percent(weight)} of {step.after / weight:.3f}"


def _sums(steps: Sequence["Step"]) -> tuple[float, float]:
    return sum(step.before for step in steps), sum(step.after for step in steps)


def _decision(label: "LabelExplanation | SetExplanation") -> str:
    before, after = ("yes" if each else "no" for each in (label.accepted_before, label.accepted))
    return f"{after}, was {before}" if label.changed else after


def _percent(share: float) -> str:
    """Write a share so that nothing looks certain that is not."""
    text = f"{100 * share:.0f} %"
    if text == "0 %" and share > 0:
        return "under 1 %"
    return "over 99 %" if text == "100 %" and share < 1 else text


def _columns(names: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    lines = [short(name, longest) for name in names]
    width = max(map(len, lines))
    return [line.ljust(width) for line in lines]


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """Bring a name, which may be anything, to one line of printable characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"

"""What a study found, in sentences."""

from collections.abc import Iterable, Mapping
from typing import Any

from pairmend.report.conclusions import BETTER_THAN_LPW, HOLDS, TENDS, UNTESTED
from pairmend.report.table import text_of


def finding(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Tell what a study found.

    Parameters
    ----------
    summary : dict
        The numbers, see `pairmend.report.summary.summarise`.

    Returns
    -------
    dict
        ``lead``, the sentence to begin with; ``extent``, what was run; ``points``, ``title``
        and ``text`` for each criterion with ranks; ``paper``, on the paper's conclusions and
        numbers; ``printed``, the same at length; ``cautions``, what to bear in mind.
    """
    return {
        "lead": _lead(summary),
        "extent": _extent(summary),
        "points": [
            {"title": each["title"], "text": _told(summary["comparison"][each["criterion"]])}
            for each in summary["criteria"]
            if summary["comparison"][each["criterion"]]["best"]
        ],
        "paper": _paper(summary),
        "printed": _printed(summary),
        "cautions": _cautions(summary),
    }


def _lead(summary: Mapping[str, Any]) -> str:
    winners: dict[tuple[str, ...], list[str]] = {}
    for each in summary["criteria"]:
        best = tuple(summary["comparison"][each["criterion"]]["best"])
        if best:
            winners.setdefault(best, []).append(each["title"])
    if not winners:
        if len(summary["algorithms"]) < 2:
            return "One algorithm was run, so there is nothing to compare it with."
        return "No set has results of all algorithms yet, so there is nothing to compare."
    if len(winners) == 1 and len(summary["criteria"]) > 1:
        (names,) = winners
        verb = "ranks" if len(names) == 1 else "rank"
        return f"{listed(names)} {verb} best on every criterion."
    (names, titles), *others = winners.items()
    parts = [f"{listed(names)} {'ranks' if len(names) == 1 else 'rank'} best on {listed(titles)}"]
    parts += [f"{listed(names)} on {listed(titles)}" for names, titles in others]
    return f"{'; '.join(parts)}."


def _extent(summary: Mapping[str, Any]) -> str:
    repeats = summary["repeats"]
    folds = f"{summary['folds']}-fold cross-validation"
    if repeats > 1:
        folds += f", repeated {counted(repeats, 'time')}"
    return (
        f"{counted(len(summary['algorithms']), 'algorithm')} on "
        f"{counted(len(summary['sets']), 'set')}, by "
        f"{counted(len(summary['criteria']), 'criterion', 'criteria')}, in {folds}."
    )


def _told(found: Mapping[str, Any]) -> str:
    best = " and ".join(f"{name} ({found['ranks'][name]:.2f})" for name in found["best"])
    text = f"{best} {'ranks' if len(found['best']) == 1 else 'rank'} best"
    if found["refusal"]:
        return f"{text}."
    by_winner: dict[str, list[str]] = {}
    for pair in found["pairs"]:
        if pair["significant"]:
            winner, other = pair["first"], pair["second"]
            if pair["effect"] < 0:
                winner, other = other, winner
            by_winner.setdefault(winner, []).append(other)
    if not by_winner:
        text += "; no two algorithms differ significantly by Wilcoxon's test"
        if found["nemenyi"]:
            several = len(found["nemenyi"]) > 1
            text += f", {counted(len(found['nemenyi']), 'pair')} {'do' if several else 'does'}"
            text += " by Nemenyi's"
        return f"{text}."
    differences = "; ".join(
        f"{winner} is significantly better than {listed(others)}"
        for winner, others in sorted(by_winner.items(), key=lambda item: found["ranks"][item[0]])
    )
    return f"{text}. {differences}."


def _paper(summary: Mapping[str, Any]) -> list[str]:
    sentences = []
    claims = [each for each in summary["conclusions"] if each["claim"] == BETTER_THAN_LPW]
    if claims:
        counts = {v: sum(each["verdict"] == v for each in claims) for v in (HOLDS, TENDS, UNTESTED)}
        text = (
            "The paper found FCM better than LPW in Hamming loss, and FCM, FCM-W and FCM-O better "
            "than LPW in zero-one loss."
        )
        if counts[UNTESTED] == len(claims):
            text += " The sets at hand are too few to test that."
        elif counts[HOLDS] == len(claims):
            text += " All of that holds here."
        else:
            several = counts[HOLDS] > 1
            text += (
                f" Of these {len(claims)} differences {counts[HOLDS] or 'none'} "
                f"{'are' if several else 'is'} significant here in that direction"
            )
            if counts[TENDS]:
                text += f"; {'all' if counts[TENDS] == len(claims) else counts[TENDS]} "
                text += "leans" if counts[TENDS] == 1 else "lean"
                text += " that way without being significant"
            text += "."
        sentences.append(text)
    beside = summary["published"]
    if beside["numbers"]:
        distances = [
            f"{each['algorithm']} {text_of(each['all'])}"
            for each in beside["distances"]
            if each["criterion"] is None and each["all"] is not None
        ]
        n_sets = len({each["set"] for each in beside["numbers"]})
        sentences.append(
            f"On {counted(n_sets, 'set')} of the paper the mean distance to the printed losses is "
            f"{listed(distances)}."
        )
        if beside["unexplained"]:
            sentences.append(
                f"The printed losses of {listed(beside['unexplained'])} cannot come from the "
                "method as it is described: they imply that next to no label was predicted, "
                "where the method accepts about half of the labels."
            )
    return sentences


def _printed(summary: Mapping[str, Any]) -> list[str]:
    beside = summary["published"]
    if not beside["numbers"]:
        return []
    sentences = [f"The printed numbers are those of {beside['source']}."]
    if beside["unexplained"]:
        sentences.append(
            "How many labels a method predicts can be told from its Hamming loss H and its micro "
            "F1 loss M: the share is H / M − LD, with LD the label density. A row's scores "
            "average to one half whatever the row, so a threshold of one half accepts about "
            f"half of the labels. By the printed losses of {listed(beside['unexplained'])} next "
            "to none are accepted, so these losses cannot come from the method as it is "
            "described. They stand beside ours all the same; distances are given with and "
            "without them."
        )
    unlike = [
        f"{one['set']} ({', '.join(one['unlike_published'])})"
        for one in summary["sets"]
        if one["unlike_published"]
    ]
    if unlike:
        sentences.append(
            f"Of {listed(unlike)} our copy is not the paper's to the digit, so their losses cannot "
            "be compared to the digit either."
        )
    return sentences


def _cautions(summary: Mapping[str, Any]) -> list[str]:
    refusals = [found["refusal"] for found in summary["comparison"].values() if found["best"]]
    sentences = [refusal for refusal in dict.fromkeys(refusals) if refusal]
    if summary["without_results"]:
        sentences.append(f"Without any result yet: {listed(summary['without_results'])}.")
    for titles, names in _grouped_left_out(summary):
        where = "" if len(titles) == len(summary["criteria"]) else f" of {listed(titles)}"
        sentences.append(
            f"Left out of ranks and tests{where}, because results are missing: {listed(names)}."
        )
    failed = len(summary["failures"])
    if failed:
        sentences.append(
            f"{counted(failed, 'task')} failed; the next start of the study tries "
            f"{'it' if failed == 1 else 'them'} again."
        )
    return sentences


def _grouped_left_out(
    summary: Mapping[str, Any],
) -> Iterable[tuple[list[str], tuple[str, ...]]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for each in summary["criteria"]:
        names = tuple(summary["left_out"][each["criterion"]])
        if names:
            groups.setdefault(names, []).append(each["title"])
    return [(titles, names) for names, titles in groups.items()]


def listed(names: Iterable[str]) -> str:
    """Join names as in a sentence.

    Examples
    --------
    >>> listed(["LPW", "FCM", "FCM-O"])
    'LPW, FCM and FCM-O'
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def counted(number: int, thing: str, several: str = "") -> str:
    """Say how many there are.

    Examples
    --------
    >>> counted(1, "set"), counted(2, "criterion", "criteria")
    ('1 set', '2 criteria')
    """
    return f"{number:,} {thing if number == 1 else several or thing + 's'}"

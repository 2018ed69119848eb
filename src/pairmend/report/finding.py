"""What a study found, in sentences."""

from collections.abc import Iterable, Mapping
from typing import Any

from pairmend._utils.text import counted, listed
from pairmend.report.conclusions import BETTER_THAN_LPW, HOLDS, TENDS, UNTESTED
from pairmend.report.headline import by_nemenyi, lead, point
from pairmend.report.published import GENERATED
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
        numbers; ``printed``, the same at length; ``disagreement``, on pairs that differ by one
        test only; ``cautions``, what to bear in mind.
    """
    return {
        "lead": lead(summary),
        "extent": _extent(summary),
        "points": [
            {"title": each["title"], "text": point(each, summary["comparison"][each["criterion"]])}
            for each in summary["criteria"]
            if summary["comparison"][each["criterion"]]["best"]
        ],
        "paper": _paper(summary),
        "printed": _printed(summary),
        "disagreement": _disagreement(summary),
        "cautions": _cautions(summary),
    }


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
    return sentences + _distances(summary["published"])


def _distances(beside: Mapping[str, Any]) -> list[str]:
    sentences = []
    distances = [
        f"{each['algorithm']} {text_of(each['all'])}"
        for each in beside["distances"]
        if each["criterion"] is None and each["all"] is not None
    ]
    if distances:
        n_sets = len({n["set"] for n in beside["numbers"] if n["heap"] != GENERATED})
        sentences.append(
            f"On {counted(n_sets, 'set')} of the paper the mean distance to the printed losses is "
            f"{listed(distances)}."
        )
    if beside["generated"]:
        several = len(beside["generated"]) > 1
        sentences.append(
            f"{listed(beside['generated'])} {'are' if several else 'is'} generated anew, with "
            f"other rows than the paper's: {'their' if several else 'its'} losses cannot be "
            "compared with the printed ones and are not counted in distances."
        )
    if beside["impossible"]:
        sentences.append(
            f"The printed losses of {listed(beside['impossible'])} cannot come from the "
            "method as it is described: they imply that next to no label was predicted, "
            "where the method accepts about half of the labels."
        )
    return sentences


def _printed(summary: Mapping[str, Any]) -> list[str]:
    beside = summary["published"]
    if not beside["numbers"]:
        return []
    sentences = [f"The printed numbers are those of {beside['source']}."]
    if beside["impossible"]:
        sentences.append(
            "How many labels a method predicts can be told from its Hamming loss H and its micro "
            "F1 loss M: the share is H / M − LD, with LD the label density. A row's scores "
            "average to one half whatever the row, so a threshold of one half accepts about "
            f"half of the labels. By the printed losses of {listed(beside['impossible'])} next "
            "to none are accepted, so these losses cannot come from the method as it is "
            "described. They stand beside ours all the same; distances are given with and "
            "without them."
        )
    unlike = [
        f"{one['set']} ({', '.join(one['unlike_published'])})"
        for one in summary["sets"]
        if one["unlike_published"] and one["set"] not in beside["generated"]
    ]
    if unlike:
        sentences.append(
            f"Of {listed(unlike)} our copy is not the paper's to the digit, so their losses cannot "
            "be compared to the digit either."
        )
    return sentences


def _disagreement(summary: Mapping[str, Any]) -> list[str]:
    found = {
        each["title"]: summary["comparison"][each["criterion"]] for each in summary["criteria"]
    }
    alone = [
        f"{title}, {by_nemenyi(one)}"
        for title, one in found.items()
        if one["nemenyi"] and not any(pair["significant"] for pair in one["pairs"])
    ]
    if not alone:
        return []
    return [
        f"By Nemenyi's test alone there are differences: in {'; in '.join(alone)}. Both tests are "
        "shown because the paper shows both, and they ask different questions: Nemenyi's, in the "
        "diagrams of ranks, how often one is ahead; Wilcoxon's, below, also by how much."
    ]


def _cautions(summary: Mapping[str, Any]) -> list[str]:
    refusals = {
        each["criterion"]: summary["comparison"][each["criterion"]]["refusal"]
        for each in summary["criteria"]
        if summary["comparison"][each["criterion"]]["best"]
    }
    sentences = []
    for titles, refusal in _grouped(summary, refusals):
        where = "" if len(titles) == len(summary["criteria"]) else f"{listed(titles)}: "
        sentences.append(where + refusal)
    by_reason: dict[str, list[str]] = {}
    for each in summary["algorithms_without_results"]:
        by_reason.setdefault(each["reason"], []).append(each["algorithm"])
    sentences += [
        f"Left out, as {'it has' if len(names) == 1 else 'they have'} no result at all: "
        f"{listed(names)} ({reason})."
        for reason, names in by_reason.items()
    ]
    if summary["without_results"]:
        sentences.append(f"Without any result yet: {listed(summary['without_results'])}.")
    left_out = {name: tuple(sets) for name, sets in summary["left_out"].items()}
    for titles, names in _grouped(summary, left_out):
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


def _grouped(
    summary: Mapping[str, Any], told: Mapping[str, Any]
) -> Iterable[tuple[list[str], Any]]:
    """Bring criteria together of which the same is told; nothing is left out."""
    groups: dict[Any, list[str]] = {}
    for each in summary["criteria"]:
        if told.get(each["criterion"]):
            groups.setdefault(told[each["criterion"]], []).append(each["title"])
    return [(titles, what) for what, titles in groups.items()]

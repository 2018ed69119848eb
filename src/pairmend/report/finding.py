"""Paragraphs at the beginning of a report: extent, comparison with the paper, cautions."""

from collections.abc import Iterable, Mapping
from typing import Any

from pairmend._utils.text import counted, listed
from pairmend.report.conclusions import BETTER_THAN_LPW, HOLDS, TENDS, UNTESTED
from pairmend.report.headline import by_nemenyi, lead, point
from pairmend.report.published import GENERATED
from pairmend.report.table import text_of


def finding(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sentences that summarise the results."""
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
    folds = ""  # with one fold, the values come from elsewhere
    if summary["folds"] > 1:
        folds = f", in {summary['folds']}-fold cross-validation"
        if repeats > 1:
            folds += f", repeated {counted(repeats, 'time')}"
    return (
        f"{counted(len(summary['algorithms']), 'algorithm')} on "
        f"{counted(len(summary['sets']), 'set')}, by "
        f"{counted(len(summary['criteria']), 'metric')}{folds}."
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
            text += " There are too few sets to test that."
        elif counts[HOLDS] == len(claims):
            text += " All of these differences are significant here, too."
        else:
            several = counts[HOLDS] > 1
            text += (
                f" Of these {len(claims)} differences {counts[HOLDS] or 'none'} "
                f"{'are' if several else 'is'} significant here in that direction"
            )
            if counts[TENDS]:
                text += f"; {'all' if counts[TENDS] == len(claims) else counts[TENDS]} "
                text += "has" if counts[TENDS] == 1 else "have"
                text += " the same direction without being significant"
            text += "."
        sentences.append(text)
    return sentences + _distances(summary["published"])


def _distances(paper: Mapping[str, Any]) -> list[str]:
    sentences = []
    distances = [
        f"{each['algorithm']} {text_of(each['all'])}"
        for each in paper["distances"]
        if each["criterion"] is None and each["all"] is not None
    ]
    if distances:
        n_sets = len({n["set"] for n in paper["numbers"] if n["plausibility"] != GENERATED})
        sentences.append(
            f"On {counted(n_sets, 'set')} of the paper the mean distance to the printed losses is "
            f"{listed(distances)}."
        )
    if paper["generated"]:
        several = len(paper["generated"]) > 1
        sentences.append(
            f"{listed(paper['generated'])} {'are' if several else 'is'} generated, with other rows "
            f"than the paper's: {'their' if several else 'its'} losses cannot be compared with the "
            "printed ones and are not counted in distances."
        )
    if paper["impossible"]:
        sentences.append(
            f"The printed losses of {listed(paper['impossible'])} are impossible for the method "
            "as described: they imply that hardly any label was predicted, but the method "
            "predicts about half of the labels."
        )
    return sentences


def _printed(summary: Mapping[str, Any]) -> list[str]:
    paper = summary["published"]
    if not paper["numbers"]:
        return []
    sentences = [f"The printed numbers are those of {paper['source']}."]
    if paper["impossible"]:
        sentences.append(
            "The share of labels that a method predicts follows from its Hamming loss H and its "
            "micro F1 loss M: it is H / M − LD, with LD the label density. The mean score of each "
            "row is one half, so a threshold of one half predicts about half of the labels. The "
            f"printed losses of {listed(paper['impossible'])} imply hardly any predicted label, so "
            "they are impossible for the method as described. Distances are given with and without "
            "them."
        )
    unlike = [
        f"{one['set']} ({', '.join(one['unlike_published'])})"
        for one in summary["sets"]
        if one["unlike_published"] and one["set"] not in paper["generated"]
    ]
    if unlike:
        sentences.append(
            f"The characteristics of {listed(unlike)} differ from the paper's, so differences "
            "of their losses are expected."
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
        f"Only Nemenyi's test finds differences: in {'; in '.join(alone)}. Nemenyi's test, in the "
        "diagrams of ranks, uses only the order of algorithms on each set; Wilcoxon's test, below, "
        "also uses the sizes of differences."
    ]


def _cautions(summary: Mapping[str, Any]) -> list[str]:
    reasons = {
        each["criterion"]: summary["comparison"][each["criterion"]]["untested_reason"]
        for each in summary["criteria"]
        if summary["comparison"][each["criterion"]]["best"]
    }
    sentences = []
    for titles, untested_reason in _grouped(summary, reasons):
        where = "" if len(titles) == len(summary["criteria"]) else f"{listed(titles)}: "
        sentences.append(where + untested_reason)
    by_reason: dict[str, list[str]] = {}
    for each in summary["algorithms_without_results"]:
        by_reason.setdefault(each["reason"], []).append(each["algorithm"])
    sentences += [
        f"Left out because {'it has' if len(names) == 1 else 'they have'} no result: "
        f"{listed(names)} ({reason})."
        for reason, names in by_reason.items()
    ]
    if summary["without_results"]:
        sentences.append(f"Sets without any result: {listed(summary['without_results'])}.")
    left_out = {name: tuple(sets) for name, sets in summary["left_out"].items()}
    for titles, names in _grouped(summary, left_out):
        where = "" if len(titles) == len(summary["criteria"]) else f" of {listed(titles)}"
        sentences.append(
            f"Left out of ranks and tests{where}, because results are missing: {listed(names)}."
        )
    failed = len(summary["failures"])
    if failed:
        sentences.append(
            f"{counted(failed, 'task')} failed; the next run of the study tries "
            f"{'it' if failed == 1 else 'them'} again."
        )
    return sentences


def _grouped(
    summary: Mapping[str, Any], by_metric: Mapping[str, Any]
) -> Iterable[tuple[list[str], Any]]:
    """Group the titles of metrics by their values; empty values are left out."""
    groups: dict[Any, list[str]] = {}
    for each in summary["criteria"]:
        if by_metric.get(each["criterion"]):
            groups.setdefault(by_metric[each["criterion"]], []).append(each["title"])
    return [(titles, value) for value, titles in groups.items()]

"""What the algorithms of a study are, and which of them have nothing to show."""

import importlib
import inspect
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairmend.study.record import StudyRecord

FAILED, PARTLY, NOT_RUN = "failed", "failed or not run yet", "not run yet"
"""Reasons why an algorithm has no result."""

_PLAIN = "pairmend.PairwiseClassifier"
_CORRECTED = "pairmend.CorrectedPairwiseClassifier"
# In the paper's words these are LPW, FCM, FCM-W and FCM-O.
_VOTE = "Each pair of labels has a classifier; a label's score is the mean support of its pairs."
_FCM = (
    "Corrects the vote of each pair by a local fuzzy confusion matrix: how its classifier errs "
    "near the point in question."
)
_WEIGHTED = "weighs the two labels of a pair so that they count alike"
_OVERLAP = "lets validation rows with both labels of a pair count for each of them"
_TRUSTED = ("pairmend", "sklearn")


def without_results(
    record: "StudyRecord", algorithms: list[str], with_results: set[str]
) -> list[dict[str, str]]:
    """List the algorithms without any result, with the reason.

    Parameters
    ----------
    record : StudyRecord
        What a study left behind.
    algorithms : list of str
        Names in order.
    with_results : set of str
        Those that have a result.

    Returns
    -------
    list of dict
        With ``algorithm`` and ``reason``.
    """
    planned = (
        len(record.definition["sets"])
        * int(record.definition["folds"])
        * int(record.definition["repeats"])
    )
    failed = record.tasks[record.tasks["status"] == "failed"]["algorithm"].value_counts()
    return [
        {
            "algorithm": name,
            "reason": NOT_RUN
            if name not in failed
            else FAILED
            if failed[name] >= planned
            else PARTLY,
        }
        for name in algorithms
        if name not in with_results
    ]


def about(described: Mapping[str, Any]) -> str:
    """Say in a sentence what an algorithm is.

    Parameters
    ----------
    described : mapping
        Its ``class``, an import path, and ``params``, as in a study's definition.

    Returns
    -------
    str
        Of classes that are not ours the first line of the docstring; empty where it is not known.

    Examples
    --------
    >>> about({"class": "pairmend.CorrectedPairwiseClassifier", "params": {"balance": "labels"}})
    'FCM that weighs the two labels of a pair so that they count alike.'
    >>> about({"class": "sklearn.dummy.DummyClassifier"})
    'DummyClassifier makes predictions that ignore the input features.'
    """
    path, params = described.get("class", ""), described.get("params") or {}
    if path == _PLAIN:
        return _VOTE
    if path == _CORRECTED:
        more = [_WEIGHTED] if params.get("balance") is not None else []
        more += [_OVERLAP] if params.get("overlap") else []
        return f"FCM that {' and '.join(more)}." if more else _FCM
    return _first_line(path) if isinstance(path, str) else ""


def _first_line(path: str) -> str:
    module, _, name = path.rpartition(".")
    # A report must not run code that a study's file names, so nothing else is imported for it.
    if module.split(".")[0] in _TRUSTED:
        try:
            importlib.import_module(module)
        except ImportError:
            return ""
    found = getattr(sys.modules.get(module), name, None)
    text = inspect.getdoc(found) if inspect.isclass(found) else None
    return " ".join(text.split("\n\n")[0].split()) if text else ""

"""Descriptions of the algorithms of a study, and which of them have no results."""

import importlib
import inspect
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairmend.study.store import StudyRecord

FAILED, PARTLY, NOT_RUN = "failed", "failed or not run", "not run"
"""Reasons why an algorithm has no result."""

_PLAIN = "pairmend.PairwiseClassifier"
_CORRECTED = "pairmend.CorrectedPairwiseClassifier"
# In the paper's words these are LPW, FCM, FCM-W and FCM-O.
_VOTE = "Each pair of labels has a classifier; a label's score is the mean support of its pairs."
_FCM = (
    "Corrects the support of each pair by a local fuzzy confusion matrix, which estimates the "
    "errors of its classifier near the predicted row."
)
_WEIGHTED = "balances the weights of the two labels of a pair"
_OVERLAP = "also uses validation rows with both labels of a pair"
_TRUSTED = ("pairmend", "sklearn")


def without_results(
    record: "StudyRecord", algorithms: list[str], with_results: set[str]
) -> list[dict[str, str]]:
    """List the algorithms without any result, with the reason."""
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
    """Describe an algorithm in a sentence."""
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
    # A report must not run code that a study file names, so nothing else is imported.
    if module.split(".")[0] in _TRUSTED:
        try:
            importlib.import_module(module)
        except ImportError:
            return ""
    found = getattr(sys.modules.get(module), name, None)
    # Not inspect.getdoc: it returns the text of a parent class, which describes another thing.
    text = inspect.cleandoc(found.__doc__ or "") if inspect.isclass(found) else ""
    return " ".join(text.split("\n\n")[0].split()) if text else ""

"""Progress messages of MendedClassifier: chosen corrections, stacking weights and decision."""

from collections.abc import Mapping, Sequence
from typing import Any

from pairmend._utils.progress import fitted_text, report
from pairmend.mended.corrector import Corrector
from pairmend.mended.decisions import Decision
from pairmend.mended.search import Correction


def report_corrector(owner: Any, corrector: Corrector, search: Sequence[Correction]) -> None:
    """Report the best of the compared corrections in each scaling, and the stacking weights."""
    report(owner, f"{len(search)} corrections compared")
    for name, best in corrector.by_label.corrections.items():
        local = "" if name == "global" else f"beta={best.beta:.3g}, shrinkage={best.shrinkage:g}, "
        found = f"{local}reference={best.reference!r}, Brier score {best.loss:.4f}"
        report(owner, f"{name} correction: {found}")
    report(owner, f"stacking weights: {_weights(corrector.by_label.stacking_weights)}")
    report(owner, f"stacking weights of label sets: {_weights(corrector.label_set_weights)}")


def report_decision(owner: Any, chosen: Decision, compared: Sequence[Decision]) -> None:
    """Report the chosen decision with its loss, and how many were compared."""

    def message() -> str:
        threshold = "" if chosen.threshold is None else f" with {fitted_text(chosen.threshold)}"
        loss = f"loss {chosen.loss:.4f} by {owner.criterion!r}"
        if chosen.kind == "sets":
            threshold = f" with lift exponent {chosen.lift_exponent:g}"
            if chosen.local_exponent > 0:
                threshold += f" and local exponent {chosen.local_exponent:g}"
        return f"decision: {chosen.kind!r}{threshold}; {loss}; {len(compared)} compared"

    report(owner, message)


def _weights(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())

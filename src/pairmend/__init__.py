"""Multi-label classification corrected by local confusion matrices, for scikit-learn.

Every classifier is here, so that one import is enough to compare a method with its relatives and
the baselines. Everything else is in a submodule, and nothing can be imported from two places.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # "as" tells type checkers that a name is public
    from pairmend.baselines import (
        BinaryRelevance as BinaryRelevance,
        ClassifierChainEnsemble as ClassifierChainEnsemble,
        LabelPowerset as LabelPowerset,
        MLkNN as MLkNN,
        RAkEL as RAkEL,
    )
    from pairmend.mended.estimator import MendedClassifier as MendedClassifier
    from pairmend.naive_bayes.estimator import RandomSubspaceNB as RandomSubspaceNB
    from pairmend.neighbourhoods import (
        AdaptiveNeighbourhood as AdaptiveNeighbourhood,
        GaussianNeighbourhood as GaussianNeighbourhood,
        GlobalNeighbourhood as GlobalNeighbourhood,
    )
    from pairmend.pairwise.corrected import (
        CorrectedPairwiseClassifier as CorrectedPairwiseClassifier,
    )
    from pairmend.pairwise.family.bradley_terry import (
        BradleyTerryClassifier as BradleyTerryClassifier,
    )
    from pairmend.pairwise.family.four_classes import (
        FourClassPairsClassifier as FourClassPairsClassifier,
    )
    from pairmend.pairwise.family.locally_corrected import (
        CorrectedBinaryRelevance as CorrectedBinaryRelevance,
        CorrectedMulticlassClassifier as CorrectedMulticlassClassifier,
    )
    from pairmend.pairwise.family.parallel_hyperplanes import (
        ParallelHyperplanesSVM as ParallelHyperplanesSVM,
    )
    from pairmend.pairwise.family.perceptrons import PairwisePerceptrons as PairwisePerceptrons
    from pairmend.pairwise.family.selective import (
        QWeightedVoting as QWeightedVoting,
        TwoStageVoting as TwoStageVoting,
    )
    from pairmend.pairwise.family.shared_first import SharedFirstClassifier as SharedFirstClassifier
    from pairmend.pairwise.voting import CalibratedLabelRanking as CalibratedLabelRanking
    from pairmend.pairwise.voting import PairwiseClassifier as PairwiseClassifier
    from pairmend.thresholds.classifier import ThresholdedClassifier as ThresholdedClassifier

__version__ = "0.1.0"

_MODULES = {
    "AdaptiveNeighbourhood": "neighbourhoods",
    "BinaryRelevance": "baselines",
    "BradleyTerryClassifier": "pairwise.family.bradley_terry",
    "CalibratedLabelRanking": "pairwise.voting",
    "ClassifierChainEnsemble": "baselines",
    "CorrectedBinaryRelevance": "pairwise.family.locally_corrected",
    "CorrectedMulticlassClassifier": "pairwise.family.locally_corrected",
    "CorrectedPairwiseClassifier": "pairwise.corrected",
    "FourClassPairsClassifier": "pairwise.family.four_classes",
    "GaussianNeighbourhood": "neighbourhoods",
    "GlobalNeighbourhood": "neighbourhoods",
    "LabelPowerset": "baselines",
    "MLkNN": "baselines",
    "MendedClassifier": "mended.estimator",
    "PairwiseClassifier": "pairwise.voting",
    "PairwisePerceptrons": "pairwise.family.perceptrons",
    "ParallelHyperplanesSVM": "pairwise.family.parallel_hyperplanes",
    "QWeightedVoting": "pairwise.family.selective",
    "RAkEL": "baselines",
    "RandomSubspaceNB": "naive_bayes.estimator",
    "SharedFirstClassifier": "pairwise.family.shared_first",
    "ThresholdedClassifier": "thresholds.classifier",
    "TwoStageVoting": "pairwise.family.selective",
}
"""Modules of the public classes."""
__all__ = sorted(_MODULES)

_SUBMODULES = [
    "base_classifiers",
    "datasets",
    "distributed",
    "explanation",
    "frames",
    "metrics",
    "model_selection",
    "persistence",
    "plots",
    "published",
    "report",
    "stats",
    "study",
    "thresholds",
]

_PRIVATE_SUBMODULES = {module.partition(".")[0] for module in _MODULES.values()}


def __getattr__(name: str) -> Any:
    """Import a class or a submodule when it is first used: scikit-learn takes long to import."""
    if name in _MODULES:
        value = getattr(import_module(f"pairmend.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES or name in _PRIVATE_SUBMODULES:
        try:
            return import_module(f"pairmend.{name}")
        except ImportError as error:  # an extra is not installed; hasattr needs an AttributeError
            raise AttributeError(str(error)) from error
    raise AttributeError(f"module 'pairmend' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, and those of a module that tools read."""
    return sorted([*__all__, *_SUBMODULES, "__all__", "__doc__", "__version__"])

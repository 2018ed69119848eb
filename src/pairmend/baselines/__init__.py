"""Baselines: well-known multi-label classifiers on top of scikit-learn.

A single chain is scikit-learn's own :class:`sklearn.multioutput.ClassifierChain`.
"""

from pairmend.baselines.ml_knn import MLkNN
from pairmend.baselines.transformation import (
    BinaryRelevance,
    ClassifierChainEnsemble,
    LabelPowerset,
    RAkEL,
)

__all__ = ["BinaryRelevance", "ClassifierChainEnsemble", "LabelPowerset", "MLkNN", "RAkEL"]

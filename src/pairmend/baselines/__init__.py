"""Baselines: well-known multi-label classifiers on top of scikit-learn.

A single chain is scikit-learn's own :class:`sklearn.multioutput.ClassifierChain`.
"""

from pairmend.baselines.chains import ClassifierChainEnsemble
from pairmend.baselines.ml_knn import MLkNN
from pairmend.baselines.powerset import LabelPowerset, RAkEL
from pairmend.baselines.relevance import BinaryRelevance

__all__ = ["BinaryRelevance", "ClassifierChainEnsemble", "LabelPowerset", "MLkNN", "RAkEL"]

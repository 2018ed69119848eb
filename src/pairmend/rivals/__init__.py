"""Multi-label classifiers to measure against, on scikit-learn.

A single chain is scikit-learn's own :class:`sklearn.multioutput.ClassifierChain`.
"""

from pairmend.rivals.chains import ClassifierChainEnsemble
from pairmend.rivals.ml_knn import MLkNN
from pairmend.rivals.powerset import LabelPowerset
from pairmend.rivals.rakel import RAkEL
from pairmend.rivals.relevance import BinaryRelevance

__all__ = ["BinaryRelevance", "ClassifierChainEnsemble", "LabelPowerset", "MLkNN", "RAkEL"]

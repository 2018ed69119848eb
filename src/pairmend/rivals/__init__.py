"""Multi-label classifiers to measure against that scikit-learn does not have.

Binary relevance and single chains are scikit-learn's own:
:class:`sklearn.multioutput.MultiOutputClassifier` or
:class:`sklearn.multiclass.OneVsRestClassifier`, and :class:`sklearn.multioutput.ClassifierChain`.
"""

from pairmend.rivals.chains import ClassifierChainEnsemble
from pairmend.rivals.ml_knn import MLkNN
from pairmend.rivals.powerset import LabelPowerset
from pairmend.rivals.rakel import RAkEL

__all__ = ["ClassifierChainEnsemble", "LabelPowerset", "MLkNN", "RAkEL"]

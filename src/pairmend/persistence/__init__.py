"""Fitted classifiers in files that hold no code: saved here, used anywhere.

Needs skops: ``pip install 'pairmend[models]'``.
"""

from pairmend.persistence.container import ModelFileError, ModelVersionWarning
from pairmend.persistence.matching import Matched, match_features
from pairmend.persistence.saved import SavedModel
from pairmend.persistence.saving import load_model, save_model
from pairmend.persistence.trust import UntrustedTypesError

__all__ = [
    "Matched",
    "ModelFileError",
    "ModelVersionWarning",
    "SavedModel",
    "UntrustedTypesError",
    "load_model",
    "match_features",
    "save_model",
]

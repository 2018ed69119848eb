"""Fitted classifiers in files that hold no code: saved here, used anywhere.

Needs skops: ``pip install 'pairmend[models]'``.
"""

from pairmend.models.container import ModelFileError, ModelVersionWarning
from pairmend.models.matching import Matched, match_features
from pairmend.models.saved import SavedModel
from pairmend.models.saving import load_model, save_model
from pairmend.models.trust import UntrustedTypesError

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

"""Saving fitted classifiers to files that contain no code, and loading them.

Needs skops.
"""

from pairmend.persistence.save_load import ModelVersionWarning, load_model, save_model
from pairmend.persistence.saved import SavedModel
from pairmend.persistence.trust import ModelFileError, UntrustedTypesError

__all__ = [
    "ModelFileError",
    "ModelVersionWarning",
    "SavedModel",
    "UntrustedTypesError",
    "load_model",
    "save_model",
]

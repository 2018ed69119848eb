"""import_object: an object by its import path."""

from importlib import import_module
from typing import Any


def import_object(path: str) -> Any:
    """Return the object of a path such as ``pairmend.BinaryRelevance``."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)

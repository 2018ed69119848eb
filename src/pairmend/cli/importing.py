"""import_object: objects by their import paths, imported when a command needs them."""

from importlib import import_module
from typing import Any


def import_object(path: str) -> Any:
    """Return the object of a path such as ``pairmend.BinaryRelevance``."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)

"""Importing from the folder of a study file, without a lasting change of ``sys.path``."""

import importlib
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed packages."""
_folders: list[str] = []
"""Folders of the `importable` blocks that are open, the innermost last."""


@contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """Let the modules in a folder be imported inside a ``with`` block."""
    if folder is None:
        yield
        return
    entry = str(folder.absolute())
    sys.path.insert(0, entry)
    _folders.append(entry)
    try:
        yield
    finally:
        _folders.pop()
        if entry in sys.path:
            sys.path.remove(entry)  # the first one, which is the one inserted above


def import_module(name: str) -> ModuleType:
    """Import a module; refuse one of the same name from outside the `importable` folder."""
    # Modules stay imported when the block ends. Two study files in different folders can each
    # have a module of the same name, and the second one must not get the module of the first.
    module = importlib.import_module(name)
    if _folders:
        top = name.partition(".")[0]
        here = PathFinder.find_spec(top, _folders[-1:])
        loaded = getattr(sys.modules.get(top), "__file__", None)
        if here and here.origin and loaded and not _same_file(here.origin, loaded):
            raise ImportError(
                f"the module {top!r} is already imported from {loaded}, but {here.origin} is "
                "needed. Run the study in a separate Python process, or rename the module."
            )
    return module


def _same_file(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()


def own_file(module: str) -> Path | None:
    """Return the file of an imported module; None if it is in an installed package or has none."""
    name = getattr(sys.modules.get(module), "__file__", None)
    path = Path(name).absolute() if name else None
    standard = Path(sysconfig.get_path("stdlib"))
    if path is None or standard in path.parents or INSTALLED & set(path.parts):
        return None
    return path if path.is_file() else None

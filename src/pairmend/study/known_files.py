"""Study files that this user has run: a results folder may refer to them, and to no others.

A results folder from elsewhere may name any study file, also one that came with it. Only a file
that was run by its name before is read without being named again. The list is a text file in the
user's state folder; platformdirs, which knows such folders, would be a dependency for one path.
"""

import json
import os
from pathlib import Path


def remember_file(path: Path) -> None:
    """Add a study file to the list, if the list can be written."""
    try:
        if not is_known_file(path):
            place = _list()
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("a", encoding="utf-8") as file:
                file.write(_line(path))
    except (OSError, RuntimeError):  # no home, or one that is read-only
        return


def is_known_file(path: Path) -> bool:
    """Tell whether a study file is in the list, by its path as it is written."""
    try:
        return _line(path) in _list().read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, RuntimeError, UnicodeDecodeError):
        return False


def _line(path: Path) -> str:
    # Not resolved: modules are imported from the folder of this path, not of a link's target.
    return json.dumps(os.path.abspath(path)) + "\n"


def _list() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return Path(state or Path.home() / ".local" / "state") / "pairmend" / "study-files.txt"

"""List of study files that this user has run. A results folder may refer only to these.

A results folder from elsewhere may name any study file, also one that came with it. Only a file
that the user has run by its path is read again without being named. The list is a text file in
the user's state folder. platformdirs has this path, but would be a dependency for one line.
"""

import json
import os
from pathlib import Path


def add_trusted_file(path: Path) -> None:
    """Add a study file to the list, if the list can be written."""
    try:
        if not is_trusted_file(path):
            list_file = _list_file()
            list_file.parent.mkdir(parents=True, exist_ok=True)
            with list_file.open("a", encoding="utf-8") as file:
                file.write(_line(path))
    except (OSError, RuntimeError):  # no home, or one that is read-only
        return


def is_trusted_file(path: Path) -> bool:
    """Return whether the path of a study file, as written, is in the list."""
    try:
        return _line(path) in _list_file().read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, RuntimeError, UnicodeDecodeError):
        return False


def _line(path: Path) -> str:
    # Not resolved: modules are imported from the folder of this path, not of a link's target.
    return json.dumps(os.path.abspath(path)) + "\n"


def _list_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return Path(state or Path.home() / ".local" / "state") / "pairmend" / "study-files.txt"

"""Install the wheel in ``dist`` with each extra alone, and run the parts of the package it enables.

    python tests/smoke [EXTRA ...]

"core" is the wheel without any extra. Each extra gets a new environment, which is removed.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARTS = Path(__file__).parent / "parts.py"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"


def main(chosen: list[str]) -> None:
    """Check the extras that are named, or all of them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = ["core", *(name for name in project["optional-dependencies"] if name != "all")]
    (wheel,) = (ROOT / "dist").glob("*.whl")
    for extra in chosen or extras:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            venv.create(folder, with_pip=True)
            python = Path(folder, SCRIPTS, "python")
            wanted = str(wheel) if extra == "core" else f"{wheel}[{extra}]"
            pip = [python, "-m", "pip", "install", "--quiet"]
            constraints = ["--constraint", ROOT / "constraints.txt"]
            subprocess.run([*pip, *constraints, wanted], check=True)
            # In another folder and without PYTHONPATH: the wheel is imported, not the checkout.
            subprocess.run([python, "-I", PARTS, extra], check=True, cwd=folder)
        print(f"{extra}: passed", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

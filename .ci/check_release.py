"""Compare a tag, such as v0.2.0, with the version in the checkout and with the changelog."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problems(tag: str, root: Path = ROOT) -> list[str]:
    """Return what differs from the tag."""
    version, found = tag.removeprefix("v"), []
    if tag == version:
        found.append(f"the tag must be v{version}, got {tag}")
    source = (root / "src" / "pairmend" / "__init__.py").read_text(encoding="utf-8")
    stated = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    if stated != [version]:
        found.append(f"pairmend has the version {', '.join(stated)}, expected {version}")
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    if not re.search(heading, (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading '## {version} (YEAR-MONTH-DAY)'")
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("expected a tag: make check-release TAG=v0.2.0")
    if found := problems(sys.argv[1]):
        sys.exit("\n".join(found))
    print(f"{sys.argv[1]}: version and changelog agree")

"""Versions of packages and properties of the machine."""

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = ("pairmend", "numpy", "scipy", "scikit-learn", "joblib", "pandas", "river")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, str]:
    """Return properties of this machine, without its name."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": _processor(),
        "processors": str(os.cpu_count()),
        "memory": _memory(),
        "implementation": sys.implementation.name,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _memory() -> str:
    if sys.platform == "win32":  # Python has no function for it there
        return "unknown"
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return "unknown"
    return f"{total / 2**30:.1f} GiB"

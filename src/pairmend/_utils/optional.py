"""Packages that only some parts of the library need."""

from importlib.util import find_spec


def require(purpose: str, *packages: str) -> None:
    """Raise an ImportError, with the command to install them, if packages are not installed."""
    if absent := [name for name in packages if find_spec(name) is None]:
        listed = " ".join(absent).replace("_", "-")
        raise ImportError(
            f"{purpose} needs packages that are not installed: pip install {listed}", name=absent[0]
        )

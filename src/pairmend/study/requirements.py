"""Checks that the optional packages of studies are installed."""

from collections.abc import Iterable
from importlib.util import find_spec

PACKAGES = ("cloudpickle", "filelock", "pandas")

BOOSTING = ("catboost", "lightgbm")
"""Packages of the extra for baselines of the study "mended"."""


def install_advice(packages: Iterable[str]) -> str:
    """Return how to install packages that algorithms of a study need."""
    if set(packages) <= set(BOOSTING):
        return "Install them: pip install 'pairmend[boosting]'"
    return "Install them, or run the study in an environment that has them (docs/study.md)"


def require_extra(*others: str) -> None:
    """Raise an ImportError if a package of the extra, or one of the others, is not installed."""
    absent = [name for name in (*PACKAGES, *others) if find_spec(name) is None]
    if absent:
        raise ImportError(
            f"a study needs packages that are not installed ({', '.join(absent)}): "
            "pip install 'pairmend[study]'"
        )


def require_dask() -> None:
    """Raise an ImportError if Dask is not installed."""
    if find_spec("distributed") is None:
        raise ImportError(
            "a study on a cluster needs dask.distributed, which is not installed: "
            "pip install 'pairmend[dask]'"
        )

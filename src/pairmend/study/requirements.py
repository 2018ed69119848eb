"""Checks that the optional packages of studies are installed."""

from importlib.util import find_spec

PACKAGES = ("cloudpickle", "filelock", "pandas")


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

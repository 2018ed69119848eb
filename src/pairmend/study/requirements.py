"""What studies need beyond the library's own dependencies."""

from importlib.util import find_spec

PACKAGES = ("cloudpickle", "filelock", "pandas")


def require_extra(*others: str) -> None:
    """Refuse to go on without the packages of the extra, and others, naming the cure."""
    absent = [name for name in (*PACKAGES, *others) if find_spec(name) is None]
    if absent:
        raise ImportError(
            f"a study needs packages that are not installed ({', '.join(absent)}): "
            "pip install 'pairmend[study]'"
        )


def require_dask() -> None:
    """Refuse to go on without Dask, naming the cure."""
    if find_spec("distributed") is None:
        raise ImportError(
            "a study on a cluster needs dask.distributed, which is not installed: "
            "pip install 'pairmend[dask]'"
        )

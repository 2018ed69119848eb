"""fit and predict on Dask collections, which may be larger than memory.

Work runs on the current :class:`distributed.Client`, or on Dask's threads without one.
Requires Dask.
"""

try:
    import dask.array  # noqa: F401

    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "pairmend.distributed needs packages that are not installed: "
        "pip install 'dask[array,dataframe,distributed]'"
    ) from error

from pairmend.distributed.estimators import fit, predict, predict_proba

__all__ = ["fit", "predict", "predict_proba"]

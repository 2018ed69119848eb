"""Calls that joblib runs: results in order as they are computed, and progress of fit."""

from collections.abc import Iterable, Iterator
from typing import Any

from sklearn.utils.parallel import Parallel

from pairmend._utils.progress import collect, is_reported


def run_calls(
    owner: Any, calls: Iterable[Any], n_calls: int, unit: str, doing: str, *, n_jobs: int | None
) -> list[Any]:
    """Return the results of delayed calls, and report their number for `owner`."""
    if not is_reported(owner):
        return list(Parallel(n_jobs=n_jobs)(calls))
    return collect(owner, iterate_calls(calls, n_jobs=n_jobs), n_calls, unit, doing)


def iterate_calls(calls: Iterable[Any], **options: Any) -> Iterator[Any]:
    """Iterate over the results of delayed calls in order; `options` are those of Parallel.

    A result is returned as soon as it is computed, so not all are in memory at once. Backends
    without generators, such as "multiprocessing", compute all results first.
    """
    try:
        parallel = Parallel(return_as="generator", **options)
    except ValueError:  # the backend has no generators
        parallel = Parallel(**options)
    return iter(parallel(calls))
